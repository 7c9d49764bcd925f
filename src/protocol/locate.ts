/** Where a client and a runtime of the same user find each other. */
import path from 'node:path';

export interface SocketPlace {
  readonly path: string;
  /**
   * `private`: the directory is the runtime's own choice and must be nobody else's. `any`: the
   * user named the path, and the socket's own mode (0600) protects it.
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
export function locateSocket({ flag, env, uid }: Surroundings): SocketPlace {
  const named = flag ?? env['TRL_SOCKET_PATH'] ?? '';
  if (named !== '') return { path: path.resolve(named), directory: 'any' };
  const runtimeDirectory = env['XDG_RUNTIME_DIR'] ?? '';
  const directory = path.isAbsolute(runtimeDirectory) ? runtimeDirectory : `/tmp/trl-${uid}`;
  return { path: path.join(directory, 'trl.sock'), directory: 'private' };
}
