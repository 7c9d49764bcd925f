/**
 * The id of a tree, kept up to date with each change and without reading the tree. What the tree
 * held when we began to watch has a random name, the base; the id is a hash of that name and of
 * what differs from it now.
 */
import { hash, randomBytes } from 'node:crypto';
import type { BytePath, Entry, TreeId } from '../change.ts';
import { rootHash, withLeaf, withoutLeaf, type MerkleTrie } from './merkle-trie.ts';

/** One path of which a view shows something else than the tree. */
export interface PathChange {
  readonly path: BytePath;
  readonly before: Entry | null;
  readonly after: Entry | null;
}

/** What stands at a path, in 64 hex digits. */
interface Standing {
  readonly digest: string;
  /** Whether equal digests would mean equal things. */
  readonly isKnown: boolean;
}

interface Delta {
  readonly base: string;
  readonly now: Standing;
}

/** With more paths than this that differ, the tree as it stands becomes the base. */
const deltaMax = 200_000;
const absent: Standing = { digest: '0'.repeat(64), isKnown: true };

export class TreeIdentity {
  #base: Buffer;
  #delta = new Map<BytePath, Delta>();
  #trie: MerkleTrie | null = null;

  /** @param base names the tree as it stands, 32 bytes. Default: random, like no other tree. */
  constructor(base: Uint8Array = randomBytes(32)) {
    this.#base = Buffer.from(base);
  }

  /**
   * Records what happened to one path. Each path has to be told, also those below a directory that
   * came or went. Where `before` is not what was last recorded the tree has a new base: nobody
   * knows what else happened.
   */
  change(path: BytePath, before: Entry | null, after: Entry | null): void {
    const [was, is] = [standingOf(before), standingOf(after)];
    const known = this.#delta.get(path)?.now;
    const isExpected =
      known === undefined || !known.isKnown || !was.isKnown || known.digest === was.digest;
    if (!isExpected) this.noteUnrecordedChange();
    const base = this.#delta.get(path)?.base ?? was.digest;
    if (is.digest === base) this.#delta.delete(path);
    else this.#delta.set(path, { base, now: is });
    this.#trie = moved(this.#trie, path, is.digest === base ? null : is.digest);
    if (this.#delta.size > deltaMax) this.#begin(hash('sha256', this.id(), 'buffer'));
  }

  /** Equal ids mean equal trees; equal trees have equal ids as long as the base is the same. */
  id(): TreeId {
    return this.#idOf(this.#trie);
  }

  /** The id of the tree with these changes on top, later ones over earlier ones. */
  viewId(pending: Iterable<PathChange>): TreeId {
    let trie = this.#trie;
    const bases = new Map<BytePath, string>();
    for (const { path, before, after } of pending) {
      const base = bases.get(path) ?? this.#delta.get(path)?.base ?? standingOf(before).digest;
      bases.set(path, base);
      const { digest } = standingOf(after);
      trie = moved(trie, path, digest === base ? null : digest);
    }
    return this.#idOf(trie);
  }

  /** The tree changed in ways that nobody recorded: from now on it is like no other tree. */
  noteUnrecordedChange(): void {
    this.#begin(randomBytes(32));
  }

  #begin(base: Buffer): void {
    this.#base = base;
    this.#delta = new Map();
    this.#trie = null;
  }

  #idOf(trie: MerkleTrie | null): TreeId {
    const bytes = Buffer.concat([Buffer.from('trl tree\0'), this.#base, rootHash(trie)]);
    return `tree:sha256:${hash('sha256', bytes, 'hex')}`;
  }
}

function moved(trie: MerkleTrie | null, path: BytePath, digest: string | null): MerkleTrie | null {
  const bytes = Buffer.from(path, 'latin1');
  const key = hash('sha256', bytes, 'buffer');
  if (digest === null) return withoutLeaf(trie, key);
  const value = hash('sha256', Buffer.concat([Buffer.from(`leaf ${digest} `), bytes]), 'buffer');
  return withLeaf(trie, key, value);
}

/** An entry of which the content is not known equals itself alone. */
const unknown = new WeakMap<Entry, Standing>();

function standingOf(entry: Entry | null): Standing {
  if (entry === null) return absent;
  if (entry.type !== 'file' || entry.sha256 !== null) {
    return { digest: hash('sha256', spell(entry), 'hex'), isKnown: true };
  }
  const known = unknown.get(entry);
  const standing = known ?? { digest: randomBytes(32).toString('hex'), isKnown: false };
  unknown.set(entry, standing);
  return standing;
}

/** What makes a thing what it is; times do not. */
function spell(entry: Entry): string {
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
