/** What stands at a path, and whether it is what is expected there. */
import { lstatSync, readlinkSync, unlinkSync, type BigIntStats } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import { fileEntry, modeOf, statKey, typeOf } from '../stat.ts';
import type { CommitItem } from './item.ts';
import type { TreeSteps } from './steps.ts';

/** `null`: nothing, or nothing that can be reached. */
export function statAt(steps: TreeSteps, path: BytePath): BigIntStats | null {
  const at = steps.at(path);
  try {
    return at === null ? null : (lstatSync(at, { bigint: true, throwIfNoEntry: false }) ?? null);
  } catch {
    return null;
  }
}

/** What stands at a path; a file's hash is not known. */
export function entryOf(steps: TreeSteps, path: BytePath): Entry | null {
  const stat = statAt(steps, path);
  if (stat === null) return null;
  const type = typeOf(stat);
  if (type === 'file') return fileEntry(stat);
  if (type === 'symlink') return { type, target: targetAt(steps, path) ?? '' };
  return { type, mode: modeOf(stat) };
}

function targetAt(steps: TreeSteps, path: BytePath): string | null {
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
export function keyAfter(at: Buffer, made: BigIntStats): StatKey {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  const isOurs =
    now?.ino === made.ino &&
    now.mode === made.mode &&
    now.size === made.size &&
    now.mtimeNs === made.mtimeNs;
  return statKey(isOurs ? now : made);
}

/** A temporary name may lead to something that somebody else made. */
export function removeOwn(at: Buffer, made: BigIntStats): void {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  if (now?.ino === made.ino) unlinkSync(at);
}

/** As Node takes it, which reads a number of seconds before 1970 as now. */
export function mtimeOf({ mtimeMs }: Extract<Entry, { type: 'file' }>): number | Date {
  return mtimeMs < 0 ? new Date(mtimeMs) : mtimeMs / 1000;
}

/** Whether mode and times are all that differs. A file with other names is replaced nonetheless. */
export function isMetaOnly({ base, after }: CommitItem, stat: BigIntStats): boolean {
  if (base?.type !== 'file' || after?.type !== 'file') return false;
  return stat.nlink === 1n && base.sha256 !== null && base.sha256 === after.sha256;
}
