/**
 * Every operation that a daemon requests of the runner, defined once: what the request carries
 * beside `op`, and what the answer does. Both ends check what they receive against this table.
 * Fields of a shape that is not written out here are the other end's own, which has proved the key:
 * they are looked at, not doubted.
 */
import type { ExecId, Exit, SessionId, StopReason } from '../command.ts';
import { TrlError } from '../errors.ts';
import {
  fieldOf,
  isCount,
  isFlag,
  isText,
  listOf,
  nullable,
  objectOf,
  oneOf,
  optional,
  recordOf,
  wrongField,
  type Shape,
  type Shaped,
} from '../json-shape.ts';
import type { LiveConnection } from '../network-access.ts';
import type { RedactorStart, Sealing } from '../redactor/wire.ts';

const isExecId = (value: unknown): value is ExecId => isText(value) && value.startsWith('x-');
const isSessionId = (value: unknown): value is SessionId => isText(value) && value.startsWith('s-');
const isStopReason = (value: unknown): value is StopReason => isText(value);
const isExit = (value: unknown): value is Exit => isExecId(fieldOf(value, 'exec_id'));

const isRedactorStart = (value: unknown): value is RedactorStart => isText(fieldOf(value, 'key'));
const isSealing = (value: unknown): value is Sealing =>
  isText(fieldOf(value, 'directory')) && Array.isArray(fieldOf(value, 'recipients'));

const isLiveConnection = (value: unknown): value is LiveConnection =>
  isText(fieldOf(value, 'host'));

/** Values that output must not show. */
const isKnown = listOf(objectOf({ name: isText, value: isText }));

/**
 * `plan`: canonical JSON of a {@link Plan} with sha256(box) in place of its box; `mac`: HMAC(key,
 * "plan" sha256(plan) exec epoch seq). `seq` rises with every sealed request of a connection, so
 * that none can be sent again. `box`: the box's canonical JSON, when this connection has not
 * carried it before or both ends have forgotten it: see {@link BoxCache}.
 */
const seal = { plan: isText, seq: isCount, mac: isText, box: optional(isText) };

/** One execution, as `launch`, `list` and `info` report it. */
const entry = {
  exec_id: isExecId,
  session_id: isSessionId,
  state: oneOf('running', 'exited'),
  mode: oneOf('foreground', 'detached'),
  started_at: isCount,
  journal_from: isCount,
  journal_bytes: isCount,
  exit: nullable(isExit),
};

/**
 * What became of a view's overlay. `none`: nothing is mounted, so the next command mounts it as
 * it is then. `fresh`: running and later commands see what lies there now. `dropped`: it could not
 * be refreshed, or one of the paths is shown as it was because a process is using it (`why`); the
 * next command of any of the view's sessions mounts another, and running ones keep the old one.
 */
const refreshed = { holder: oneOf('none', 'fresh', 'dropped'), why: nullable(isText) };

/**
 * A mount in which a command watches files by inotify. `root`: a descriptor of its root, as a path;
 * the descriptor may soon be another file's, so `dev` is compared. `mask`: its layer of hidden
 * paths; `null`: nothing is hidden.
 */
const watchedMount = { root: isText, dev: isCount, mask: nullable(isText) };

const nothing = {};

export const operations = {
  /**
   * `known`: the values that its output must not show; `own`: the runtime's, not sealed; `hold`:
   * all is made ready, and the command starts with `permit` (a runner whose welcome says `holds`).
   */
  launch: {
    params: { ...seal, known: isKnown, own: optional(isFlag), hold: optional(isFlag) },
    answer: entry,
  },
  /** A prepared command starts now; `start: false`: never. */
  permit: { params: { exec_id: isExecId, start: isFlag }, answer: nothing },
  /** Values that have become known; `session_id`: of that session alone, also later. */
  learn: { params: { known: isKnown, session_id: optional(isSessionId) }, answer: nothing },
  /** How output is redacted, and sealed, from now on; without it nothing runs. */
  redaction: {
    params: { start: isRedactorStart, sealing: optional(nullable(isSealing)) },
    answer: nothing,
  },
  /** Streams the journal from `from` on `channel`; `max` bytes at most when given. */
  follow: {
    params: { exec_id: isExecId, channel: isCount, from: isCount, max: optional(isCount) },
    answer: { journal_from: isCount, journal_bytes: isCount, state: entry.state },
  },
  unfollow: { params: { channel: isCount }, answer: nothing },
  /** Moves the window: `offset` is the first byte not yet taken. */
  ack: { params: { channel: isCount, offset: isCount }, answer: nothing },
  stdin: { params: { exec_id: isExecId, base64: isText, eof: isFlag }, answer: nothing },
  resize: { params: { exec_id: isExecId, columns: isCount, rows: isCount }, answer: nothing },
  /** The answer to a call of a script, as JSON. */
  answer: { params: { exec_id: isExecId, call: isCount, text: isText }, answer: nothing },
  /** What a person said about a host that a command was held at. */
  host: {
    params: { exec_id: isExecId, host: isText, port: isCount, allow: isFlag },
    answer: nothing,
  },
  /** Connections of a session through its bridge, as they are now. */
  connections: {
    params: { session_id: isSessionId },
    answer: { connections: listOf(isLiveConnection) },
  },
  /** Ends connections of a session to a name, and refuses it from now on. */
  block_host: { params: { session_id: isSessionId, host: isText }, answer: nothing },
  /** Shows a port of a session on the loopback of this machine, by HTTP with a token. */
  show_port: {
    params: { session_id: isSessionId, port: isCount },
    answer: { port: isCount, token: isText },
  },
  /** `port`: the one inside; whether it was shown. */
  hide_port: { params: { session_id: isSessionId, port: isCount }, answer: { hidden: isFlag } },
  /** Sends one signal to everything the command started. */
  signal: { params: { exec_id: isExecId, signal: isText }, answer: nothing },
  /** TERM, grace, KILL. */
  stop: {
    params: { exec_id: isExecId, reason: isStopReason, grace_ms: optional(isCount) },
    answer: nothing,
  },
  list: { params: nothing, answer: { executions: listOf(objectOf(entry)) } },
  info: { params: { exec_id: isExecId }, answer: entry },
  /**
   * With a key (hex), `macs` has the `variableMac` of every carried variable by its name. `path`:
   * the session's own `PATH`, which a command exported.
   */
  state: {
    params: { session_id: isSessionId, key: optional(isText) },
    answer: {
      cwd: nullable(isText),
      names: listOf(isText),
      macs: recordOf(isText),
      path: nullable(isText),
    },
  },
  fork: { params: { session_id: isSessionId, to: isSessionId }, answer: nothing },
  /** Session-level variables and the directory to start in; values stay in the runner. */
  set: {
    params: { session_id: isSessionId, cwd: nullable(isText), env: recordOf(isText) },
    answer: nothing,
  },
  unset: { params: { session_id: isSessionId, names: listOf(isText) }, answer: nothing },
  /**
   * Makes the view's overlay show what lies in its layers now. `paths`: names in the workspace that
   * others may have changed, which are looked at then.
   */
  refresh: { params: { view: isText, paths: optional(listOf(isText)) }, answer: refreshed },
  watched: { params: { view: isText }, answer: { mount: nullable(objectOf(watchedMount)) } },
  close: { params: { session_id: isSessionId }, answer: nothing },
  shutdown: { params: nothing, answer: nothing },
} as const satisfies Readonly<Record<string, { readonly params: Shape; readonly answer: Shape }>>;

type Operations = typeof operations;
export type OperationName = keyof Operations;
export type OperationParams<Name extends OperationName> = Shaped<Operations[Name]['params']>;
export type OperationAnswer<Name extends OperationName> = Shaped<Operations[Name]['answer']>;

export type SealedPlan = Shaped<typeof seal>;
export type ExecutionEntry = Shaped<typeof entry>;
export type RefreshResult = Shaped<typeof refreshed>;
export type WatchedMount = Shaped<typeof watchedMount>;

export const isOperation = (value: unknown): value is OperationName =>
  isText(value) && Object.hasOwn(operations, value);

/** @throws TrlError `AUTH_FAILED` for an incomplete seal, else `INVALID_PARAMS` */
export function parseOperationParams<Name extends OperationName>(
  name: Name,
  request: object,
): OperationParams<Name> {
  if (areParams(name, request)) return request;
  const wrong = wrongField(operations[name].params, request) ?? '';
  const isSeal = name === 'launch' && Object.hasOwn(seal, wrong);
  const message = `Cannot serve the daemon: "${wrong}" of "${name}" is wrong`;
  throw new TrlError(isSeal ? 'AUTH_FAILED' : 'INVALID_PARAMS', message);
}

/** @throws TrlError `INTERNAL_ERROR` for an answer of another shape */
export function parseOperationAnswer<Name extends OperationName>(
  name: Name,
  answer: object,
): OperationAnswer<Name> {
  if (isAnswer(name, answer)) return answer;
  const wrong = wrongField(operations[name].answer, answer) ?? '';
  const message = `Cannot use the runner's answer to "${name}": "${wrong}" is wrong`;
  throw new TrlError('INTERNAL_ERROR', message);
}

const areParams = <Name extends OperationName>(
  name: Name,
  value: unknown,
): value is OperationParams<Name> => wrongField(operations[name].params, value) === null;

const isAnswer = <Name extends OperationName>(
  name: Name,
  value: unknown,
): value is OperationAnswer<Name> => wrongField(operations[name].answer, value) === null;
