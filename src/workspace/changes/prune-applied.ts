/** Takes out of an upper layer what the real tree says by itself now. */
import { randomBytes } from 'node:crypto';
import { type BigIntStats, closeSync, linkSync, mkdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BytePath, Entry } from '../../change.ts';
import { isTrlError } from '../../errors.ts';
import { isSameInode } from '../beneath.ts';
import { baseNameOf, bytePathOf, parentPathOf } from '../byte-path.ts';
import { isWhiteout, permissionsOf, statKey } from '../stat.ts';
import type { WorkPacer } from '../time-slices.ts';
import type { LayerAttributes } from './layer-attributes.ts';
import { holdsForAncestor, type Ledger, type LedgerEntry, sortInTreeOrder } from './ledger.ts';
import type { TreeCursor } from './tree-cursor.ts';

interface PruneContext {
  readonly upper: string;
  readonly attributes: LayerAttributes;
  readonly ledger: Ledger;
  /** Paths whose upper version is not needed; cleared ones leave the set. */
  readonly settled: Set<BytePath>;
  /** Directories that something is mounted in: the kernel holds on to them. */
  readonly pinned: ReadonlySet<BytePath>;
  readonly upperCursor: TreeCursor;
  readonly realCursor: TreeCursor;
  readonly pace: WorkPacer;
}

/**
 * Children before their directories. An opaque directory hides what the real tree has below: what
 * is in it is cleared only once it hides nothing that is still to be hidden, and then it is made
 * opaque no longer, so that what stays in it and what the real tree has stand beside each other.
 *
 * @returns settled paths that are not as they were known, and stayed
 */
export async function pruneApplied(context: PruneContext): Promise<BytePath[]> {
  const { ledger, settled, pace } = context;
  const paths = new Set<BytePath>();
  for (const path of settled) {
    // A directory may have become empty by what went before it.
    for (let up = path; up !== '' && !paths.has(up); up = parentPathOf(up)) paths.add(up);
  }
  const ordered = await sortInTreeOrder(paths, pace);
  const blocked = await openOpaque(context, ordered);
  const isBlocked = holdsForAncestor((path) => blocked.has(path));
  const changed: BytePath[] = [];
  const removed: BytePath[] = [];
  const unlinked = new Set<bigint>();
  for (const path of ordered.toReversed()) {
    if (pace.isDue()) await pace.rest();
    const known = ledger.get(path);
    if (known === undefined || known.key === null || isBlocked(path)) continue;
    if (known.entry?.type === 'directory') {
      if (!blocked.has(path) && (await removeDirectory(context, path, known))) removed.push(path);
    } else if (settled.has(path)) {
      const isRemoved = removeEntry(context, path, known, unlinked);
      (isRemoved ? removed : changed).push(path);
    }
  }
  const isShown = removed.some((path) => ledger.get(path)?.entry?.type === 'file');
  ledger.forget(removed);
  if (isShown) await partMoved(context);
  followNames(context, unlinked);
  for (const path of removed) settled.delete(path);
  for (const path of settled) if (ledger.get(path) === undefined) settled.delete(path);
  return changed;
}

/** Makes opaque directories transparent where they may be; answers those that may not. */
async function openOpaque(context: PruneContext, paths: BytePath[]): Promise<Set<BytePath>> {
  const { ledger, settled } = context;
  const opaque = paths.filter((path) => {
    const known = ledger.get(path);
    return (
      known?.entry?.type === 'directory' && known.hides && realStat(context, path)?.isDirectory()
    );
  });
  const blocked = new Set<BytePath>();
  if (opaque.length === 0) return blocked;
  /** Directories above something that must stay hidden. */
  const hiding = new Set<BytePath>();
  for (const [path, known] of ledger.entries()) {
    if (known.key !== null || settled.has(path)) continue;
    for (let up = parentPathOf(path); !hiding.has(up); up = parentPathOf(up)) {
      hiding.add(up);
      if (up === '') break;
    }
  }
  const open: BytePath[] = [];
  for (const path of opaque) {
    if (hiding.has(path)) blocked.add(path);
    else open.push(path);
  }
  for (const path of await failedToOpen(context, open)) blocked.add(path);
  const opened = open.filter((path) => !blocked.has(path));
  for (const path of opened) {
    const known = ledger.get(path);
    if (known !== undefined) ledger.set(path, { ...known, hides: false });
  }
  ledger.uncover(opened);
  return blocked;
}

async function failedToOpen(context: PruneContext, paths: BytePath[]): Promise<BytePath[]> {
  const { upper, attributes, upperCursor } = context;
  const prefix = bytePathOf(upper);
  const clear = async (some: BytePath[]): Promise<boolean> => {
    try {
      await attributes.clearOpaque(some.map((path) => `${prefix}/${path}`));
      return true;
    } catch (error) {
      if (isTrlError(error, 'INTERNAL_ERROR')) return false;
      throw error;
    }
  };
  if (paths.length === 0 || (await clear(paths))) return [];
  // Modes keep this process out of some.
  const failed: BytePath[] = [];
  for (const path of paths) {
    const isThere = upperCursor.goto(parentPathOf(path)) === 'here';
    const isClear = isThere && (await upperCursor.readable(baseNameOf(path), () => clear([path])));
    if (!isClear) failed.push(path);
  }
  return failed;
}

/**
 * A file that was moved has the inode number of the one below that it was copied from. Once that
 * one is seen again they would be one file by their numbers, and the kernel refuses one of them.
 */
async function partMoved({ upper, attributes, ledger, upperCursor }: PruneContext): Promise<void> {
  const added = [...ledger.entries()].filter(
    ([, { key, entry, base }]) => key !== null && entry?.type === 'file' && base === null,
  );
  if (added.length === 0) return;
  const prefix = bytePathOf(upper);
  const asks = added.map(([path]) => ({ path: `${prefix}/${path}`, question: 'copied' as const }));
  const copied = await attributes.read(asks);
  const moved = added.filter((_, at) => copied[at] === true);
  if (moved.length === 0) return;
  const before = new Map(moved.map(([path]) => [path, statIn(upperCursor, path)]));
  try {
    await attributes.clearOrigin(moved.map(([path]) => `${prefix}/${path}`));
  } catch (error) {
    // Of a file that may not be written; the others were done.
    if (!isTrlError(error, 'INTERNAL_ERROR')) throw error;
  }
  for (const [path, known] of moved) {
    const was = before.get(path);
    const now = statIn(upperCursor, path);
    const isSame = was !== null && was !== undefined && statKey(was) === known.key && now !== null;
    if (!isSame || withoutCtime(statKey(now)) !== withoutCtime(statKey(was))) continue;
    ledger.set(path, { ...known, key: statKey(now) });
  }
}

function statIn(cursor: TreeCursor, path: BytePath): BigIntStats | null {
  return cursor.goto(parentPathOf(path)) === 'here' ? cursor.stat(baseNameOf(path)) : null;
}

/** `false`: it is not what was known. */
function removeEntry(
  context: PruneContext,
  path: BytePath,
  known: LedgerEntry,
  unlinked: Set<bigint>,
): boolean {
  const { upperCursor } = context;
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return true;
  const stat = upperCursor.stat(baseNameOf(path));
  if (stat === null) return true;
  const isOurs = known.entry === null ? isWhiteout(stat) : isAsCaptured(stat, known, unlinked);
  if (!isOurs) return false;
  if (stat.nlink > 1n) unlinked.add(stat.ino);
  unlinkSync(upperCursor.at(baseNameOf(path)));
  return true;
}

/** Taking away one name of a file changes the ctime that is seen by its others. */
function isAsCaptured(
  stat: BigIntStats,
  known: LedgerEntry,
  unlinked: ReadonlySet<bigint>,
): boolean {
  const key = statKey(stat);
  if (key === known.key) return true;
  return unlinked.has(stat.ino) && withoutCtime(key) === withoutCtime(known.key ?? '');
}

const withoutCtime = (key: string): string => key.slice(0, key.lastIndexOf(':'));

/** Files that lost a name have their known state: a later call must find it so. */
function followNames({ ledger, upperCursor }: PruneContext, unlinked: ReadonlySet<bigint>): void {
  if (unlinked.size === 0) return;
  const files = new Set([...unlinked].map(String));
  for (const [path, known] of Array.from(ledger.entries())) {
    const { key } = known;
    if (key === null || !files.has(key.slice(0, key.indexOf(':')))) continue;
    if (upperCursor.goto(parentPathOf(path)) !== 'here') continue;
    const stat = upperCursor.stat(baseNameOf(path));
    if (stat === null || !isAsCaptured(stat, known, unlinked)) continue;
    ledger.set(path, { ...known, key: statKey(stat) });
  }
}

async function removeDirectory(
  context: PruneContext,
  path: BytePath,
  known: LedgerEntry,
): Promise<boolean> {
  const { upperCursor, settled, pinned } = context;
  if (pinned.has(path)) return false;
  if (!settled.has(path)) {
    const real = realStat(context, path);
    const isPlain = real?.isDirectory() === true && !known.hides;
    if (!isPlain || known.entry?.type !== 'directory') return false;
    if (permissionsOf(real) !== known.entry.mode) return false;
  }
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return true;
  const stat = upperCursor.stat(baseNameOf(path));
  if (stat === null) return true;
  if (!stat.isDirectory()) return false;
  try {
    // A busy disk may take seconds for one, and nothing else could run meanwhile.
    await rmdir(upperCursor.at(baseNameOf(path)));
    return true;
  } catch {
    // Something is still in it.
    return false;
  }
}

/** Takes out directories that say nothing, and that the session should not see any more. */
export function pruneStaleDirectories(
  context: Pick<PruneContext, 'ledger' | 'settled' | 'upperCursor' | 'realCursor'> & {
    readonly isMasked: (path: BytePath) => boolean;
  },
): void {
  const { ledger, settled, upperCursor } = context;
  const isMasked = (path: BytePath): boolean =>
    path !== '' && (context.isMasked(path) || isMasked(parentPathOf(path)));
  // Deeper ones first.
  for (const path of [...settled].toSorted().toReversed()) {
    if (ledger.get(path)?.entry?.type !== 'directory') continue;
    if (!isMasked(path) && realStat(context, path)?.isDirectory() === true) continue;
    if (upperCursor.goto(parentPathOf(path)) !== 'here') continue;
    try {
      rmdirSync(upperCursor.at(baseNameOf(path)));
    } catch {
      // A command put something in it meanwhile, or removed it: the next capture reports that.
      continue;
    }
    ledger.forget([path]);
    settled.delete(path);
  }
}

function realStat(context: Pick<PruneContext, 'realCursor'>, path: BytePath): BigIntStats | null {
  const { realCursor } = context;
  if (realCursor.goto(parentPathOf(path)) !== 'here') return null;
  try {
    return realCursor.stat(baseNameOf(path));
  } catch {
    return null;
  }
}

// While commands run, applied entries stay in the upper layer: a command may have them open. If
// another writer then changes one in the real tree, that version must show through.

export interface YieldContext {
  /** A directory beside the layer, on the same file system. */
  readonly aside: string;
  readonly ledger: Ledger;
  readonly upperCursor: TreeCursor;
}

/** A file without a name that commands may still have open, and write to. */
export interface DisplacedFile {
  readonly path: BytePath;
  /** Open for reading; the receiver closes it. */
  readonly fd: number;
  /** Another name of it outside of the layer, for a later process. */
  readonly at: string;
  /** As known last. */
  readonly entry: Extract<Entry, { readonly type: 'file' }>;
}

/**
 * Gives a file of the layer another name beside it. That name must be recorded before {@link
 * removeDisplacedFile}, because processes that have the file open continue to write there.
 *
 * @returns `null` if a command changed it since its capture: the next capture reports that
 */
export function displaceFile(
  { ledger, upperCursor, aside }: YieldContext,
  path: BytePath,
): DisplacedFile | null {
  const known = ledger.get(path);
  const name = baseNameOf(path);
  if (known?.key == null || known.entry?.type !== 'file') return null;
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return null;
  const stat = upperCursor.stat(name);
  if (stat === null || statKey(stat) !== known.key) return null;
  const file = upperCursor.openFile(name);
  if (typeof file === 'string') return null;
  if (!isSameInode(file.fd, stat)) {
    closeSync(file.fd);
    return null;
  }
  const at = join(aside, randomBytes(8).toString('hex'));
  try {
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    linkSync(upperCursor.at(name), at);
  } catch {
    closeSync(file.fd);
    return null;
  }
  return { path, fd: file.fd, at, entry: known.entry };
}

/** Takes a file that was set aside out of the layer, if it is still the one that is there. */
export function removeDisplacedFile(
  { ledger, upperCursor }: YieldContext,
  { path, fd }: Pick<DisplacedFile, 'path' | 'fd'>,
): void {
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return;
  const name = baseNameOf(path);
  const stat = upperCursor.stat(name);
  if (stat === null || !isSameInode(fd, stat)) return;
  unlinkSync(upperCursor.at(name));
  ledger.forget([path]);
}
