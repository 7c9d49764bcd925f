/** Undo: reverts what commands did, path by path, if nobody changed the path since. */
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath, Change, DirectorySummary, Entry, StatKey } from '../change.ts';
import type { ExecId } from '../command.ts';
import type { ContentStore } from '../content-store.ts';
import { TrlError } from '../errors.ts';
import { type FileOwner, openDirectoryOrNull } from '../workspace/beneath.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { pathSelector } from '../workspace/byte-path.ts';
import { netChangeKindOf } from '../workspace/changes/change-kind.ts';
import { applyChanges } from '../workspace/commit/apply.ts';
import type { HeldReason } from '../workspace/commit/commit-filter.ts';
import type { ItemResult, UndoableChange } from '../workspace/commit/commit-item.ts';
import { bulkDirectoryOf, readManifest } from '../workspace/commit/move-directory.ts';
import { TreePathResolver } from '../workspace/commit/tree-path-resolver.ts';
import { planUndo } from '../workspace/commit/undo.ts';
import { GitFileLocator, isExemptFromUndo } from '../workspace/git-sync/git-files.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import { permissionBits, quickKey } from '../workspace/stat.ts';
import {
  appliedStateOf,
  appliedStepsOf,
  type ChangeRecord,
  type RecordedChange,
  recordedContents,
  recordKinds,
} from './change-record.ts';
import type { ChangeHistory, HistoryStats, UndoRequest, UndoResult } from './port.ts';
import { systemPathTest } from './masks.ts';
import { findHeldInBulkDirectories, findHeldUndoItems } from './undo-filter.ts';
import type { SnapshotStores } from './snapshot-stores.ts';
import type { WorkspaceTrees } from './workspace-tree.ts';

interface HistoryDependencies {
  readonly host: HostFacts;
  readonly stores: SnapshotStores;
  /** The real trees that views write to, one commit at a time. */
  readonly trees: WorkspaceTrees;
  readonly renames: AtomicRenames;
}

interface UndoOptions {
  readonly isMeant: (path: BytePath) => boolean;
  readonly dryRun: boolean;
}

/** Undoes one command, including what was applied of it later. */
async function undoRecord(
  parts: HistoryDependencies,
  record: ChangeRecord,
  how: UndoOptions,
): Promise<UndoResult> {
  const undone = await undoRecords(parts, [await published(parts, record)], how);
  const isNothing = undone.nothing !== null && record.changes.length > 0;
  return isNothing ? { ...undone, nothing: whyNothing(record) } : undone;
}

/** The record with what was staged or held as if the command itself had applied it. */
async function published(parts: HistoryDependencies, record: ChangeRecord): Promise<ChangeRecord> {
  const waits = ({ state }: Change): boolean => state !== 'applied' && state !== 'discarded';
  if (!record.changes.some(waits)) return record;
  const later = (await parts.stores.records()).filter(
    ({ session, at, isPublication }) =>
      isPublication === true && session === record.session && at > record.at,
  );
  const paths = new Set(
    later.flatMap(({ changes }) => changes.filter((one) => one.state === 'applied').map(pathOf)),
  );
  const changes = record.changes.map((change): RecordedChange => {
    const isOut = waits(change) && paths.has(change.path);
    return isOut ? { ...change, state: 'applied', reason: null, key: null } : change;
  });
  return { ...record, changes };
}

const pathOf = ({ path }: Change): BytePath => path;

function whyNothing({ undone, changes, exec }: ChangeRecord): string {
  if (undone) return `${exec} was undone before`;
  const states = new Set(changes.map(({ state }) => state));
  if (states.has('staged')) return 'what it changed is staged: trl workspace discard';
  if (states.has('held')) return 'what it changed is held: trl workspace discard';
  if (states.has('conflict')) return "somebody else's version stands of what it changed";
  if (states.has('discarded')) return 'what it changed was thrown away or undone';
  return 'what it changed is as it was before';
}

/**
 * Restores the workspace to its state after `record`, or before it (`inclusive`): later records are
 * undone, newest first. Unrecorded changes stay.
 */
async function restoreToRecord(
  parts: HistoryDependencies,
  record: ChangeRecord,
  how: UndoOptions & { readonly inclusive: boolean },
): Promise<UndoResult> {
  const all = await parts.stores.records();
  const isLater = ({ root, at, exec }: ChangeRecord): boolean =>
    root === record.root && (at > record.at || (exec === record.exec && how.inclusive));
  // A change that several commands share is undone once.
  const own = all.filter(isLater).map((one) => ({
    ...one,
    changes: one.changes.filter(({ isShared }) => isShared !== true),
  }));
  return undoRecords(parts, own, how);
}

async function undoRecords(
  parts: HistoryDependencies,
  records: readonly ChangeRecord[],
  { isMeant, dryRun }: UndoOptions,
): Promise<UndoResult> {
  const root = records[0]?.root;
  const newestFirst = records.filter(({ undone }) => !undone).toSorted((a, b) => b.at - a.at);
  const lists = { restored: [], conflicts: [], impossible: [], execs: [] };
  if (root === undefined || newestFirst.length === 0) {
    return { ...lists, nothing: 'nothing was recorded since that is not undone' };
  }
  const tree = { root, ...ownerOf(root) };
  const staying = stayingOf(root, newestFirst);
  const contents = await parts.stores.contents();
  const done: (readonly UndoableChange[])[] = [];
  for (const { changes } of newestFirst) {
    const steps = changes.flatMap((change) =>
      appliedStepsOf(change)
        .toReversed()
        .map((step) => ({ path: change.path, ...step })),
    );
    const all = await expandBulkDirectories(steps, contents);
    done.push(all.filter(({ path }) => isMeant(path) && !staying.has(path)));
  }
  const store = await parts.stores.own();
  const kept = { ...contents, put: (bytes: Uint8Array) => store.put(bytes) };
  const plan = await planUndo({ tree, records: done, contents: kept });
  const id = randomBytes(4).toString('hex');
  const { host, renames } = parts;
  const isSystem = systemPathTest(host, [root]);
  const undoScope = { root, home: host.home, isSystem, contents, records: newestFirst };
  let held: ReadonlyMap<BytePath, HeldReason> = new Map();
  let results: readonly ItemResult[] = [];
  const judge = (): Promise<ReadonlyMap<BytePath, HeldReason>> =>
    findHeldInBulkDirectories(plan.items, (items) => findHeldUndoItems(undoScope, items));
  if (dryRun) held = await judge();
  else if (plan.items.length > 0) {
    const run = async (): Promise<readonly ItemResult[]> => {
      held = await judge();
      const items = plan.items.filter(({ path }) => !held.has(path));
      store.append(recordKinds.intent, id, { id, tree, items });
      await store.sync();
      return await applyChanges({ tree, id, items, contents, renames });
    };
    results = await (parts.trees.find(root)?.exclusive(run) ?? run());
    store.drop(recordKinds.intent, id);
  }
  const outcomes = new Map([...results, ...plan.refused].map((one) => [one.path, one]));
  const reported = plan.items.map(({ path, base, after }) => changeOf(path, base, after));
  const refused = plan.refused
    .filter(({ path }) => !plan.items.some((item) => item.path === path))
    .map(({ path }) => changeOf(path, current(newestFirst, path), current(newestFirst, path)));
  const all = [...reported, ...refused].map((change): Change => {
    const reason = held.get(change.path);
    return reason === undefined
      ? withOutcome(change, outcomes.get(change.path))
      : { ...change, state: 'held', reason };
  });
  const restored = all.filter(({ state }) => state === 'applied');
  if (!dryRun) await note(parts, newestFirst, [...restored.map(pathOf), ...staying]);
  return {
    restored,
    conflicts: all.filter(({ state }) => state === 'conflict'),
    impossible: all.filter(({ state }) => state === 'held'),
    execs: newestFirst.map(({ exec }) => exec),
    nothing: all.length === 0 ? 'what they changed is as it was before' : null,
  };
}

/**
 * Git's objects and logs stay: another commit may need them. A command's removal from a log, such
 * as a stash, is restored, because the line is nowhere else.
 */
function stayingOf(root: string, records: readonly ChangeRecord[]): ReadonlySet<BytePath> {
  const steps = new TreePathResolver(root);
  const places = new GitFileLocator(steps);
  const changes = records.flatMap((record) => record.changes);
  const cut = new Set(changes.filter(isCut).map(pathOf));
  const stays = (path: BytePath): boolean => {
    const place = places.of(path);
    return isExemptFromUndo(place) && !(place?.kind === 'log' && cut.has(path));
  };
  const staying = new Set(changes.map(pathOf).filter(stays));
  steps.close();
  return staying;
}

const isCut = ({ before, after }: Change): boolean =>
  before?.type === 'file' && (after?.type === 'file' ? after.size < before.size : after === null);

function ownerOf(root: string): FileOwner {
  const fd = openDirectoryOrNull(root);
  if (fd === null) {
    throw new TrlError('INVALID_PARAMS', `Cannot restore "${root}": the directory does not exist`);
  }
  try {
    const { uid, gid } = fstatSync(fd);
    return { uid, gid };
  } finally {
    closeSync(fd);
  }
}

/** Records that they were undone; an undo has no record of its own. */
async function note(
  parts: HistoryDependencies,
  records: readonly ChangeRecord[],
  restored: readonly BytePath[],
): Promise<void> {
  const paths = new Set(restored);
  for (const record of records) {
    const { store, record: known } = await parts.stores.find(record.exec);
    const open = record.changes.filter((change) => appliedStateOf(change) !== null).map(pathOf);
    const undone = open.every((path) => paths.has(path));
    const back = new Map(record.changes.map(({ path, state }) => [path, state]));
    const isBack = new Set(open.filter((path) => paths.has(path)));
    const changes = known.changes.map((change): RecordedChange => {
      if (!isBack.has(change.path)) return change;
      const { reached: _, steps: __, ...rest } = change;
      const isWhole = back.get(change.path) === 'applied';
      return isWhole ? { ...rest, state: 'discarded', reason: 'undone' } : rest;
    });
    const kept = { ...known, changes, undone };
    store.append(recordKinds.changes, record.exec, kept, { contents: recordedContents(changes) });
    await store.sync();
  }
}

function current(records: readonly ChangeRecord[], path: BytePath): Entry | null {
  for (const { changes } of records) {
    const found = changes.find((change) => change.path === path);
    if (found !== undefined) return found.after;
  }
  return null;
}

function changeOf(path: BytePath, before: Entry | null, after: Entry | null): Change {
  const kind = netChangeKindOf(before, after);
  return {
    path,
    kind,
    before,
    after,
    marks: [],
    state: 'applied',
    reason: null,
    concurrentWith: [],
  };
}

const conflicting: ReadonlySet<string> = new Set([
  'changed-meanwhile',
  'changed-between',
  'open-elsewhere',
  'not-empty',
]);

function withOutcome(change: Change, result: ItemResult | undefined): Change {
  if (result === undefined || result.state === 'applied') return change;
  const state = conflicting.has(result.reason) ? 'conflict' : 'held';
  return { ...change, state, reason: result.reason };
}

// Expands a directory that was captured as one change into its entries, for undo.

const typeBits = 0o170000;
const types: ReadonlyMap<number, 'directory' | 'file' | 'symlink'> = new Map([
  [0o040000, 'directory'],
  [0o100000, 'file'],
  [0o120000, 'symlink'],
]);

/** Adds all entries of directories that were captured as one change. */
async function expandBulkDirectories(
  undoable: readonly UndoableChange[],
  contents: Pick<ContentStore, 'read'>,
): Promise<UndoableChange[]> {
  const all: UndoableChange[] = [];
  for (const one of undoable) {
    all.push(one);
    const whole = bulkDirectoryOf(one.after);
    if (whole !== null) all.push(...(await entriesOf(one.path, whole, contents)));
  }
  return all;
}

async function entriesOf(
  directory: BytePath,
  whole: DirectorySummary,
  contents: Pick<ContentStore, 'read'>,
): Promise<UndoableChange[]> {
  const found: UndoableChange[] = [];
  for await (const line of readManifest(whole, contents)) {
    // An unknown entry is not undone, nor the directory that contains it.
    const after = line === null ? null : entryOf(line.key);
    if (line === null || after === null) continue;
    found.push({ path: `${directory}/${line.path}`, before: null, after, key: line.key });
  }
  return found;
}

/** The entry that a stat shows. */
function entryOf(key: StatKey): Entry | null {
  const { mode, size, mtimeMs } = quickKey(key);
  const type = types.get(mode & typeBits);
  if (type === 'directory') return { type, mode: mode & permissionBits };
  if (type === 'file') return { type, mode: mode & permissionBits, size, mtimeMs, sha256: null };
  return type === undefined ? null : { type, target: '' };
}

// The records and contents of this machine.

export class LocalHistory implements ChangeHistory {
  readonly #parts: HistoryDependencies;

  constructor(parts: HistoryDependencies) {
    this.#parts = parts;
  }

  records(): Promise<readonly ChangeRecord[]> {
    return this.#parts.stores.records();
  }

  async record(exec: ExecId): Promise<ChangeRecord> {
    return (await this.#parts.stores.find(exec)).record;
  }

  contents(): Promise<Pick<ContentStore, 'has' | 'read'>> {
    return this.#parts.stores.contents();
  }

  async stats(): Promise<HistoryStats> {
    const store = await this.#parts.stores.own();
    const { liveBytes: bytes, contents, records, droppedRecords } = store.stats();
    return { bytes, contents, records, droppedRecords };
  }

  undo(record: ChangeRecord, how: UndoRequest): Promise<UndoResult> {
    return undoRecord(this.#parts, record, this.#how(record, how));
  }

  restore(
    record: ChangeRecord,
    how: UndoRequest & { readonly inclusive: boolean },
  ): Promise<UndoResult> {
    const { inclusive } = how;
    return restoreToRecord(this.#parts, record, { ...this.#how(record, how), inclusive });
  }

  #how({ root }: ChangeRecord, { paths, deny, dryRun }: UndoRequest): UndoOptions {
    const isSelected = pathSelector(paths);
    const { home } = this.#parts.host;
    const denied = deny.length === 0 ? null : readVisibility({ allow: [], deny }, { root, home });
    const isMeant = (path: BytePath): boolean => isSelected(path) && denied?.hides(path) !== true;
    return { isMeant, dryRun };
  }
}
