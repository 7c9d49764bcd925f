/** Asks the commit filter about changes, from where the real tree stands. */
import { isDeepStrictEqual } from 'node:util';
import type { BytePath, Change } from '../change.ts';
import type { Contents } from '../contents.ts';
import { parentOf } from '../workspace/byte-path.ts';
import type { Captured } from '../workspace/changes/captured.ts';
import type { CommitFilter, HeldReason, Look } from '../workspace/commit/held.ts';
import type { Source } from '../workspace/commit/item.ts';
import { TreeLook } from '../workspace/commit/look.ts';
import type { Pending, Waiting } from './pending.ts';
import type { RecordedChange } from './record.ts';

/** A change that is to be judged, and where its content stands. */
export interface Unjudged extends Pick<Change, 'path' | 'before' | 'after'> {
  readonly source: Source | null;
}

export interface JudgingParts {
  readonly filter: CommitFilter;
  readonly root: string;
  readonly contents: Pick<Contents, 'read'>;
  /** Default: every content of before is. */
  readonly isKept?: Look['isKept'];
}

/** What may not pass by itself, and why. They are judged as coming all at once. */
export async function judgeAll(
  { filter, root, contents, isKept }: JudgingParts,
  changes: readonly Unjudged[],
): Promise<Map<BytePath, HeldReason>> {
  const all = new Map(changes.map((change) => [change.path, change]));
  const written = (path: BytePath) => {
    const change = all.get(path);
    if (change === undefined) return null;
    const { source, after } = change;
    return { source, sha256: after?.type === 'file' ? after.sha256 : null };
  };
  using look = new TreeLook({
    root,
    written,
    contents,
    ...(isKept === undefined ? {} : { isKept }),
  });
  return await filter.judge(changes, look);
}

/** What waits, and what was captured, as it is judged. */
export const waitingAsJudged = ({ change: { path, before, after }, source }: Waiting): Unjudged => {
  return { path, before, after, source };
};
export function asJudged(changes: readonly Captured[], pending: Pending): Unjudged[] {
  return changes.map(({ path, before, after, sourceAt: source }) => {
    return { path, before: startOf(pending, { path, before }), after, source };
  });
}

/**
 * Deletions that were held and may pass now, as what holds them goes whole: a look heard of
 * `sub/.git` before `sub` was gone.
 */
export async function freedBy(
  changes: readonly Captured[],
  pending: Pending,
  judge: (changes: readonly Unjudged[]) => Promise<ReadonlyMap<BytePath, string>>,
): Promise<Waiting[]> {
  const gone = new Set(
    changes.flatMap(({ path, before, after }) => {
      return after === null && before?.type === 'directory' ? [path] : [];
    }),
  );
  if (gone.size === 0) return [];
  const isGone = (path: BytePath): boolean =>
    path !== '' && (gone.has(parentOf(path)) || isGone(parentOf(path)));
  const known = new Set(changes.map(({ path }) => path));
  const waiting = pending
    .all('held')
    .filter(({ change: { path, after } }) => after === null && !known.has(path) && isGone(path));
  if (waiting.length === 0) return [];
  const held = await judge([...asJudged(changes, pending), ...waiting.map(waitingAsJudged)]);
  return waiting.filter(({ change }) => !held.has(change.path));
}

/**
 * What a change is judged by: not what the session saw before, which may be something that was
 * held, but what the real tree has.
 */
export function startOf(pending: Pending, { path, before }: Pick<Change, 'path' | 'before'>) {
  const waiting = pending.find(path);
  // Of a conflict theirs stands, and the session sees it.
  const isSeen = waiting === null || waiting.change.state === 'conflict';
  return isSeen ? before : waiting.change.before;
}

/** The directory above a path that is not in the real tree as it waits itself; `null`: none. */
export function waitingAbove(pending: Pending, path: BytePath): Change | null {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const change = pending.find(path.slice(0, end))?.change;
    if (change === undefined || change.state === 'conflict') continue;
    if (change.after?.type === 'directory' && change.before?.type !== 'directory') return change;
  }
  return null;
}

/** Notes where the real tree stood, when the session saw something there that waited. */
export function fromReal(pending: Pending, change: RecordedChange): RecordedChange {
  const { state, after, key } = change;
  const before = startOf(pending, change);
  if (state !== 'applied' || isDeepStrictEqual(before, change.before)) return change;
  return { ...change, reached: { before, after, key } };
}
