/**
 * The terminal of this process itself (`/dev/tty`), whatever its standard streams are. While it is
 * open keys come one by one and are not echoed; it is put back however the process ends.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { TrlError } from '../errors.ts';

const columnsUsual = 80;
const secretMax = 65_536;
const backspace = new Set(['\x7f', '\b']);
const eraseAll = '\x15';
const ends = new Set(['\r', '\n']);
/** Ctrl-C, Ctrl-\, Ctrl-D: raw mode leaves their meaning to us. */
const leaves = new Set(['\x03', '\x1c', '\x04']);

const restMs = 50;

/** The person at the terminal wants to leave. */
export class PromptCancelledError extends Error {}

export class ControllingTerminal implements Disposable {
  /** Opened apart from the keys: that one does not block, so long text would be cut. */
  readonly #out: number;
  readonly #keys: ReadStream;
  #typed: string[] = [];
  #wake = (): void => {};
  #ended = false;
  readonly #restore = (): void => {
    if (!this.#keys.destroyed) this.#keys.setRawMode(false);
  };

  private constructor(out: number, keys: ReadStream) {
    this.#out = out;
    this.#keys = keys;
    this.#keys.setEncoding('utf8').setRawMode(true);
    process.on('exit', this.#restore);
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    this.#keys.on('end', end).on('close', end).on('error', end);
    this.#keys.on('data', (text: string) => {
      // An arrow or another key that sends a sequence is no answer.
      if (!text.startsWith('\x1b')) this.#typed.push(...Array.from(text));
      this.#wake();
    });
  }

  /** @throws TrlError INVALID_PARAMS when this process has no terminal */
  static open(why: string): ControllingTerminal {
    try {
      return new ControllingTerminal(
        openSync('/dev/tty', 'w'),
        new ReadStream(openSync('/dev/tty', 'r')),
      );
    } catch (cause) {
      throw new TrlError('INVALID_PARAMS', `Cannot ${why}: there is no terminal`, { cause });
    }
  }

  get columns(): number {
    // A terminal that does not know its size says 0.
    return process.stdout.columns || process.stderr.columns || columnsUsual;
  }

  /** Text for a person; the caller has escaped what is of others. */
  write(text: string): void {
    writeSync(this.#out, text.replaceAll('\n', '\r\n'));
  }

  /** Forgets what was typed before it was asked for. */
  discard(): void {
    this.#typed = [];
  }

  /**
   * The next key.
   *
   * @throws Left on Ctrl-C, Ctrl-D and at the terminal's end; the signal's reason
   */
  async key(signal?: AbortSignal): Promise<string> {
    const wake = (): void => this.#wake();
    signal?.addEventListener('abort', wake);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const key = this.#typed.shift();
        if (key !== undefined) {
          if (leaves.has(key)) throw new PromptCancelledError();
          return key;
        }
        if (this.#ended) throw new PromptCancelledError();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal?.removeEventListener('abort', wake);
    }
  }

  /** A line that is not shown. */
  secret(prompt: string, signal?: AbortSignal): Promise<string> {
    return this.#line(prompt, false, signal);
  }

  /** A line that is shown as it is typed. */
  line(prompt: string, signal?: AbortSignal): Promise<string> {
    return this.#line(prompt, true, signal);
  }

  /**
   * Until the terminal is put back, Ctrl-C is a key like others: one that was typed while something
   * else was awaited becomes the signal that it is meant as.
   */
  async rest(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, restMs));
    if (this.#typed.includes('\x03')) process.kill(process.pid, 'SIGINT');
  }

  /** Whether there is more behind the line that was read, as of a text of several lines pasted. */
  async hasMore(): Promise<boolean> {
    await new Promise((resolve) => setTimeout(resolve, restMs));
    const hasMore = this.#typed.length > 0;
    this.discard();
    return hasMore;
  }

  [Symbol.dispose](): void {
    this.#restore();
    process.off('exit', this.#restore);
    this.#keys.destroy();
    closeSync(this.#out);
  }

  async #line(prompt: string, isShown: boolean, signal?: AbortSignal): Promise<string> {
    this.write(prompt);
    let typed: string[] = [];
    for (;;) {
      const key = await this.key(signal);
      if (ends.has(key)) break;
      if (key === eraseAll || backspace.has(key)) {
        const gone = key === eraseAll ? typed.length : Math.min(1, typed.length);
        typed = typed.slice(0, typed.length - gone);
        if (isShown) this.write('\b \b'.repeat(gone));
      } else if (key >= ' ' && typed.length < secretMax) {
        typed.push(key);
        if (isShown) this.write(key);
      }
    }
    this.write('\n');
    return typed.join('');
  }
}
