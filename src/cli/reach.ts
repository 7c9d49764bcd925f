/** Reaches the runtime, and in it what the arguments name. */
import { connect } from '../local/index.ts';
import type { Client, ExecId, Session, SessionId } from '../client/index.ts';
import type { EphemeralOptions } from '../local/index.ts';
import { TrlError } from '../errors.ts';
import type { Args } from './args.ts';
import { projectOf } from './project.ts';

/** Of what an error says that several fit. */
const namedMax = 5;
/** A letter, a dash, 32 hexadecimal digits. */
const idLength = 34;
/** The shortest start of one that is taken: fewer digits fit what was not meant. */
const startLength = 6;
/** Records that are looked through for the start of an id, newest first. */
const recordsMax = 1_000;

/**
 * Connects to the running runtime, or where `ephemeral` is given and no socket is named, to one of
 * the command's own.
 */
export async function reach(
  args: Args,
  options: { readonly ephemeral?: EphemeralOptions; readonly signal?: AbortSignal } = {},
): Promise<Client> {
  const socketPath = args.text('socket-path');
  const { ephemeral, signal } = options;
  return connect({
    ...(socketPath === undefined ? {} : { socketPath }),
    ...(signal === undefined ? {} : { signal }),
    ephemeral: socketPath === undefined && ephemeral !== undefined ? ephemeral : false,
  });
}

/**
 * As {@link reach}, for what was recorded of commands: where no runtime listens, one of the
 * command's own finds the records of all that ended.
 */
export function reachRecords(args: Args): Promise<Client> {
  return reach(args, { ephemeral: { workspaceRoots: [projectOf(process.cwd())] } });
}

/**
 * The session that `word` names: its id, the start of one, or its name when only one fits.
 *
 * @throws TrlError SESSION_NOT_FOUND, or INVALID_PARAMS when several are called so.
 */
export async function findSession(client: Client, word: string): Promise<Session> {
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
export async function findExec(client: Client, word: string): Promise<ExecId> {
  const start = toExecId(word);
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
export function toExecId(word: string): ExecId {
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
