/**
 * The socket that a service manager created and passes on at the first connection (the protocol
 * of sd_listen_fds(3): `LISTEN_PID`, `LISTEN_FDS`, descriptor 3).
 */
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { TrlError } from '../../errors.ts';

const firstFd = 3;

export interface InheritedSocket {
  readonly fd: number;
  /** The path that clients connect to. */
  readonly path: string;
}

/**
 * The socket that this process received, or `null`. Deletes the variables, so that programs which
 * the daemon starts do not use them.
 *
 * @throws TrlError `INVALID_PARAMS` unless it is one Unix socket of this user that no other user
 *   can connect to: the daemon obeys everyone who may write to the socket file
 */
export function takeInheritedSocket(env: NodeJS.ProcessEnv): InheritedSocket | null {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = env;
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID']) {
    delete env[name];
  }
  // The variables are for the parent process.
  if (pid !== String(process.pid) || count === undefined) return null;
  if (count !== '1') throw refusal(`${count} were given, wanted one`);
  const path = pathOf(firstFd);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() !== true) throw refusal(`nothing is at ${JSON.stringify(path)}`);
  const uid = process.getuid?.();
  if (found.uid !== uid) throw refusal(`it belongs to uid ${found.uid}, not to uid ${uid}`);
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    throw refusal(`it is open to others (mode ${mode}, wanted 600); set SocketMode=0600`);
  }
  return { fd: firstFd, path };
}

/** A row of the kernel's table: `address: count protocol flags type state inode path`. */
const row = /^\S+\s+\S+\s+\S+\s+\S+\s+(\S+)\s+\S+\s+(\d+)(?: (.*))?$/;
const streamType = '0001';

function pathOf(fd: number): string {
  let inode: string | undefined;
  let table = '';
  try {
    inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    table = readFileSync('/proc/net/unix', 'utf8');
  } catch (cause) {
    throw refusal('the kernel does not report its type', cause);
  }
  for (const line of table.split('\n')) {
    const [, type, number, path] = row.exec(line) ?? [];
    if (inode === undefined || number !== inode) continue;
    if (type !== streamType) throw refusal('it is not a stream socket');
    // An abstract name (it begins with @) has no file mode, so nothing keeps other users out.
    if (path?.startsWith('/') !== true) throw refusal('it has no path');
    return path;
  }
  throw refusal('it is not a Unix socket');
}

function refusal(reason: string, cause?: unknown): TrlError {
  const message = `Cannot take over the socket on descriptor ${firstFd}: ${reason}`;
  return new TrlError('INVALID_PARAMS', message, { cause });
}
