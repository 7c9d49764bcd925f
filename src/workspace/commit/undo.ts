/**
 * Plans the undo of what commands did, and nothing else: a path that is as the last of them left it
 * gets its earlier content; from a path that another process changed since, only the commands' part
 * is removed, if the parts can be separated. Nothing is cleaned up, and nothing that another
 * process wrote is removed: the plan names recorded paths, and is applied like any other change.
 */
import type { BigIntStats } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { type FileEntry, readCurrentFile } from '../merge/current-file.ts';
import { mergeContents, mergeModes } from '../merge/merge-contents.ts';
import { isSameStat, statKey } from '../stat.ts';
import type {
  CommitItem,
  CommitRefusal,
  CommitTree,
  ItemResult,
  UndoableChange,
  UndoPlan,
} from './commit-item.ts';
import { isEqualEntry, matchesEntry } from './entry-match.ts';
import { bulkDirectoryOf } from './move-directory.ts';
import { entryAt, statAt, TreePathResolver } from './tree-path-resolver.ts';

const mergedBytesMax = 64 * 1024 * 1024;

interface UndoInput {
  readonly tree: CommitTree;
  /**
   * The applied changes, the newest record first: one to undo a command, more to go back further.
   * Of a path that another writer changed in between, a record has several parts, the newest first.
   */
  readonly records: readonly (readonly UndoableChange[])[];
  readonly contents: Pick<ContentStore, 'has' | 'read' | 'put'>;
}

/** One part of a path's way back. */
interface Step extends UndoableChange {
  /** Of the record that it begins in; the newest is 0. */
  readonly record: number;
}

/** The entry at a path after a part of the undo. */
interface Now {
  readonly entry: Entry | null;
  /** It is not the entry in the tree. */
  readonly isOther: boolean;
}

/** Looks at the tree and plans. Changes nothing but what `contents` keeps. */
export async function planUndo(input: UndoInput): Promise<UndoPlan> {
  const items: CommitItem[] = [];
  const refused: ItemResult[] = [];
  const steps = new TreePathResolver(input.tree.root);
  try {
    for (const [path, chain] of chainsOf(input.records)) {
      const planned = await plan(path, chain, { ...input, steps });
      // What is open may be moved away while others have their turn.
      steps.close();
      if (planned.item !== null) items.push(planned.item);
      if (planned.refused !== null) refused.push(refuse(path, planned.refused));
    }
  } finally {
    steps.close();
  }
  return { items, refused };
}

/** By path, the newest first; parts that follow each other as one. */
function chainsOf(records: readonly (readonly UndoableChange[])[]): Map<BytePath, Step[]> {
  const chains = new Map<BytePath, Step[]>();
  for (const [record, undoable] of records.entries()) {
    for (const one of undoable) {
      const chain = chains.get(one.path) ?? [];
      const last = chain.at(-1);
      const isNext = last !== undefined && isEqualEntry(one.after, last.before);
      if (isNext) chain[chain.length - 1] = { ...last, before: one.before, record };
      else chain.push({ ...one, record });
      chains.set(one.path, chain);
    }
  }
  return chains;
}

interface UndoContext extends Pick<UndoInput, 'tree' | 'contents'> {
  readonly steps: TreePathResolver;
}

interface Planned {
  readonly item: CommitItem | null;
  readonly refused: CommitRefusal | null;
}

async function plan(path: BytePath, chain: readonly Step[], world: UndoContext): Promise<Planned> {
  const stat = statAt(world.steps, path);
  const base = entryAt(world.steps, path);
  let now: Now = { entry: base, isOther: false };
  /** As after the last record that was undone completely. */
  let whole = now;
  let refused: CommitRefusal | null = null;
  for (const [at, step] of chain.entries()) {
    if (at > 0 && chain[at - 1]?.record !== step.record) whole = now;
    const next = await takeBack(path, step, now, world);
    if (typeof next === 'string') {
      refused = whole.isOther && next === 'changed-meanwhile' ? 'changed-between' : next;
      now = whole;
      break;
    }
    now = next;
  }
  if (!now.isOther) return { item: null, refused };
  const known = chain[0] ?? null;
  const isLeft =
    known?.after != null && (await isOurs(world.steps, path, { ...known, after: known.after }));
  const from = { base: isLeft ? known.after : base, baseKey: keyOf(stat) };
  const source = bulkDirectoryOf(now.entry)?.kept ?? null;
  return { item: { path, ...from, after: now.entry, source, sourceKey: null }, refused };
}

/** The current content without one part; a string: why the part cannot be removed. */
async function takeBack(
  path: BytePath,
  { before, after, key }: Step,
  now: Now,
  world: UndoContext,
): Promise<Now | CommitRefusal> {
  const { steps, contents } = world;
  const stands = async (entry: Entry | null, known: StatKey | null): Promise<boolean> => {
    if (now.isOther || entry === null || now.entry === null) return isEqualEntry(now.entry, entry);
    return isOurs(steps, path, { after: entry, key: known });
  };
  if (await stands(after, key)) {
    if (isEqualEntry(before, after) && !isOnlyTimes(before, after)) return now;
    const reason = whyImpossible(before, after, contents);
    return reason ?? { entry: written(before, after), isOther: true };
  }
  if (await stands(before, null)) return now;
  const entry = await withoutStep(path, { before, after }, now, world);
  return entry === null ? 'changed-meanwhile' : { entry, isOther: true };
}

/** The reverse: the edit that undoes a part, applied to the current content. */
async function withoutStep(
  path: BytePath,
  { before, after }: Pick<UndoableChange, 'before' | 'after'>,
  now: Now,
  { tree, contents }: UndoContext,
): Promise<Entry | null> {
  // Git's own files are not merged as text.
  if (path.split('/').includes('.git')) return null;
  if (after?.type !== 'file' || now.entry?.type !== 'file') return null;
  if (before !== null && before.type !== 'file') return null;
  const read = async ({ sha256, size }: FileEntry): Promise<Buffer | null> =>
    sha256 === null || size > mergedBytesMax ? null : contents.read(sha256);
  const currentFile = now.isOther
    ? { entry: now.entry, bytes: await read(now.entry) }
    : readCurrentFile(tree.root, path, mergedBytesMax);
  const [from, to] = [await read(after), before === null ? Buffer.alloc(0) : await read(before)];
  if (currentFile?.bytes == null || from === null || to === null) return null;
  const merged = mergeContents(from, currentFile.bytes, to);
  const mode = mergeModes(after.mode, currentFile.entry.mode, before?.mode ?? after.mode);
  if (merged.kind === 'conflict' || mode === null) return null;
  const sha256 = contents.put(merged.bytes);
  if (!contents.has(sha256)) return null;
  const size = merged.bytes.length;
  // The command created the file, and another writer has added to it.
  if (before === null && size === 0) return null;
  return { ...currentFile.entry, mode, size, sha256, mtimeMs: Date.now() };
}

/** A rewritten file gets a new time, so that tools which compare times see the change. */
function written(before: Entry | null, after: Entry | null): Entry | null {
  if (before?.type !== 'file') return before;
  const isThere = after?.type === 'file' && after.sha256 === before.sha256;
  return isThere ? before : { ...before, mtimeMs: Date.now() };
}

const keyOf = (stat: BigIntStats | null): StatKey | null => (stat === null ? null : statKey(stat));

/**
 * By key, or by content where a key has changed; another directory of equal mode is another, where
 * the key is known, or where what was in it is.
 */
async function isOurs(
  steps: TreePathResolver,
  path: BytePath,
  { after, key }: { readonly after: Entry; readonly key: StatKey | null },
): Promise<boolean> {
  if (key !== null && isSameStat(statAt(steps, path), key)) return true;
  const isAny = after.type !== 'directory' || (key === null && after.whole?.kept === undefined);
  return isAny && (await matchesEntry(steps, path, after));
}

function whyImpossible(
  before: Entry | null,
  after: Entry | null,
  contents: Pick<ContentStore, 'has'>,
): CommitRefusal | null {
  if (before === null || before.type === 'directory' || before.type === 'symlink') return null;
  if (before.type !== 'file') return 'special';
  if (before.sha256 === null) return 'before-unknown';
  const isThere = after?.type === 'file' && after.sha256 === before.sha256;
  return isThere || contents.has(before.sha256) ? null : 'no-content';
}

function isOnlyTimes(before: Entry | null, after: Entry | null): boolean {
  return (
    before?.type === 'file' &&
    after?.type === 'file' &&
    before.sha256 !== null &&
    before.mtimeMs !== after.mtimeMs
  );
}

function refuse(path: BytePath, reason: CommitRefusal): ItemResult {
  const isTheirs = reason === 'changed-meanwhile' || reason === 'changed-between';
  const state = isTheirs ? 'conflict' : 'failed';
  return { path, state, reason, detail: null, keptAt: null };
}
