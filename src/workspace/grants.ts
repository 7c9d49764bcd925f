/** Which trees beyond the workspace a session sees, by real path, and which it may write. */
import { glob, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { FileGrants } from '../command.ts';
import { TrlError } from '../errors.ts';
import { isBelow, lstatOrNull, realOrNull } from './inspect.ts';
import { readRules, type Base } from './rules.ts';

export interface Granted {
  readonly path: string;
  readonly writable: boolean;
  /** Owner on the host. */
  readonly uid: number;
  readonly gid: number;
}

const globMatchesMax = 64;
const neverReadable = ['/', '/proc', '/dev'];
/** What the next command's programs are loaded from must stay as it is. */
const neverWritable = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/etc',
  '/boot',
  '/nix',
];

/**
 * The workspace first, then what is granted and exists. Deny beats allow: a grant at or below a
 * denied path is dropped; the workspace itself stays. Grants inside a writable tree add nothing
 * and are dropped too: a link that a command put there must not be followed on the host.
 *
 * @throws TrlError INVALID_PARAMS for a grant that would undo the sandbox.
 */
export async function resolveGrants(files: FileGrants, base: Base): Promise<Granted[]> {
  const granted: Granted[] = base.root === null ? [] : treeAt(base.root, true);
  const denied = readRules(files.read.deny, base).paths;
  const wanted = [
    ...(await expand(files.write.allow, base)).map((name) => ({ name, writable: true })),
    ...(await expand(files.read.allow, base)).map((name) => ({ name, writable: false })),
  ].toSorted((a, b) => Number(b.writable) - Number(a.writable) || a.name.length - b.name.length);
  for (const { name, writable } of wanted) {
    const real = realOrNull(name);
    if (real === null) continue;
    const inside = (tree: Granted): boolean =>
      (tree.writable || !writable) && (isBelow(name, tree.path) || isBelow(real, tree.path));
    const isDenied = denied.some((deny) => isBelow(name, deny) || isBelow(real, deny));
    if (isDenied || granted.some(inside)) continue;
    refuseUnsafe(real, writable, base.home);
    granted.push(...treeAt(real, writable));
  }
  return granted;
}

function refuseUnsafe(real: string, writable: boolean, home: string): void {
  const whole = isBelow(home, real) || neverWritable.some((tree) => overlaps(real, tree));
  if (neverReadable.includes(real) || isBelow(real, '/proc') || (writable && whole)) {
    const action = writable ? 'writing' : 'reading';
    const reason = 'it would undo the sandbox; grant a directory of its own';
    throw new TrlError('INVALID_PARAMS', `Cannot grant ${action} "${real}": ${reason}`);
  }
}

function overlaps(one: string, other: string): boolean {
  return isBelow(one, other) || isBelow(other, one);
}

function treeAt(real: string, writable: boolean): Granted[] {
  const stat = lstatOrNull(real);
  return stat === null ? [] : [{ path: real, writable, uid: stat.uid, gid: stat.gid }];
}

async function expand(entries: readonly string[], base: Base): Promise<string[]> {
  const names: string[] = [];
  for (const entry of entries) {
    const rules = readRules([entry], base);
    names.push(...rules.paths);
    if (!rules.hasGlobs || !path.isAbsolute(entry)) continue;
    for await (const match of glob(entry)) {
      if (names.push(match) >= globMatchesMax) break;
    }
  }
  return names;
}

/** `statfs` types of file systems that take idmapped mounts (Linux 6.3; some earlier). */
const idmapTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58_46_53_42, // xfs
  0x91_23_68_3e, // btrfs
  0xf2_f5_20_10, // f2fs
  0x01_02_19_94, // tmpfs
  0x2f_c1_2f_c1, // zfs
  0xca_45_1a_4e, // bcachefs
  0x4d44, // vfat
  0x20_11_ba_b0, // exfat
]);

/** Whether every writable tree lies on a file system known to take idmapped mounts. */
export async function takesIdmap(granted: readonly Granted[]): Promise<boolean> {
  const writable = granted.filter((tree) => tree.writable);
  const types = await Promise.all(writable.map(async (tree) => (await statfs(tree.path)).type));
  // Types come as signed 32 bits from some kernels.
  return types.every((type) => idmapTypes.has(type >>> 0));
}
