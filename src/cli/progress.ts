/** A line on standard error that tells what takes longer than a second; only on a terminal. */
import { dimText } from './print.ts';
import { showDuration } from './units.ts';

const patienceMs = 1_000;
const everyMs = 1_000;

export class Progress implements Disposable {
  readonly #on: boolean;
  #label = '';
  #since = 0;
  #timer: NodeJS.Timeout | null = null;
  #visible = false;
  #midLine = false;
  #quietSince = 0;

  /** With `on` false nothing is ever shown. */
  constructor(on: boolean) {
    this.#on = on && process.stderr.isTTY && process.env['TERM'] !== 'dumb';
  }

  /** What is waited for from now on, such as `starting the runtime`. */
  begin(label: string): void {
    this.clear();
    this.#label = label;
    this.#since = performance.now();
    if (this.#on && this.#timer === null) {
      this.#timer = setInterval(() => this.#show(), everyMs).unref();
    }
  }

  /** Takes the line away. Call it before anything else is written to the terminal. */
  clear(): void {
    if (this.#visible) {
      this.#visible = false;
      process.stderr.write('\r\u001B[K');
    }
  }

  /** Tells what was written to the terminal, so that the line never lands inside another. */
  wrote(bytes: Uint8Array): void {
    const last = bytes.at(-1);
    this.#midLine = last === undefined ? this.#midLine : last !== 0x0a;
    this.#quietSince = performance.now();
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.clear();
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #show(): void {
    const now = performance.now();
    if (this.#midLine || now - this.#since < patienceMs || now - this.#quietSince < patienceMs) {
      return;
    }
    this.#visible = true;
    const line = `trl: ${this.#label}, ${showDuration(now - this.#since)}`;
    process.stderr.write(`\r\u001B[K${dimText(line)}`);
  }
}
