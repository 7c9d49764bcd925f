/**
 * Answers that callers have not taken yet: whoever asks for much and reads none of it fills no
 * memory but a share of its own.
 */
import type { ServerResponse } from 'node:http';

const ofCallerMax = 64 * 1_024 * 1_024;
const allMax = 512 * 1_024 * 1_024;
/** Smaller ones are bounded by the number of requests. */
const smallBytes = 16_384;
/** Fewer than these may be as long as they are: a long answer to a slow reader is no flood. */
const answersMin = 4;

export interface UnsentBounds {
  readonly ofCallerMax: number;
  readonly allMax: number;
}

interface Held {
  readonly answers: number;
  readonly bytes: number;
}

const nothing: Held = { answers: 0, bytes: 0 };

export class UnsentBudget {
  readonly #bounds: UnsentBounds;
  readonly #held = new Map<string, Held>();
  #total = 0;

  constructor(bounds: Partial<UnsentBounds> = {}) {
    this.#bounds = { ofCallerMax, allMax, ...bounds };
  }

  /** Whether a caller has taken too little of its answers to ask for more. */
  isFull(caller: string): boolean {
    const { answers, bytes } = this.#held.get(caller) ?? nothing;
    return answers >= answersMin && bytes > this.#bounds.ofCallerMax / 2;
  }

  /**
   * Counts an answer until the other side has it or is gone. One alone is let through whatever
   * its size.
   *
   * @returns whether it may be sent
   */
  hold(caller: string, response: ServerResponse, bytes: number): boolean {
    if (bytes <= smallBytes) return true;
    const held = this.#held.get(caller) ?? nothing;
    const isTooMuch =
      held.bytes + bytes > this.#bounds.ofCallerMax || this.#total + bytes > this.#bounds.allMax;
    if (held.answers > 0 && isTooMuch) return false;
    this.#add(caller, 1, bytes);
    response.once('close', () => this.#add(caller, -1, -bytes));
    return true;
  }

  #add(caller: string, answers: number, bytes: number): void {
    const before = this.#held.get(caller) ?? nothing;
    const held = { answers: before.answers + answers, bytes: before.bytes + bytes };
    if (held.answers > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    this.#total += bytes;
  }
}
