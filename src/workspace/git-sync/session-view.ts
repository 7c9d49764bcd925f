/** Git directories as a session sees them: what its layer has, and below it the host's. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath, Entry } from '../../change.ts';
import type { Contents } from '../../contents.ts';
import { joined, textOf } from '../byte-path.ts';
import { statAt } from '../commit/standing.ts';
import type { CommitItem } from '../commit/item.ts';
import { TreeSteps } from '../commit/steps.ts';
import { statKey } from '../stat.ts';
import type { GitPlace } from './places.ts';
import type { IndexOf, RefValue } from './plan.ts';
import { parsePacked, parseRef, readPacked, readRef } from './ref-values.ts';

/** A changed path of a git directory, and the content that it had before. */
export interface GitRow {
  readonly place: GitPlace;
  readonly item: CommitItem;
  readonly before: Entry | null;
}

export interface SessionViewParts {
  readonly root: string;
  readonly contents: Pick<Contents, 'read'>;
  /** Whether there is anything at a path in the session's layer. */
  readonly isInLayer: (path: BytePath) => boolean;
}

const fileBytesMax = 64 * 1024 * 1024;
/** Where git is in the middle of something. */
const busy = ['index.lock', 'HEAD.lock', 'rebase-merge', 'rebase-apply'];

/** What both sides had when they were synced last, of what is in the layer. */
export class SessionView {
  /** Of refs, by their path; of `HEAD`, its text. */
  readonly bases = new Map<BytePath, RefValue>();
  /** What the host's index was given, by git directory. */
  readonly given = new Map<BytePath, IndexOf>();
  /** The commit that the session's index was of when it came into the layer, by git directory. */
  readonly indexOf = new Map<BytePath, RefValue>();
  /** What a branch was when the session began to change it, by its path. */
  readonly built = new Map<BytePath, RefValue>();
  /** Packed refs of the host when they were last seen, by repository. */
  readonly packedBase = new Map<BytePath, ReadonlyMap<string, string>>();
  /** Its stashes when they were last synced or seen, by repository. */
  readonly stashes = new Map<BytePath, readonly string[]>();
  readonly #parts: SessionViewParts;
  readonly #rows = new Map<BytePath, GitRow>();
  readonly #host: HostView;
  /** What stood at a path when the session began to change it. */
  readonly #first = new Map<BytePath, Entry | null>();
  #upper: string | null = null;

  constructor(parts: SessionViewParts) {
    this.#parts = parts;
    this.#host = new HostView(parts.root);
  }

  /** A change of the session; the last one of a path counts. */
  add(row: GitRow): void {
    const { path } = row.item;
    this.#rows.set(path, row);
    if (!this.#first.has(path)) this.#first.set(path, row.before);
    this.#upper = row.item.source?.tree ?? this.#upper;
  }

  /** The host has these objects. */
  took(objects: readonly BytePath[]): void {
    for (const path of objects) {
      this.#rows.delete(path);
      this.#first.delete(path);
    }
  }

  /** `undefined`: the session has not changed it. */
  before(path: BytePath): Entry | null | undefined {
    return this.#first.get(path);
  }

  /** What left the layer is as the host has it. */
  forget(): void {
    for (const path of this.#rows.keys()) if (!this.isOwn(path)) this.#rows.delete(path);
    for (const path of this.#first.keys()) if (!this.isOwn(path)) this.#first.delete(path);
    for (const path of this.bases.keys()) if (!this.isOwn(path)) this.bases.delete(path);
    for (const path of this.built.keys()) if (!this.isOwn(path)) this.built.delete(path);
    for (const git of this.given.keys()) {
      if (!this.isOwn(joined(git, 'index'))) this.given.delete(git);
    }
  }

  isOwn(path: BytePath): boolean {
    return this.#parts.isInLayer(path);
  }

  /** Those of a repository, in the layer. */
  rows(common: BytePath): GitRow[] {
    const all = [...this.#rows.values()];
    return all.filter(({ place, item }) => place.common === common && this.isOwn(item.path));
  }

  /** Whether the session has a `HEAD` or branches of its own in a repository. */
  hasRefs(common: BytePath): boolean {
    const isRef = ({ place: { kind } }: GitRow): boolean => kind === 'ref' || kind === 'head';
    return this.rows(common).some(isRef);
  }

  isBusy(git: BytePath): boolean {
    const head = this.#rows.get(joined(git, 'HEAD'))?.item;
    const isPast = head !== undefined && this.isOwn(head.path) && !this.#isAsTold(head);
    return isPast || busy.some((name) => this.#isThere(joined(git, name)));
  }

  isRebasing(git: BytePath): boolean {
    return busy.slice(2).some((name) => this.#isThere(joined(git, name)));
  }

  /** `null`: the layer has none; not `isNow`: git is about to replace it, or has just done so. */
  index(git: BytePath): { readonly sha256: string; readonly isNow: boolean } | null {
    const path = joined(git, 'index');
    const row = this.isOwn(path) ? this.#rows.get(path) : undefined;
    const after = row?.item.after;
    if (row === undefined || after?.type !== 'file' || after.sha256 === null) return null;
    const isLocked = this.#isThere(joined(git, 'index.lock'));
    return { sha256: after.sha256, isNow: !isLocked && this.#isAsTold(row.item) };
  }

  /** A file's content as latin1, as it was told; what nobody told yet is as the host has it. */
  async text(path: BytePath): Promise<string | null> {
    const row = this.isOwn(path) ? this.#rows.get(path) : undefined;
    return row === undefined ? this.#host.text(path) : await this.textOf(row.item.after);
  }

  async textOf(entry: Entry | null): Promise<string | null> {
    if (entry?.type !== 'file' || entry.sha256 === null) return null;
    return (await this.#parts.contents.read(entry.sha256))?.toString('latin1') ?? null;
  }

  async ref(common: BytePath, name: string): Promise<RefValue> {
    const loose = parseRef(await this.text(joined(common, name)));
    return loose ?? (await this.packed(common)).get(name) ?? null;
  }

  async packed(common: BytePath): Promise<Map<string, string>> {
    return parsePacked(await this.text(joined(common, 'packed-refs')));
  }

  /** The commit that a `HEAD` leads to. */
  async commit(common: BytePath, head: string | null): Promise<RefValue> {
    const branch = /^ref: (\S+)/.exec(head ?? '')?.[1];
    return branch === undefined ? (head?.trimEnd() ?? null) : await this.ref(common, branch);
  }

  /** Whether a file of the layer is what was told. */
  #isAsTold({ path, sourceKey }: Pick<CommitItem, 'path' | 'sourceKey'>): boolean {
    return this.#keyOf(path) === sourceKey;
  }

  #isThere(path: BytePath): boolean {
    const upper = this.#upper;
    return upper !== null && existsSync(join(upper, textOf(path)));
  }

  #keyOf(path: BytePath): string | null {
    if (this.#upper === null) return null;
    const steps = new TreeSteps(this.#upper);
    const stat = statAt(steps, path);
    steps.close();
    return stat === null ? null : statKey(stat);
  }
}

/** The same of the host alone. */
export class HostView {
  readonly #steps: TreeSteps;

  constructor(root: string) {
    this.#steps = new TreeSteps(root);
  }

  text(path: BytePath): string | null {
    this.#steps.close();
    const text = this.#steps.read(path, fileBytesMax);
    this.#steps.close();
    return text;
  }

  ref(common: BytePath, name: string): RefValue {
    const value =
      readRef(this.#steps, common, name) ?? readPacked(this.#steps, common).get(name) ?? null;
    this.#steps.close();
    return value;
  }

  commit(common: BytePath, head: string | null): RefValue {
    const branch = /^ref: (\S+)/.exec(head ?? '')?.[1];
    return branch === undefined ? (head?.trimEnd() ?? null) : this.ref(common, branch);
  }
}
