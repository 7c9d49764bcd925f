/** Git directories as a session sees them: what its layer has, and below it the host's. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath, Entry } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { joinPath, pathText } from '../byte-path.ts';
import type { CommitItem } from '../commit/commit-item.ts';
import { statAt, TreePathResolver } from '../commit/tree-path-resolver.ts';
import { statKey } from '../stat.ts';
import type { GitFileLocation } from './git-files.ts';
import {
  type IndexBase,
  parsePackedRefs,
  parseRef,
  readPackedRefs,
  readRef,
  type RefValue,
} from './ref-values.ts';

/** A changed path of a git directory, and the content that it had before. */
export interface GitPathChange {
  readonly place: GitFileLocation;
  readonly item: CommitItem;
  readonly before: Entry | null;
}

interface GitSessionViewDependencies {
  readonly root: string;
  readonly contents: Pick<ContentStore, 'read'>;
  /** Whether there is anything at a path in the session's layer. */
  readonly isInLayer: (path: BytePath) => boolean;
}

const fileBytesMax = 64 * 1024 * 1024;
/** Where git is in the middle of something. */
const busy = ['index.lock', 'HEAD.lock', 'rebase-merge', 'rebase-apply'];

/** What both sides had when they were synced last, of what is in the layer. */
export class GitSessionView {
  /** Of refs, by their path; of `HEAD`, its text. */
  readonly bases = new Map<BytePath, RefValue>();
  /** What the host's index was given, by git directory. */
  readonly given = new Map<BytePath, IndexBase>();
  /**
   * The commit that the session's index was based on when it came into the layer, by git directory.
   */
  readonly indexOf = new Map<BytePath, RefValue>();
  /** What a branch was when the session began to change it, by its path. */
  readonly built = new Map<BytePath, RefValue>();
  /** Packed refs of the host when they were last seen, by repository. */
  readonly packedBase = new Map<BytePath, ReadonlyMap<string, string>>();
  /** Its stashes when they were last synced or seen, by repository. */
  readonly stashes = new Map<BytePath, readonly string[]>();
  readonly #parts: GitSessionViewDependencies;
  readonly #rows = new Map<BytePath, GitPathChange>();
  readonly #host: GitHostView;
  /** The entry at a path when the session began to change it. */
  readonly #first = new Map<BytePath, Entry | null>();
  #upper: string | null = null;

  constructor(parts: GitSessionViewDependencies) {
    this.#parts = parts;
    this.#host = new GitHostView(parts.root);
  }

  /** A change of the session; the last one of a path counts. */
  add(row: GitPathChange): void {
    const { path } = row.item;
    this.#rows.set(path, row);
    if (!this.#first.has(path)) this.#first.set(path, row.before);
    this.#upper = row.item.source?.tree ?? this.#upper;
  }

  /** The host has these objects. */
  noteTakenObjects(objects: readonly BytePath[]): void {
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
      if (!this.isOwn(joinPath(git, 'index'))) this.given.delete(git);
    }
  }

  isOwn(path: BytePath): boolean {
    return this.#parts.isInLayer(path);
  }

  /** Those of a repository, in the layer. */
  rows(common: BytePath): GitPathChange[] {
    const all = [...this.#rows.values()];
    return all.filter(({ place, item }) => place.common === common && this.isOwn(item.path));
  }

  /** Whether the session has a `HEAD` or branches of its own in a repository. */
  hasRefs(common: BytePath): boolean {
    const isRef = ({ place: { kind } }: GitPathChange): boolean =>
      kind === 'ref' || kind === 'head';
    return this.rows(common).some(isRef);
  }

  isBusy(git: BytePath): boolean {
    const head = this.#rows.get(joinPath(git, 'HEAD'))?.item;
    const isPast = head !== undefined && this.isOwn(head.path) && !this.#isAsCaptured(head);
    return isPast || busy.some((name) => this.#isThere(joinPath(git, name)));
  }

  isRebasing(git: BytePath): boolean {
    return busy.slice(2).some((name) => this.#isThere(joinPath(git, name)));
  }

  /** `null`: the layer has none; not `isNow`: git is about to replace it, or has just done so. */
  index(git: BytePath): { readonly sha256: string; readonly isNow: boolean } | null {
    const path = joinPath(git, 'index');
    const row = this.isOwn(path) ? this.#rows.get(path) : undefined;
    const after = row?.item.after;
    if (row === undefined || after?.type !== 'file' || after.sha256 === null) return null;
    const isLocked = this.#isThere(joinPath(git, 'index.lock'));
    return { sha256: after.sha256, isNow: !isLocked && this.#isAsCaptured(row.item) };
  }

  /** A file's content as latin1, as captured; of a file that was never captured, the host's. */
  async text(path: BytePath): Promise<string | null> {
    const row = this.isOwn(path) ? this.#rows.get(path) : undefined;
    return row === undefined ? this.#host.text(path) : await this.textOf(row.item.after);
  }

  async textOf(entry: Entry | null): Promise<string | null> {
    if (entry?.type !== 'file' || entry.sha256 === null) return null;
    return (await this.#parts.contents.read(entry.sha256))?.toString('latin1') ?? null;
  }

  async ref(common: BytePath, name: string): Promise<RefValue> {
    const loose = parseRef(await this.text(joinPath(common, name)));
    return loose ?? (await this.packed(common)).get(name) ?? null;
  }

  async packed(common: BytePath): Promise<Map<string, string>> {
    return parsePackedRefs(await this.text(joinPath(common, 'packed-refs')));
  }

  /** The commit that a `HEAD` leads to. */
  async commit(common: BytePath, head: string | null): Promise<RefValue> {
    const branch = /^ref: (\S+)/.exec(head ?? '')?.[1];
    return branch === undefined ? (head?.trimEnd() ?? null) : await this.ref(common, branch);
  }

  /** Whether a file of the layer is as it was captured. */
  #isAsCaptured({ path, sourceKey }: Pick<CommitItem, 'path' | 'sourceKey'>): boolean {
    return this.#keyOf(path) === sourceKey;
  }

  #isThere(path: BytePath): boolean {
    const upper = this.#upper;
    return upper !== null && existsSync(join(upper, pathText(path)));
  }

  #keyOf(path: BytePath): string | null {
    if (this.#upper === null) return null;
    const steps = new TreePathResolver(this.#upper);
    const stat = statAt(steps, path);
    steps.close();
    return stat === null ? null : statKey(stat);
  }
}

/** The same of the host alone. */
export class GitHostView {
  readonly #steps: TreePathResolver;

  constructor(root: string) {
    this.#steps = new TreePathResolver(root);
  }

  text(path: BytePath): string | null {
    this.#steps.close();
    const text = this.#steps.read(path, fileBytesMax);
    this.#steps.close();
    return text;
  }

  ref(common: BytePath, name: string): RefValue {
    const value =
      readRef(this.#steps, common, name) ?? readPackedRefs(this.#steps, common).get(name) ?? null;
    this.#steps.close();
    return value;
  }

  commit(common: BytePath, head: string | null): RefValue {
    const branch = /^ref: (\S+)/.exec(head ?? '')?.[1];
    return branch === undefined ? (head?.trimEnd() ?? null) : this.ref(common, branch);
  }
}
