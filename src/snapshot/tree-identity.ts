/**
 * The id of a tree, updated with each change and without reading the tree. The contents of the tree
 * when watching began have a random name, the base; the id is a hash of that name and of what
 * differs from it now.
 */
import { hash, randomBytes } from 'node:crypto';
import type { BytePath, Entry, TreeId } from '../change.ts';

/** A path that differs between a view and the tree. */
export interface PathChange {
  readonly path: BytePath;
  readonly before: Entry | null;
  readonly after: Entry | null;
}

/** The entry at a path. */
interface EntryState {
  /** 64 hex digits. */
  readonly digest: string;
  /** Equal digests mean equal entries. */
  readonly isKnown: boolean;
}

interface Delta {
  readonly base: string;
  readonly now: EntryState;
}

/** If more paths than this differ, the current tree becomes the base. */
const deltaMax = 200_000;
const absent: EntryState = { digest: '0'.repeat(64), isKnown: true };

export class TreeIdentity {
  #base: Buffer;
  #delta = new Map<BytePath, Delta>();
  #trie: MerkleTrie | null = null;

  /** @param base names the current tree, 32 bytes. Default: random, different from all others. */
  constructor(base: Uint8Array = randomBytes(32)) {
    this.#base = Buffer.from(base);
  }

  /**
   * Records what happened to one path. Every path must be recorded, also those below a directory
   * that was created or removed. If `before` is not what was last recorded, the tree gets a new
   * base: other changes may be unknown.
   */
  change(path: BytePath, before: Entry | null, after: Entry | null): void {
    const [was, is] = [stateOf(before), stateOf(after)];
    const known = this.#delta.get(path)?.now;
    const isExpected =
      known === undefined || !known.isKnown || !was.isKnown || known.digest === was.digest;
    if (!isExpected) this.noteUnrecordedChange();
    const base = this.#delta.get(path)?.base ?? was.digest;
    if (is.digest === base) this.#delta.delete(path);
    else this.#delta.set(path, { base, now: is });
    this.#trie = withEntry(this.#trie, path, is.digest === base ? null : is.digest);
    if (this.#delta.size > deltaMax) this.#setBase(hash('sha256', this.id(), 'buffer'));
  }

  /** Equal ids mean equal trees; equal trees have equal ids while the base is the same. */
  id(): TreeId {
    return this.#idOf(this.#trie);
  }

  /** The id of the tree with these changes on top, later ones over earlier ones. */
  viewId(pending: Iterable<PathChange>): TreeId {
    let trie = this.#trie;
    const bases = new Map<BytePath, string>();
    for (const { path, before, after } of pending) {
      const base = bases.get(path) ?? this.#delta.get(path)?.base ?? stateOf(before).digest;
      bases.set(path, base);
      const { digest } = stateOf(after);
      trie = withEntry(trie, path, digest === base ? null : digest);
    }
    return this.#idOf(trie);
  }

  /** The tree changed in unrecorded ways: from now on it differs from all others. */
  noteUnrecordedChange(): void {
    this.#setBase(randomBytes(32));
  }

  #setBase(base: Buffer): void {
    this.#base = base;
    this.#delta = new Map();
    this.#trie = null;
  }

  #idOf(trie: MerkleTrie | null): TreeId {
    const bytes = Buffer.concat([Buffer.from('trl tree\0'), this.#base, rootHash(trie)]);
    return `tree:sha256:${hash('sha256', bytes, 'hex')}`;
  }
}

function withEntry(
  trie: MerkleTrie | null,
  path: BytePath,
  digest: string | null,
): MerkleTrie | null {
  const bytes = Buffer.from(path, 'latin1');
  const key = hash('sha256', bytes, 'buffer');
  if (digest === null) return withoutLeaf(trie, key);
  const value = hash('sha256', Buffer.concat([Buffer.from(`leaf ${digest} `), bytes]), 'buffer');
  return withLeaf(trie, key, value);
}

/** An entry with unknown content equals only itself. */
const unknown = new WeakMap<Entry, EntryState>();

function stateOf(entry: Entry | null): EntryState {
  if (entry === null) return absent;
  if (entry.type !== 'file' || entry.sha256 !== null) {
    return { digest: hash('sha256', describeEntry(entry), 'hex'), isKnown: true };
  }
  const known = unknown.get(entry);
  const state = known ?? { digest: randomBytes(32).toString('hex'), isKnown: false };
  unknown.set(entry, state);
  return state;
}

/** What identifies an entry; its times do not. */
function describeEntry(entry: Entry): string {
  switch (entry.type) {
    case 'file':
      return `file ${entry.mode} ${entry.size} ${entry.sha256}`;
    case 'symlink':
      return `symlink ${entry.target}`;
    case 'directory':
      return [entry.type, entry.mode, ...(entry.whole?.manifest ?? [])].join(' ');
    case 'fifo':
    case 'socket':
    case 'device':
      return `${entry.type} ${entry.mode}`;
  }
}

// A Merkle trie: one hash for a set of keys and values, in whatever order they were added. Its
// shape follows from the keys alone. Nodes are immutable, so a variant shares all but its path.

interface Leaf {
  readonly type: 'leaf';
  readonly key: Buffer;
  readonly hash: Buffer;
}

interface Branch {
  readonly type: 'branch';
  /** By the half byte of the key at this depth. */
  readonly slots: readonly (MerkleTrie | null)[];
  /** Computed when it is first needed. */
  hash: Buffer | null;
}

export type MerkleTrie = Leaf | Branch;

const empty: readonly null[] = Array.from({ length: 16 }, () => null);
const nothing = Buffer.alloc(32);

/** `key`: 32 evenly distributed bytes, such as a hash. `value`: 32 bytes. */
export function withLeaf(trie: MerkleTrie | null, key: Buffer, value: Buffer): MerkleTrie {
  return insert(trie, { type: 'leaf', key, hash: value }, 0);
}

export function withoutLeaf(trie: MerkleTrie | null, key: Buffer): MerkleTrie | null {
  return remove(trie, key, 0);
}

export function rootHash(trie: MerkleTrie | null): Buffer {
  if (trie === null) return nothing;
  if (trie.type === 'leaf') return trie.hash;
  trie.hash ??= hash('sha256', Buffer.concat(trie.slots.map(rootHash)), 'buffer');
  return trie.hash;
}

function insert(trie: MerkleTrie | null, leaf: Leaf, depth: number): MerkleTrie {
  if (trie === null) return leaf;
  if (trie.type === 'leaf') {
    if (trie.key.equals(leaf.key)) return leaf;
    const branch: Branch = { type: 'branch', slots: empty, hash: null };
    return insert(insert(branch, trie, depth), leaf, depth);
  }
  const slot = halfByte(leaf.key, depth);
  return withSlot(trie, slot, insert(trie.slots[slot] ?? null, leaf, depth + 1));
}

function remove(trie: MerkleTrie | null, key: Buffer, depth: number): MerkleTrie | null {
  if (trie === null) return null;
  if (trie.type === 'leaf') return trie.key.equals(key) ? null : trie;
  const slot = halfByte(key, depth);
  const before = trie.slots[slot] ?? null;
  const after = remove(before, key, depth + 1);
  if (after === before) return trie;
  const left = withSlot(trie, slot, after);
  // A single leaf replaces the branch: the shape is that of the remaining keys.
  const [first, second] = left.slots.filter((child) => child !== null);
  return second === undefined && first?.type === 'leaf' ? first : left;
}

const withSlot = ({ slots }: Branch, slot: number, child: MerkleTrie | null): Branch => ({
  type: 'branch',
  slots: slots.with(slot, child),
  hash: null,
});

function halfByte(key: Buffer, depth: number): number {
  const byte = key[depth >> 1] ?? 0;
  return depth % 2 === 0 ? byte >> 4 : byte & 15;
}
