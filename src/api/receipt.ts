/** Shapes of `exec.*`: receipts, executions and the events of a stream. */
import * as z from 'zod/mini';
import type { TypeOf } from './define-method.ts';
import * as shared from './answer-fields.ts';
import { auditMarkSchema } from './audit.ts';
import { receiptChangesSchema } from './changes.ts';

const base64 = z.exactOptional(z.literal('base64'));

export const enforcedLimitSchema = z.object({
  name: z.string(),
  value: z.number(),
  by: z.enum(['runtime', 'setrlimit', 'cgroup-v1', 'cgroup-v2', 'tmpfs', 'none']),
  hit: z.nullable(z.boolean()),
});

export const droppedStateSchema = z.object({ name: z.string(), reason: z.string() });

/** The sandbox that a command ran in. */
export const sandboxSchema = z.object({
  kind: shared.sandboxKindSchema,
  level: shared.assuranceLevelSchema,
  network: shared.networkSchema,
  share_cache: z.exactOptional(shared.sharedCachesSchema),
  warm: z.boolean(),
});

/** Requests to one host that are alike. */
export const requestSchema = z.object({
  method: z.string(),
  /** The first 16 hexadecimal digits of the SHA-256 of the path without its query. */
  path_digest: z.string(),
  count: shared.countSchema,
});

/** Connections to one host and port through the bridge, summed. */
export const connectionSchema = z.object({
  host: z.string(),
  port: shared.countSchema,
  /** The address that was dialled last. */
  address: shared.nullableTextSchema,
  count: shared.countSchema,
  sent_bytes: shared.countSchema,
  received_bytes: shared.countSchema,
  /** Requests that were seen, by method and path; absent: none was. */
  requests: z.exactOptional(z.array(requestSchema)),
  /** Names of secrets that were put into requests; absent: none. */
  secrets: z.exactOptional(shared.nameListSchema),
  /** Several commands of the session ran: it may have been another's. */
  shared: z.exactOptional(z.literal(true)),
});

/** Something that a command tried and that was refused. */
export const denialSchema = z.object({
  kind: z.literal('network'),
  host: z.string(),
  /** 0: the name was looked up, and no connection followed. */
  port: shared.countSchema,
  /** The rule that decided, or what was wrong. */
  rule: z.string(),
});

/** A receipt without its output, as a stream's last event and `exec.info` have it. */
export const execEndSchema = z.extend(receiptChangesSchema, {
  exec_id: shared.execIdSchema,
  session_id: shared.sessionIdSchema,
  stdout_encoding: base64,
  stderr_encoding: base64,
  exit_code: shared.countSchema,
  signal: shared.nullableTextSchema,
  duration_ms: shared.countSchema,
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
  /** Whether bytes are missing from `stdout` or `stderr`; the counts say how many. */
  truncated: z.boolean(),
  stdout_bytes: shared.countSchema,
  stderr_bytes: shared.countSchema,
  /** Bytes omitted between the head and the tail of each stream. */
  stdout_omitted_bytes: shared.countSchema,
  stderr_omitted_bytes: shared.countSchema,
  started_at: shared.timestampSchema,
  cwd: shared.nullableTextSchema,
  cwd_fallback: z.exactOptional(z.string()),
  state_captured: z.boolean(),
  state_dropped: z.array(droppedStateSchema),
  ended_background: shared.countSchema,
  survivors: z.array(shared.countSchema),
  /** Protected paths the command created or replaced; they were restored. */
  reverted: shared.nameListSchema,
  sandbox: sandboxSchema,
  /** Through the bridge; absent: there is none. */
  connections: z.exactOptional(z.array(connectionSchema)),
  /** What was refused while it ran; absent: nothing was. */
  denials: z.exactOptional(z.array(denialSchema)),
  limits: z.array(enforcedLimitSchema),
  verdict: shared.verdictSchema,
  plan_digest: z.string(),
  /** Position of its end in the audit log; `null`: it is not recorded, and need not be. */
  audit: z.nullable(auditMarkSchema),
  /** Redactions in the output; `null`: redaction failed, and output is missing. */
  redactions: z.nullable(shared.redactionsSchema),
  /** Advice in plain sentences: how to keep a background child, what a 127 could not find. */
  hints: shared.nameListSchema,
  /** What to change before it fails: one sentence each, with the variable's name. */
  warnings: shared.nameListSchema,
});

/** The answer to one command. */
export const receiptSchema = z.extend(execEndSchema, { stdout: z.string(), stderr: z.string() });

export const execStateSchema = z.enum(['waiting', 'running', 'exited', 'lost', 'refused']);

export const execSchema = z.object({
  exec_id: shared.execIdSchema,
  session_id: shared.sessionIdSchema,
  /** `waiting`: a person must decide first. `refused`: it was not approved, so it never ran. */
  state: execStateSchema,
  approval_id: z.exactOptional(shared.approvalIdSchema),
  mode: z.enum(['foreground', 'detached']),
  /** Present if it has its own terminal. */
  pty: z.exactOptional(z.literal(true)),
  command: z.string(),
  started_at: shared.timestampSchema,
  journal_from: shared.countSchema,
  journal_bytes: shared.countSchema,
  exit_code: z.exactOptional(shared.countSchema),
  /** Why there is no receipt: of one that was refused or lost. */
  error: z.exactOptional(shared.wireErrorSchema),
  receipt: z.exactOptional(execEndSchema),
});

const output = { seq: shared.countSchema, stream: z.enum(['stdout', 'stderr']) };
/** Bytes of one stream: whole characters, or base64 if they are not text. */
export const chunkSchema = z.union([
  z.object({ ...output, data: z.string() }),
  z.object({ ...output, b64: z.string() }),
]);

const ofStream = { stream_id: shared.execIdSchema };
export const gapFields = { from: shared.countSchema, to: shared.countSchema };
const exit = { seq: shared.countSchema, stream: z.literal('exit') };

export const waitingForInputSchema = z.object({
  pid: z.int(),
  program: z.string(),
  certain: z.boolean(),
});

/** Event lines of a stream; `exit` is the last. */
export const streamEventSchema = z.union([
  z.object({ ...ofStream, ...output, data: z.string() }),
  z.object({ ...ofStream, ...output, b64: z.string() }),
  z.object({ ...ofStream, stream: z.literal('gap'), ...gapFields }),
  z.object({
    ...ofStream,
    stream: z.literal('status'),
    waiting_for_input: waitingForInputSchema,
  }),
  z.extend(execEndSchema, { ...ofStream, ...exit, lost: z.exactOptional(z.literal(false)) }),
  z.object({ ...ofStream, ...exit, lost: z.literal(true), error: shared.wireErrorSchema }),
]);

/** The answer to one command. Its output is redacted; counts and offsets are those of that. */
export type Receipt = TypeOf<typeof receiptSchema>;
/** How a command ended: its receipt without the output. */
export type ExecEnd = TypeOf<typeof execEndSchema>;
export type ExecView = TypeOf<typeof execSchema>;
export type StreamChunk = TypeOf<typeof chunkSchema>;
/** An event line of a stream. The last one is `exit` (or `exit` with `lost:true`). */
export type StreamEvent = TypeOf<typeof streamEventSchema>;
