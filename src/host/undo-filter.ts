/**
 * What may not come back by an undo: what was free when the tree had it may be run or obeyed by
 * now, as a person or a command made something of it or leads to it.
 */
import type { BytePath } from '../change.ts';
import type { ContentStore } from '../content-store.ts';
import { limits } from '../limits.ts';
import type { HeldReason } from '../workspace/commit/commit-filter.ts';
import { buildFilterInput } from '../workspace/commit/filter-input.ts';
import { openCommitFilter } from '../workspace/commit/filter.ts';
import type { CommitItem } from '../workspace/commit/commit-item.ts';
import { nameProtectionOf } from '../workspace/commit/protected-paths.ts';
import { foldName, splitPath } from '../workspace/commit/fold-name.ts';
import { walkTree } from '../workspace/walk.ts';
import { findHeldChanges } from './filter-check.ts';
import { appliedStateOf, type ChangeRecord } from './change-record.ts';

interface UndoJudging {
  readonly root: string;
  readonly home: string;
  readonly isSystem: (target: BytePath) => boolean;
  readonly contents: Pick<ContentStore, 'read'>;
  /** What is taken back, the newest first. */
  readonly records: readonly ChangeRecord[];
}

/**
 * Judged as if a command wrote it now. Left out: what goes away, names that are always protected
 * (what was there under one had come by a person's word) and what a person let through.
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
      // What comes back was there before.
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
  const told = new Set(judged.map(({ path }) => path));
  return new Map([...all].filter(([path]) => told.has(path)));
}

/** Paths whose content of before stood there when a person let the change of it through. */
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
