/**
 * Stores the head and the tail of a stream within a limit and counts the bytes omitted between
 * them, so that an answer is bounded and never truncated silently.
 */

/** A stream in an answer. */
export interface CollectedOutput {
  readonly text: string;
  /** `base64`: the bytes are not valid UTF-8, and `text` is base64. */
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

  /** @param bytesMax limit of the stored bytes; half of it for the head */
  constructor(bytesMax: number) {
    this.#headMax = Math.ceil(bytesMax / 2);
    this.#tailMax = Math.floor(bytesMax / 2);
  }

  /** Adds a copy of the next bytes. */
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
    // Trimming at twice the limit copies each byte at most once more.
    if (this.#tailBytes > this.#tailMax * 2) this.#trimTail();
  }

  result(): CollectedOutput {
    this.#trimTail();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    const omitted = this.#bytes - head.length - tail.length;
    const stored = omitted === 0 ? Buffer.concat([head, tail]) : joined(head, tail);
    const omittedBytes = this.#bytes - stored.length;
    const text = stored.toString('utf8');
    if (Buffer.from(text, 'utf8').equals(stored)) {
      return { text, encoding: null, bytes: this.#bytes, omitted: omittedBytes };
    }
    return {
      text: stored.toString('base64'),
      encoding: 'base64',
      bytes: this.#bytes,
      omitted: omittedBytes,
    };
  }

  #trimTail(): void {
    if (this.#tailBytes <= this.#tailMax) return;
    const all = Buffer.concat(this.#tail);
    const kept = all.subarray(all.length - this.#tailMax);
    this.#tail = [Buffer.from(kept)];
    this.#tailBytes = kept.length;
  }
}

/** Head and tail without incomplete characters at their inner edges. */
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
