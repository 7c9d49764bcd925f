/** Reaches the runtime, and in it what the arguments name. */
import { connect } from '../local/index.ts';
import type { Client, ExecId, Session, SessionId } from '../client/index.ts';
import type { EphemeralOptions } from '../local/index.ts';
import { TrlError } from '../errors.ts';
import type { Args } from './args.ts';

/** Sessions of one name that are named in an error. */
const namedMax = 5;

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
  return reach(args, { ephemeral: { workspaceRoots: [process.cwd()] } });
}

/**
 * The session that `word` names: its id, or its name when only one is called so.
 *
 * @throws TrlError SESSION_NOT_FOUND, or INVALID_PARAMS when several are called so.
 */
export async function findSession(client: Client, word: string): Promise<Session> {
  if (isSessionId(word)) {
    return client.session(word);
  }
  const sessions = await client.sessions();
  const found = sessions.filter(({ name, state }) => name === word && state !== 'terminated');
  const [only] = found;
  if (only === undefined) {
    throw new TrlError('SESSION_NOT_FOUND', `Cannot find the session: none is called "${word}"`);
  }
  if (found.length > 1) {
    const ids = found.slice(0, namedMax).map(({ session_id: id }) => id);
    const more = found.length > ids.length ? ', …' : '';
    const message =
      `Cannot tell the session: ${found.length} are called "${word}"; ` +
      `use an id: ${ids.join(', ')}${more}`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  return client.session(only.session_id);
}

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
