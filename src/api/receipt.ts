/** Shapes of `exec.*`: receipts, executions and the events of a stream. */
import * as z from 'zod/mini';
import * as shared from './shared.ts';
import { auditMark } from './audit.ts';
import { receiptChanges } from './changes.ts';

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
  kind: shared.sandboxKind,
  level: shared.assuranceLevel,
  network: shared.network,
  share_cache: z.exactOptional(shared.sharedCaches),
  warm: z.boolean(),
});

/** A receipt without its output, as a stream's last event and `exec.info` have it. */
export const ended = z.extend(receiptChanges, {
  exec_id: shared.execId,
  session_id: shared.sessionId,
  stdout_encoding: base64,
  stderr_encoding: base64,
  exit_code: shared.count,
  signal: shared.nullableText,
  duration_ms: shared.count,
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
  stdout_bytes: shared.count,
  stderr_bytes: shared.count,
  stdout_omitted_bytes: shared.count,
  stderr_omitted_bytes: shared.count,
  started_at: shared.time,
  cwd: shared.nullableText,
  cwd_fallback: z.exactOptional(z.string()),
  state_captured: z.boolean(),
  state_dropped: z.array(stateDropped),
  ended_background: shared.count,
  survivors: z.array(shared.count),
  reverted: shared.names,
  sandbox: ranIn,
  limits: z.array(enforcedLimit),
  verdict: shared.verdict,
  plan_digest: z.string(),
  audit: z.nullable(auditMark),
  redactions: z.nullable(shared.redactions),
  hints: shared.names,
  warnings: shared.names,
});

/** The answer to one command. */
export const receipt = z.extend(ended, { stdout: z.string(), stderr: z.string() });

export const execState = z.enum(['waiting', 'running', 'exited', 'lost', 'refused']);

export const exec = z.object({
  exec_id: shared.execId,
  session_id: shared.sessionId,
  state: execState,
  approval_id: z.exactOptional(shared.approvalId),
  mode: z.enum(['foreground', 'detached']),
  pty: z.exactOptional(z.literal(true)),
  command: z.string(),
  started_at: shared.time,
  journal_from: shared.count,
  journal_bytes: shared.count,
  exit_code: z.exactOptional(shared.count),
  error: z.exactOptional(shared.wireError),
  receipt: z.exactOptional(ended),
});

const output = { seq: shared.count, stream: z.enum(['stdout', 'stderr']) };
/** Bytes of one stream: whole characters, or base64 where they are none. */
export const chunk = z.union([
  z.object({ ...output, data: z.string() }),
  z.object({ ...output, b64: z.string() }),
]);

const ofStream = { stream_id: shared.execId };
export const gap = { from: shared.count, to: shared.count };
const exit = { seq: shared.count, stream: z.literal('exit') };

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
  z.object({ ...ofStream, ...exit, lost: z.literal(true), error: shared.wireError }),
]);
