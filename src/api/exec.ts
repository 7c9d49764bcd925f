/** The methods `exec.*`, but `exec.undo` (`snapshot.ts`). */
import * as z from 'zod/mini';
import { define, execPath, get, ownership, pages, post, roles, sessionPath } from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { limits } from '../limits.ts';
import { languages } from '../command.ts';
import { chunk, exec, execState, receipt, gap } from './receipt.ts';

const readWaitMsMax = 120_000;
const readLinesMax = 100_000;
const terminalSideMax = 65_535;

const streamForm = z.exactOptional(z.enum(['text', 'b64'], { error: '"text" or "b64"' }));
const offset = z.exactOptional(field.whole(0));
const columns = field.whole(1, terminalSideMax);

interface Stdin {
  readonly stdin?: string;
  readonly stdin_encoding?: 'utf8' | 'base64';
}
const stdinFits = z.refine<Stdin>(
  ({ stdin, stdin_encoding: form }) => field.encodedFits(stdin ?? '', form ?? 'utf8'),
  { path: ['stdin'], error: field.encodedWanted },
);

const execBase = z.object({
  session_id: field.sessionId,
  command: field.command,
  language: z.exactOptional(z.enum(languages, { error: '"shell" or "python"' })),
  cwd: z.exactOptional(field.path),
  cwd_within: z.exactOptional(field.path),
  timeout_s: z.exactOptional(field.timeoutSeconds),
  timeout_ms: z.exactOptional(field.timeoutMs),
  idle_timeout_ms: z.exactOptional(field.whole(0, limits.idleTimeoutMs.max)),
  grace_ms: z.exactOptional(field.whole(0, limits.graceMs.max)),
  stdin: z.exactOptional(field.encoded),
  stdin_encoding: z.exactOptional(field.encoding),
  stdin_open: z.exactOptional(field.flag),
  env: z.exactOptional(field.environment),
  env_keys: z.exactOptional(field.environmentNames),
  reveal: z.exactOptional(field.revealed),
  pty: z.exactOptional(z.strictObject({ columns, rows: columns }, { error: 'an object' })),
  limits: z.exactOptional(field.limitParams),
  exec_key: z.exactOptional(field.execKey),
  output_bytes: z.exactOptional(field.whole(0, limits.outputBytes.max)),
  wait_ms: z.exactOptional(field.whole(0, field.approvalWaitMsMax)),
  workspace_mode: z.exactOptional(field.workspaceMode),
  policy: z.exactOptional(field.policyProfile),
});

const following = z.object({
  stream_id: shared.execId,
  exec_id: shared.execId,
  offset: shared.count,
  channel: z.exactOptional(shared.count),
});
const named = z.object({ exec_id: shared.execId });

/** At what HTTP runs a command, in the foreground, detached or as a stream. */
const run = {
  ...post,
  idempotency: 'exec_key',
  modes: {
    detached: { call: 'exec.start', status: 202, answer: 'json' },
    stream: { call: 'exec.stream', status: 200, answer: 'events' },
  },
  location: '/v1/execs/{exec_id}',
} as const;

/** Every `exec` method: its parameters, its answer and its rules. */
export const execMethods = {
  'exec.run': define({
    params: execBase.check(stdinFits),
    answer: receipt,
    roles: roles.agent,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      { ...run, path: `${sessionPath}/execs`, about: 'Run a command in a session' },
      { ...run, path: '/v1/execs', about: 'Run a command' },
    ],
    audit: 'own events',
  }),
  'exec.stream': define({
    params: z.extend(execBase, { from: offset, enc: streamForm }).check(stdinFits),
    answer: following,
    roles: roles.agent,
    owns: ownership.session,
    lane: 'in-turn',
    http: [],
    audit: 'own events',
  }),
  'exec.start': define({
    params: z
      .extend(execBase, {
        timeout_s: z.exactOptional(field.detachedSeconds),
        timeout_ms: z.exactOptional(field.detachedMs),
      })
      .check(stdinFits),
    answer: z.extend(named, { session_id: shared.sessionId }),
    roles: roles.agent,
    owns: ownership.session,
    lane: 'beside',
    http: [],
    audit: 'own events',
  }),
  'exec.attach': define({
    params: z.extend(field.ofExec, { from: offset, enc: streamForm }),
    answer: following,
    roles: roles.everybody,
    owns: ownership.exec,
    lane: 'beside',
    http: [
      {
        ...get,
        path: `${execPath}/stream`,
        about: 'Follow output as server-sent events',
        answer: 'events',
        query: { from: 'integer' },
      },
      {
        ...get,
        path: `${execPath}/ws`,
        about: 'Follow output and write input over a WebSocket',
        answer: 'websocket',
        query: { from: 'integer' },
      },
    ],
    audit: null,
  }),
  'exec.read': define({
    params: z.extend(field.ofExec, {
      from: offset,
      max: z.exactOptional(field.whole(1, limits.outputBytes.default)),
      wait_ms: z.exactOptional(field.whole(0, readWaitMsMax)),
      grep: z.exactOptional(field.searchText),
      tail: z.exactOptional(field.whole(1, readLinesMax)),
      until: z.exactOptional(field.searchText),
    }),
    answer: z.object({
      exec_id: shared.execId,
      from: shared.count,
      next: shared.count,
      chunks: z.array(chunk),
      gap: z.exactOptional(z.object(gap)),
      omitted_lines: z.exactOptional(shared.count),
      found: z.exactOptional(z.boolean()),
      state: execState,
      exit_code: z.exactOptional(shared.count),
    }),
    roles: roles.everybody,
    owns: ownership.exec,
    lane: 'beside',
    http: [
      {
        ...get,
        path: `${execPath}/output`,
        about: 'Read output from an offset on, waiting for some if asked to',
        query: {
          from: 'integer',
          max: 'integer',
          wait_ms: 'integer',
          until: 'text',
          grep: 'text',
          tail: 'integer',
        },
      },
    ],
    audit: null,
  }),
  // A person takes a terminal over, or ends what should not go on.
  'exec.write': define({
    params: z
      .extend(field.ofExec, {
        data: z.exactOptional(field.encoded),
        encoding: z.exactOptional(field.encoding),
        eof: z.exactOptional(field.flag),
        lease_id: field.leaseId,
      })
      .check(
        z.refine(({ data, encoding }) => field.encodedFits(data ?? '', encoding ?? 'utf8'), {
          path: ['data'],
          error: field.encodedWanted,
        }),
      ),
    answer: z.extend(named, { bytes: shared.count }),
    roles: roles.agentAndApprover,
    owns: ownership.exec,
    lane: 'beside',
    http: [
      {
        ...post,
        path: `${execPath}/input`,
        about: 'Write to the standard input of a command',
      },
    ],
    audit: null,
  }),
  'exec.resize': define({
    params: z.extend(field.ofExec, { columns, rows: columns, lease_id: field.leaseId }),
    answer: named,
    roles: roles.agentAndApprover,
    owns: ownership.exec,
    lane: 'beside',
    http: [
      {
        ...post,
        path: `${execPath}/resize`,
        about: 'Change the size of the terminal of a command',
      },
    ],
    audit: null,
  }),
  'exec.cancel': define({
    params: z
      .object({
        session_id: z.exactOptional(field.sessionId),
        exec_id: z.exactOptional(field.execId),
        exec_key: z.exactOptional(field.execKey),
        signal: z.exactOptional(field.signal),
      })
      .check(
        z.refine(
          ({ session_id: session, exec_id: exec, exec_key: key }) =>
            [session, exec, key].filter((one) => one !== undefined).length === 1,
          { path: ['session_id'], error: 'given, or "exec_id", or "exec_key", and one alone' },
        ),
      ),
    answer: z.object({ stopped: z.array(shared.execId) }),
    roles: roles.agentAndApprover,
    owns: { own: ['session_id', 'exec_id'] },
    lane: 'at-once',
    http: [
      {
        ...post,
        path: `${sessionPath}/cancel`,
        about: 'End what runs in a session, or send it a signal',
      },
      {
        ...post,
        path: `${execPath}/cancel`,
        about: 'End a command, or send it a signal',
      },
    ],
    // Who ended it, which its own events do not tell.
    audit: { kind: 'call.done', params: ['signal'], answer: ['stopped'], ends: true },
  }),
  'exec.list': define({
    params: z.object({ session_id: z.exactOptional(field.sessionId) }),
    answer: z.object({ execs: z.array(exec) }),
    roles: roles.everybody,
    owns: ownership.listed,
    lane: 'beside',
    http: [
      {
        ...get,
        path: `${sessionPath}/execs`,
        about: 'List the commands of a session',
        page: { ...pages, items: 'execs', key: 'exec_id' },
      },
      {
        ...get,
        path: '/v1/execs',
        about: 'List commands',
        query: { session_id: 'text' },
        page: { ...pages, items: 'execs', key: 'exec_id' },
      },
    ],
    audit: null,
  }),
  'exec.info': define({
    params: field.ofExec,
    answer: exec,
    roles: roles.everybody,
    owns: ownership.exec,
    lane: 'beside',
    http: [{ ...get, path: execPath, about: 'Look at a command' }],
    audit: null,
  }),
  'exec.lease': define({
    params: z.object({
      exec_id: field.execId,
      action: z.enum(['take', 'release'], { error: '"take" or "release"' }),
      lease_id: field.leaseId,
      ttl_ms: z.exactOptional(field.whole(1_000, limits.leaseMs.max)),
    }),
    answer: z.object({
      exec_id: shared.execId,
      session_id: shared.sessionId,
      lease_id: z.string(),
      holder: z.string(),
      expires_at: shared.time,
    }),
    roles: roles.agentAndApprover,
    owns: ownership.exec,
    lane: 'beside',
    http: [
      {
        ...post,
        path: `${execPath}/lease`,
        about: 'Take a command over, or hand it back',
      },
    ],
    // Who types from now on.
    audit: { kind: 'call.done', params: ['action', 'ttl_ms'], answer: ['holder'] },
  }),
} as const;
