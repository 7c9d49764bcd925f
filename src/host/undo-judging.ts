/**
 * What may not come back by an undo: what was free when the tree had it may be run or obeyed by
 * now, as a person or a command made something of it or leads to it.
 */
import type { BytePath } from '../change.ts';
import type { Contents } from '../contents.ts';
import { limits } from '../limits.ts';
import type { HeldReason } from '../workspace/commit/held.ts';
import { filterInput } from '../workspace/commit/input.ts';
import { openFilter } from '../workspace/commit/filter.ts';
import type { CommitItem } from '../workspace/commit/item.ts';
import { protectedBy } from '../workspace/commit/protected.ts';
import { fold, partsOf } from '../workspace/commit/spelling.ts';
import { walk } from '../workspace/walk.ts';
import { judgeAll } from './judging.ts';
import { reachedBy, type ChangeRecord } from './record.ts';

interface UndoJudging {
  readonly root: string;
  readonly home: string;
  readonly isSystem: (target: BytePath) => boolean;
  readonly contents: Pick<Contents, 'read'>;
  /** What is taken back, the newest first. */
  readonly records: readonly ChangeRecord[];
}

/**
 * Judged as if a command wrote it now. Left out: what goes away, names that are always protected
 * (what was there under one had come by a person's word) and what a person let through.
 */
export async function heldFromUndo(
  { root, home, isSystem, contents, records }: UndoJudging,
  items: readonly CommitItem[],
): Promise<ReadonlyMap<BytePath, HeldReason>> {
  const seen = seenByPerson(records);
  const isJudged = ({ path, after }: CommitItem): boolean =>
    after !== null &&
    !seen.has(path) &&
    protectedBy(partsOf(path).map(fold), after.type === 'directory' ? 'directory' : 'link') ===
      null;
  const judged = items.filter(isJudged);
  if (judged.length === 0) return new Map();
  const { gitDirectories, links } = await walk(root, {
    matches: null,
    entriesMax: limits.workspaceEntries.default,
  });
  const filter = openFilter(
    filterInput({
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
  const all = await judgeAll({ filter, root, contents }, unjudged);
  const told = new Set(judged.map(({ path }) => path));
  return new Map([...all].filter(([path]) => told.has(path)));
}

/** Paths whose content of before stood there when a person let the change of it through. */
function seenByPerson(records: readonly ChangeRecord[]): ReadonlySet<BytePath> {
  const seen = new Set<BytePath>();
  for (const { changes } of records) {
    for (const change of changes) {
      if (reachedBy(change) === null) continue;
      if (change.wasHeld === true) seen.add(change.path);
      else seen.delete(change.path);
    }
  }
  return seen;
}
