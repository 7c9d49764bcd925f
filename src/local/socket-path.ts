/** Where a client finds the daemon. */
import { lstatSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { locateSocket, socketProblem } from '../protocol/socket-location.ts';

/**
 * The socket of this user's daemon: `TRL_SOCKET_PATH`, else `$XDG_RUNTIME_DIR/trl.sock`, else
 * `/tmp/trl-<uid>/trl.sock`. An empty variable counts as unset.
 */
export function defaultSocketPath(env: NodeJS.ProcessEnv = process.env): string {
  return locateSocket({ env, uid: uid() }).path;
}

/**
 * Refuses a socket that another user may have put there, who could answer in the daemon's place: in
 * `/tmp/trl-<uid>` when somebody else made that directory first, in `/tmp` and its like when it is
 * another user's or a link. Other directories are the caller's own choice.
 *
 * @throws TrlError AUTH_FAILED
 */
export function checkSocketDirectory(socketPath: string): void {
  const file = path.resolve(socketPath);
  const directory = path.dirname(file);
  const own = directory === `/tmp/trl-${uid()}`;
  const quiet = { throwIfNoEntry: false } as const;
  const found = own ? lstatSync(directory, quiet) : lookAt(directory);
  if (found === undefined) return;
  const isPrivate = found.isDirectory() && found.uid === uid() && (found.mode & 0o077) === 0;
  const problem = own
    ? isPrivate
      ? null
      : `"${directory}" must be a directory of this user with mode 0700`
    : socketProblem(found, lookAt(file, lstatSync), uid());
  if (problem === null) return;
  throw new TrlError('AUTH_FAILED', `Cannot trust the socket "${socketPath}": ${problem}`);
}

/** `undefined` also for what this user may not look at: nor may they connect to it. */
function lookAt(file: string, look = statSync): Stats | undefined {
  try {
    return look(file);
  } catch {
    return undefined;
  }
}

function uid(): number {
  return process.getuid?.() ?? 0;
}
