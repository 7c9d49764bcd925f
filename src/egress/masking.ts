/** Finds values in what passes, in whatever encoding, also where a stream is cut (`redaction/`). */
import { Transform, type TransformCallback } from 'node:stream';
import { KnownIndex } from '../redaction/known/known-index.ts';
import { KnownMasker } from '../redaction/known/known-masker.ts';
import type { MaskedChunk } from '../redaction/secret-finding.ts';

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

export class ValueFinder {
  readonly #index: KnownIndex;

  constructor(values: readonly NamedValue[]) {
    this.#index = new KnownIndex(values.map((one) => ({ ...one, tag: one.name })));
  }

  get isEmpty(): boolean {
    return this.#index.values.length === 0;
  }

  /** Names of the values that are in the bytes. */
  findIn(bytes: Uint8Array): readonly string[] {
    const masker = new KnownMasker(this.#index);
    const chunks = [...masker.push(bytes), ...masker.end()];
    return [...new Set(chunks.flatMap((one) => (one.kind === 'hidden' ? [one.tag] : [])))];
  }

  /** The text with as many `*` in the place of each value. */
  masked(text: string): string {
    const masker = new KnownMasker(this.#index);
    const chunks = [...masker.push(Buffer.from(text, 'latin1')), ...masker.end()];
    return Buffer.concat(chunks.map(visible)).toString('latin1');
  }

  /** Passes bytes on with as many `*` in the place of each value: lengths stay true. */
  maskingStream(): Transform {
    return new MaskingStream(new KnownMasker(this.#index), (chunk) => visible(chunk));
  }

  /**
   * Passes bytes on up to the first value: that is an error, with its name as the message.
   *
   * @param take is called with their number before; what it throws is an error, too
   */
  guardingStream(take: (bytes: number) => void): Transform {
    const show = (chunk: MaskedChunk): Uint8Array => {
      if (chunk.kind === 'hidden') throw new FoundValue(chunk.tag);
      return chunk.bytes;
    };
    return new MaskingStream(new KnownMasker(this.#index), show, take);
  }
}

/** A value where none may be; the message is its name. */
export class FoundValue extends Error {
  override readonly name = 'FoundValue';
}

const visible = (chunk: MaskedChunk): Uint8Array =>
  chunk.kind === 'text' ? chunk.bytes : Buffer.alloc(chunk.bytes, '*');

/** Somebody may wait for what is held back: a prompt, an event. */
const flushMs = 50;
/** With fewer symbols pending, nothing of a value can be reconstructed. */
const flushSymbolsMax = 6;

class MaskingStream extends Transform {
  readonly #masker: KnownMasker;
  readonly #show: (chunk: MaskedChunk) => Uint8Array;
  readonly #take: (bytes: number) => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    masker: KnownMasker,
    show: (chunk: MaskedChunk) => Uint8Array,
    take: (bytes: number) => void = () => {},
  ) {
    super();
    this.#masker = masker;
    this.#show = show;
    this.#take = take;
  }

  override _transform(bytes: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#stopTimer();
    try {
      this.#take(bytes.length);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (!this.#release(this.#masker.push(bytes), done)) return;
    if (this.#masker.hasPending) {
      this.#timer = setTimeout(() => this.#flushPending(), flushMs);
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#stopTimer();
    if (this.#release(this.#masker.end(), done)) done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stopTimer();
    done(error);
  }

  #release(chunks: readonly MaskedChunk[], fail: TransformCallback): boolean {
    try {
      // The bytes are reused by the masker.
      for (const chunk of chunks) this.push(Buffer.from(this.#show(chunk)));
      return true;
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  #flushPending(): void {
    if (this.#masker.pendingSymbols >= flushSymbolsMax) return;
    this.#release(this.#masker.flush(), (error) => this.destroy(error ?? undefined));
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
