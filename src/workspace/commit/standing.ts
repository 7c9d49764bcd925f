/** What stands at a path, and whether it is what is expected there. */
import { lstatSync, readlinkSync, unlinkSync, type BigIntStats } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { TreeSteps } from './steps.ts';

const permissions = 0o7777;

export function keyOf(stat: BigIntStats): StatKey {
  return `${stat.ino}:${stat.mode}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

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
  const mode = Number(stat.mode) & permissions;
  if (stat.isFile()) {
    const { size, mtimeNs } = stat;
    return { type: 'file', mode, size: Number(size), mtimeMs: Number(mtimeNs) / 1e6, sha256: null };
  }
  if (stat.isDirectory()) return { type: 'directory', mode };
  if (stat.isSymbolicLink()) return { type: 'symlink', target: targetAt(steps, path) ?? '' };
  if (stat.isFIFO()) return { type: 'fifo', mode };
  return { type: stat.isSocket() ? 'socket' : 'device', mode };
}

export function targetAt(steps: TreeSteps, path: BytePath): string | null {
  const at = steps.at(path);
  try {
    return at === null ? null : readlinkSync(at, { encoding: 'buffer' }).toString('latin1');
  } catch {
    return null;
  }
}

/**
 * Whether what stands is what `key` was taken of. A directory's size and times change with what is
 * put in it: there the identity and the mode count.
 */
export function isSame(stat: BigIntStats | null, key: StatKey | null): boolean {
  if (stat === null || key === null) return stat === null && key === null;
  if (!stat.isDirectory()) return keyOf(stat) === key;
  return key.startsWith(`${stat.ino}:${stat.mode}:`);
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
  return keyOf(isOurs ? now : made);
}

/** A temporary name may lead to something that somebody else made. */
export function removeOwn(at: Buffer, made: BigIntStats): void {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  if (now?.ino === made.ino) unlinkSync(at);
}

/** The code of a system's error; '' for any other. */
export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}

/** As Node takes it, which reads a number of seconds before 1970 as now. */
export function mtimeOf({ mtimeMs }: Extract<Entry, { type: 'file' }>): number | Date {
  return mtimeMs < 0 ? new Date(mtimeMs) : mtimeMs / 1000;
}
