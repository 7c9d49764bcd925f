/** Refs as they stand in files, read without following a link. */
import { readdirSync } from 'node:fs';
import type { BytePath, StatKey } from '../../change.ts';
import { joinPath } from '../byte-path.ts';
import type { CommitItem } from '../commit/commit-item.ts';
import type { TreePathResolver } from '../commit/tree-path-resolver.ts';

// What a session changed in a git directory, as values: they are kept as JSON, to go on later.

/** An object id, or `ref: …` as the file has it; `null`: there is none. */
export type RefValue = string | null;

export interface RefChange {
  readonly name: string;
  /** The value synced last; absent: unknown. */
  readonly base?: RefValue;
  readonly now: RefValue;
  /** Commits of the host that the session's index was too old for. */
  readonly blind?: UnseenCommits | null;
  /** The session's own log of it ends elsewhere: a part of what its git wrote was not seen yet. */
  readonly isUnsure?: boolean;
}

/** What the host has changed between two commits, and a session's index does not know of. */
interface UnseenCommits {
  readonly from: string;
  readonly to: string;
}

export interface LogChange {
  readonly git: BytePath;
  /** Of a ref, or `HEAD`. */
  readonly name: string;
  /** All lines of the session's log; `null`: it is gone. */
  readonly lines: readonly string[] | null;
  /** Earlier lines. */
  readonly before: readonly string[];
}

/** An index of a session, and the commit that its branch had then. */
export interface IndexBase {
  readonly commit: RefValue;
  /** Of its content. */
  readonly sha256: string;
  readonly blind: UnseenCommits | null;
}

/** What belongs to one worktree. */
export interface CheckoutChange {
  readonly git: BytePath;
  /** The text of `HEAD`, as it was last synced and as it is. */
  readonly head: { readonly base: string | null; readonly now: string | null };
  /** What the session takes the branch of `head.base` for; `null`: what the host has. */
  readonly seen: RefValue;
  /** The commits of both sides' `HEAD`, before anything is brought over. */
  readonly host: RefValue;
  readonly session: RefValue;
  /** The session is in the middle of a rebase. */
  readonly isRebasing: boolean;
  /** `null`: the session has none of its own, or `isWritten`. */
  readonly index: IndexBase | null;
  /** Its git is about to replace it: until then it is taken for what its commit says. */
  readonly isWritten: boolean;
  readonly blind: UnseenCommits | null;
  /** What the host's index was last given; `null`: nothing. */
  readonly last: IndexBase | null;
  /** The key of the host's index, if nobody changed it. */
  readonly untouched: StatKey | null;
}

export interface GitPlan {
  /** Names what is set aside. */
  readonly label: string;
  readonly common: BytePath;
  readonly refs: readonly RefChange[];
  readonly logs: readonly LogChange[];
  readonly checkouts: readonly CheckoutChange[];
  /** Loose objects and packs: only added. */
  readonly objects: readonly CommitItem[];
}

/** What became of a ref, an index or a `HEAD`; `reason`: one word, and where it was put aside. */
export interface GitOutcome {
  readonly state: 'applied' | 'conflict';
  readonly reason: string | null;
  /** Of its result, before anybody else could change it. */
  readonly key?: StatKey | null;
  /** Where the host has something else than the session now: what it had, and what it has. */
  readonly reached?: { readonly from: Buffer; readonly to: Buffer };
}

/** A worktree that stays where it is, and the commit of the session that it does not follow. */
export interface AsideCheckout {
  readonly git: BytePath;
  readonly host: string;
  readonly session: string;
  readonly reason: string;
}

/** What a diverged change is reported with; the ref's name follows. */
export const divergedPrefix = 'diverged:';

const valueBytesMax = 4_096;
const packedBytesMax = 64 * 1024 * 1024;
const refsMax = 100_000;
const oid = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const symbolic = /^ref: refs\/[^\0\n]+$/;

export interface RefSet {
  readonly loose: ReadonlyMap<string, string>;
  readonly packed: ReadonlyMap<string, string>;
}

export const isOid = (value: RefValue): value is string => value !== null && oid.test(value);

export function refValueIn(set: RefSet, name: string): RefValue {
  return set.loose.get(name) ?? set.packed.get(name) ?? null;
}

/** The value that a ref's file has; `null` where it is none. */
export function parseRef(text: string | null): RefValue {
  const line = text?.trimEnd() ?? '';
  return oid.test(line) || symbolic.test(line) ? line : null;
}

export function parsePackedRefs(text: string | null): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of (text ?? '').split('\n')) {
    const space = line.indexOf(' ');
    const value = line.slice(0, space);
    if (oid.test(value)) found.set(line.slice(space + 1), value);
  }
  return found;
}

export function readRef(steps: TreePathResolver, common: BytePath, name: string): RefValue {
  return parseRef(steps.read(joinPath(common, name), valueBytesMax));
}

export function readPackedRefs(steps: TreePathResolver, common: BytePath): Map<string, string> {
  return parsePackedRefs(steps.read(joinPath(common, 'packed-refs'), packedBytesMax));
}

export function readRefs(steps: TreePathResolver, common: BytePath): RefSet {
  const loose = new Map<string, string>();
  const queue = ['refs'];
  for (const directory of queue) {
    if (loose.size > refsMax) break;
    for (const entry of entriesOf(steps, joinPath(common, directory))) {
      const name = `${directory}/${entry.name}`;
      if (entry.isDirectory()) queue.push(name);
      else if (entry.isFile() && !name.endsWith('.lock')) {
        const value = readRef(steps, common, name);
        if (value !== null) loose.set(name, value);
      }
    }
  }
  return { loose, packed: readPackedRefs(steps, common) };
}

function entriesOf(steps: TreePathResolver, path: BytePath) {
  const fd = steps.directory(path);
  if (fd === null) return [];
  try {
    return readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true, encoding: 'latin1' });
  } catch {
    return [];
  }
}

/** The object that a ref leads to, through other refs. */
export function resolveRefValue(set: RefSet, value: RefValue): RefValue {
  let at = value;
  for (let depth = 0; depth < 5 && at?.startsWith('ref: '); depth += 1) {
    at = refValueIn(set, at.slice('ref: '.length));
  }
  return isOid(at) ? at : null;
}

// Merges the reflogs of two sides: lines differ only by their text. Pure.

export const reflogLinesOf = (text: string): string[] =>
  text.split('\n').filter((line) => line !== '');

/** What the session added to a log. */
export function addedReflogLines(host: readonly string[], session: readonly string[]): string[] {
  const known = new Set(host);
  return session.filter((line) => !known.has(line));
}

/** The log of a stack, as `git stash` keeps its entries: what was taken off goes, too. */
export function mergeStashLog(
  host: readonly string[],
  session: readonly string[],
  before: readonly string[],
): string[] {
  const stays = new Set(session.map(entryOf));
  const gone = new Set(before.map(entryOf).filter((one) => !stays.has(one)));
  const kept = host.filter((line) => !gone.has(entryOf(line)));
  const known = new Set(kept.map(entryOf));
  return [...kept, ...session.filter((line) => !known.has(entryOf(line)))];
}

/** The change that a line records: when the line before it is dropped, git rewrites the old id. */
const entryOf = (line: string): string => line.slice(line.indexOf(' ') + 1);

/** The object that a line leads to. */
export const reflogNewValueOf = (line: string): string => line.split(' ')[1] ?? '';
