/**
 * The denied contents and their fingerprints. Each content is stored once, however many files have
 * it, and has a range of 32-bit positions. The table leads from a fingerprint to positions: linear
 * probing in two typed arrays, eight bytes an entry, after a bit map that rejects most fingerprints
 * of unrelated texts.
 */

/** Positions of one fingerprint in the table itself; more are stored in a map. */
const inTableMax = 4;
const loadMax = 0.8;
const growth = 1.5;
const capacityMin = 1024;
const spreading = 0x9e3779b1;

export class FingerprintTable {
  #hashes = new Uint32Array(capacityMin);
  /** 0: empty. */
  #places = new Uint32Array(capacityMin);
  #bits = new Uint32Array(capacityMin >>> 2);
  /** The bits of a hash above this shift select a bit of the map. */
  #shift = Math.clz32(this.#bits.length * 32 - 1);
  #count = 0;
  #spilled = new Map<number, number[]>();
  #spilledCount = 0;

  get count(): number {
    return this.#count + this.#spilledCount;
  }
  get bytes(): number {
    const arrays = this.#hashes.byteLength + this.#places.byteLength + this.#bits.byteLength;
    return arrays + this.#spilled.size * 80 + this.#spilledCount * 8;
  }

  /**
   * Which of `hashes[0, count)` can be in the table: writes their indices to `into`, which has room
   * for all, and returns their count. The others are certainly not.
   */
  possible(hashes: Uint32Array, count: number, into: Uint32Array): number {
    const bits = this.#bits;
    const shift = this.#shift;
    let found = 0;
    for (let i = 0; i < count; i += 1) {
      const bit = Math.imul(hashes[i] ?? 0, spreading) >>> shift;
      if (((bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) continue;
      into[found] = i;
      found += 1;
    }
    return found;
  }

  /** Writes at most `into.length` positions of the fingerprint and returns their count. */
  find(hash: number, into: Uint32Array): number {
    const hashes = this.#hashes;
    const places = this.#places;
    let found = 0;
    for (let at = this.#slot(hash); places[at] !== 0; at = at + 1 === places.length ? 0 : at + 1) {
      if (hashes[at] !== hash) continue;
      into[found] = places[at] ?? 0;
      found += 1;
    }
    if (found < inTableMax) return found;
    for (const place of this.#spilled.get(hash) ?? []) {
      if (found === into.length) break;
      into[found] = place;
      found += 1;
    }
    return found;
  }

  /** All pairs of fingerprint and position, in turns. */
  pairs(): Uint32Array {
    const pairs = new Uint32Array(this.count * 2);
    let length = 0;
    const put = (hash: number, place: number): void => {
      pairs[length] = hash;
      pairs[length + 1] = place;
      length += 2;
    };
    for (let at = 0; at < this.#places.length; at += 1) {
      if (this.#places[at] !== 0) put(this.#hashes[at] ?? 0, this.#places[at] ?? 0);
    }
    for (const [hash, places] of this.#spilled) for (const place of places) put(hash, place);
    return pairs;
  }

  /** Makes room for `more` fingerprints at once. */
  reserve(more: number): void {
    const wanted = this.#count + more;
    if (wanted <= this.#hashes.length * loadMax) return;
    this.#resize(Math.ceil(Math.max((wanted * growth) / (loadMax * 1.25), capacityMin)));
  }

  /** `place`: from 1 on. Each pair may be added at most once. */
  add(hash: number, place: number): void {
    if (this.#count + 1 > this.#hashes.length * loadMax) this.reserve(1);
    const hashes = this.#hashes;
    const places = this.#places;
    let same = 0;
    let at = this.#slot(hash);
    while (places[at] !== 0) {
      if (hashes[at] === hash) same += 1;
      at = at + 1 === places.length ? 0 : at + 1;
    }
    if (same >= inTableMax) {
      const list = this.#spilled.get(hash);
      if (list === undefined) this.#spilled.set(hash, [place]);
      else list.push(place);
      this.#spilledCount += 1;
      return;
    }
    hashes[at] = hash;
    places[at] = place;
    this.#count += 1;
    this.#mark(hash);
  }

  delete(hash: number, place: number): void {
    const list = this.#spilled.get(hash);
    const listed = list?.indexOf(place) ?? -1;
    if (list !== undefined && listed >= 0) {
      list.splice(listed, 1);
      this.#spilledCount -= 1;
      if (list.length === 0) this.#spilled.delete(hash);
      return;
    }
    const places = this.#places;
    let at = this.#slot(hash);
    while (places[at] !== place || this.#hashes[at] !== hash) {
      if (places[at] === 0) return;
      at = at + 1 === places.length ? 0 : at + 1;
    }
    const instead = list?.pop();
    if (instead !== undefined) {
      places[at] = instead;
      this.#spilledCount -= 1;
      if (list?.length === 0) this.#spilled.delete(hash);
      return;
    }
    this.#close(at);
  }

  /** Empties a slot and moves up later entries that a search would no longer find. */
  #close(gap: number): void {
    const hashes = this.#hashes;
    const places = this.#places;
    const length = places.length;
    let at = gap + 1 === length ? 0 : gap + 1;
    while (places[at] !== 0) {
      const home = this.#slot(hashes[at] ?? 0);
      const fromHome = at >= home ? at - home : at + length - home;
      const fromGap = at >= gap ? at - gap : at + length - gap;
      if (fromHome >= fromGap) {
        hashes[gap] = hashes[at] ?? 0;
        places[gap] = places[at] ?? 0;
        gap = at;
      }
      at = at + 1 === length ? 0 : at + 1;
    }
    places[gap] = 0;
    this.#count -= 1;
  }

  #slot(hash: number): number {
    return Math.floor((spread(hash) * this.#hashes.length) / 2 ** 32);
  }

  #mark(hash: number): void {
    const bit = spread(hash) >>> this.#shift;
    const word = bit >>> 5;
    this.#bits[word] = (this.#bits[word] ?? 0) | (1 << (bit & 31));
  }

  #resize(capacity: number): void {
    const hashes = this.#hashes;
    const places = this.#places;
    this.#hashes = new Uint32Array(capacity);
    this.#places = new Uint32Array(capacity);
    // About eight bits an entry: one unrelated gram in twelve leads to a useless look-up.
    this.#bits = new Uint32Array(2 ** Math.ceil(Math.log2(capacity * 6)) / 32);
    this.#shift = Math.clz32(this.#bits.length * 32 - 1);
    for (let i = 0; i < hashes.length; i += 1) {
      const place = places[i] ?? 0;
      if (place === 0) continue;
      const hash = hashes[i] ?? 0;
      let at = this.#slot(hash);
      while (this.#places[at] !== 0) at = at + 1 === capacity ? 0 : at + 1;
      this.#hashes[at] = hash;
      this.#places[at] = place;
      this.#mark(hash);
    }
  }
}

/** Winnowing keeps small hashes, so their leading bits are mostly 0. */
function spread(hash: number): number {
  return Math.imul(hash, spreading) >>> 0;
}

export interface IndexedContent {
  readonly digest: string;
  /** Normalised, with line ends (`view-normal.ts`). */
  readonly chars: Uint8Array;
  /** Position of the first character. */
  readonly base: number;
  readonly paths: Set<string>;
  /** Size of the file, `bytes`. */
  readonly size: number;
}

/** Positions are 32-bit numbers; 0 is none. */
const placesMax = 2 ** 32 - 1;

export class IndexedContents {
  readonly #byDigest = new Map<string, IndexedContent>();
  /** In the order of their positions; a deleted content leaves a gap. */
  #ordered: (IndexedContent | null)[] = [];
  #bases: number[] = [];
  #next = 1;
  #gaps = 0;
  bytes = 0;

  get(digest: string): IndexedContent | undefined {
    return this.#byDigest.get(digest);
  }

  /** Skips positions, so that the next content begins at `base`. */
  skipTo(base: number): void {
    this.#next = Math.max(this.#next, base);
  }

  /** `null`: no position is free, and the index must be rebuilt. */
  add(digest: string, chars: Uint8Array, size: number): IndexedContent | null {
    if (this.#next + chars.length > placesMax) return null;
    const content = { digest, chars, base: this.#next, paths: new Set<string>(), size };
    // An empty content has a position, too.
    this.#next += Math.max(1, chars.length);
    this.#byDigest.set(digest, content);
    this.#ordered.push(content);
    this.#bases.push(content.base);
    this.bytes += chars.byteLength + contentOverhead;
    return content;
  }

  delete(content: IndexedContent): void {
    this.#byDigest.delete(content.digest);
    this.#ordered[this.#indexOf(content.base)] = null;
    this.bytes -= content.chars.byteLength + contentOverhead;
    this.#gaps += 1;
    if (this.#gaps * 2 < this.#ordered.length) return;
    this.#ordered = this.#ordered.filter((one) => one !== null);
    this.#bases = this.#ordered.map((one) => one?.base ?? 0);
    this.#gaps = 0;
  }

  at(place: number): IndexedContent | null {
    return this.#ordered[this.#indexOf(place)] ?? null;
  }

  all(): Iterable<IndexedContent> {
    return this.#byDigest.values();
  }

  /** Index of the last base that is not after `place`. */
  #indexOf(place: number): number {
    let [low, high] = [0, this.#bases.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#bases[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Estimate for objects and maps, `bytes`. */
const contentOverhead = 400;
