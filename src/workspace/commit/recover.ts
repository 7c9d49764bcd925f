/**
 * Finishes an apply that was interrupted by the end of the process or the machine. Afterwards each
 * path is in its state before or after its change, entries between two steps are in their right
 * place, and no temporary name is left.
 *
 * The entry at a temporary name is recognised by its content: the file that the change replaced
 * (exchanged, to be removed), the new content or the start of it (ours), or an entry that another
 * process wrote in that moment, which gets its name again.
 */
import { type BigIntStats, linkSync, realpathSync, renameSync, unlinkSync } from 'node:fs';
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { errnoCodeOf, joinPath, parentPathOf } from '../byte-path.ts';
import { isSameStat, permissionBits, statKey } from '../stat.ts';
import { applyChanges } from './apply.ts';
import type { AtomicRenames } from './atomic-renames.ts';
import type { CommitIntent, CommitItem, ItemResult } from './commit-item.ts';
import { isPartOfNewContent, matchesEntry } from './entry-match.ts';
import { bulkDirectoryOf, matchesManifest } from './move-directory.ts';
import { temporaryName } from './rename-queue.ts';
import { entryAt, statAt, TreePathResolver } from './tree-path-resolver.ts';
import { WritableDirectories } from './writable-directories.ts';

const ownerAll = 0o700;

interface RecoverInput {
  readonly intent: CommitIntent;
  readonly contents: Pick<ContentStore, 'read'>;
  readonly renames: AtomicRenames;
}

/** Something that has a temporary name, in the tree or beside it. */
interface Left {
  readonly steps: TreePathResolver;
  readonly path: BytePath;
}

/** What to do with one path. */
type Next =
  | { readonly kind: 'apply'; readonly item: CommitItem }
  | { readonly kind: 'over'; readonly result: ItemResult };

/**
 * Rolls an interrupted `applyChanges` forward. May be interrupted itself, and called again.
 *
 * @returns in the order of the items
 */
export async function recoverCommit(input: RecoverInput): Promise<readonly ItemResult[]> {
  const { intent, contents, renames } = input;
  const { id, tree, items } = intent;
  const place = new WritableDirectories(tree.root);
  const staging = stepsOf(renames.staging);
  const nexts: Next[] = [];
  try {
    for (const [index, item] of items.entries()) {
      const name = temporaryName(id, index);
      const left = { steps: place.steps, path: joinPath(parentPathOf(item.path), name) };
      const beside = staging === null ? [] : [{ steps: staging, path: name }];
      nexts.push(await new Recovering(place, input, item).look([...beside, left], index));
      place.release();
      staging?.close();
    }
  } finally {
    place.setModes(() => undefined);
    place.release();
    staging?.close();
  }
  const rest = nexts.flatMap((next) => (next.kind === 'apply' ? [next.item] : []));
  const applied = await applyChanges({ tree, id, items: rest, contents, renames });
  const byPath = new Map(applied.map((result) => [result.path, result]));
  return nexts.map((next, index) => {
    if (next.kind === 'over') return next.result;
    const path = items[index]?.path ?? '';
    return byPath.get(path) ?? refused(path, null);
  });
}

function stepsOf(directory: string | null): TreePathResolver | null {
  try {
    return directory === null ? null : new TreePathResolver(realpathSync(directory));
  } catch {
    return null;
  }
}

class Recovering {
  readonly #place: WritableDirectories;
  readonly #input: RecoverInput;
  readonly #item: CommitItem;

  constructor(place: WritableDirectories, input: RecoverInput, item: CommitItem) {
    this.#place = place;
    this.#input = input;
    this.#item = item;
  }

  async look(lefts: readonly Left[], index: number): Promise<Next> {
    const item = this.#item;
    const { base, baseKey, after } = item;
    const stat = statAt(this.#place.steps, item.path);
    if (isSameStat(stat, baseKey) && !(stat === null && after === null)) {
      // Nothing has come in its place yet, so what has the temporary name is ours.
      for (const left of lefts) this.#unlink(left);
      const isGone =
        bulkDirectoryOf(after) !== null && !(await matchesManifest(item, this.#input.contents));
      if (isGone) return { kind: 'over', result: refused(item.path, null) };
      return this.#again(baseKey);
    }
    const isDone = after === null ? stat === null : await this.#isThere(after);
    if (isDone) {
      const back = await this.#clearAll(lefts, index);
      if (back !== null) return { kind: 'over', result: back };
      const now = statAt(this.#place.steps, item.path);
      return { kind: 'over', result: applied(item.path, now) };
    }
    const halfway = this.#halfway(stat);
    if (halfway !== null) {
      await this.#clearAll(lefts, index);
      return halfway;
    }
    const kept = await this.#clearAll(lefts, index);
    // A change of type removes the old entry first: nothing of another process is there.
    const isCleared = stat === null && base !== null && after !== null;
    if (isCleared && (base.type === 'directory' || after.type === 'directory')) {
      return this.#again(null);
    }
    return { kind: 'over', result: kept ?? refused(item.path, null) };
  }

  /** Another directory of the same mode is not the one that was moved. */
  #isThere(after: Entry): Promise<boolean> {
    const { contents, intent } = this.#input;
    const { path } = this.#item;
    if (bulkDirectoryOf(after) === null) return matchesEntry(this.#place.steps, path, after);
    return matchesManifest({ after, source: { tree: intent.tree.root, path } }, contents);
  }

  #again(baseKey: StatKey | null): Next {
    const item = this.#item;
    return { kind: 'apply', item: { ...item, base: baseKey === null ? null : item.base, baseKey } };
  }

  /** Modes and times that were being set. */
  #halfway(stat: BigIntStats | null): Next | null {
    const { base, after, baseKey } = this.#item;
    if (stat === null || after === null || bulkDirectoryOf(after) !== null) return null;
    if (after.type === 'directory' && stat.isDirectory()) {
      const isOurs = base === null || baseKey?.startsWith(`${stat.ino}:`) === true;
      const modes = [after.mode, after.mode | ownerAll];
      if (base?.type === 'directory') modes.push(base.mode, base.mode | ownerAll);
      const isKnown = modes.includes(Number(stat.mode) & permissionBits);
      return isOurs && isKnown ? this.#again(statKey(stat)) : null;
    }
    if (base?.type !== 'file' || after.type !== 'file' || baseKey === null) return null;
    const [ino, , size, mtime] = baseKey.split(':');
    const isTime =
      `${stat.mtimeNs}` === mtime || Math.abs(Number(stat.mtimeNs) / 1e6 - after.mtimeMs) < 0.01;
    const isMode = [base.mode, after.mode].includes(Number(stat.mode) & permissionBits);
    const isIt = `${stat.ino}` === ino && `${stat.size}` === size && isTime && isMode;
    const isMeta = base.sha256 !== null && base.sha256 === after.sha256;
    return isIt && isMeta ? this.#again(statKey(stat)) : null;
  }

  async #clearAll(lefts: readonly Left[], index: number): Promise<ItemResult | null> {
    let found: ItemResult | null = null;
    for (const left of lefts) found = (await this.#clear(left, index)) ?? found;
    return found;
  }

  /**
   * Handles the entry at a temporary name.
   *
   * @returns the conflict that it shows, if another process wrote it
   */
  async #clear(left: Left, index: number): Promise<ItemResult | null> {
    const { path, after, baseKey } = this.#item;
    const stat = statAt(left.steps, left.path);
    if (stat === null) return null;
    const current = statAt(this.#place.steps, path);
    const isNamed = current?.ino === stat.ino;
    const isBase = baseKey !== null && isThing(stat, baseKey);
    const isEdited = !isBase && baseKey?.startsWith(`${stat.ino}:`) === true;
    const isOurs = !isEdited && (await this.#isOurs(left, after));
    if (isNamed || isOurs || isBase) {
      this.#unlink(left);
      return null;
    }
    return await this.#giveBack(left, index);
  }

  #unlink(left: Left): void {
    if (statAt(left.steps, left.path) === null) return;
    this.#place.enter(parentPathOf(this.#item.path));
    unlinkSync(wayTo(left));
  }

  async #isOurs({ steps, path }: Left, after: Entry | null): Promise<boolean> {
    if (after?.type === 'symlink') return matchesEntry(steps, path, after);
    if (after?.type !== 'file') return false;
    return isPartOfNewContent(steps, path, this.#item, this.#input.contents);
  }

  /** Another process made it just before: it gets its name, if that is ours or free. */
  async #giveBack(left: Left, index: number): Promise<ItemResult> {
    const { path, after } = this.#item;
    const isOurs = after !== null && (await matchesEntry(this.#place.steps, path, after));
    this.#place.enter(parentPathOf(path));
    if (isOurs) {
      renameSync(wayTo(left), this.#place.at(path));
      return refused(path, null);
    }
    try {
      const entry = entryAt(this.#place.steps, path);
      if (entry !== null) throw Object.assign(new Error('taken'), { code: 'EEXIST' });
      linkSync(wayTo(left), this.#place.at(path));
      unlinkSync(wayTo(left));
      return refused(path, null);
    } catch (error) {
      if (errnoCodeOf(error) === '') throw error;
      const keptAt = joinPath(parentPathOf(path), `.trl-kept-${this.#input.intent.id}-${index}`);
      renameSync(wayTo(left), this.#place.at(keptAt));
      return refused(path, keptAt);
    }
  }
}

function wayTo({ steps, path }: Left): Buffer {
  const at = steps.at(path);
  if (at === null) throw Object.assign(new Error('no directory'), { code: 'ENOTDIR' });
  return at;
}

/** Whether it is what a key was taken of, renamed since, which changes its ctime. */
function isThing(stat: BigIntStats, key: StatKey): boolean {
  return statKey(stat).split(':').slice(0, 4).join(':') === key.split(':').slice(0, 4).join(':');
}

function applied(path: BytePath, stat: BigIntStats | null): ItemResult {
  return { path, state: 'applied', key: stat === null ? null : statKey(stat) };
}

function refused(path: BytePath, keptAt: BytePath | null): ItemResult {
  return { path, state: 'conflict', reason: 'changed-meanwhile', detail: null, keptAt };
}
