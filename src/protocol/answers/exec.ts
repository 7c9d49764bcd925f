/** Answers of `exec.*`, receipts, and the events of a stream. */
import * as z from 'zod/mini';
import { auditMark } from './audit.ts';
import { receiptChanges } from './workspace.ts';
import * as word from './words.ts';

const base64 = z.exactOptional(z.literal('base64'));

export const enforcedLimit = z.object({
  name: z.string(),
  value: z.number(),
  by: z.enum(['runtime', 'setrlimit', 'cgroup-v1', 'cgroup-v2', 'tmpfs', 'none']),
  hit: z.nullable(z.boolean()),
});

export const stateDropped = z.object({ name: z.string(), reason: z.string() });

/** The sandbox that a command ran in. */
export const ranIn = z.object({
  kind: word.sandboxKind,
  level: word.assuranceLevel,
  network: word.network,
  share_cache: z.exactOptional(word.sharedCaches),
  warm: z.boolean(),
});

/** A receipt without its output, as a stream's last event and `exec.info` have it. */
export const ended = z.extend(receiptChanges, {
  exec_id: word.execId,
  session_id: word.sessionId,
  stdout_encoding: base64,
  stderr_encoding: base64,
  exit_code: word.count,
  signal: word.nullableText,
  duration_ms: word.count,
  timed_out: z.boolean(),
  stopped: z.nullable(
    z.enum([
      'timeout',
      'idle-timeout',
      'cancelled',
      'session-destroyed',
      'shutdown',
      'redaction-failed',
      'audit-failed',
    ]),
  ),
  truncated: z.boolean(),
  stdout_bytes: word.count,
  stderr_bytes: word.count,
  stdout_omitted_bytes: word.count,
  stderr_omitted_bytes: word.count,
  started_at: word.time,
  cwd: word.nullableText,
  cwd_fallback: z.exactOptional(z.string()),
  state_captured: z.boolean(),
  state_dropped: z.array(stateDropped),
  ended_background: word.count,
  survivors: z.array(word.count),
  reverted: word.names,
  sandbox: ranIn,
  limits: z.array(enforcedLimit),
  verdict: word.verdict,
  plan_digest: z.string(),
  audit: z.nullable(auditMark),
  redactions: z.nullable(word.redactions),
  hints: word.names,
  warnings: word.names,
});

/** The answer to one command. */
export const receipt = z.extend(ended, { stdout: z.string(), stderr: z.string() });

const execState = z.enum(['waiting', 'running', 'exited', 'lost', 'refused']);

export const exec = z.object({
  exec_id: word.execId,
  session_id: word.sessionId,
  state: execState,
  approval_id: z.exactOptional(word.approvalId),
  mode: z.enum(['foreground', 'detached']),
  pty: z.exactOptional(z.literal(true)),
  command: z.string(),
  started_at: word.time,
  journal_from: word.count,
  journal_bytes: word.count,
  exit_code: z.exactOptional(word.count),
  error: z.exactOptional(word.wireError),
  receipt: z.exactOptional(ended),
});

const output = { seq: word.count, stream: z.enum(['stdout', 'stderr']) };
/** Bytes of one stream: whole characters, or base64 where they are none. */
export const chunk = z.union([
  z.object({ ...output, data: z.string() }),
  z.object({ ...output, b64: z.string() }),
]);

const ofStream = { stream_id: word.execId };
const gap = { from: word.count, to: word.count };
const exit = { seq: word.count, stream: z.literal('exit') };

export const waitingForInput = z.object({
  pid: z.int(),
  program: z.string(),
  certain: z.boolean(),
});

/** Event lines of a stream; `exit` is the last. */
export const streamEvent = z.union([
  z.object({ ...ofStream, ...output, data: z.string() }),
  z.object({ ...ofStream, ...output, b64: z.string() }),
  z.object({ ...ofStream, stream: z.literal('gap'), ...gap }),
  z.object({
    ...ofStream,
    stream: z.literal('status'),
    waiting_for_input: waitingForInput,
  }),
  z.extend(ended, { ...ofStream, ...exit, lost: z.exactOptional(z.literal(false)) }),
  z.object({ ...ofStream, ...exit, lost: z.literal(true), error: word.wireError }),
]);

const following = z.object({
  stream_id: word.execId,
  exec_id: word.execId,
  offset: word.count,
  channel: z.exactOptional(word.count),
});
const named = z.object({ exec_id: word.execId });

export const execAnswers = {
  'exec.run': receipt,
  'exec.stream': following,
  'exec.start': z.extend(named, { session_id: word.sessionId }),
  'exec.attach': following,
  'exec.read': z.object({
    exec_id: word.execId,
    from: word.count,
    next: word.count,
    chunks: z.array(chunk),
    gap: z.exactOptional(z.object(gap)),
    omitted_lines: z.exactOptional(word.count),
    found: z.exactOptional(z.boolean()),
    state: execState,
    exit_code: z.exactOptional(word.count),
  }),
  'exec.write': z.extend(named, { bytes: word.count }),
  'exec.resize': named,
  'exec.cancel': z.object({ stopped: z.array(word.execId) }),
  'exec.list': z.object({ execs: z.array(exec) }),
  'exec.info': exec,
} as const;
