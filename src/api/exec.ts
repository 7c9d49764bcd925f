/** The methods `exec.*`, but `exec.undo` (`snapshot.ts`). */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf } from './define-method.ts';
import {
  defineMethod,
  execRoutePath,
  getRoute,
  ownershipRules,
  wholeListPaging,
  postRoute,
  permittedRoles,
  sessionRoutePath,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { limits } from '../limits.ts';
import { languages, type ExecId, type SessionId } from '../command.ts';
import { chunkSchema, execSchema, execStateSchema, receiptSchema, gapFields } from './receipt.ts';

const readWaitMsMax = 120_000;
const readLinesMax = 100_000;
const terminalSideMax = 65_535;

const streamForm = z.exactOptional(z.enum(['text', 'b64'], { error: '"text" or "b64"' }));
const offset = z.exactOptional(field.integerParam(0));
const columns = field.integerParam(1, terminalSideMax);

interface Stdin {
  readonly stdin?: string;
  readonly stdin_encoding?: 'utf8' | 'base64';
}
const stdinFits = z.refine<Stdin>(
  ({ stdin, stdin_encoding: form }) => field.isEncodedWithinLimit(stdin ?? '', form ?? 'utf8'),
  { path: ['stdin'], error: field.encodedParamHint },
);

const execBase = z.object({
  session_id: field.sessionIdParam,
  command: field.commandParam,
  /** Language of `command`; default `shell`. A Python script runs in its own directory. */
  language: z.exactOptional(z.enum(languages, { error: '"shell" or "python"' })),
  cwd: z.exactOptional(field.pathParam),
  /** A directory that `cwd` must not leave, by real path. */
  cwd_within: z.exactOptional(field.pathParam),
  timeout_s: z.exactOptional(field.timeoutSecondsParam),
  timeout_ms: z.exactOptional(field.timeoutMsParam),
  idle_timeout_ms: z.exactOptional(field.integerParam(0, limits.idleTimeoutMs.max)),
  /** Time from TERM to KILL; default 5 s. */
  grace_ms: z.exactOptional(field.integerParam(0, limits.graceMs.max)),
  stdin: z.exactOptional(field.encodedParam),
  stdin_encoding: z.exactOptional(field.encodingParam),
  /** Keep stdin open for `exec.write`. */
  stdin_open: z.exactOptional(field.booleanParam),
  env: z.exactOptional(field.environmentParam),
  /** Names of secrets and of the runtime's variables that this command gets. */
  env_keys: z.exactOptional(field.environmentNamesParam),
  /**
   * Secrets that this command uses without having them: `NAME`, at the hosts that the configuration
   * or its preset says, or `NAME=HOST,HOST`.
   */
  broker: z.exactOptional(field.brokerParam),
  /** `digest`s of redactions that the output shall show: a person must approve. At most 100. */
  reveal: z.exactOptional(field.revealedDigestsParam),
  pty: z.exactOptional(z.strictObject({ columns, rows: columns }, { error: 'an object' })),
  limits: z.exactOptional(field.limitsParam),
  exec_key: z.exactOptional(field.execKeyParam),
  /** Bytes per stream in the answer; default 4 MiB. */
  output_bytes: z.exactOptional(field.integerParam(0, limits.outputBytes.max)),
  /** How long to wait for a person's decision; default 0: answers at once. */
  wait_ms: z.exactOptional(field.integerParam(0, field.approvalWaitMsMax)),
  /** For this command; default the session's. */
  workspace_mode: z.exactOptional(field.workspaceModeParam),
  /** A profile that this command must pass besides the session's and the runtime's policy. */
  policy: z.exactOptional(field.policyProfileParam),
});

const following = z.object({
  stream_id: shared.execIdSchema,
  exec_id: shared.execIdSchema,
  /** Journal offset of the first byte that is sent, unless a gap is reported first. */
  offset: shared.countSchema,
  /** On a connection with binary frames: the channel of the output frames. */
  channel: z.exactOptional(shared.countSchema),
});
const named = z.object({ exec_id: shared.execIdSchema });

/** How HTTP runs a command: in the foreground, detached or as a stream. */
const run = {
  ...postRoute,
  idempotency: 'exec_key',
  modes: {
    detached: { call: 'exec.start', status: 202, answer: 'json' },
    stream: { call: 'exec.stream', status: 200, answer: 'events' },
  },
  location: '/v1/execs/{exec_id}',
} as const;

/** Every `exec` method: its parameters, its answer and its rules. */
export const execMethods = {
  'exec.run': defineMethod({
    params: execBase.check(stdinFits),
    answer: receiptSchema,
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      { ...run, path: `${sessionRoutePath}/execs`, about: 'Run a command in a session' },
      { ...run, path: '/v1/execs', about: 'Run a command' },
    ],
    audit: 'own events',
  }),
  'exec.stream': defineMethod({
    params: z.extend(execBase, { from: offset, enc: streamForm }).check(stdinFits),
    answer: following,
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [],
    audit: 'own events',
  }),
  'exec.start': defineMethod({
    params: z
      .extend(execBase, {
        timeout_s: z.exactOptional(field.detachedSecondsParam),
        timeout_ms: z.exactOptional(field.detachedMsParam),
      })
      .check(stdinFits),
    answer: z.extend(named, { session_id: shared.sessionIdSchema }),
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'beside',
    http: [],
    audit: 'own events',
  }),
  'exec.attach': defineMethod({
    params: z.extend(field.execParamsObject, { from: offset, enc: streamForm }),
    answer: following,
    roles: permittedRoles.everybody,
    owns: ownershipRules.exec,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${execRoutePath}/stream`,
        about: 'Follow output as server-sent events',
        answer: 'events',
        query: { from: 'integer' },
      },
      {
        ...getRoute,
        path: `${execRoutePath}/ws`,
        about: 'Follow output and write input over a WebSocket',
        answer: 'websocket',
        query: { from: 'integer' },
      },
    ],
    audit: null,
  }),
  'exec.read': defineMethod({
    params: z.extend(field.execParamsObject, {
      from: offset,
      max: z.exactOptional(field.integerParam(1, limits.outputBytes.default)),
      wait_ms: z.exactOptional(field.integerParam(0, readWaitMsMax)),
      /** Keep only lines that contain this text. */
      grep: z.exactOptional(field.searchTextParam),
      /** Only this many last lines. */
      tail: z.exactOptional(field.integerParam(1, readLinesMax)),
      /** Waits for this text from `from` on; `''`: for the end. Default: for any output. */
      until: z.exactOptional(field.searchTextParam),
    }),
    answer: z.object({
      exec_id: shared.execIdSchema,
      from: shared.countSchema,
      /** The next offset. */
      next: shared.countSchema,
      chunks: z.array(chunkSchema),
      /** Present if bytes before `next` are no longer stored. */
      gap: z.exactOptional(z.object(gapFields)),
      /** With `grep` or `tail`: lines that are truncated or omitted because of `max`. */
      omitted_lines: z.exactOptional(shared.countSchema),
      /** With a text in `until`: whether it was found. */
      found: z.exactOptional(z.boolean()),
      state: execStateSchema,
      exit_code: z.exactOptional(shared.countSchema),
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.exec,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${execRoutePath}/output`,
        about: 'Read output from an offset, and wait for it on request',
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
  // An approver takes over a terminal, or ends a command.
  'exec.write': defineMethod({
    params: z
      .extend(field.execParamsObject, {
        data: z.exactOptional(field.encodedParam),
        /** Default `utf8`. */
        encoding: z.exactOptional(field.encodingParam),
        eof: z.exactOptional(field.booleanParam),
        /** Required while a caller holds a lease. */
        lease_id: field.leaseIdParam,
      })
      .check(
        z.refine(
          ({ data, encoding }) => field.isEncodedWithinLimit(data ?? '', encoding ?? 'utf8'),
          {
            path: ['data'],
            error: field.encodedParamHint,
          },
        ),
      ),
    answer: z.extend(named, { bytes: shared.countSchema }),
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.exec,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/input`,
        about: 'Write to the standard input of a command',
      },
    ],
    audit: null,
  }),
  'exec.resize': defineMethod({
    params: z.extend(field.execParamsObject, {
      columns,
      rows: columns,
      lease_id: field.leaseIdParam,
    }),
    answer: named,
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.exec,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/resize`,
        about: 'Change the size of the terminal of a command',
      },
    ],
    audit: null,
  }),
  'exec.cancel': defineMethod({
    params: z
      .object({
        session_id: z.exactOptional(field.sessionIdParam),
        exec_id: z.exactOptional(field.execIdParam),
        exec_key: z.exactOptional(field.execKeyParam),
        signal: z.exactOptional(field.signalParam),
      })
      .check(
        z.refine(
          ({ session_id: session, exec_id: exec, exec_key: key }) =>
            [session, exec, key].filter((one) => one !== undefined).length === 1,
          { path: ['session_id'], error: 'given, or "exec_id", or "exec_key", and one alone' },
        ),
      ),
    answer: z.object({ stopped: z.array(shared.execIdSchema) }),
    roles: permittedRoles.agentAndApprover,
    owns: { own: ['session_id', 'exec_id'] },
    lane: 'at-once',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/cancel`,
        about: 'End what runs in a session, or send it a signal',
      },
      {
        ...postRoute,
        path: `${execRoutePath}/cancel`,
        about: 'End a command, or send it a signal',
      },
    ],
    // Who ended it, which its own events do not record.
    audit: { kind: 'call.done', params: ['signal'], answer: ['stopped'], ends: true },
  }),
  'exec.list': defineMethod({
    params: z.object({ session_id: z.exactOptional(field.sessionIdParam) }),
    answer: z.object({ execs: z.array(execSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.listed,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${sessionRoutePath}/execs`,
        about: 'List the commands of a session',
        page: { ...wholeListPaging, items: 'execs', key: 'exec_id' },
      },
      {
        ...getRoute,
        path: '/v1/execs',
        about: 'List commands',
        query: { session_id: 'text' },
        page: { ...wholeListPaging, items: 'execs', key: 'exec_id' },
      },
    ],
    audit: null,
  }),
  'exec.info': defineMethod({
    params: field.execParamsObject,
    answer: execSchema,
    roles: permittedRoles.everybody,
    owns: ownershipRules.exec,
    lane: 'beside',
    http: [{ ...getRoute, path: execRoutePath, about: 'Look at a command' }],
    audit: null,
  }),
  'exec.lease': defineMethod({
    params: z.object({
      exec_id: field.execIdParam,
      action: z.enum(['take', 'release'], { error: '"take" or "release"' }),
      lease_id: field.leaseIdParam,
      /** Default one minute, at most one hour. */
      ttl_ms: z.exactOptional(field.integerParam(1_000, limits.leaseMs.max)),
    }),
    answer: z.object({
      exec_id: shared.execIdSchema,
      session_id: shared.sessionIdSchema,
      /** While the lease is valid, `exec.write` and `exec.resize` require it. */
      lease_id: z.string(),
      /** The actor that holds the lease. */
      holder: z.string(),
      expires_at: shared.timestampSchema,
    }),
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.exec,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/lease`,
        about: 'Take over the input of a command, or release it',
      },
    ],
    // The new holder.
    audit: { kind: 'call.done', params: ['action', 'ttl_ms'], answer: ['holder'] },
  }),
} as const;

export type ExecParams = ParamsOf<typeof execMethods, 'exec.run'>;
export type ExecReadParams = ParamsOf<typeof execMethods, 'exec.read'>;
export type ExecReadAnswer = AnswerOf<typeof execMethods, 'exec.read'>;
export type ExecWriteParams = ParamsOf<typeof execMethods, 'exec.write'>;
export type ExecResizeParams = ParamsOf<typeof execMethods, 'exec.resize'>;
/**
 * With `signal` only that signal is sent; without it: TERM, the grace time, KILL. `exec_key`: the
 * command that the caller started with that key, in any session.
 */
export type ExecCancelParams = (
  | { readonly exec_id: ExecId }
  | { readonly session_id: SessionId }
  | { readonly exec_key: string }
) & { readonly signal?: string };
export type ExecLeaseParams = ParamsOf<typeof execMethods, 'exec.lease'>;
export type ExecLeaseAnswer = AnswerOf<typeof execMethods, 'exec.lease'>;
/** What `exec.stream` and `exec.attach` answer before the first event. */
export type StreamAnswer = AnswerOf<typeof execMethods, 'exec.attach'>;
