/** What stands at a path, and whether it is what is expected there. */
import { lstatSync, readlinkSync, unlinkSync, type BigIntStats } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import { fileEntry, permissionsOf, statKey, entryTypeOf } from '../stat.ts';
import type { CommitItem } from './commit-item.ts';
import type { TreePathResolver } from './tree-path-resolver.ts';

/** `null`: nothing, or nothing that can be reached. */
export function statAt(steps: TreePathResolver, path: BytePath): BigIntStats | null {
  const at = steps.at(path);
  try {
    return at === null ? null : (lstatSync(at, { bigint: true, throwIfNoEntry: false }) ?? null);
  } catch {
    return null;
  }
}

/** What stands at a path; a file's hash is not known. */
export function entryAt(steps: TreePathResolver, path: BytePath): Entry | null {
  const stat = statAt(steps, path);
  if (stat === null) return null;
  const type = entryTypeOf(stat);
  if (type === 'file') return fileEntry(stat);
  if (type === 'symlink') return { type, target: targetAt(steps, path) ?? '' };
  return { type, mode: permissionsOf(stat) };
}

function targetAt(steps: TreePathResolver, path: BytePath): string | null {
  const at = steps.at(path);
  try {
    return at === null ? null : readlinkSync(at, { encoding: 'buffer' }).toString('latin1');
  } catch {
    return null;
  }
}

/**
 * The key of what we made, as it is now; as it was made where somebody else has written to it in
 * the meantime, so that it is never taken for ours.
 */
export function keyAfterWrite(at: Buffer, made: BigIntStats): StatKey {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  const isOurs =
    now?.ino === made.ino &&
    now.mode === made.mode &&
    now.size === made.size &&
    now.mtimeNs === made.mtimeNs;
  return statKey(isOurs ? now : made);
}

/** A temporary name may lead to something that somebody else made. */
export function removeOwnTemporary(at: Buffer, made: BigIntStats): void {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  if (now?.ino === made.ino) unlinkSync(at);
}

/** As Node takes it, which reads a number of seconds before 1970 as now. */
export function mtimeOfEntry({ mtimeMs }: Extract<Entry, { type: 'file' }>): number | Date {
  return mtimeMs < 0 ? new Date(mtimeMs) : mtimeMs / 1000;
}

/** Whether mode and times are all that differs. A file with other names is replaced nonetheless. */
export function isMetadataOnly({ base, after }: CommitItem, stat: BigIntStats): boolean {
  if (base?.type !== 'file' || after?.type !== 'file') return false;
  return stat.nlink === 1n && base.sha256 !== null && base.sha256 === after.sha256;
}
