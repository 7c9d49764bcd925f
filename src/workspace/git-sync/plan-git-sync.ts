/** From what a session has of a git directory: what it changed there since it was synced last. */
import type { BytePath, StatKey } from '../../change.ts';
import { joinPath } from '../byte-path.ts';
import type { GitFileLocation } from './git-files.ts';
import { GitHostView, type GitPathChange, type GitSessionView } from './git-session-view.ts';
import {
  addedReflogLines,
  type CheckoutChange,
  type GitOutcome,
  type GitPlan,
  isOid,
  type LogChange,
  parsePackedRefs,
  parseRef,
  type RefChange,
  reflogLinesOf,
  reflogNewValueOf,
  type RefValue,
} from './ref-values.ts';
import { branchOfHead, type GitTransaction, stashRefName } from './transaction.ts';

interface GitPlanInput {
  readonly root: string;
  readonly view: GitSessionView;
  readonly label: string;
  /** The key of the host's index, if nobody changed it. */
  readonly untouched: (index: BytePath) => StatKey | null;
}

export async function planGitSync(common: BytePath, planning: GitPlanInput): Promise<GitPlan> {
  const rows = planning.view.rows(common);
  const host = new GitHostView(planning.root);
  const moved = await refsOf(common, rows, host, planning.view);
  const checkouts = await checkoutsOf({ common, rows, host, refs: moved }, planning);
  const refs = moved.map((change) => {
    const own = checkouts.find(({ head }) => branchOfHead(head.now) === change.name);
    return own === undefined ? change : { ...change, blind: own.blind };
  });
  const isObject = ({ place: { kind }, item: { after } }: GitPathChange): boolean =>
    (kind === 'object' || kind === 'pack') && after?.type === 'file';
  return {
    label: planning.label,
    common,
    refs,
    logs: await logsOf(rows, planning.view),
    checkouts,
    objects: rows.filter(isObject).map(({ item }) => item),
  };
}

async function refsOf(
  common: BytePath,
  rows: readonly GitPathChange[],
  host: GitHostView,
  view: GitSessionView,
): Promise<RefChange[]> {
  const names = new Set<string>();
  for (const row of rows) if (row.place.kind === 'ref') names.add(row.place.name);
  const packed = rows.find(({ place }) => place.kind === 'packed');
  const before =
    view.packedBase.get(common) ?? parsePackedRefs(await view.textOf(packed?.before ?? null));
  const after = packed === undefined ? before : await view.packed(common);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(name) !== after.get(name)) names.add(name);
  }
  const found: RefChange[] = [];
  for (const name of names) {
    const now = await view.ref(common, name);
    const base = await baseOf(common, name, { before, view, host, now });
    if (base === now || host.ref(common, name) === now) continue;
    const path = joinPath(common, name);
    if (base !== undefined && !view.built.has(path)) view.built.set(path, base);
    const isUnsure = await isUnsureOf(common, name, now, view);
    found.push({ name, now, isUnsure, ...(base === undefined ? {} : { base }) });
  }
  return found;
}

/**
 * `git gc` puts the value into `packed-refs`, then removes the file of the ref: a reader that saw
 * only one of these steps has an old value, or none. The log has the current one.
 */
async function isUnsureOf(
  common: BytePath,
  name: string,
  now: RefValue,
  view: GitSessionView,
): Promise<boolean> {
  const last = reflogLinesOf((await view.text(joinPath(common, `logs/${name}`))) ?? '').at(-1);
  return last !== undefined && reflogNewValueOf(last) !== now;
}

interface Sides {
  readonly before: ReadonlyMap<string, string>;
  readonly view: GitSessionView;
  readonly host: GitHostView;
  readonly now: RefValue;
}

/** What a ref was when the session began to change it. */
async function baseOf(
  common: BytePath,
  name: string,
  { before, view, host, now }: Sides,
): Promise<RefValue | undefined> {
  const known = view.bases.get(joinPath(common, name));
  if (known !== undefined) return known;
  const log = joinPath(common, `logs/${name}`);
  if (now !== null && view.isOwn(log)) {
    const own = reflogLinesOf((await view.text(log)) ?? '');
    const [first] = addedReflogLines(reflogLinesOf(host.text(log) ?? ''), own);
    const old = first?.split(' ')[0] ?? null;
    if (isOid(old)) return /^0+$/.test(old) ? null : old;
  }
  const first = view.before(joinPath(common, name));
  const text = parseRef(await view.textOf(first ?? null));
  return text ?? before.get(name) ?? (first === null ? null : undefined);
}

async function logsOf(rows: readonly GitPathChange[], view: GitSessionView): Promise<LogChange[]> {
  const found: LogChange[] = [];
  for (const { item, before, place } of rows) {
    if (place.kind !== 'log') continue;
    const text = await view.textOf(item.after);
    const known = place.name === stashRefName ? view.stashes.get(place.common) : undefined;
    const earlier = known ?? reflogLinesOf((await view.textOf(before)) ?? '');
    const lines = text === null ? null : reflogLinesOf(text);
    found.push({ git: place.git, name: place.name, lines, before: earlier });
  }
  return found;
}

interface Found {
  readonly common: BytePath;
  readonly rows: readonly GitPathChange[];
  readonly host: GitHostView;
  readonly refs: readonly RefChange[];
}

async function checkoutsOf(
  { common, rows, host, refs }: Found,
  { view, untouched }: GitPlanInput,
): Promise<CheckoutChange[]> {
  const isOfOne = ({ place: { kind } }: GitPathChange): boolean =>
    kind === 'head' || kind === 'index';
  const gits = new Set(rows.filter(isOfOne).map(({ place }) => place.git));
  const current = branchOfHead(host.text(joinPath(common, 'HEAD')));
  if (refs.some(({ name }) => name === current)) gits.add(common);
  const found: CheckoutChange[] = [];
  for (const git of gits) {
    const at = joinPath(git, 'HEAD');
    const now = await view.text(at);
    const first = view.before(at);
    const before = first === undefined ? now : await view.textOf(first);
    const base = view.bases.get(at) ?? before;
    const session = await view.commit(common, now);
    const index = view.index(git);
    const isWritten = index !== null && !index.isNow;
    const branch = joinPath(common, branchOfHead(now));
    const from = view.indexOf.get(git) ?? null;
    const to = view.isOwn(branch) ? (view.built.get(branch) ?? null) : session;
    const blind = isOid(from) && isOid(to) && from !== to ? { from, to } : null;
    found.push({
      git,
      head: { base, now },
      seen: view.bases.get(joinPath(common, branchOfHead(base))) ?? null,
      host: host.commit(common, host.text(at)),
      session,
      isRebasing: view.isRebasing(git),
      index: index === null || isWritten ? null : { commit: session, sha256: index.sha256, blind },
      blind,
      isWritten,
      last: view.given.get(git) ?? null,
      untouched: untouched(joinPath(git, 'index')),
    });
  }
  return found;
}

/** Takes what was synced as what both sides have. */
export async function noteSynced(
  view: GitSessionView,
  plan: GitPlan,
  isDone: (path: BytePath) => boolean,
): Promise<void> {
  if (view.isOwn(joinPath(plan.common, 'packed-refs'))) {
    view.packedBase.set(plan.common, await view.packed(plan.common));
  }
  const stashed = plan.logs.find(({ name }) => name === stashRefName)?.lines;
  if (stashed !== undefined) view.stashes.set(plan.common, stashed ?? []);
  for (const { name, now } of plan.refs) {
    const path = joinPath(plan.common, name);
    if (isDone(path) && view.isOwn(path)) view.bases.set(path, now);
  }
  for (const { git, head, index } of plan.checkouts) {
    const at = joinPath(git, 'HEAD');
    if (isDone(at) && view.isOwn(at)) view.bases.set(at, head.now);
    if (index === null) continue;
    if (isDone(joinPath(git, 'index'))) view.given.set(git, index);
  }
}

// What a receipt says of each changed path of a git directory.

export interface GitSyncOutcome {
  /**
   * `discarded`: the host does not need it; `staged`: it waits until git is done.
   *
   * @param key of the current entry at the path
   */
  readonly state: 'applied' | 'conflict' | 'discarded' | 'staged';
  readonly reason: string | null;
  readonly key: StatKey | null;
  /** Where the host has something else than the session. */
  readonly merged?: { readonly from: Buffer; readonly to: Buffer };
}

/** Why a path of git's is dropped, one stable word each. */
const dropped = {
  /** Objects stay, even if no ref needs them any more. */
  kept: 'git-objects-kept',
  /** The host has it in another form. */
  derived: 'git-derived',
  /** Another form of what both sides have, as after `git gc`. */
  same: 'git-unchanged',
} as const;

/** @param key of what stands at the path now */
export function gitSyncOutcomeOf(
  { item, place, before }: Pick<GitPathChange, 'item' | 'place' | 'before'>,
  transaction: GitTransaction,
  key: StatKey | null,
): GitSyncOutcome {
  const drop = (reason: string): GitSyncOutcome => ({ state: 'discarded', reason, key });
  const isFile = (item.after ?? before)?.type === 'file';
  const isThere = (item.after !== null) === (key !== null);
  const plain: GitSyncOutcome = isThere
    ? { state: 'applied', reason: null, key }
    : drop(dropped.same);
  const outcome = outcomeIn(transaction, place);
  switch (place.kind) {
    case 'object':
    case 'pack':
      if (transaction.refused.has(item.path)) {
        return { state: 'conflict', reason: 'git-objects', key };
      }
      if (isThere) return plain;
      return drop(item.after === null ? dropped.kept : dropped.derived);
    case 'packed':
      return drop(dropped.same);
    case 'ref':
    case 'log':
    case 'head':
    case 'index':
      return outcome === undefined || !isFile ? plain : worded(outcome, key, place.kind !== 'log');
    case 'lock':
    case 'derived':
    case 'scratch':
    case 'state':
      return plain;
  }
}

function outcomeIn(
  { refs, heads, indexes }: GitTransaction,
  { kind, git, name }: GitFileLocation,
): GitOutcome | undefined {
  if (kind === 'head') return heads.get(git);
  if (kind === 'index') return indexes.get(git);
  return kind === 'log' && name === 'HEAD' ? heads.get(git) : refs.get(name);
}

function worded(
  { state, reason, reached: merged, key: left }: GitOutcome,
  currentEntry: StatKey | null,
  isValue: boolean,
): GitSyncOutcome {
  const key = left === undefined ? currentEntry : left;
  return { state, reason, key, ...(merged === undefined || !isValue ? {} : { merged }) };
}
