/** Where a client finds the daemon. */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { locateSocket } from '../protocol/locate.ts';

/**
 * The socket of this user's daemon: `TRL_SOCKET_PATH`, else `$XDG_RUNTIME_DIR/trl.sock`, else
 * `/tmp/trl-<uid>/trl.sock`. An empty variable counts as unset.
 */
export function defaultSocketPath(env: NodeJS.ProcessEnv = process.env): string {
  return locateSocket({ env, uid: uid() }).path;
}

/**
 * Refuses a socket in `/tmp/trl-<uid>` when somebody else made that directory first: whoever owns
 * it could answer in the daemon's place. Other directories are the caller's own choice.
 *
 * @throws TrlError AUTH_FAILED when the directory is another user's or open to others.
 */
export function checkSocketDirectory(socketPath: string): void {
  const directory = path.dirname(path.resolve(socketPath));
  if (directory !== `/tmp/trl-${uid()}`) {
    return;
  }
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) {
    return;
  }
  if (!found.isDirectory() || found.uid !== uid() || (found.mode & 0o077) !== 0) {
    throw new TrlError(
      'AUTH_FAILED',
      `Cannot trust the socket "${socketPath}": "${directory}" must be a directory of this user ` +
        `with mode 0700`,
    );
  }
}

function uid(): number {
  return process.getuid?.() ?? 0;
}
