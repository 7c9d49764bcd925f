/** Converts changes between their types (`change.ts`) and the wire (`protocol/workspace.ts`). */
import { isUtf8 } from 'node:buffer';
import path from 'node:path';
import type {
  BytePath,
  Change,
  ChangeKind,
  ChangeState,
  Entry,
  SnapshotPair,
  WorkspaceMode,
} from '../../change.ts';
import { changeKinds, changeStates } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { ChangeView, EntryView, ReceiptChanges } from '../../api/changes.ts';
import type { PathsParams } from '../../api/workspace.ts';
import { pathSelector } from '../../workspace/byte-path.ts';
import { octalMode } from '../diffs/git-text.ts';

/** A path as text, and its bytes if they are not valid UTF-8. */
export function pathView(name: BytePath): { path: string; path_base64?: string } {
  const bytes = Buffer.from(name, 'latin1');
  const text = bytes.toString('utf8');
  return isUtf8(bytes) ? { path: text } : { path: text, path_base64: bytes.toString('base64') };
}

export function entryView(entry: Entry): EntryView {
  switch (entry.type) {
    case 'file':
      return {
        type: 'file',
        mode: octalMode(entry.mode),
        size: entry.size,
        sha256: entry.sha256,
      };
    case 'symlink': {
      const target = pathView(entry.target);
      return {
        type: 'symlink',
        mode: null,
        target: target.path,
        ...(target.path_base64 === undefined ? {} : { target_base64: target.path_base64 }),
      };
    }
    case 'directory': {
      const { type, mode, whole } = entry;
      if (whole === undefined) return { type, mode: octalMode(mode) };
      const { manifest: _, ...counts } = whole;
      return { type, mode: octalMode(mode), entries: counts };
    }
    case 'fifo':
    case 'socket':
    case 'device':
      return { type: entry.type, mode: octalMode(entry.mode) };
  }
}

export function changeView(change: Change): ChangeView {
  const { before, after } = change;
  return {
    ...pathView(change.path),
    kind: change.kind,
    before: before === null ? null : entryView(before),
    after: after === null ? null : entryView(after),
    marks: change.marks,
    state: change.state,
    reason: change.reason,
    concurrent_with: change.concurrentWith,
    kept_as: change.keptAs === undefined ? null : pathView(change.keptAs).path,
  };
}

/** The first changes, as many as one list can contain. */
export const listedChanges = (changes: readonly Change[]): ChangeView[] =>
  changes.slice(0, limits.changesListed.max).map(changeView);

/**
 * Order of states in a receipt: pending and refused changes come before applied ones, because a
 * receipt has room for only some.
 */
const urgency: Readonly<Record<ChangeState, number>> = {
  conflict: 0,
  held: 1,
  staged: 2,
  applied: 3,
  discarded: 4,
};

export function createReceiptChanges(
  snapshot: SnapshotPair,
  mode: WorkspaceMode,
  changes: readonly Change[],
): ReceiptChanges {
  const { before, after, method } = snapshot;
  const sorted = changes.toSorted((a, b) => urgency[a.state] - urgency[b.state]);
  const shown = sorted.slice(0, limits.receiptChanges.max);
  return {
    snapshot: { before, after, method },
    changes: shown.map(changeView),
    changes_omitted: changes.length - shown.length,
    workspace_mode: mode,
  };
}

/** The same for changes in the log; `omitted`: how many it does not name. */
export function receiptChangeViews(
  views: readonly ChangeView[],
  omitted: number,
): Pick<ReceiptChanges, 'changes' | 'changes_omitted'> {
  const sorted = views.toSorted((a, b) => urgency[a.state] - urgency[b.state]);
  const changes = sorted.slice(0, limits.receiptChanges.max);
  return { changes, changes_omitted: views.length - changes.length + omitted };
}

const taggedReason = 'redaction-tag';

/** Hints in a receipt about changes that were not simply applied. */
export function changeHints(changes: readonly Change[], session: string): string[] {
  const count = (state: ChangeState): number =>
    changes.filter((change) => change.state === state).length;
  const waiting = changes.filter(waitsForGit).length;
  const asides = new Set(changes.flatMap(({ reason }) => divergedRef(reason) ?? []));
  const beside = changes.filter(({ reason }) => divergedRef(reason) !== null).length;
  const [held, conflicts] = [count('held'), count('conflict') - beside];
  const staged = count('staged') - waiting;
  const tagged = changes.filter(({ state, reason }) => state === 'held' && reason === taggedReason);
  const restored = changes.filter(({ marks }) => marks.includes('values-restored'));
  return [
    ...(held === 0
      ? []
      : [
          `${paths(held)} held back from the real tree until a person lets it: ` +
            `trl workspace apply --held --session ${session}`,
        ]),
    ...(tagged.length === 0
      ? []
      : [
          `${paths(tagged.length)} held as a tag ([HIDDEN:…]) replaces a hidden value: ` +
            'put the file back as it was, and edit it without printing the value and writing it',
        ]),
    ...(restored.length === 0
      ? []
      : [`${paths(restored.length)} written with the hidden values in place of their tags`]),
    ...(conflicts === 0
      ? []
      : [
          `${paths(conflicts)} changed by somebody else meanwhile: theirs stands, ` +
            `what the command wrote is kept (trl snapshot show)`,
        ]),
    ...[...asides].map(
      (ref) =>
        `a commit could not be merged with an external commit: it is ${ref}; ` +
        `to merge: git merge ${ref}`,
    ),
    ...(waiting === 0
      ? []
      : [`${paths(waiting)} of git's waiting until git is done; the runtime then applies them`]),
    ...(staged === 0
      ? []
      : [`${paths(staged)} staged; publish: trl workspace apply --session ${session}`]),
  ];
}

const diverged = 'diverged:';

/** The ref of a commit that diverged; `null`: none. */
const divergedRef = (reason: string | null): string | null =>
  reason?.startsWith(diverged) === true ? reason.slice(diverged.length) : null;

const waitsForGit = ({ state, reason }: Change): boolean =>
  state === 'staged' && /^git-(?:busy|objects|refused)$/.test(reason ?? '');

/** The hint for directories that were not read completely. */
export const incompleteHint =
  'not all changes are listed: there are too many, too deep, or some that cannot be read';

const paths = (count: number): string => (count === 1 ? '1 path is' : `${count} paths are`);

export const kindCounts = (changes: readonly Pick<Change, 'kind'>[]): Record<ChangeKind, number> =>
  counted(
    changeKinds,
    changes.map(({ kind }) => kind),
  );

export const stateCounts = (
  changes: readonly Pick<Change, 'state'>[],
): Record<ChangeState, number> =>
  counted(
    changeStates,
    changes.map(({ state }) => state),
  );

function counted<Word extends string>(
  words: readonly Word[],
  found: readonly Word[],
): Record<Word, number>;
function counted(words: readonly string[], found: readonly string[]): Record<string, number> {
  const counts = Object.fromEntries(words.map((word) => [word, 0]));
  for (const word of found) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/**
 * Returns a filter that accepts the given paths and all paths below them.
 *
 * @param workspace absolute; the paths may be given as absolute paths within it
 * @throws TrlError `WORKSPACE_ESCAPE` for a path that leads out of it
 */
export function pathFilter(given: PathsParams, workspace: string): (name: BytePath) => boolean {
  return pathSelector(requestedPaths(given, workspace));
}

/** The given paths; `null`: all paths. @throws as {@link pathFilter} */
export function requestedPaths(
  { paths: given, paths_base64: encoded }: PathsParams,
  workspace: string,
): BytePath[] | null {
  if (given === undefined && encoded === undefined) return null;
  return [
    ...(given ?? []).map((one) => within(Buffer.from(one).toString('latin1'), workspace)),
    ...(encoded ?? []).map((one) => within(Buffer.from(one, 'base64').toString('latin1'), null)),
  ];
}

function within(given: BytePath, workspace: string | null): BytePath {
  const root = workspace === null ? null : Buffer.from(workspace).toString('latin1');
  const isAbsolute = given.startsWith('/');
  const relative = isAbsolute && root !== null ? path.posix.relative(root, given) : given;
  const clean = path.posix.normalize(relative === '' ? '.' : relative).replace(/\/+$/, '');
  if (clean === '..' || clean.startsWith('../') || clean.startsWith('/') || clean.includes('\0')) {
    const shown = JSON.stringify(Buffer.from(given, 'latin1').toString('utf8'));
    throw new TrlError('WORKSPACE_ESCAPE', `Cannot use the path ${shown}: it is outside`);
  }
  return clean === '.' ? '' : clean;
}
