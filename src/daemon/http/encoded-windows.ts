/**
 * Output that followers behind the ring read, one window at a time. Many slow followers are close
 * to each other, so an encoded window is cached for a while for the ones that come after.
 */
import { redactedBytes, type RedactedBytes } from '../../redaction/redacted-text.ts';
import type { HttpTransportParts } from './method-calls.ts';
import { createStreamEncoder } from './stream-encoding.ts';
import type { FollowerRequest } from './followers.ts';
import type { EncodedChunk } from './chunk-ring.ts';

/** Windows end at multiples of this size, so that all readers use the same windows. */
const windowBytes = 64 * 1_024;
/** Maximum encoded bytes of all cached windows. */
const cachedBytesMax = 32 * 1_024 * 1_024;

export interface EncodedWindow {
  readonly chunks: readonly EncodedChunk[];
  /** Offset of the next window; equals this window's offset if there is no output yet. */
  readonly next: number;
  /** Whether later output cannot change it. */
  readonly isWhole: boolean;
}

export class EncodedWindowCache {
  readonly #parts: HttpTransportParts;
  /** By form, execution and offset; least recently used first. */
  readonly #cached = new Map<string, EncodedWindow>();
  #bytes = 0;

  constructor(parts: HttpTransportParts) {
    this.#parts = parts;
  }

  /** The output from `from` on. @throws TrlError if the journal is gone */
  async read(following: FollowerRequest, from: number): Promise<EncodedWindow> {
    const key = `${following.outlet.form} ${following.execId} ${from}`;
    const cached = this.#cached.get(key);
    const window = cached ?? (await this.#read(following, from));
    if (window.isWhole) this.#store(key, window);
    return window;
  }

  async #read({ caller, execId, outlet }: FollowerRequest, from: number): Promise<EncodedWindow> {
    const { replyContext, runtime } = this.#parts;
    const max = windowBytes - (from % windowBytes);
    const { next, gap, chunks } = await runtime.execs.read(caller, { exec_id: execId, from, max });
    if (next === from) return { chunks: [], next, isWhole: false };
    const isWhole = next % windowBytes === 0;
    const encoder = createStreamEncoder(outlet.form, { execId, masking: replyContext.masking });
    const encoded = gap === undefined ? [] : [encoder.gap(gap.from, gap.to)];
    for (const chunk of chunks) {
      encoded.push(...encoder.output(chunk.stream, chunk.seq, bytesOf(chunk)));
    }
    // A character split by the window's end moves to the next window, unless it is all there is.
    const reached = encoded.at(-1)?.to ?? from;
    if (reached > from) return { chunks: encoded, next: reached, isWhole };
    return { chunks: [...encoder.flush()], next, isWhole };
  }

  #store(key: string, window: EncodedWindow): void {
    const before = this.#cached.get(key);
    if (before !== undefined) this.#drop(key, before);
    this.#cached.set(key, window);
    this.#bytes += bytesIn(window);
    for (const [oldest, one] of this.#cached) {
      if (this.#bytes <= cachedBytesMax) break;
      this.#drop(oldest, one);
    }
  }

  #drop(key: string, window: EncodedWindow): void {
    this.#cached.delete(key);
    this.#bytes -= bytesIn(window);
  }
}

const bytesIn = ({ chunks }: EncodedWindow): number =>
  chunks.reduce((sum, { payload, output }) => {
    const isWithin = output === null || output.bytes.buffer === payload.buffer;
    return sum + payload.length + (isWithin ? 0 : output.bytes.length);
  }, 0);

/** The bytes of text or base64 that a redactor has redacted. */
function bytesOf(chunk: { readonly data: string } | { readonly b64: string }): RedactedBytes {
  return redactedBytes(
    'data' in chunk ? Buffer.from(chunk.data) : Buffer.from(chunk.b64, 'base64'),
  );
}
