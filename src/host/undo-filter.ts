/**
 * Changes that undo must not restore: content that was harmless when the tree had it may be run or
 * obeyed by now, because a person or a command refers to it.
 */
import { createHash } from 'node:crypto';
import type { BytePath, Entry } from '../change.ts';
import type { ContentStore } from '../content-store.ts';
import { limits } from '../limits.ts';
import { baseNameOf, foldName, splitPath } from '../workspace/byte-path.ts';
import { BulkDirectoryWalk } from '../workspace/commit/bulk-directory-walk.ts';
import { buildFilterInput, type HeldReason } from '../workspace/commit/commit-filter.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';
import { openCommitFilter } from '../workspace/commit/filter.ts';
import { bulkDirectoryOf } from '../workspace/commit/move-directory.ts';
import { contentProtectionOf, nameProtectionOf } from '../workspace/commit/protected-paths.ts';
import { TreePathResolver } from '../workspace/commit/tree-path-resolver.ts';
import { walkTree } from '../workspace/walk.ts';
import { appliedStateOf, type ChangeRecord } from './change-record.ts';
import { findHeldChanges } from './tree-writer.ts';

interface UndoJudging {
  readonly root: string;
  readonly home: string;
  readonly isSystem: (target: BytePath) => boolean;
  readonly contents: Pick<ContentStore, 'read'>;
  /** The records that are undone, the newest first. */
  readonly records: readonly ChangeRecord[];
}

/**
 * Judged as if a command wrote it now. Exceptions: deletions, names that are always protected (a
 * person approved what was there) and changes that a person approved.
 */
export async function findHeldUndoItems(
  { root, home, isSystem, contents, records }: UndoJudging,
  items: readonly CommitItem[],
): Promise<ReadonlyMap<BytePath, HeldReason>> {
  const seen = seenByPerson(records);
  const isJudged = ({ path, after }: CommitItem): boolean =>
    after !== null &&
    !seen.has(path) &&
    nameProtectionOf(
      splitPath(path).map(foldName),
      after.type === 'directory' ? 'directory' : 'link',
    ) === null;
  const judged = items.filter(isJudged);
  if (judged.length === 0) return new Map();
  const { gitDirectories, links } = await walkTree(root, {
    matches: null,
    entriesMax: limits.workspaceEntries.default,
  });
  const filter = openCommitFilter(
    buildFilterInput({
      root,
      home,
      write: { allow: [], deny: [] },
      gitDirectories,
      links,
      isReserved: () => false,
      isSystem,
      isProjectedGit: false,
      // The restored content was there before.
      tags: { isUsed: false, has: () => false, isOf: () => false },
      changesMax: Number.POSITIVE_INFINITY,
      bytesMax: Number.POSITIVE_INFINITY,
    }),
  );
  const unjudged = items.map(({ path, base, after, source }) => ({
    path,
    before: base,
    after,
    source,
  }));
  const all = await findHeldChanges({ filter, root, contents }, unjudged);
  const reported = new Set(judged.map(({ path }) => path));
  return new Map([...all].filter(([path]) => reported.has(path)));
}

/** Paths whose earlier content was there when a person approved the change of it. */
function seenByPerson(records: readonly ChangeRecord[]): ReadonlySet<BytePath> {
  const seen = new Set<BytePath>();
  for (const { changes } of records) {
    for (const change of changes) {
      if (appliedStateOf(change) === null) continue;
      if (change.wasHeld === true) seen.add(change.path);
      else seen.delete(change.path);
    }
  }
  return seen;
}

// What is judged of directories that come back as one: each entry in them, as that of any undo.

const textBytesMax = 256 * 1024;

type Judge = (items: readonly CommitItem[]) => Promise<ReadonlyMap<BytePath, HeldReason>>;

/** Checks items and their entries; a held entry holds the whole directory. */
export async function findHeldInBulkDirectories(
  items: readonly CommitItem[],
  judge: Judge,
): Promise<ReadonlyMap<BytePath, HeldReason>> {
  const all = [...items];
  const tops = new Map<BytePath, BytePath>();
  for (const item of items) {
    if (bulkDirectoryOf(item.after)?.kept === undefined) continue;
    for (const inside of await entriesOf(item)) {
      all.push(inside);
      tops.set(inside.path, item.path);
    }
  }
  const held = await judge(all);
  return new Map([...held].map(([path, reason]) => [tops.get(path) ?? path, reason]));
}

async function entriesOf({ path, source }: CommitItem): Promise<CommitItem[]> {
  if (source === null) return [];
  const steps = new TreePathResolver(source.tree);
  try {
    using walk = new BulkDirectoryWalk(source.tree, source.path, null);
    const [, ...rest] = (await walk.run()) ?? [];
    return rest.map(({ path: at, after }) => ({
      path: `${path}${at.slice(source.path.length)}`,
      base: null,
      baseKey: null,
      after: readOf(steps, at, after),
      source: { tree: source.tree, path: at },
      sourceKey: null,
    }));
  } catch {
    // It is not kept any more, and does not come back.
    return [];
  } finally {
    steps.close();
  }
}

/** With its hash, if the filter reads its content. */
function readOf(steps: TreePathResolver, path: BytePath, entry: Entry | null): Entry | null {
  if (entry?.type !== 'file' || contentProtectionOf(baseNameOf(path)) === null) return entry;
  const text = steps.read(path, textBytesMax);
  if (text === null) return entry;
  return { ...entry, sha256: createHash('sha256').update(text, 'latin1').digest('hex') };
}
