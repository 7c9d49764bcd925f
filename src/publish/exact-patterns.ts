/** Many exact texts, looked for in one walk over a text. */

const anchorLength = 4;

interface Bucket<T> {
  /** From the longest. */
  readonly lengths: readonly number[];
  readonly values: ReadonlyMap<string, T>;
}

/**
 * Texts of at least 4 characters with what each stands for. At each place where the first four
 * characters of one stand, those are compared whole, the longest first.
 */
export class PatternSet<T> {
  readonly #buckets = new Map<number, Bucket<T>>();
  /** By 16 bits of the first characters: whether there is a bucket at all. */
  readonly #may = new Uint8Array(65_536);

  /** @param patterns shorter ones are left out; of equal ones the first counts */
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
   * Every pattern that stands in `text`, with its place; `visit` answers whether it counts, else
   * shorter ones at the same place are tried.
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
