/** Paths as the system has them: bytes, one character each. */
import type { BytePath } from '../change.ts';

/** The bytes of a byte path. */
export function pathBytes(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1');
}

/** The byte path of a string of the host, which is UTF-8. */
export function bytePathOf(text: string): BytePath {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** The path as text of the host, which is UTF-8; other bytes show as U+FFFD. */
export function pathText(path: BytePath): string {
  return pathBytes(path).toString('utf8');
}

export function joinPath(directory: BytePath, name: string): BytePath {
  return directory === '' ? name : `${directory}/${name}`;
}

/** What holds `path`; `''` for what lies at the root. */
export function parentPathOf(path: BytePath): BytePath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** The last part of `path`. */
export function baseNameOf(path: BytePath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Whether `paths` holds `path` or what holds it. */
export function isAtOrBelow(path: BytePath, paths: ReadonlySet<BytePath>): boolean {
  return paths.has(path) || isBelow(path, paths);
}

/** Tells whether a path is one of `paths`, or lies below one; `null`: all are. */
export function pathSelector(paths: readonly BytePath[] | null): (path: BytePath) => boolean {
  const wanted = new Set(paths);
  if (paths === null || wanted.has('')) return () => true;
  return (path) => isAtOrBelow(path, wanted);
}

/** Whether `paths` holds what holds `path`. */
function isBelow(path: BytePath, paths: ReadonlySet<BytePath>): boolean {
  for (let at = path; at !== '';) {
    at = parentPathOf(at);
    if (paths.has(at)) return true;
  }
  return false;
}

/** Without what lies below another of them, in byte order. */
export function topmostPaths(paths: readonly BytePath[]): BytePath[] {
  const all = new Set(paths);
  return [...all].filter((path) => !isBelow(path, all)).toSorted();
}

export function isSamePathList(one: readonly BytePath[], other: readonly BytePath[]): boolean {
  return one.length === other.length && one.every((path, at) => path === other[at]);
}
