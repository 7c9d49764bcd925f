/** Where a client and a runtime of the same user find each other. */
import path from 'node:path';

export interface SocketLocation {
  readonly path: string;
  /**
   * `private`: the runtime chose the directory, which must belong to no other user. `any`: the user
   * named the path, and the socket's own mode (0600) protects it.
   */
  readonly directory: 'private' | 'any';
}

interface Surroundings {
  /** The value of `--socket-path`. */
  readonly flag?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
}

/** `--socket-path`, else `TRL_SOCKET_PATH`, else `$XDG_RUNTIME_DIR`, else `/tmp/trl-<uid>`. */
export function locateSocket({ flag, env, uid }: Surroundings): SocketLocation {
  const named = flag ?? env['TRL_SOCKET_PATH'] ?? '';
  if (named !== '') return { path: path.resolve(named), directory: 'any' };
  const runtimeDirectory = env['XDG_RUNTIME_DIR'] ?? '';
  const directory = path.isAbsolute(runtimeDirectory) ? runtimeDirectory : `/tmp/trl-${uid}`;
  return { path: path.join(directory, 'trl.sock'), directory: 'private' };
}

/** The part of an `lstat` result that is checked. */
interface Looked {
  readonly uid: number;
  readonly mode: number;
  isSymbolicLink(): boolean;
}

/** Where clients of the first protocol connect, in a directory that all users can write. */
export const legacySocketPath = '/tmp/trl.sock';

/**
 * Why a socket cannot be trusted, one clause; `null`: it can. In a directory that all users can
 * write, such as `/tmp`, another user may have put it, or a link, there first and answer as the
 * runtime. Any other directory is the user's own choice.
 */
export function socketProblem(
  directory: Pick<Looked, 'mode'>,
  file: Looked | undefined,
  uid: number,
): string | null {
  if ((directory.mode & 0o002) === 0 || file === undefined) return null;
  if (file.isSymbolicLink()) return 'it is a link in a directory that everybody may write';
  return file.uid === uid ? null : `it belongs to uid ${file.uid}, not to uid ${uid}`;
}
