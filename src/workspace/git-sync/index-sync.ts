/** The index of a worktree of the host, as commits and what a session has staged make it. */
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { joinPath } from '../byte-path.ts';
import { readUpTo } from '../descriptor.ts';
import { GitFailure } from '../projection/git-process.ts';
import { statKey } from '../stat.ts';
import type { GitHistory, TreeDifference, TreeEntry } from './git-history.ts';
import { readIndexFile, writeIndexFile, type GitIndexEntry } from './index-file.ts';
import type { GitFiles } from './git-files.ts';
import { indexEntriesByPath, mergeIndex, type EntriesByPath } from './merge-index.ts';
import type { CheckoutChange, GitOutcome, IndexBase, RefValue } from './git-plan.ts';
import { isOid } from './ref-values.ts';

const done = { state: 'applied', reason: null } as const;
const theirs = { state: 'conflict', reason: 'changed-meanwhile' } as const;

interface Staged {
  readonly entries: EntriesByPath;
  readonly changed: ReadonlyMap<string, TreeDifference>;
}

export class IndexSync {
  readonly #files: GitFiles;
  readonly #contents: Pick<ContentStore, 'read'>;
  readonly #history: GitHistory | null;

  constructor(files: GitFiles, contents: Pick<ContentStore, 'read'>, history: GitHistory | null) {
    this.#files = files;
    this.#contents = contents;
    this.#history = history;
  }

  /**
   * Only while the index's lock is held.
   *
   * @param to the commit of the host's worktree, from now on
   */
  async settle(change: CheckoutChange, to: RefValue): Promise<GitOutcome> {
    const { git, index, session, untouched } = change;
    const path = joinPath(git, 'index');
    const host = this.#read(path);
    const own = index === null ? null : await this.#contents.read(index.sha256);
    if (index !== null && own === null) return { state: 'conflict', reason: 'no-content' };
    const isAlone = host === null || host.key === untouched;
    const isWhole = index?.blind === null && to === index.commit;
    if (own !== null && isAlone && (isWhole || !isOid(session))) {
      if (host?.bytes.equals(own) !== true) this.#files.replace(path, own);
      return done;
    }
    if (host === null) return index === null ? done : theirs;
    try {
      return await this.#merge(change, host.bytes, to);
    } catch (error) {
      if (error instanceof GitFailure) return theirs;
      throw error;
    }
  }

  async #merge(change: CheckoutChange, host: Buffer, to: RefValue): Promise<GitOutcome> {
    const { git, host: from, session, index, last, isWritten } = change;
    const history = this.#history;
    if (history === null || !isOid(from) || !isOid(to) || !isOid(session)) return theirs;
    const of = index?.commit ?? session;
    // As with `git update-ref`, of which no index knows.
    if (index === null && !isWritten && to === session) return done;
    const oidBytes = history.format === 'sha1' ? 20 : 32;
    const entries = readIndexFile(host, oidBytes);
    if (entries === null) return theirs;
    const [own, given] = [await this.#staged(index, oidBytes), await this.#staged(last, oidBytes)];
    if (index !== null && own === null) return theirs;
    const merged = mergeIndex({
      host: indexEntriesByPath(entries),
      session: own?.entries ?? new Map(),
      moved: await history.differing(from, to),
      merged: await history.differing(isOid(of) ? of : session, to),
      staged: committed(own),
      last: index === null ? new Map() : entriesOfStaged(given),
    });
    if (merged.isChanged) {
      const made = writeIndexFile(merged.entries, oidBytes);
      this.#files.replace(joinPath(git, 'index'), made);
      const reached = { from: host, to: made };
      if (merged.conflicts.length > 0) return { ...theirs, reached };
      return { ...done, reason: 'merged', reached };
    }
    const same = { from: host, to: host };
    return merged.conflicts.length > 0 ? theirs : { ...done, reached: same };
  }

  async #staged(index: IndexBase | null, oidBytes: number): Promise<Staged | null> {
    if (index === null || this.#history === null || !isOid(index.commit)) return null;
    const bytes = await this.#contents.read(index.sha256);
    const entries = bytes === null ? null : readIndexFile(bytes, oidBytes);
    if (bytes === null || entries === null) return null;
    const changed = await this.#history.staged(bytes, index.commit);
    const { blind } = index;
    const unseen = blind === null ? [] : await this.#history.differing(blind.from, blind.to);
    const all = indexEntriesByPath(entries);
    // As they were before the host changed them: nobody has staged that.
    for (const [path, { from }] of unseen) {
      if ((all.get(path)?.[0]?.oid ?? null) === (from?.oid ?? null)) changed.delete(path);
    }
    return { entries: all, changed };
  }

  #read(path: BytePath): { readonly bytes: Buffer; readonly key: string } | null {
    this.#files.steps.close();
    const fd = this.#files.steps.open(path);
    if (fd === null) return null;
    try {
      const stat = fstatSync(fd, { bigint: true });
      return { bytes: readUpTo(fd, Number(stat.size)), key: statKey(stat) };
    } finally {
      closeSync(fd);
    }
  }
}

function committed(staged: Staged | null): Map<string, TreeEntry | null> {
  return new Map([...(staged?.changed ?? [])].map(([path, { from }]) => [path, from]));
}

const none: readonly GitIndexEntry[] = [];

function entriesOfStaged(staged: Staged | null): EntriesByPath {
  if (staged === null) return new Map();
  const { changed, entries } = staged;
  return new Map([...changed.keys()].map((path) => [path, entries.get(path) ?? none]));
}
