/**
 * Whether a decision is about what is on the screen. A key or a click counts only for an item that
 * was completely visible for a while: not for one that just replaced another, not for one whose end
 * was not scrolled to, not while the page was hidden.
 */

/** How long an item must be visible before a decision on it counts, in `ms`. */
export const readingTimeMs = 600;

export type UnreadyReason = 'nothing' | 'unseen-end' | 'just-appeared';

export class AnswerReadiness {
  #item: string | null = null;
  #since: number | null = null;
  #endSeen = false;

  /**
   * The item that is painted from `now` on; `null`: no item, or the page is hidden or has no focus.
   * The same item again changes nothing.
   */
  show(item: string | null, now: number): void {
    if (item === this.#item) return;
    this.#item = item;
    this.#since = item === null ? null : now;
    this.#endSeen = false;
  }

  /** The last line of `item` was on the screen. */
  sawEnd(item: string): void {
    if (item === this.#item) this.#endSeen = true;
  }

  /** Why a decision at `at` does not count; `null`: it does. */
  unreadyReason(item: string, at: number): UnreadyReason | null {
    if (item !== this.#item || this.#since === null) return 'nothing';
    if (at - this.#since < readingTimeMs) return 'just-appeared';
    return this.#endSeen ? null : 'unseen-end';
  }
}
