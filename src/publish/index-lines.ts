/**
 * Lines that an audience can see already, as 64-bit hashes with the number of files that have each.
 * A long line (of a minified file) counts as several: it is split after `;`, `{` or `}`.
 */
import { lineEnd } from './view-normal.ts';

/** A line is split at the first end of a statement after so many characters, or at the maximum. */
const unitChars = 64;
const unitCharsMax = 512;
/** Shorter lines never count as novel. */
export const lineCharsMin = 4;

const loadMax = 0.7;
const capacityMin = 1024;

/** The end of the line, or of the unit of a long line, that begins at `from`. */
export function unitEnd(chars: Uint8Array, from: number): number {
  const limit = Math.min(chars.length, from + unitCharsMax);
  for (let at = from; at < limit; at += 1) {
    const char = chars[at] ?? 0;
    if (char === lineEnd) return at;
    if (at - from < unitChars) continue;
    if (char === 0x3b || char === 0x7b || char === 0x7d) return at + 1;
  }
  return limit;
}

/** Writes two hashes of `chars[from, to)` to `pair`. */
export function hashUnit(chars: Uint8Array, from: number, to: number, pair: Uint32Array): void {
  let one = 0x811c9dc5;
  let two = 0x27d4eb2f;
  for (let at = from; at < to; at += 1) {
    const char = chars[at] ?? 0;
    one = Math.imul(one ^ char, 0x01000193);
    two = (Math.imul(two, 0x2c9277b5) + char) | 0;
  }
  one = Math.imul(one ^ (one >>> 16), 0x7feb352d);
  two = Math.imul(two ^ (two >>> 15), 0x846ca68b);
  pair[0] = one ^ (one >>> 15);
  // A second half of 0 marks an empty slot of the table.
  pair[1] = (two ^ (two >>> 16)) | 1;
}

/** The hashes of a file's lines, two numbers each. */
export function hashLines(chars: Uint8Array): Uint32Array {
  const pair = new Uint32Array(2);
  let hashes = new Uint32Array(256);
  let length = 0;
  for (let from = 0; from < chars.length;) {
    const to = unitEnd(chars, from);
    if (to - from >= lineCharsMin) {
      hashUnit(chars, from, to, pair);
      if (length + 2 > hashes.length) {
        const more = new Uint32Array(hashes.length * 2);
        more.set(hashes);
        hashes = more;
      }
      hashes.set(pair, length);
      length += 2;
    }
    from = chars[to] === lineEnd ? to + 1 : Math.max(to, from + 1);
  }
  return hashes.slice(0, length);
}

export class LineCounts {
  #ones = new Uint32Array(capacityMin);
  #twos = new Uint32Array(capacityMin);
  #counts = new Uint32Array(capacityMin);
  #used = 0;

  get bytes(): number {
    return this.#ones.byteLength * 3;
  }

  has(one: number, two: number): boolean {
    return (this.#counts[this.#find(one, two)] ?? 0) > 0;
  }

  add(hashes: Uint32Array): void {
    for (let i = 0; i < hashes.length; i += 2) {
      if (this.#used + 1 > this.#ones.length * loadMax) this.#grow();
      const [one = 0, two = 0] = [hashes[i], hashes[i + 1]];
      const at = this.#find(one, two);
      if (this.#twos[at] === 0) {
        this.#ones[at] = one;
        this.#twos[at] = two;
        this.#used += 1;
      }
      this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    }
  }

  /** A line that no file has any more keeps its slot until the table grows. */
  delete(hashes: Uint32Array): void {
    for (let i = 0; i < hashes.length; i += 2) {
      const at = this.#find(hashes[i] ?? 0, hashes[i + 1] ?? 0);
      const count = this.#counts[at] ?? 0;
      if (count > 0) this.#counts[at] = count - 1;
    }
  }

  #find(one: number, two: number): number {
    const twos = this.#twos;
    const mask = twos.length - 1;
    let at = one & mask;
    while (twos[at] !== 0 && (twos[at] !== two || this.#ones[at] !== one)) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const [ones, twos, counts] = [this.#ones, this.#twos, this.#counts];
    const alive = counts.reduce((sum, count) => (count > 0 ? sum + 1 : sum), 0);
    const capacity = alive * 2 > ones.length * loadMax ? ones.length * 2 : ones.length;
    this.#ones = new Uint32Array(capacity);
    this.#twos = new Uint32Array(capacity);
    this.#counts = new Uint32Array(capacity);
    this.#used = alive;
    for (let i = 0; i < ones.length; i += 1) {
      if ((counts[i] ?? 0) === 0) continue;
      const at = this.#find(ones[i] ?? 0, twos[i] ?? 0);
      this.#ones[at] = ones[i] ?? 0;
      this.#twos[at] = twos[i] ?? 0;
      this.#counts[at] = counts[i] ?? 0;
    }
  }
}

interface SeenContent {
  readonly digest: string;
  /** Two numbers for each line. */
  readonly lines: Uint32Array;
  paths: number;
}

export class VisibleFiles {
  readonly lines = new LineCounts();
  readonly #byPath = new Map<string, SeenContent>();
  readonly #byDigest = new Map<string, SeenContent>();
  #lineBytes = 0;

  get count(): number {
    return this.#byPath.size;
  }
  get bytes(): number {
    return this.#lineBytes + this.lines.bytes + this.#byPath.size * 200;
  }

  digest(path: string): string | undefined {
    return this.#byPath.get(path)?.digest;
  }
  paths(): Iterable<string> {
    return this.#byPath.keys();
  }
  linesOf(path: string): Uint32Array | undefined {
    return this.#byPath.get(path)?.lines;
  }

  /** Calls `hashes` only if no other file has this content. */
  put(path: string, digest: string, hashes: () => Uint32Array): void {
    this.delete(path);
    let content = this.#byDigest.get(digest);
    if (content === undefined) {
      content = { digest, lines: hashes(), paths: 0 };
      this.#byDigest.set(digest, content);
      this.lines.add(content.lines);
      this.#lineBytes += content.lines.byteLength;
    }
    content.paths += 1;
    this.#byPath.set(path, content);
  }

  delete(path: string): void {
    const content = this.#byPath.get(path);
    if (content === undefined) return;
    this.#byPath.delete(path);
    content.paths -= 1;
    if (content.paths > 0) return;
    this.#byDigest.delete(content.digest);
    this.lines.delete(content.lines);
    this.#lineBytes -= content.lines.byteLength;
  }
}
