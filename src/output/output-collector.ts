/**
 * Keeps the head and the tail of a stream within a bound and counts what is left out between
 * them, so that an answer is bounded and never silently short.
 */

/** A stream as an answer carries it. */
export interface CollectedOutput {
  readonly text: string;
  /** Set when the bytes are not clean UTF-8: then `text` is base64. */
  readonly encoding: 'base64' | null;
  readonly bytes: number;
  readonly omitted: number;
}

export class OutputCollector {
  readonly #headMax: number;
  readonly #tailMax: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;

  /** @param bytesMax bound of what is kept; half of it for the head */
  constructor(bytesMax: number) {
    this.#headMax = Math.ceil(bytesMax / 2);
    this.#tailMax = Math.floor(bytesMax / 2);
  }

  /** Takes the next bytes; they are copied. */
  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    const toHead = Math.min(bytes.length, this.#headMax - this.#headBytes);
    if (toHead > 0) {
      this.#head.push(Buffer.from(bytes.subarray(0, toHead)));
      this.#headBytes += toHead;
    }
    if (toHead === bytes.length) return;
    this.#tail.push(Buffer.from(bytes.subarray(toHead)));
    this.#tailBytes += bytes.length - toHead;
    // Twice the bound may pile up before it is cut, so that cutting costs little.
    if (this.#tailBytes > this.#tailMax * 2) this.#cut();
  }

  result(): CollectedOutput {
    this.#cut();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    const omitted = this.#bytes - head.length - tail.length;
    const kept = omitted === 0 ? Buffer.concat([head, tail]) : joined(head, tail);
    const left = this.#bytes - kept.length;
    const text = kept.toString('utf8');
    if (Buffer.from(text, 'utf8').equals(kept)) {
      return { text, encoding: null, bytes: this.#bytes, omitted: left };
    }
    return { text: kept.toString('base64'), encoding: 'base64', bytes: this.#bytes, omitted: left };
  }

  #cut(): void {
    if (this.#tailBytes <= this.#tailMax) return;
    const all = Buffer.concat(this.#tail);
    const kept = all.subarray(all.length - this.#tailMax);
    this.#tail = [Buffer.from(kept)];
    this.#tailBytes = kept.length;
  }
}

/** Head and tail without the halves of characters that the cut left at their edges. */
function joined(head: Buffer, tail: Buffer): Buffer {
  let stop = head.length;
  let back = stop - 1;
  while (back >= 0 && back > stop - 4 && ((head[back] ?? 0) & 0xc0) === 0x80) back -= 1;
  const lead = head[back] ?? 0;
  const wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (stop - back < wanted) stop = back;
  let start = 0;
  while (start < 3 && start < tail.length && ((tail[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return Buffer.concat([head.subarray(0, stop), tail.subarray(start)]);
}
