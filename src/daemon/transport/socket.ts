/**
 * Binds the path of the runtime's socket. Only the file mode protects it: everyone who may write
 * to the socket file may connect, so it is never open to others, not even during its creation.
 */
import { lstatSync, mkdirSync, statSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import type { Server } from 'node:net';
import path from 'node:path';
import { TrlError } from '../../errors.ts';
import { legacySocketPath, socketProblem } from '../../protocol/socket-location.ts';
import type { SocketLocation } from '../../protocol/socket-location.ts';

/** `sun_path` of unix(7), without its NUL. */
const pathBytesMax = 107;
const socketMode = 0o600;

/**
 * Binds `server` to the path, with mode 0600 before anyone can connect. Creates a missing
 * directory with mode 0700, and replaces the socket of a runtime that no longer runs.
 *
 * @throws TrlError `INVALID_PARAMS` if the path is too long or not a socket, or its private
 *   directory is not private; `BACKEND_UNAVAILABLE` if another runtime answers on it or it cannot
 *   be bound
 */
export async function bindSocket(server: Server, place: SocketLocation): Promise<void> {
  const bytes = Buffer.byteLength(place.path);
  if (bytes > pathBytesMax) {
    throw refusal(place, `the path is ${bytes} bytes, a socket's may be ${pathBytesMax}`);
  }
  prepareDirectory(place);
  await replaceStale(place);
  // The mask sets the mode at creation: a later chmod would leave a moment with a wider mode.
  const mask = process.umask(0o777 & ~socketMode);
  const bound = new Promise<void>((resolve, reject) => {
    server.once('listening', resolve).once('error', reject);
  });
  try {
    // Binds before it returns, so no other file is made under this mask.
    server.listen({ path: place.path });
  } finally {
    process.umask(mask);
  }
  try {
    await bound;
  } catch (cause) {
    throw unavailable(place, String(cause), cause);
  }
}

function prepareDirectory(place: SocketLocation): void {
  const directory = path.dirname(place.path);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw unavailable(place, String(cause), cause);
  }
  if (place.directory === 'any') return;
  // Does not follow links: a link in a shared directory could belong to another user.
  const found = lstatSync(directory);
  const quoted = JSON.stringify(directory);
  if (!found.isDirectory()) throw refusal(place, `${quoted} is not a directory`);
  const uid = ownUid();
  if (found.uid !== uid) {
    throw refusal(place, `${quoted} belongs to uid ${found.uid}, not to uid ${uid}`);
  }
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8);
    throw refusal(place, `${quoted} is open to others (mode ${mode}, wanted 700)`);
  }
}

async function replaceStale(place: SocketLocation): Promise<void> {
  const found = lstatSync(place.path, { throwIfNoEntry: false });
  const problem = socketProblem(lookAt(path.dirname(place.path)), found, ownUid());
  if (problem !== null) throw refusal(place, problem);
  if (found === undefined) return;
  const target = statSync(place.path, { throwIfNoEntry: false });
  if (!found.isSocket() && target?.isSocket() !== true) {
    throw refusal(place, 'something else than a socket is there');
  }
  const state = await probe(place.path);
  if (state === 'answers') throw unavailable(place, `another runtime answers on ${place.path}`);
  // Removes only the file that was probed: a new runtime may have replaced it meanwhile.
  const now = lstatSync(place.path, { throwIfNoEntry: false });
  if (now !== undefined && now.ino === found.ino) {
    try {
      unlinkSync(place.path);
    } catch (cause) {
      throw unavailable(place, String(cause), cause);
    }
  }
}

/** Follows links, because people may name the directory by a link. */
const lookAt = (directory: string) => statSync(directory);

const ownUid = (): number => process.getuid?.() ?? 0;

/**
 * The notice for a runtime whose socket is not where clients of the first protocol look although
 * something is there; `null` if nothing is there.
 */
export function olderSocketNotice(socketPath: string): string | null {
  if (socketPath === legacySocketPath) return null;
  const found = lstatSync(legacySocketPath, { throwIfNoEntry: false });
  if (found === undefined) return null;
  const problem = socketProblem(lookAt(path.dirname(legacySocketPath)), found, ownUid());
  const why = problem === null ? 'is not of this runtime' : `cannot be trusted: ${problem}`;
  const instead = `set TRL_SOCKET_PATH=${socketPath} for clients that look there`;
  const other = problem === null ? `, or serve there: --socket-path ${legacySocketPath}` : '';
  return `${legacySocketPath} ${why}; ${instead}${other}`;
}

/** A socket that refuses connections or is gone has no runtime; any other result may mean one. */
async function probe(socketPath: string): Promise<'answers' | 'dead'> {
  const socket = connect(socketPath);
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve('answers'));
      socket.once('error', (error: NodeJS.ErrnoException) => {
        resolve(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? 'dead' : 'answers');
      });
    });
  } finally {
    socket.destroy();
  }
}

function refusal(place: SocketLocation, reason: string): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot listen on "${place.path}": ${reason}`);
}

function unavailable(place: SocketLocation, reason: string, cause?: unknown): TrlError {
  const message = `Cannot listen on "${place.path}": ${reason}`;
  return new TrlError('BACKEND_UNAVAILABLE', message, { cause });
}
