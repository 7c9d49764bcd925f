/** Which command or session is meant where none is named: the newest one of this directory. */
import path from 'node:path';
import type { Client, ExecId, Session } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import { findSessionByWord } from './runtime-connection.ts';

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
