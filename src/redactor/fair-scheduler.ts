/**
 * Schedules the work of many channels: the channel with the least time used goes next, for one
 * step. So a command that prints without end, or slow output, does not delay others.
 */

/** One step of work; returns whether there is more. Must not throw. */
export type WorkStep = () => boolean;

/** About how long one channel works before another does. */
const turnMs = 8;

interface Lane {
  readonly steps: WorkStep[];
  /** Time used, in `ms`, relative to the others. */
  used: number;
}

export class FairScheduler {
  readonly #lanes = new Map<number, Lane>();
  #scheduled = false;

  /** Adds work of a channel behind what it has. */
  add(channel: number, step: WorkStep): void {
    const lane = this.#lanes.get(channel);
    if (lane !== undefined) {
      lane.steps.push(step);
      return;
    }
    // A new channel starts at the level of the others.
    const used = Math.min(...[...this.#lanes.values()].map((one) => one.used));
    this.#lanes.set(channel, { steps: [step], used: Number.isFinite(used) ? used : 0 });
    if (this.#scheduled) return;
    // If no other channel waits, the first step is now.
    if (this.#lanes.size === 1) this.#turn();
    else this.#schedule();
  }

  #schedule(): void {
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    let next: [number, Lane] | null = null;
    for (const entry of this.#lanes) {
      if (next === null || entry[1].used < next[1].used) next = entry;
    }
    if (next === null) return;
    const [channel, lane] = next;
    const begun = performance.now();
    let now = begun;
    while (lane.steps.length > 0 && now - begun < turnMs) {
      if (lane.steps[0]?.() !== true) lane.steps.shift();
      now = performance.now();
    }
    lane.used += now - begun;
    if (lane.steps.length === 0) this.#lanes.delete(channel);
    if (this.#lanes.size > 0 && !this.#scheduled) this.#schedule();
  }
}
