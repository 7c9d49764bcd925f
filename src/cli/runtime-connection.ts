/** Reaches the runtime, and in it what the arguments name. */
import path from 'node:path';
import type { Client, ExecId, Session, SessionId } from '../client/index.ts';
import { policyProfiles } from '../command.ts';
import { unusedLegacyVariableNotices } from '../configuration/legacy-variables.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { connectLocal, connectPrivate, runningDaemon, startHere } from '../local/index.ts';
import type { EphemeralOptions } from '../local/index.ts';
import type { CliArguments } from './args.ts';
import { printMessage } from './print.ts';

/** Of what an error says that several fit. */
const namedMax = 5;
/** A letter, a dash, 32 hexadecimal digits. */
const idLength = 34;
/** The shortest start of one that is taken: fewer digits fit what was not meant. */
const startLength = 6;
/** Records that are looked through for the start of an id, newest first. */
const recordsMax = 1_000;

/**
 * Connects to the runtime of this user, which is started where it does not run yet; to that of
 * `--socket-path` where it is named. With `ephemeral` in place of a start: to one of the command's
 * own.
 */
export async function connectRuntime(
  args: CliArguments,
  options: { readonly ephemeral?: EphemeralOptions; readonly signal?: AbortSignal } = {},
): Promise<Client> {
  const socketPath = args.text('socket-path');
  if (socketPath !== undefined) return connectLocal({ ...options, socketPath, ephemeral: false });
  if (options.ephemeral !== undefined) return connectLocal(options);
  // Nobody else could use what a runtime of this command's own would be asked for.
  const start = startHere() === 'background' ? 'background' : 'never';
  if (start === 'background') nameOlder();
  return connectLocal({ ...options, start, project: null });
}

/** A runtime in which sessions may work in the project of a directory. */
export interface ProjectConnection extends AsyncDisposable {
  readonly client: Client;
  /** The project, by real path; the directory itself where the runtime has no place for it. */
  readonly root: string;
}

/**
 * As {@link connectRuntime}, to work in a directory: by `--private`, or for a policy of the
 * caller's own, in a runtime of the command's own.
 */
export async function connectProject(
  args: CliArguments,
  directory: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<ProjectConnection> {
  const client = await connectForProject(args, options);
  const dispose = (): Promise<void> => client[Symbol.asyncDispose]();
  try {
    const root = await trustProjectOf(client, directory);
    return { client, root, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The runtime of {@link connectProject}, which knows of no directory yet. */
export async function connectForProject(
  args: CliArguments,
  options: { readonly signal?: AbortSignal },
): Promise<Client> {
  const socketPath = args.text('socket-path');
  if (socketPath !== undefined) return connectLocal({ ...options, socketPath });
  const policy = args.text('policy');
  const roots = args.all('workspace-root');
  const own: EphemeralOptions = {
    ...(roots.length === 0 ? { projects: true } : { workspaceRoots: roots }),
    ...(policy === undefined ? {} : { policy }),
  };
  if (args.has('private')) return connectPrivate(own, options);
  const how = startHere();
  if (how === 'private') return connectLocal({ ...options, ephemeral: own });
  if (how === 'never') return connectLocal({ ...options, start: how });
  if (!isOfItsOwn(args)) {
    nameOlder();
    return connectLocal({ ...options, start: how, project: null });
  }
  // Nobody but the one who started it set what it obeys: what this command sets would not hold.
  if (runningDaemon()?.program !== undefined) return connectPrivate(own, options);
  return connectLocal({ ...options, ephemeral: own });
}

/** Warns a caller who starts the shared runtime of variables that have no effect there. */
function nameOlder(): void {
  if (runningDaemon() === null) unusedLegacyVariableNotices(process.env).forEach(printMessage);
}

/** Variables that say what a runtime obeys. */
const ruling = ['TRL_POLICY', 'TRL_CONFIG', 'TRL_ENV_MODE'];

/** Whether it sets what a runtime that all share is not set by. */
function isOfItsOwn(args: CliArguments): boolean {
  const policy = args.text('policy');
  const isNarrower = policyProfiles.some((name) => name === policy && name !== 'trusted');
  if (policy !== undefined && !isNarrower) return true;
  return args.has('workspace-root') || ruling.some((name) => (process.env[name] ?? '') !== '');
}

/** The project of a directory, in which sessions may work from now on. */
export async function trustProjectOf(client: Client, directory: string): Promise<string> {
  try {
    return (await client.call('workspace.trust', { path: directory })).path;
  } catch (error) {
    // A runtime with roots of its own refuses the session, and says what they are.
    if (isTrlError(error, 'WORKSPACE_ESCAPE')) return directory;
    throw error;
  }
}

/** As {@link connectRuntime}, for what was recorded of commands in this directory. */
export async function connectRecords(args: CliArguments): Promise<Client> {
  return (await connectProject(args, process.cwd())).client;
}

/**
 * The session that `word` names: its id, the start of one, or its name when only one fits.
 *
 * @throws TrlError SESSION_NOT_FOUND, or INVALID_PARAMS when several are called so.
 */
export async function findSessionByWord(client: Client, word: string): Promise<Session> {
  if (isSessionId(word) && word.length === idLength) {
    return client.session(word);
  }
  const isStart = isSessionId(word) && word.length >= startLength;
  const found = (await client.sessions()).filter(
    ({ session_id: id, name, state }) =>
      (isStart && id.startsWith(word)) || (name === word && state !== 'terminated'),
  );
  const [only] = found;
  if (only === undefined) {
    const how = isStart ? 'has an id that begins with' : 'is called';
    throw new TrlError('SESSION_NOT_FOUND', `Cannot find the session: none ${how} "${word}"`);
  }
  if (found.length > 1) {
    const ids = listed(found.map(({ session_id: id }) => id));
    const how = isStart ? 'have ids that begin with' : 'are called';
    const message = `Cannot tell the session: ${found.length} ${how} "${word}"; use an id: ${ids}`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  return client.session(only.session_id);
}

/**
 * The execution that `word` names: its id, or the start of one that is listed or recorded.
 *
 * @throws TrlError EXEC_NOT_FOUND when there is none, INVALID_PARAMS when several begin so.
 */
export async function findExecByWord(client: Client, word: string): Promise<ExecId> {
  const start = parseExecId(word);
  if (start.length === idLength) return start;
  if (start.length < startLength) {
    const wanted = `"${word}" is too short; give four digits of the id or more`;
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find the execution: ${wanted}`);
  }
  const [execs, { snapshots }] = await Promise.all([
    client.execs(),
    client.call('snapshot.list', { limit: recordsMax }),
  ]);
  const ids = new Set([...execs, ...snapshots].map(({ exec_id: id }) => id));
  const found = [...ids].filter((id) => id.startsWith(start));
  const [only] = found;
  if (only === undefined) {
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find the execution: no id begins with "${word}"`);
  }
  if (found.length === 1) return only;
  const several = `${found.length} ids begin with "${word}": ${listed(found)}`;
  throw new TrlError('INVALID_PARAMS', `Cannot tell the execution: ${several}`);
}

const listed = (ids: readonly string[]): string =>
  `${ids.slice(0, namedMax).join(', ')}${ids.length > namedMax ? ', …' : ''}`;

/** @throws TrlError EXEC_NOT_FOUND when no execution can be called so. */
export function parseExecId(word: string): ExecId {
  if (!isExecId(word)) {
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find the execution: "${word}" is no x-… id`);
  }
  return word;
}

function isSessionId(word: string): word is SessionId {
  return /^s-[0-9a-f]+$/.test(word);
}

function isExecId(word: string): word is ExecId {
  return /^x-[0-9a-f]+$/.test(word);
}

// Which command or session is meant where none is named: the newest one of this directory.

/**
 * The session named by `--session`, else the one that was last used of those whose workspace is
 * this directory or holds it.
 *
 * @throws TrlError SESSION_NOT_FOUND
 */
export async function findSessionForDirectory(
  client: Client,
  args: CliArguments,
): Promise<Session> {
  const word = args.text('session');
  if (word !== undefined) return findSessionByWord(client, word);
  const here = process.cwd();
  const [newest] = (await client.sessions())
    .filter(({ workspace, state }) => state !== 'terminated' && holds(workspace, here))
    .toSorted((a, b) => (a.last_activity < b.last_activity ? 1 : -1));
  if (newest !== undefined) return client.session(newest.session_id);
  const message = `Cannot tell the session: none works in "${here}"; name one with --session`;
  throw new TrlError('SESSION_NOT_FOUND', message);
}

const holds = (workspace: string | null, place: string): boolean =>
  workspace !== null && !path.relative(workspace, place).split('/').includes('..');

/** @throws TrlError EXEC_NOT_FOUND */
export async function findNewestExec(client: Client): Promise<ExecId> {
  const here = process.cwd();
  const { snapshots } = await client.call('snapshot.list', { path: here, limit: 1 });
  const [newest] = snapshots;
  if (newest !== undefined) return newest.exec_id;
  const message = `Cannot tell the command: none is recorded for "${here}"; name one by its id`;
  throw new TrlError('EXEC_NOT_FOUND', message);
}

/** Words as paths of the wire: absolute, as seen from here; absent where there are none. */
export function toWirePaths(words: readonly string[]): { readonly paths?: readonly string[] } {
  return words.length === 0 ? {} : { paths: words.map((word) => path.resolve(word)) };
}
