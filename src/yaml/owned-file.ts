/** Gathers facts: the bytes of files that decide. Refuses files that others may change. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { fieldOf } from '../json-shape.ts';
import { FileError } from './file-error.ts';
import { yamlFileBytesMax, type FileErrorTarget } from './tree.ts';

/** Who must own a file that decides: `user` is this process's user or root. */
export type RequiredFileOwner = 'anyone' | 'user' | 'root';

/**
 * The bytes of a regular file of at most 1 MiB; `null` where there is none.
 *
 * @param how.follow whether a symbolic link is read through
 * @throws FileError of `Failure` when it cannot be read, is too large, or may be changed by others
 */
export function readOwnedFile(
  named: FileErrorTarget,
  { owner, follow = true }: { readonly owner: RequiredFileOwner; readonly follow?: boolean },
): Buffer | null {
  const descriptor = open(named, follow);
  if (descriptor === null) return null;
  try {
    const stats = fstatSync(descriptor);
    const reason = whyNot(stats, owner);
    if (reason !== null) throw failure(named, reason);
    const bytes = Buffer.alloc(yamlFileBytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } catch (cause) {
    throw cause instanceof FileError ? cause : failure(named, 'it cannot be read', cause);
  } finally {
    closeSync(descriptor);
  }
}

function open(named: FileErrorTarget, follow: boolean): number | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(named.file, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  } catch (cause) {
    const code = fieldOf(cause, 'code');
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    const reason =
      code === 'ELOOP' ? 'it is a symbolic link' : `it cannot be opened (${String(code)})`;
    throw failure(named, reason, cause);
  }
}

function whyNot(stats: Stats, owner: RequiredFileOwner): string | null {
  if (!stats.isFile()) return 'it is not a regular file';
  if (stats.size > yamlFileBytesMax) {
    return `it is ${stats.size} bytes long; at most ${yamlFileBytesMax} are read`;
  }
  if (owner === 'anyone') return null;
  if ((stats.mode & 0o022) !== 0) return 'others may write it: chmod go-w it first';
  const owners = owner === 'root' ? [0] : [0, process.getuid?.() ?? 0];
  return owners.includes(stats.uid) ? null : `it belongs to uid ${stats.uid}`;
}

function failure({ file, Failure }: FileErrorTarget, message: string, cause?: unknown): FileError {
  return new Failure(file, [{ line: 1, column: 1, message }], { cause });
}
