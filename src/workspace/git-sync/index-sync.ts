/** The index of a worktree of the host, as commits and what a session has staged make it. */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { joinPath, readUpTo } from '../byte-path.ts';
import { GitFailure } from '../projection/git-process.ts';
import { statKey } from '../stat.ts';
import type { GitFiles } from './git-files.ts';
import type { GitHistory, TreeDifference, TreeEntry } from './git-history.ts';
import {
  type CheckoutChange,
  type GitOutcome,
  type IndexBase,
  isOid,
  type RefValue,
} from './ref-values.ts';

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
    // As before the host's change: nobody has staged that.
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

// What the host's index becomes: entries by mode and object id, not by times of files. Pure.

type EntriesByPath = ReadonlyMap<string, readonly GitIndexEntry[]>;

interface IndexSides {
  readonly host: EntriesByPath;
  readonly session: EntriesByPath;
  /** Between the commit that the host had and the one that it gets. */
  readonly moved: ReadonlyMap<string, TreeDifference>;
  /** Between the session's commit and the one that the host gets. */
  readonly merged: ReadonlyMap<string, TreeDifference>;
  /** What the session has staged: paths that differ from its commit, and what that one has. */
  readonly staged: ReadonlyMap<string, TreeEntry | null>;
  /** The same of what the host's index was given last. */
  readonly last: EntriesByPath;
}

interface MergedIndex {
  readonly entries: readonly GitIndexEntry[];
  readonly isChanged: boolean;
  /** Paths whose host entry stays. */
  readonly conflicts: readonly string[];
}

/**
 * A path of which the host has staged nothing goes with the commits; what the session has staged is
 * staged on top of that.
 */
function mergeIndex(sides: IndexSides): MergedIndex {
  const { moved, merged, staged, session, last } = sides;
  const all = new Map(sides.host);
  const conflicts: string[] = [];
  let isChanged = false;
  const put = (path: string, entries: readonly GitIndexEntry[]): void => {
    if (keyOf(all.get(path)) === keyOf(entries)) return;
    all.set(path, entries);
    isChanged = true;
  };
  const isFree = (path: string, ...clean: readonly string[]): boolean => {
    const key = keyOf(all.get(path));
    return clean.includes(key) || (last.has(path) && key === keyOf(last.get(path)));
  };
  for (const [path, { from, to }] of moved) {
    if (isFree(path, keyOfTree(from))) put(path, entriesOf(path, to));
  }
  for (const [path, committed] of staged) {
    const next = merged.has(path) ? (merged.get(path)?.to ?? null) : committed;
    const was = moved.has(path) ? (moved.get(path)?.from ?? null) : next;
    const wanted = session.get(path) ?? none;
    if (isFree(path, keyOfTree(next), keyOfTree(was), keyOf(wanted))) put(path, wanted);
    else conflicts.push(path);
  }
  // Staged before, and no more.
  for (const path of last.keys()) {
    if (staged.has(path) || !isFree(path)) continue;
    const own = session.get(path) ?? none;
    put(path, merged.has(path) ? entriesOf(path, merged.get(path)?.to ?? null) : own);
  }
  return { entries: [...all.values()].flat(), isChanged, conflicts };
}

function indexEntriesByPath(entries: readonly GitIndexEntry[]): Map<string, GitIndexEntry[]> {
  const all = new Map<string, GitIndexEntry[]>();
  for (const entry of entries) {
    const known = all.get(entry.path);
    if (known === undefined) all.set(entry.path, [entry]);
    else known.push(entry);
  }
  return all;
}

const entriesOf = (path: string, entry: TreeEntry | null): readonly GitIndexEntry[] =>
  entry === null ? none : [uncheckedIndexEntry({ path, ...entry })];

const keyOfTree = (entry: TreeEntry | null): string =>
  entry === null ? '' : `${entry.mode} ${entry.oid} 0 0`;

const keyOf = (entries: readonly GitIndexEntry[] = none): string =>
  entries.map(({ mode, oid, stage, marks }) => `${mode} ${oid} ${stage} ${marks}`).join('\n');

// Git's index, read and written entry by entry. Pure. `commit/git-index.ts` describes the format;
// versions 2 to 4 are read, 2 or 3 is written, without extensions: git creates them again.

interface GitIndexEntry {
  /** As bytes, one character each. */
  readonly path: string;
  readonly stage: number;
  /** Octal, as git writes it. */
  readonly mode: number;
  readonly oid: string;
  /** Not in the file but assumed, marked to be skipped, or only to be added: 0 for most. */
  readonly marks: number;
  /** What git noted of the file: the 40 bytes before the object id, the mode among them. */
  readonly stat: Buffer;
}

const headerBytes = 12;
const statBytes = 40;
const modeAt = 24;
const extendedFlag = 0x4000;
const assumeValid = 0x8000;
const nameLengthMax = 0xfff;
/** Index extensions without which the entries are not all that there is. */
const needed = /^[a-z]/;

/** `null`: no index, or one that continues in another file or has entries for whole directories. */
function readIndexFile(index: Buffer, oidBytes: number): GitIndexEntry[] | null {
  const end = index.length - oidBytes;
  if (end < headerBytes || index.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return null;
  const entries: GitIndexEntry[] = [];
  let at = headerBytes;
  let name = '';
  for (let left = index.readUInt32BE(8); left > 0; left -= 1) {
    const start = at;
    at += statBytes + oidBytes;
    if (at + 4 > end) return null;
    const flags = index.readUInt16BE(at);
    const isExtended = (flags & extendedFlag) !== 0;
    const extended = isExtended ? index.readUInt16BE(at + 2) : 0;
    at += isExtended ? 4 : 2;
    let kept = '';
    if (version === 4) {
      const dropped = offset(index, at);
      kept = name.slice(0, name.length - dropped.value);
      at = dropped.end;
    }
    const zero = index.indexOf(0, at);
    if (zero < 0 || zero >= end) return null;
    name = kept + index.toString('latin1', at, zero);
    at = version === 4 ? zero + 1 : start + (((zero - start) >> 3) + 1) * 8;
    entries.push({
      path: name,
      stage: (flags >> 12) & 3,
      mode: index.readUInt32BE(start + modeAt),
      oid: index.toString('hex', start + statBytes, start + statBytes + oidBytes),
      marks: (flags & assumeValid) | (extended >> 1),
      stat: index.subarray(start, start + statBytes),
    });
  }
  return hasNeeded(index, at, end) ? null : entries;
}

function writeIndexFile(entries: readonly GitIndexEntry[], oidBytes: number): Buffer {
  const sorted = entries.toSorted((a, b) => compare(a.path, b.path) || a.stage - b.stage);
  const isExtended = ({ marks }: GitIndexEntry): boolean => (marks & ~assumeValid) !== 0;
  const header = Buffer.alloc(headerBytes);
  header.write('DIRC', 'latin1');
  header.writeUInt32BE(sorted.some(isExtended) ? 3 : 2, 4);
  header.writeUInt32BE(sorted.length, 8);
  const parts = [header];
  for (const entry of sorted) {
    const fixed = statBytes + oidBytes + (isExtended(entry) ? 4 : 2);
    const length = ((fixed + entry.path.length) >> 3) * 8 + 8;
    const bytes = Buffer.alloc(length);
    entry.stat.copy(bytes);
    bytes.writeUInt32BE(entry.mode, modeAt);
    bytes.write(entry.oid, statBytes, 'hex');
    const name = Math.min(entry.path.length, nameLengthMax);
    const flags = (entry.marks & assumeValid) | (entry.stage << 12) | name;
    const extended = isExtended(entry) ? extendedFlag : 0;
    bytes.writeUInt16BE(flags | extended, statBytes + oidBytes);
    if (extended !== 0) {
      bytes.writeUInt16BE((entry.marks & ~assumeValid) << 1, statBytes + oidBytes + 2);
    }
    bytes.write(entry.path, fixed, 'latin1');
    parts.push(bytes);
  }
  const body = Buffer.concat(parts);
  const sum = createHash(oidBytes === 20 ? 'sha1' : 'sha256')
    .update(body)
    .digest();
  return Buffer.concat([body, sum]);
}

/** An entry that git has yet to compare with the file. */
function uncheckedIndexEntry(entry: Pick<GitIndexEntry, 'path' | 'mode' | 'oid'>): GitIndexEntry {
  return { ...entry, stage: 0, marks: 0, stat: Buffer.alloc(statBytes) };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** As git encodes offsets: each further byte adds one more than it encodes. */
function offset(index: Buffer, from: number): { value: number; end: number } {
  let at = from;
  let byte = index[at] ?? 0;
  let value = byte & 127;
  while ((byte & 128) !== 0 && at - from < 5) {
    at += 1;
    byte = index[at] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, end: at + 1 };
}

function hasNeeded(index: Buffer, from: number, end: number): boolean {
  let at = from;
  while (at + 8 <= end) {
    if (needed.test(index.toString('latin1', at, at + 4))) return true;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return false;
}
