/**
 * The Merkle tree over the events of a log. Source: RFC 6962, section 2.1; verification from RFC
 * 9162, section 2.1. Hashes of complete subtrees are stored in the order in which they are
 * completed (the layout of Go's sumdb/tlog), so that their file is append-only:
 *
 *   leaf 0 | leaf 1 | node 1.0 | leaf 2 | leaf 3 | node 1.1 | node 2.0 | leaf 4 | …
 */
import { hash } from 'node:crypto';

export const merkleHashBytes = 32;

/** Reads a stored hash by its index. */
export type ReadHash = (index: number) => Buffer | Promise<Buffer>;

/** SHA-256(0x00 || line). `line` is without its newline. */
export const leafHash = (line: string): Buffer => hash('sha256', `\0${line}`, 'buffer');

const joined = Buffer.alloc(1 + 2 * merkleHashBytes, 1);

/** SHA-256(0x01 || left || right). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  joined.set(left, 1);
  joined.set(right, 1 + merkleHashBytes);
  return hash('sha256', joined, 'buffer');
}

/** The root of a tree without leaves. */
export const emptyRoot = (): Buffer => hash('sha256', '', 'buffer');

/** A tree to which leaves are appended; stores only the roots of its complete subtrees. */
export class MerkleTree {
  #size: number;
  readonly #peaks: Buffer[];

  /** @param peaks roots of the complete subtrees of `size` leaves, the largest first */
  constructor(size = 0, peaks: readonly Buffer[] = []) {
    this.#size = size;
    this.#peaks = [...peaks];
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the stored hashes that this leaf completes, in their order. */
  append(leaf: Buffer): Buffer[] {
    const stored = [leaf];
    let top = leaf;
    for (let n = this.#size; n % 2 === 1; n = (n - 1) / 2) {
      const left = this.#peaks.pop();
      if (left === undefined) throw new RangeError('The root of a subtree is missing');
      top = nodeHash(left, top);
      stored.push(top);
    }
    this.#peaks.push(top);
    this.#size += 1;
    return stored;
  }

  root(): Buffer {
    return (
      this.#peaks.reduceRight<Buffer | null>(
        (right, left) => (right === null ? left : nodeHash(left, right)),
        null,
      ) ?? emptyRoot()
    );
  }

  clone(): MerkleTree {
    return new MerkleTree(this.#size, this.#peaks);
  }
}

/** Where the root of the `n`-th complete subtree of 2^`level` leaves is stored. */
export function storedHashIndex(level: number, n: number): number {
  // The last leaf below it, and all that was stored before that leaf.
  let index = 0;
  for (let rest = (n + 1) * 2 ** level - 1; rest > 0; rest = Math.floor(rest / 2)) index += rest;
  return index + level;
}

/** How many hashes are stored for `size` leaves. */
export const storedHashCount = (size: number): number =>
  size === 0 ? 0 : storedHashIndex(0, size);

/** The tree of the first `size` leaves, from stored hashes. */
export async function readMerkleTreeAt(size: number, read: ReadHash): Promise<MerkleTree> {
  const peaks: Buffer[] = [];
  let begin = 0;
  while (begin < size) {
    const leaves = largestPower(size - begin);
    peaks.push(await read(storedHashIndex(Math.log2(leaves), begin / leaves)));
    begin += leaves;
  }
  return new MerkleTree(size, peaks);
}

/** The hashes from the leaf `seq` up to the root of `size` leaves (RFC 6962, 2.1.1). */
export async function buildInclusionProof(
  seq: number,
  size: number,
  read: ReadHash,
): Promise<Buffer[]> {
  if (!(seq >= 0 && seq < size)) throw new RangeError(`No event ${seq} among ${size}`);
  const proof: Buffer[] = [];
  let [begin, end] = [0, size];
  while (end - begin > 1) {
    const middle = begin + splitOf(end - begin);
    const isLeft = seq < middle;
    proof.unshift(isLeft ? await rootOf(middle, end, read) : await rootOf(begin, middle, read));
    if (isLeft) end = middle;
    else begin = middle;
  }
  return proof;
}

/** Proves that the tree of `older` leaves is the start of the one of `size` (RFC 6962, 2.1.2). */
export async function buildConsistencyProof(
  older: number,
  size: number,
  read: ReadHash,
): Promise<Buffer[]> {
  if (!(older >= 0 && older <= size)) throw new RangeError(`No ${older} events among ${size}`);
  if (older === 0 || older === size) return [];
  const proof: Buffer[] = [];
  let [begin, end, isWhole] = [0, size, true];
  while (older !== end) {
    const middle = begin + splitOf(end - begin);
    if (older <= middle) {
      proof.unshift(await rootOf(middle, end, read));
      end = middle;
    } else {
      proof.unshift(await rootOf(begin, middle, read));
      begin = middle;
      isWhole = false;
    }
  }
  if (!isWhole) proof.unshift(await rootOf(begin, end, read));
  return proof;
}

export interface InclusionClaim {
  readonly leaf: Buffer;
  readonly seq: number;
  readonly size: number;
  readonly root: Buffer;
  readonly proof: readonly Buffer[];
}

/** Whether `proof` leads from the leaf to the root (RFC 9162, 2.1.3.2). */
export function isIncluded({ leaf, seq, size, root, proof }: InclusionClaim): boolean {
  if (!(seq >= 0 && seq < size)) return false;
  let [at, last, found] = [seq, size - 1, leaf];
  for (const other of proof) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      found = nodeHash(other, found);
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, half(last)];
    } else {
      found = nodeHash(found, other);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && found.equals(root);
}

export interface ConsistencyClaim {
  readonly older: { readonly size: number; readonly root: Buffer };
  readonly newer: { readonly size: number; readonly root: Buffer };
  readonly proof: readonly Buffer[];
}

/** Whether the older tree is the start of the newer one (RFC 9162, 2.1.4.2). */
export function isConsistent({ older, newer, proof }: ConsistencyClaim): boolean {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0 && older.root.equals(emptyRoot());
  const isPower = largestPower(older.size) === older.size;
  const [first, ...rest] = isPower ? [older.root, ...proof] : proof;
  if (first === undefined) return false;
  let [at, last] = [older.size - 1, newer.size - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  let [oldFound, newFound] = [first, first];
  for (const other of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      oldFound = nodeHash(other, oldFound);
      newFound = nodeHash(other, newFound);
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, half(last)];
    } else {
      newFound = nodeHash(newFound, other);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && oldFound.equals(older.root) && newFound.equals(newer.root);
}

/** The root over the leaves from `begin` up to `end`, a range that a tree is split into. */
async function rootOf(begin: number, end: number, read: ReadHash): Promise<Buffer> {
  const leaves = end - begin;
  if (largestPower(leaves) === leaves) {
    return await read(storedHashIndex(Math.log2(leaves), begin / leaves));
  }
  const middle = begin + splitOf(leaves);
  const left = await rootOf(begin, middle, read);
  return nodeHash(left, await rootOf(middle, end, read));
}

const half = (n: number): number => Math.floor(n / 2);

/** The largest power of two that is not larger than `n`, which is at least 1. */
function largestPower(n: number): number {
  let power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

/** The largest power of two that is smaller than `n`, which is at least 2. */
function splitOf(n: number): number {
  const power = largestPower(n);
  return power === n ? n / 2 : power;
}
