/** The denied contents, each once however many files have it, in one space of places. */

export interface IndexedContent {
  readonly digest: string;
  /** Normalised, with line ends (view-normal.ts). */
  readonly chars: Uint8Array;
  /** Place of the first character. */
  readonly base: number;
  readonly paths: Set<string>;
  /** Bytes of the file. */
  readonly size: number;
}

/** Places are 32-bit numbers; 0 is none. */
const placesMax = 2 ** 32 - 1;

export class IndexedContents {
  readonly #byDigest = new Map<string, IndexedContent>();
  /** In the order of their places; a content that went leaves a gap. */
  #ordered: (IndexedContent | null)[] = [];
  #bases: number[] = [];
  #next = 1;
  #gaps = 0;
  bytes = 0;

  get(digest: string): IndexedContent | undefined {
    return this.#byDigest.get(digest);
  }

  /** Leaves out places, so that the next content gets `base`. */
  skipTo(base: number): void {
    this.#next = Math.max(this.#next, base);
  }

  /** `null`: there is no place left; the index must be built anew. */
  add(digest: string, chars: Uint8Array, size: number): IndexedContent | null {
    if (this.#next + chars.length > placesMax) return null;
    const content = { digest, chars, base: this.#next, paths: new Set<string>(), size };
    // An empty content has a place, too.
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

  /** Index of the last base that is not behind `place`. */
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

/** Of objects and maps, `bytes`: estimated. */
const contentOverhead = 400;
