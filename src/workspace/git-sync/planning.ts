/** From what a session has of a git directory: what it changed there since it was synced last. */
import type { BytePath, StatKey } from '../../change.ts';
import { joined } from '../byte-path.ts';
import { addedLines, linesOf, newValueOf } from './logs.ts';
import type { CheckoutChange, GitPlan, LogChange, RefChange, RefValue } from './plan.ts';
import { isOid, parsePacked, parseRef } from './ref-values.ts';
import { HostView, type GitRow, type SessionView } from './session-view.ts';
import { branchIn, stash } from './transaction.ts';

export interface Planning {
  readonly root: string;
  readonly view: SessionView;
  readonly label: string;
  /** Of the host's index, where nobody else has changed it. */
  readonly untouched: (index: BytePath) => StatKey | null;
}

export async function planGit(common: BytePath, planning: Planning): Promise<GitPlan> {
  const rows = planning.view.rows(common);
  const host = new HostView(planning.root);
  const moved = await refsOf(common, rows, host, planning.view);
  const checkouts = await checkoutsOf({ common, rows, host, refs: moved }, planning);
  const refs = moved.map((change) => {
    const own = checkouts.find(({ head }) => branchIn(head.now) === change.name);
    return own === undefined ? change : { ...change, blind: own.blind };
  });
  const isObject = ({ place: { kind }, item: { after } }: GitRow): boolean =>
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
  rows: readonly GitRow[],
  host: HostView,
  view: SessionView,
): Promise<RefChange[]> {
  const names = new Set<string>();
  for (const row of rows) if (row.place.kind === 'ref') names.add(row.place.name);
  const packed = rows.find(({ place }) => place.kind === 'packed');
  const before =
    view.packedBase.get(common) ?? parsePacked(await view.textOf(packed?.before ?? null));
  const after = packed === undefined ? before : await view.packed(common);
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(name) !== after.get(name)) names.add(name);
  }
  const found: RefChange[] = [];
  for (const name of names) {
    const now = await view.ref(common, name);
    const base = await baseOf(common, name, { before, view, host, now });
    if (base === now || host.ref(common, name) === now) continue;
    const path = joined(common, name);
    if (base !== undefined && !view.built.has(path)) view.built.set(path, base);
    const isUnsure = await isUnsureOf(common, name, now, view);
    found.push({ name, now, isUnsure, ...(base === undefined ? {} : { base }) });
  }
  return found;
}

/**
 * `git gc` puts the value into `packed-refs`, then takes the file of the ref away: who saw the one
 * and not the other has an old value, or none. The log has what it is.
 */
async function isUnsureOf(
  common: BytePath,
  name: string,
  now: RefValue,
  view: SessionView,
): Promise<boolean> {
  const last = linesOf((await view.text(joined(common, `logs/${name}`))) ?? '').at(-1);
  return last !== undefined && newValueOf(last) !== now;
}

interface Sides {
  readonly before: ReadonlyMap<string, string>;
  readonly view: SessionView;
  readonly host: HostView;
  readonly now: RefValue;
}

/** What a ref was when the session began to change it. */
async function baseOf(
  common: BytePath,
  name: string,
  { before, view, host, now }: Sides,
): Promise<RefValue | undefined> {
  const known = view.bases.get(joined(common, name));
  if (known !== undefined) return known;
  const log = joined(common, `logs/${name}`);
  if (now !== null && view.isOwn(log)) {
    const own = linesOf((await view.text(log)) ?? '');
    const [first] = addedLines(linesOf(host.text(log) ?? ''), own);
    const old = first?.split(' ')[0] ?? null;
    if (isOid(old)) return /^0+$/.test(old) ? null : old;
  }
  const first = view.before(joined(common, name));
  const text = parseRef(await view.textOf(first ?? null));
  return text ?? before.get(name) ?? (first === null ? null : undefined);
}

async function logsOf(rows: readonly GitRow[], view: SessionView): Promise<LogChange[]> {
  const found: LogChange[] = [];
  for (const { item, before, place } of rows) {
    if (place.kind !== 'log') continue;
    const text = await view.textOf(item.after);
    const known = place.name === stash ? view.stashes.get(place.common) : undefined;
    const earlier = known ?? linesOf((await view.textOf(before)) ?? '');
    const lines = text === null ? null : linesOf(text);
    found.push({ git: place.git, name: place.name, lines, before: earlier });
  }
  return found;
}

interface Found {
  readonly common: BytePath;
  readonly rows: readonly GitRow[];
  readonly host: HostView;
  readonly refs: readonly RefChange[];
}

async function checkoutsOf(
  { common, rows, host, refs }: Found,
  { view, untouched }: Planning,
): Promise<CheckoutChange[]> {
  const isOfOne = ({ place: { kind } }: GitRow): boolean => kind === 'head' || kind === 'index';
  const gits = new Set(rows.filter(isOfOne).map(({ place }) => place.git));
  const current = branchIn(host.text(joined(common, 'HEAD')));
  if (refs.some(({ name }) => name === current)) gits.add(common);
  const found: CheckoutChange[] = [];
  for (const git of gits) {
    const at = joined(git, 'HEAD');
    const now = await view.text(at);
    const first = view.before(at);
    const before = first === undefined ? now : await view.textOf(first);
    const base = view.bases.get(at) ?? before;
    const session = await view.commit(common, now);
    const index = view.index(git);
    const isWritten = index !== null && !index.isNow;
    const branch = joined(common, branchIn(now));
    const from = view.indexOf.get(git) ?? null;
    const to = view.isOwn(branch) ? (view.built.get(branch) ?? null) : session;
    const blind = isOid(from) && isOid(to) && from !== to ? { from, to } : null;
    found.push({
      git,
      head: { base, now },
      seen: view.bases.get(joined(common, branchIn(base))) ?? null,
      host: host.commit(common, host.text(at)),
      session,
      isRebasing: view.isRebasing(git),
      index: index === null || isWritten ? null : { commit: session, sha256: index.sha256, blind },
      blind,
      isWritten,
      last: view.given.get(git) ?? null,
      untouched: untouched(joined(git, 'index')),
    });
  }
  return found;
}

/** Takes what was synced as what both sides have. */
export async function noteSynced(
  view: SessionView,
  plan: GitPlan,
  isDone: (path: BytePath) => boolean,
): Promise<void> {
  if (view.isOwn(joined(plan.common, 'packed-refs'))) {
    view.packedBase.set(plan.common, await view.packed(plan.common));
  }
  const stashed = plan.logs.find(({ name }) => name === stash)?.lines;
  if (stashed !== undefined) view.stashes.set(plan.common, stashed ?? []);
  for (const { name, now } of plan.refs) {
    const path = joined(plan.common, name);
    if (isDone(path) && view.isOwn(path)) view.bases.set(path, now);
  }
  for (const { git, head, index } of plan.checkouts) {
    const at = joined(git, 'HEAD');
    if (isDone(at) && view.isOwn(at)) view.bases.set(at, head.now);
    if (index === null) continue;
    if (isDone(joined(git, 'index'))) view.given.set(git, index);
  }
}
