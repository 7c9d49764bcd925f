/**
 * Limits the answers that callers have not read yet: a caller who requests much and reads nothing
 * fills only its own share of memory.
 */
import type { ServerResponse } from 'node:http';

const ofCallerMax = 64 * 1_024 * 1_024;
const allMax = 512 * 1_024 * 1_024;
/** Smaller answers are limited by the number of requests. */
const smallBytes = 16_384;
/** Fewer answers may have any size: a long answer to a slow client is not a flood. */
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

  /** Whether a caller has too many unread answers to request more. */
  isFull(caller: string): boolean {
    const { answers, bytes } = this.#held.get(caller) ?? nothing;
    return answers >= answersMin && bytes > this.#bounds.ofCallerMax / 2;
  }

  /**
   * Counts an answer until the client has read it or disconnects. One answer may have any size.
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
