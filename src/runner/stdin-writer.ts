/** Writes to a command's standard input, in the order of the calls. */
import type { Writable } from 'node:stream';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';

/** Writes of 1 MiB at most that may wait for a command to read. */
const writesMax = 16;

export class StdinWriter {
  readonly #id: string;
  readonly #stdin: Writable;
  #written = Promise.resolve();
  #writes = 0;

  constructor(id: string, stdin: Writable) {
    this.#id = id;
    this.#stdin = stdin;
  }

  /**
   * Resolves when the bytes are on their way.
   *
   * @throws TrlError `QUOTA_EXCEEDED` when too many writes wait for the command to read
   */
  write(data: Uint8Array, eof: boolean): Promise<void> {
    if (this.#writes >= writesMax) {
      const message = `Cannot write to ${this.#id}: its input is not read`;
      return Promise.reject(new TrlError('QUOTA_EXCEEDED', message));
    }
    this.#writes += 1;
    this.#written = this.#inTurn(this.#written, data, eof);
    return this.#written;
  }

  async #inTurn(before: Promise<void>, data: Uint8Array, eof: boolean): Promise<void> {
    const stdin = this.#stdin;
    await before;
    // What the command has not read yet is bounded: the next bytes wait until it has.
    if (stdin.writableLength > limits.stdinBytes.max) await drained(stdin);
    if (data.length > 0) stdin.write(data);
    if (eof) stdin.end();
    this.#writes -= 1;
  }
}

/** There is room again, or no reader any more. */
function drained(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    stdin.once('drain', () => resolve());
    stdin.once('close', () => resolve());
    if (stdin.destroyed) resolve();
  });
}
