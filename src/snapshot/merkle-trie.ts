/**
 * A Merkle trie: one hash for a set of keys and values, whatever the order in which they came. Its
 * shape follows from the keys alone. Nodes never change, so a variant shares all but its path.
 */
import { hash } from 'node:crypto';

interface Leaf {
  readonly type: 'leaf';
  readonly key: Buffer;
  readonly hash: Buffer;
}

interface Branch {
  readonly type: 'branch';
  /** By the half byte of the key at this depth. */
  readonly slots: readonly (MerkleTrie | null)[];
  /** Made when it is first asked for. */
  hash: Buffer | null;
}

export type MerkleTrie = Leaf | Branch;

const empty: readonly null[] = Array.from({ length: 16 }, () => null);
const nothing = Buffer.alloc(32);

/** `key`: 32 bytes that are spread evenly, as hashes are. `value`: 32 bytes. */
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
  // A leaf alone stands where the branch stood: the shape is that of the keys that are left.
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
