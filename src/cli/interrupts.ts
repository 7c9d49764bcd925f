/** Ctrl-C and its kin: the first asks for an orderly end, the third ends at once. */
import { constants } from 'node:os';

const handled = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const patience = 3;

/** 128 and the number of SIGINT, as for every program that Ctrl-C ends. */
export const interruptedExitCode = 130;

export class Interrupts implements Disposable {
  readonly #first = new AbortController();
  #count = 0;
  #code: number | null = null;
  #act: (count: number) => void = () => {};

  constructor() {
    for (const name of handled) {
      process.on(name, this.#take);
    }
  }

  /** Aborts at the first. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** 128 and the number of the first signal, `null` when none came. */
  get exitCode(): number | null {
    return this.#code;
  }

  /** `act` is called at each, with its number; at once for those that came already. */
  each(act: (count: number) => void): void {
    this.#act = act;
    if (this.#count > 0) {
      act(this.#count);
    }
  }

  [Symbol.dispose](): void {
    for (const name of handled) {
      process.off(name, this.#take);
    }
  }

  readonly #take = (name: NodeJS.Signals): void => {
    this.#count += 1;
    this.#code ??= 128 + constants.signals[name];
    if (this.#count >= patience) {
      process.exit(this.#code);
    }
    this.#first.abort(new DOMException(`Ended by ${name}`, 'AbortError'));
    this.#act(this.#count);
  };
}
