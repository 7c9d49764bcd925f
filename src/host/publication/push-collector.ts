/**
 * What a push sends: each file that one of its commits adds anywhere, even if a later commit
 * removes it, the text of commits and tags with the names of their authors, and names of branches.
 */
import type { BytePath } from '../../change.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { PushedRef } from '../../api/publish.ts';
import { bytePathOf, pathText } from '../../workspace/byte-path.ts';
import {
  PublicationBudget,
  type OutgoingCollection,
  type EarlierFile,
  type OutgoingItem,
  type UnscannedItem,
} from '../../publish/publication.ts';
import type { PushRequest } from '../port.ts';
import { isNullObjectId, PushRepository, type GitCommitEntry } from './push-repository.ts';

const batchBytes = 16 * 1024 * 1024;
const basesMax = 3;
const earlierFileBytes = 1024 * 1024;
const largeFile = Buffer.from('version https://git-lfs.github.com/spec/');
const submodule = '160000';
const link = '120000';

interface Tips {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** The remote whose branches are there already; `''`: all remotes; `null`: none. */
  readonly remotes: string | null;
  readonly names: readonly string[];
}

export class PushCollector {
  readonly #repository: PushRepository;
  readonly #allowance: PublicationBudget;
  readonly #items: OutgoingItem[] = [];
  readonly #unread: UnscannedItem[] = [];
  /** The workspace and the worktree, as bytes, each with a slash behind it. */
  readonly #root: BytePath;
  readonly #top: BytePath;

  /** @param place a directory in the worktree of the repository */
  constructor(root: string, place: string, allowance: PublicationBudget) {
    this.#repository = PushRepository.at(place);
    this.#root = `${bytePathOf(root)}/`;
    this.#top = `${bytePathOf(this.#repository.top)}/`;
    this.#allowance = allowance;
  }

  /** @throws TrlError `INVALID_PARAMS` for a revision that there is not */
  async commits(params: PushRequest): Promise<OutgoingCollection> {
    const tips = await this.#tipsOf(params);
    const commits: string[] = [];
    for (const id of tips.include) commits.push(...(await this.#tip(id)));
    for (const name of tips.names) this.#text('name of a branch or tag', Buffer.from(name));
    const { include: _, exclude, remotes } = tips;
    const sent = await this.#repository.commits(commits, exclude, remotes);
    await this.#messages(sent.commits);
    await this.#files(await this.#repository.entries(sent.commits));
    return this.#collection(sent.bases);
  }

  async staged(): Promise<OutgoingCollection> {
    await this.#files(await this.#repository.staged());
    const head = await this.#repository.resolve('HEAD^{commit}');
    return this.#collection(head === null ? [] : [head]);
  }

  /** Files of the last commit; `null`: there is none. */
  static async committed(
    root: string,
    place: string,
  ): Promise<(() => AsyncIterable<EarlierFile>) | null> {
    const pushed = PushCollector.#at(root, place);
    if (pushed === null) return null;
    const head = await pushed.#repository.resolve('HEAD^{commit}');
    if (head === null) return null;
    // No remote may have the commit yet.
    return () => pushed.#earlier([head], false);
  }

  static #at(root: string, place: string): PushCollector | null {
    try {
      return new PushCollector(root, place, new PublicationBudget());
    } catch (error) {
      if (isTrlError(error, 'INVALID_PARAMS')) return null;
      throw error;
    }
  }

  #collection(bases: readonly string[]): OutgoingCollection {
    const earlier = (): AsyncIterable<EarlierFile> => this.#earlier(bases.slice(0, basesMax), true);
    return { items: this.#items, unread: this.#unread, earlier };
  }

  async #tipsOf({ range, refs, remote = '' }: PushRequest): Promise<Tips> {
    if (refs !== undefined) return this.#tipsOfRefs(refs, remote);
    const given = range ?? 'HEAD';
    if (given.includes('...')) throw unknown(given, 'write it as A..B');
    const [from = '', to] = given.split('..');
    const include = await this.#known(to === undefined ? from : to || 'HEAD');
    if (to === undefined) return { include: [include], exclude: [], remotes: remote, names: [] };
    const exclude = await this.#known(`${from || 'HEAD'}^{commit}`);
    return { include: [include], exclude: [exclude], remotes: null, names: [] };
  }

  async #tipsOfRefs(refs: readonly PushedRef[], remote: string): Promise<Tips> {
    const sent = refs.filter(({ local_id: id }) => !isNullObjectId(id));
    const exclude: string[] = [];
    for (const { remote_id: id } of refs) {
      // What was fetched from there or pushed to it is here; else it excludes nothing.
      if (isNullObjectId(id) || (await this.#repository.typeOf(id)) === null) continue;
      const commit = await this.#repository.resolve(`${id}^{commit}`);
      if (commit !== null) exclude.push(commit);
    }
    return {
      include: sent.map(({ local_id: id }) => id),
      exclude,
      remotes: remote,
      // A name that goes was there before.
      names: sent.map(({ remote_ref: name }) => name),
    };
  }

  async #known(revision: string): Promise<string> {
    const found = await this.#repository.resolve(revision);
    if (found === null) throw unknown(revision, 'there is no such revision');
    return found;
  }

  /** The commits that an object leads to; tags on the way are looked at. */
  async #tip(id: string): Promise<string[]> {
    const type = await this.#repository.typeOf(id);
    if (type === 'commit') return [id];
    if (type === 'tag') {
      const [tag] = await this.#repository.contents([id]);
      if (tag !== undefined) this.#text(`tag ${id.slice(0, 12)}`, tag);
      const [, target] = /^object ([0-9a-f]+)$/m.exec(tag?.toString('latin1') ?? '') ?? [];
      return target === undefined ? [] : this.#tip(target);
    }
    const what = type === null ? 'is not here' : `is a ${type} by itself`;
    this.#unread.push({ name: `object ${id.slice(0, 12)}`, reason: what, key: id });
    return [];
  }

  async #messages(commits: readonly string[]): Promise<void> {
    const ids = await this.#repository.sizes(commits);
    await this.#inBatches(ids, ({ id }, bytes) => {
      const text = bytes.toString('latin1').replaceAll(/^(?:tree|parent) [0-9a-f]+\n/gm, '');
      this.#text(`commit ${id.slice(0, 12)}`, Buffer.from(text, 'latin1'));
    });
  }

  async #files(entries: readonly GitCommitEntry[]): Promise<void> {
    const places = new Map<string, GitCommitEntry[]>();
    const seen = new Set<string>();
    for (const entry of entries) {
      if (entry.mode === submodule || seen.has(`${entry.id} ${entry.path}`)) continue;
      seen.add(`${entry.id} ${entry.path}`);
      const known = places.get(entry.id);
      if (known === undefined) places.set(entry.id, [entry]);
      else known.push(entry);
    }
    const sizes = await this.#repository.sizes([...places.keys()]);
    const there = new Set(sizes.map(({ id }) => id));
    for (const [id, [first]] of places) {
      if (there.has(id) || first === undefined) continue;
      this.#unread.push({ name: this.#nameOf(first), reason: 'is not here', key: id });
    }
    await this.#inBatches(sizes, ({ id }, bytes) => {
      for (const entry of places.get(id) ?? []) this.#file(entry, bytes);
    });
  }

  #file(entry: GitCommitEntry, bytes: Buffer): void {
    this.#allowance.take(0);
    const name = this.#nameOf(entry);
    const kind = entry.mode === link ? 'text' : 'file';
    this.#items.push({ name, kind, bytes, path: this.#pathOf(entry), file: null });
    if (bytes.subarray(0, largeFile.length).equals(largeFile)) {
      const reason = 'is a pointer to a file that git LFS sends separately';
      this.#unread.push({ name, reason, key: entry.id });
    }
  }

  #text(name: string, bytes: Buffer): void {
    this.#allowance.take(bytes.length);
    this.#items.push({ name, kind: 'text', bytes, path: null, file: null });
  }

  #nameOf({ commit, path }: GitCommitEntry): string {
    return commit === '' ? pathText(path) : `${pathText(path)} in commit ${commit.slice(0, 12)}`;
  }

  /** In the workspace; `null`: outside of it. */
  #pathOf({ path }: GitCommitEntry): BytePath | null {
    const place = `${this.#top}${path}`;
    return place.startsWith(this.#root) ? place.slice(this.#root.length) : null;
  }

  async #inBatches<T extends { readonly id: string; readonly size: number }>(
    all: readonly T[],
    take: (one: T, bytes: Buffer) => void,
  ): Promise<void> {
    for (let at = 0; at < all.length;) {
      const batch: T[] = [];
      for (let bytes = 0; at < all.length && (batch.length === 0 || bytes < batchBytes); at += 1) {
        const one = all[at];
        if (one === undefined) break;
        this.#allowance.take(one.size);
        bytes += one.size;
        batch.push(one);
      }
      const contents = await this.#repository.contents(batch.map(({ id }) => id));
      for (const [index, one] of batch.entries()) {
        const bytes = contents[index];
        if (bytes !== undefined) take(one, bytes);
      }
    }
  }

  /** What the commits that are there already hold. */
  async *#earlier(
    bases: readonly string[],
    isOut: boolean,
  ): AsyncGenerator<EarlierFile, void, void> {
    const known = new Map<string, GitCommitEntry>();
    for (const base of bases) {
      for (const entry of await this.#repository.tree(base)) known.set(entry.id, entry);
    }
    const sizes = await this.#repository.sizes([...known.keys()]);
    const small = sizes.filter(({ type, size }) => type === 'blob' && size <= earlierFileBytes);
    for (let at = 0; at < small.length; at += 256) {
      const batch = small.slice(at, at + 256);
      const contents = await this.#repository.contents(batch.map(({ id }) => id));
      for (const [index, { id }] of batch.entries()) {
        const [entry, bytes] = [known.get(id), contents[index]];
        const path = entry === undefined ? null : this.#pathOf(entry);
        if (bytes !== undefined && path !== null) yield { path, bytes, isPublished: isOut };
      }
    }
  }
}

function unknown(revision: string, why: string): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot read commits of "${revision}": ${why}`);
}
