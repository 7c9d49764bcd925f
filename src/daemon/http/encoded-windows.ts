/**
 * Output that followers read behind the ring, a window at a time. Many who fell behind are near to
 * each other: what one read and encoded is kept for a while for those who come after it.
 */
import { redactedBytes, type RedactedBytes } from '../../redaction/redacted-text.ts';
import type { HttpTransportParts } from './method-calls.ts';
import { createStreamEncoder } from './stream-encoding.ts';
import type { FollowerRequest } from './followers.ts';
import type { EncodedChunk } from './chunk-ring.ts';

/** Windows end at multiples of it, so that all who read come to the same ones. */
const windowBytes = 64 * 1_024;
/** Of all that are kept, as they are sent. */
const keptBytesMax = 32 * 1_024 * 1_024;

export interface EncodedWindow {
  readonly chunks: readonly EncodedChunk[];
  /** Offset at which the next one begins; that of this one: there is no more so far. */
  readonly next: number;
  /** Whether it will be the same when more was written. */
  readonly isWhole: boolean;
}

export class EncodedWindowCache {
  readonly #parts: HttpTransportParts;
  /** By form, execution and offset; the one used longest ago first. */
  readonly #kept = new Map<string, EncodedWindow>();
  #bytes = 0;

  constructor(parts: HttpTransportParts) {
    this.#parts = parts;
  }

  /** The output from `from` on. @throws TrlError where the journal is gone */
  async read(following: FollowerRequest, from: number): Promise<EncodedWindow> {
    const key = `${following.outlet.form} ${following.execId} ${from}`;
    const kept = this.#kept.get(key);
    const window = kept ?? (await this.#read(following, from));
    if (window.isWhole) this.#keep(key, window);
    return window;
  }

  async #read({ caller, execId, outlet }: FollowerRequest, from: number): Promise<EncodedWindow> {
    const { replyContext: says, runtime } = this.#parts;
    const max = windowBytes - (from % windowBytes);
    const { next, gap, chunks } = await runtime.execs.read(caller, { exec_id: execId, from, max });
    if (next === from) return { chunks: [], next, isWhole: false };
    const isWhole = next % windowBytes === 0;
    const encoder = createStreamEncoder(outlet.form, { execId, masking: says.masking });
    const pieces = gap === undefined ? [] : [encoder.gap(gap.from, gap.to)];
    for (const chunk of chunks) {
      pieces.push(...encoder.output(chunk.stream, chunk.seq, bytesOf(chunk)));
    }
    // A character that the end cuts begins the next window, unless there is nothing else.
    const reached = pieces.at(-1)?.to ?? from;
    if (reached > from) return { chunks: pieces, next: reached, isWhole };
    return { chunks: [...encoder.flush()], next, isWhole };
  }

  #keep(key: string, window: EncodedWindow): void {
    const before = this.#kept.get(key);
    if (before !== undefined) this.#drop(key, before);
    this.#kept.set(key, window);
    this.#bytes += bytesIn(window);
    for (const [oldest, one] of this.#kept) {
      if (this.#bytes <= keptBytesMax) break;
      this.#drop(oldest, one);
    }
  }

  #drop(key: string, window: EncodedWindow): void {
    this.#kept.delete(key);
    this.#bytes -= bytesIn(window);
  }
}

const bytesIn = ({ chunks: pieces }: EncodedWindow): number =>
  pieces.reduce((sum, { payload, output }) => {
    const isWithin = output === null || output.bytes.buffer === payload.buffer;
    return sum + payload.length + (isWithin ? 0 : output.bytes.length);
  }, 0);

/** What a redactor gave out, as bytes again. */
function bytesOf(chunk: { readonly data: string } | { readonly b64: string }): RedactedBytes {
  return redactedBytes(
    'data' in chunk ? Buffer.from(chunk.data) : Buffer.from(chunk.b64, 'base64'),
  );
}
