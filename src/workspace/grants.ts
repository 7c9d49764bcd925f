/** Which trees beyond the workspace a session sees, by real path, and which it may write. */
import { lstatSync, readlinkSync } from 'node:fs';
import { glob, statfs } from 'node:fs/promises';
import path from 'node:path';
import { dirname, resolve } from 'node:path';
import type { FileGrants } from '../command.ts';
import { TrlError } from '../errors.ts';
import {
  isBelow,
  lstatOrNull,
  realPathOrNull,
  realPathPrefix,
  statOrUnreadable,
} from './inspect-path.ts';
import { parsePathRules, type RuleBase } from './path-rules.ts';

export interface GrantedTree {
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
 * The workspace first, then what is granted and exists. For reading, the longer path wins, deny at
 * equal paths and wherever a wildcard matches; for writing, deny wins. The workspace itself stays.
 *
 * Grants inside a tree that says as much add nothing and are dropped, unless a denied directory
 * lies between. A link that a command put into a writable tree is not followed on the host.
 *
 * @param reserved what is the runtime's own
 * @throws TrlError INVALID_PARAMS for a grant that would undo the sandbox.
 */
export async function resolveGrants(
  files: FileGrants,
  base: RuleBase,
  reserved: readonly string[],
): Promise<GrantedTree[]> {
  const granted: GrantedTree[] = base.root === null ? [] : treeAt(base.root, true);
  const deny = { read: denials(files.read.deny, base), write: denials(files.write.deny, base) };
  const wanted = [
    ...(await expand(files.write.allow, base)).map((name) => ({ name, asked: true })),
    ...(await expand(files.read.allow, base)).map((name) => ({ name, asked: false })),
  ].toSorted((a, b) => Number(b.asked) - Number(a.asked) || a.name.length - b.name.length);
  for (const { name, asked } of wanted) {
    const real = realPathOrNull(name);
    if (real === null) continue;
    const writable = asked && ![name, real].some((one) => deny.write.covers(one));
    const addsNothing = (tree: GrantedTree): boolean => {
      if (!isBelow(name, tree.path) && !isBelow(real, tree.path)) return false;
      // In a writable tree, a command may have put a link in the way.
      if (isBelow(name, tree.path) && real !== name && tree.writable) return true;
      return !deny.read.reopens(real, tree.path) && (tree.writable || !writable);
    };
    if (deny.read.names(name) || deny.read.names(real) || granted.some(addsNothing)) continue;
    refuseUnsafe(real, { writable: asked, home: base.home, reserved });
    granted.push(...treeAt(real, writable));
  }
  const isMatched = ({ path: real }: GrantedTree): boolean =>
    granted.some((tree) => deny.read.matchesBetween(real, tree.path));
  return granted.filter((tree) => tree.path === base.root || !isMatched(tree));
}

interface Denials {
  /** Whether this very path is denied. */
  readonly names: (name: string) => boolean;
  /** Whether it, or a directory that holds it, is denied. */
  readonly covers: (name: string) => boolean;
  /** Whether a denied directory below `tree` holds `real`: showing `real` says something then. */
  readonly reopens: (real: string, tree: string) => boolean;
  /** Whether a wildcard matches `real`, or a directory below `tree` that holds it. */
  readonly matchesBetween: (real: string, tree: string) => boolean;
}

function denials(entries: readonly string[], base: RuleBase): Denials {
  const rules = parsePathRules(entries, base);
  const paths = new Set(rules.paths.flatMap((one) => [one, realPathPrefix(one)]));
  const names = (name: string): boolean => paths.has(name) || rules.matches(name);
  return {
    names,
    covers: (name) => upTo(name, '/').some(names) || paths.has('/'),
    reopens: (real, tree) => upTo(path.dirname(real), tree).some((one) => paths.has(one)),
    matchesBetween: (real, tree) => upTo(real, tree).some(rules.matches),
  };
}

/** `name` and its parent directories below `tree`; none if it is outside. */
function upTo(name: string, tree: string): string[] {
  return name === tree || !isBelow(name, tree) ? [] : [name, ...upTo(path.dirname(name), tree)];
}

function refuseUnsafe(
  real: string,
  by: { readonly writable: boolean; readonly home: string; readonly reserved: readonly string[] },
): void {
  const { writable, home, reserved } = by;
  const whole = isBelow(home, real) || neverWritable.some((tree) => overlaps(real, tree));
  const isOwn =
    isBelow(real, '/proc') || reserved.some((one) => isBelow(real, realPathPrefix(one)));
  if (neverReadable.includes(real) || isOwn || (writable && whole)) {
    const action = writable ? 'writing' : 'reading';
    const reason = 'it would undo the sandbox; grant a directory of its own';
    throw new TrlError('INVALID_PARAMS', `Cannot grant ${action} "${real}": ${reason}`);
  }
}

function overlaps(one: string, other: string): boolean {
  return isBelow(one, other) || isBelow(other, one);
}

/** The tree that holds `name`, the deepest where they nest. */
export function grantedTreeOf(
  granted: readonly GrantedTree[],
  name: string,
): GrantedTree | undefined {
  const holding = granted.filter((tree) => isBelow(name, tree.path));
  return holding.toSorted((a, b) => b.path.length - a.path.length)[0];
}

function treeAt(real: string, writable: boolean): GrantedTree[] {
  const stat = lstatOrNull(real);
  return stat === null ? [] : [{ path: real, writable, uid: stat.uid, gid: stat.gid }];
}

async function expand(entries: readonly string[], base: RuleBase): Promise<string[]> {
  const names: string[] = [];
  for (const entry of entries) {
    const rules = parsePathRules([entry], base);
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

/** Whether every writable tree is on a file system known to take idmapped mounts. */
export async function supportsIdmap(granted: readonly GrantedTree[]): Promise<boolean> {
  const writable = granted.filter((tree) => tree.writable);
  const types = await Promise.all(writable.map(async (tree) => (await statfs(tree.path)).type));
  // Types come as signed 32 bits from some kernels.
  return types.every((type) => idmapTypes.has(type >>> 0));
}

// What the runtime obeys and keeps must not come to be, or be led elsewhere, by a grant.

/** What no grant opens. Absolute paths, which need not be there. */
export interface ReservedPaths {
  /** Not even for reading. */
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
}

/**
 * A mount covers what is there, but neither a link on the way to it nor a name that is still to be:
 * a command would make that, and the runtime obey it, at once or at its next start. A workspace has
 * nothing of it at all, also where it was brought there after the runtime had started.
 *
 * @param root of the workspace
 * @throws TrlError INVALID_PARAMS for a tree that would let one be made or replaced
 */
export function refuseReservedGrants(
  granted: readonly GrantedTree[],
  reserved: ReservedPaths,
  root: string | null,
): void {
  for (const name of [...reserved.hidden, ...reserved.readOnly]) {
    for (const at of linkTrailOf(name)) {
      const tree = grantedTreeOf(granted, at);
      if (tree?.writable !== true) continue;
      if (tree.path === root) throw refusal(tree, `the runtime obeys "${at}" in it`);
      const stat = statOrUnreadable(at);
      if (stat === null) throw refusal(tree, `the runtime would obey "${at}", which is not there`);
      if (stat === 'unreadable' || !stat.isSymbolicLink()) continue;
      throw refusal(tree, `the runtime obeys what the link "${at}" leads to`);
    }
  }
}

const refusal = ({ path }: GrantedTree, why: string): TrlError =>
  new TrlError('INVALID_PARAMS', `Cannot let commands write "${path}": ${why}; grant less`);

// The links by which a path is reached: a writer of any of them decides which file is read.

/** As long as a chain of links may be (Linux: 40). */
const linksMax = 40;

/** Where an absolute path leads, and every link on the way: each of them decides what is read. */
export function linkTrailOf(path: string): string[] {
  const links: string[] = [];
  let at = path;
  // Each step resolves the parent, so that the next link is checked in its real directory.
  for (let count = 0; count < linksMax; count += 1) {
    const link = firstLink(at);
    if (link === null) return [...links, at];
    links.push(link.at);
    at = resolve(dirname(link.at), link.target, link.rest);
  }
  return [...links, realPathPrefix(path)];
}

function firstLink(path: string): { at: string; target: string; rest: string } | null {
  const parts = path.split('/').filter(Boolean);
  for (const index of parts.keys()) {
    const at = `/${parts.slice(0, index + 1).join('/')}`;
    const target = targetOf(at);
    if (target === undefined) return null;
    if (target !== null) return { at, target, rest: parts.slice(index + 1).join('/') };
  }
  return null;
}

/** `null`: no link; `undefined`: nothing, or nothing that can be looked at. */
function targetOf(path: string): string | null | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return undefined;
  }
}
