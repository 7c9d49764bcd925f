/** What a `stat` says, in the words of changes. */
import type { BigIntStats, Stats } from 'node:fs';
import type { Entry, StatKey } from '../change.ts';

/** The 12 permission bits. */
export const permissionBits = 0o7777;

export function statKey(stat: BigIntStats): StatKey {
  return `${stat.ino}:${stat.mode}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/**
 * Whether the current entry is the one of `key`. A directory's size and times change with its
 * entries: there the identity and the mode count.
 */
export function isSameStat(stat: BigIntStats | null, key: StatKey | null): boolean {
  if (stat === null || key === null) return stat === null && key === null;
  if (!stat.isDirectory()) return statKey(stat) === key;
  return key.startsWith(`${stat.ino}:${stat.mode}:`);
}

/** A whiteout: how an overlay's layer says that nothing is there. */
export function isWhiteout(stat: BigIntStats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0n;
}

/** The entry that a stat alone shows; a file's hash and a link's target are still unknown. */
export function entryTypeOf(stat: BigIntStats): Entry['type'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  return stat.isSocket() ? 'socket' : 'device';
}

export function permissionsOf(stat: BigIntStats): number {
  return Number(stat.mode) & permissionBits;
}

/** A file's entry; its hash is still unknown. */
export function fileEntry(stat: BigIntStats): Extract<Entry, { readonly type: 'file' }> {
  const mtimeMs = milliseconds(stat.mtimeNs);
  return {
    type: 'file',
    mode: permissionsOf(stat),
    size: Number(stat.size),
    mtimeMs,
    sha256: null,
  };
}

/** Clocks of older kernels stand still for up to 10 ms: two writes may have one time. */
const freshNs = 20_000_000n;

/** Whether a write after this look may not show in the time of the last one. */
export function isRecentWrite(ctimeNs: bigint): boolean {
  return ctimeNs > BigInt(Date.now()) * 1_000_000n - freshNs;
}

/**
 * A `StatKey` as numbers, to compare with a plain `Stats`, which costs half of what one with
 * bigints does. Times are exact to a microsecond.
 */
export interface QuickKey {
  readonly ino: number;
  readonly mode: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

export function quickKey(key: StatKey): QuickKey {
  const [ino = '', mode = '', size = '', mtime = '', ctime = ''] = key.split(':');
  return {
    ino: Number(ino),
    mode: Number(mode),
    size: Number(size),
    mtimeMs: milliseconds(BigInt(mtime)),
    ctimeMs: milliseconds(BigInt(ctime)),
  };
}

/** Whether `stat` is of what the key was taken of. */
export function matchesQuickKey(quick: QuickKey, stat: Stats): boolean {
  return (
    quick.ino === stat.ino &&
    quick.mode === stat.mode &&
    quick.size === stat.size &&
    Math.abs(quick.ctimeMs - stat.ctimeMs) < 0.001 &&
    Math.abs(quick.mtimeMs - stat.mtimeMs) < 0.001
  );
}

/** Nanoseconds as milliseconds with a fraction. */
function milliseconds(ns: bigint): number {
  return Number(ns / 1_000_000n) + Number(ns % 1_000_000n) / 1e6;
}
