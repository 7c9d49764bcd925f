/** Paths as the system has them: bytes, one character each. */
import { openSync, readSync } from 'node:fs';
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

/** The parent directory of `path`; `''` at the root. */
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

/** Whether a path is one of `paths`, or below one; `null`: every path is. */
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

/** Without paths below another of them, in byte order. */
export function topmostPaths(paths: readonly BytePath[]): BytePath[] {
  const all = new Set(paths);
  return [...all].filter((path) => !isBelow(path, all)).toSorted();
}

export function isSamePathList(one: readonly BytePath[], other: readonly BytePath[]): boolean {
  return one.length === other.length && one.every((path, at) => path === other[at]);
}

// Entries by the descriptor of the directory that holds them: no link can lead elsewhere.

/** Linux: a descriptor that names without opening; Node has no constant for it. */
export const O_PATH = 0o10000000;

/** The way to an entry of an open directory, as long as that is open. */
export function entryPathIn(fd: number, name: string): Buffer {
  return pathBytes(`/proc/self/fd/${fd}/${name}`);
}

export function openOrNull(name: string | Buffer, flags: number): number | null {
  try {
    return openSync(name, flags);
  } catch {
    return null;
  }
}

/** What an open file has from its start, no more than `size` bytes. */
export function readUpTo(fd: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let filled = 0;
  for (let count = 1; count > 0 && filled < size; filled += count) {
    count = readSync(fd, bytes, filled, size - filled, filled);
  }
  return bytes.subarray(0, filled);
}

/** The code of a system's error; '' for any other. */
export function errnoCodeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}

// How file systems and tools that are less exact than Linux take a name: without regard to case, to
// characters that show nothing (HFS+), to dots and spaces at the end, to streams (NTFS). Git guards
// `.git` against the same spellings.

const plainName = /^[!-.0-9;-@[\]-~]+$/;
const ignorable = /\p{Default_Ignorable_Code_Point}/gu;

/** Short names that NTFS may generate. */
const shortNames: ReadonlyMap<string, string> = new Map([
  ['git~1', '.git'],
  ['gitmod~1', '.gitmodules'],
]);

/**
 * The name that a file system without case looks up: the same for all spellings. `name` is bytes as
 * latin1.
 */
export function foldName(name: string): string {
  const isPlain = plainName.test(name) && !name.endsWith('.');
  return isPlain ? (shortNames.get(name) ?? name) : folded(name);
}

function folded(name: string): string {
  const text = pathText(name).normalize('NFKC');
  const shown = text.replaceAll(ignorable, '').toLowerCase();
  const base = (shown.split(':')[0] ?? '').replace(/[. ]+$/, '');
  return shortNames.get(base) ?? base;
}

/** The parts of a path. A backslash parts, too: it does where NTFS or SMB is below. */
export function splitPath(path: string): string[] {
  return path.includes('\\') ? path.split(/[/\\]/) : path.split('/');
}
