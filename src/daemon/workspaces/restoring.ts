/** The way back: what commands did is undone, path by path, where nobody changed it since. */
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath, Change, Entry } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { openDirectoryOrNull, type Owner } from '../../workspace/beneath.ts';
import { applyChanges } from '../../workspace/commit/apply.ts';
import type { HeldReason } from '../../workspace/commit/held.ts';
import type { ItemResult } from '../../workspace/commit/item.ts';
import { planUndo } from '../../workspace/commit/undo.ts';
import { kindOf } from '../diffs/net-changes.ts';
import {
  contentsOf,
  reachedBy,
  recordKinds,
  type ChangeRecord,
  type RecordedChange,
} from './record.ts';
import { heldFromUndo } from './undo-judging.ts';
import type { Workspaces } from './workspaces.ts';

export interface UndoHow {
  readonly isMeant: (path: BytePath) => boolean;
  readonly dryRun: boolean;
}

export interface Undone {
  readonly restored: readonly Change[];
  readonly conflicts: readonly Change[];
  readonly impossible: readonly Change[];
  /** Whose changes were taken back. */
  readonly execs: readonly ExecId[];
}

/** Takes back what one command did. */
export function undo(workspaces: Workspaces, record: ChangeRecord, how: UndoHow): Promise<Undone> {
  return takeBack(workspaces, [record], how);
}

/**
 * Goes back to where the workspace was after `record`, or before it (`inclusive`): what was told
 * since is taken back, newest first. What nobody recorded stays.
 */
export async function restoreTo(
  workspaces: Workspaces,
  record: ChangeRecord,
  how: UndoHow & { readonly inclusive: boolean },
): Promise<Undone> {
  const all = await workspaces.stores.records();
  const isLater = ({ root, at, exec }: ChangeRecord): boolean =>
    root === record.root && (at > record.at || (exec === record.exec && how.inclusive));
  // Of what several commands tell, one is enough.
  const own = all.filter(isLater).map((one) => ({
    ...one,
    changes: one.changes.filter(({ isShared }) => isShared !== true),
  }));
  return takeBack(workspaces, own, how);
}

async function takeBack(
  workspaces: Workspaces,
  records: readonly ChangeRecord[],
  { isMeant, dryRun }: UndoHow,
): Promise<Undone> {
  const root = records[0]?.root;
  const newestFirst = records.filter(({ undone }) => !undone).toSorted((a, b) => b.at - a.at);
  const nothing = { restored: [], conflicts: [], impossible: [], execs: [] };
  if (root === undefined || newestFirst.length === 0) return nothing;
  const tree = { root, ...ownerOf(root) };
  const done = newestFirst.map(({ changes }) =>
    changes.flatMap((change) => {
      const reached = isMeant(change.path) ? reachedBy(change) : null;
      return reached === null ? [] : [{ path: change.path, ...reached }];
    }),
  );
  const contents = await workspaces.stores.contents();
  const plan = await planUndo({ tree, records: done, contents });
  const id = randomBytes(4).toString('hex');
  const store = await workspaces.stores.own();
  const { home, renames } = workspaces;
  const isSystem = workspaces.systemOf([root]);
  const judging = { root, home, isSystem, contents, records: newestFirst };
  let held: ReadonlyMap<BytePath, HeldReason> = new Map();
  let results: readonly ItemResult[] = [];
  if (dryRun) held = await heldFromUndo(judging, plan.items);
  else if (plan.items.length > 0) {
    const run = async (): Promise<readonly ItemResult[]> => {
      held = await heldFromUndo(judging, plan.items);
      const items = plan.items.filter(({ path }) => !held.has(path));
      store.append(recordKinds.intent, id, { id, tree, items });
      await store.sync();
      return await applyChanges({ tree, id, items, contents, renames });
    };
    results = await (workspaces.trees.find(root)?.exclusive(run) ?? run());
    store.drop(recordKinds.intent, id);
  }
  const outcomes = new Map([...results, ...plan.refused].map((one) => [one.path, one]));
  const told = plan.items.map(({ path, base, after }) => changeOf(path, base, after));
  const refused = plan.refused
    .filter(({ path }) => !plan.items.some((item) => item.path === path))
    .map(({ path }) => changeOf(path, current(newestFirst, path), current(newestFirst, path)));
  const all = [...told, ...refused].map((change): Change => {
    const reason = held.get(change.path);
    return reason === undefined
      ? withOutcome(change, outcomes.get(change.path))
      : { ...change, state: 'held', reason };
  });
  const restored = all.filter(({ state }) => state === 'applied');
  if (!dryRun) await note(workspaces, newestFirst, restored);
  return {
    restored,
    conflicts: all.filter(({ state }) => state === 'conflict'),
    impossible: all.filter(({ state }) => state === 'held'),
    execs: newestFirst.map(({ exec }) => exec),
  };
}

function ownerOf(root: string): Owner {
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

/** Keeps that they were taken back; an undo is itself recorded nowhere else. */
async function note(
  workspaces: Workspaces,
  records: readonly ChangeRecord[],
  restored: readonly Change[],
): Promise<void> {
  const paths = new Set(restored.map(({ path }) => path));
  for (const { exec } of records) {
    const { store, record } = await workspaces.stores.find(exec);
    const open = record.changes.filter((change) => reachedBy(change) !== null);
    const undone = open.every(({ path }) => paths.has(path));
    const changes = record.changes.map((change): RecordedChange => {
      if (reachedBy(change) === null || !paths.has(change.path)) return change;
      const { reached: _, ...rest } = change;
      return rest.state === 'applied' ? { ...rest, state: 'discarded', reason: 'undone' } : rest;
    });
    const kept = { ...record, changes, undone };
    store.append(recordKinds.changes, record.exec, kept, { contents: contentsOf(changes) });
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
  const kind = kindOf(before, after);
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
