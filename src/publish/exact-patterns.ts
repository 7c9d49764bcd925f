/**
 * Exact search for many texts in one pass. Canaries and words of the policy are compared by their
 * letters and digits alone: case, and anything between letters, does not matter.
 *
 * Known values are not found here: the redactor finds them, in any encoding and also in part. A
 * canary or a name counts only as a whole, can be as short as four letters, and there can be
 * thousands; the redactor promises none of that.
 */
import { findCsiEnd } from './view-normal.ts';

const anchorLength = 4;

interface Bucket<T> {
  /** Longest first. */
  readonly lengths: readonly number[];
  readonly values: ReadonlyMap<string, T>;
}

/**
 * Texts of at least 4 characters, each with a value. Wherever the first four characters of a text
 * occur, the whole texts are compared, the longest first.
 */
export class PatternSet<T> {
  readonly #buckets = new Map<number, Bucket<T>>();
  /** By 16 bits of the first characters: whether there is a bucket. */
  readonly #may = new Uint8Array(65_536);

  /** @param patterns shorter ones are ignored; the first of equal ones counts */
  constructor(patterns: Iterable<readonly [string, T]>) {
    const byAnchor = new Map<number, Map<string, T>>();
    for (const [text, value] of patterns) {
      if (text.length < anchorLength) continue;
      const anchor = anchorAt(text, 0);
      const values = byAnchor.get(anchor) ?? new Map<string, T>();
      if (!values.has(text)) values.set(text, value);
      byAnchor.set(anchor, values);
    }
    for (const [anchor, values] of byAnchor) {
      const lengths = new Set([...values.keys()].map((text) => text.length));
      this.#buckets.set(anchor, { lengths: [...lengths].toSorted((a, b) => b - a), values });
      this.#may[mixed(anchor)] = 1;
    }
  }

  get isEmpty(): boolean {
    return this.#buckets.size === 0;
  }

  /**
   * Reports every pattern in `text` with its position. `visit` returns whether the pattern counts;
   * otherwise shorter ones at the same position are tried.
   *
   * @param text one character for each byte
   */
  forEachMatch(text: string, visit: (value: T, from: number, to: number) => boolean): void {
    if (this.isEmpty) return;
    const end = text.length - anchorLength;
    let anchor = text.length < anchorLength ? 0 : anchorAt(text, 0) >>> 8;
    for (let at = 0; at <= end; at += 1) {
      anchor = ((anchor << 8) | text.charCodeAt(at + anchorLength - 1)) >>> 0;
      if (this.#may[mixed(anchor)] === 0) continue;
      const bucket = this.#buckets.get(anchor);
      if (bucket === undefined) continue;
      for (const length of bucket.lengths) {
        if (at + length > text.length) continue;
        const value = bucket.values.get(text.slice(at, at + length));
        if (value !== undefined && visit(value, at, at + length)) break;
      }
    }
  }
}

function anchorAt(text: string, at: number): number {
  let anchor = 0;
  for (let next = at; next < at + anchorLength; next += 1) {
    anchor = ((anchor << 8) | (text.charCodeAt(next) & 0xff)) >>> 0;
  }
  return anchor;
}

const mixed = (anchor: number): number => Math.imul(anchor, 0x9e37_79b1) >>> 16;

export interface SqueezedText {
  /** Lower-case letters and digits; bytes above ASCII unchanged. One character for each byte. */
  readonly text: string;
  /** The position of each in the bytes. */
  readonly at: Uint32Array;
}

/** The replacement for each byte; 0: the byte is dropped. */
const squeezedBytes = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x41 && byte <= 0x5a) return byte + 0x20;
  const isKept = byte >= 0x80 || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a);
  return isKept ? byte : 0;
});

/** No colour is longer. */
const colourBytesMax = 66;

export function squeezeText(bytes: Uint8Array): SqueezedText {
  const letters = Buffer.allocUnsafe(bytes.length);
  const at = new Uint32Array(bytes.length);
  let count = 0;
  for (let from = 0; from < bytes.length; from += 1) {
    const byte = bytes[from] ?? 0;
    // The letters of a colour are not part of the text.
    if (byte === 0x1b && bytes[from + 1] === 0x5b) {
      from = findCsiEnd(bytes, from, colourBytesMax) - 1;
      continue;
    }
    const letter = squeezedBytes[byte] ?? 0;
    if (letter === 0) continue;
    letters[count] = letter;
    at[count] = from;
    count += 1;
  }
  return { text: letters.toString('latin1', 0, count), at: at.subarray(0, count) };
}

/** The squeezed forms of a search text: one for each way to encode its accents. */
export function squeezedForms(text: string): readonly string[] {
  const forms = ['NFC', 'NFD'].map(
    (form) => squeezeText(Buffer.from(text.normalize(form).toLowerCase(), 'utf8')).text,
  );
  return [...new Set(forms)];
}

export interface CanaryHit {
  /** The canary's index in the configured list. The text itself is never reported. */
  readonly index: number;
  readonly span: readonly [number, number];
}

const hitsMax = 100;

export class CanarySet {
  readonly #patterns: PatternSet<number>;

  constructor(canaries: readonly string[]) {
    this.#patterns = new PatternSet(
      canaries.flatMap((canary, at) => squeezedForms(canary).map((form) => [form, at] as const)),
    );
  }

  get isEmpty(): boolean {
    return this.#patterns.isEmpty;
  }

  /** Each canary once, at its first position. */
  find({ text, at }: SqueezedText): readonly CanaryHit[] {
    const found = new Map<number, CanaryHit>();
    this.#patterns.forEachMatch(text, (index, from, to) => {
      if (found.has(index) || found.size >= hitsMax) return true;
      found.set(index, { index, span: [at[from] ?? 0, (at[to - 1] ?? 0) + 1] });
      return true;
    });
    return [...found.values()];
  }
}
