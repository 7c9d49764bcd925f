/** Figures of one row of a benchmark: what was measured, put in order. */
export interface Figures {
  readonly n: number;
  readonly min: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** @throws RangeError when nothing was measured */
export function figuresOf(samples: readonly number[]): Figures {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
    if (value === undefined) throw new RangeError('nothing was measured');
    return value;
  };
  return { n: sorted.length, min: at(0), p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** One thing that is measured against others in the same rounds. */
export interface Contender {
  readonly name: string;
  /** Before each run, not timed. */
  ready?(): Promise<void>;
  run(): Promise<void>;
}

/**
 * Times `contenders` in turn, a run each a round, so that noise of the machine hits all alike.
 * Each round begins with another one, so that none always follows the same.
 *
 * @returns milliseconds by name; `skip` tells when to leave a contender out of a round
 */
export async function roundRobin(
  contenders: readonly Contender[],
  rounds: number,
  skip: (name: string, round: number) => boolean = () => false,
): Promise<Map<string, Figures>> {
  const samples = await sampleRounds(contenders, rounds, skip);
  return new Map([...samples].map(([name, all]) => [name, figuresOf(all)]));
}

/** As {@link roundRobin}, with each time by itself: those of a round stand at the same place. */
export async function sampleRounds(
  contenders: readonly Contender[],
  rounds: number,
  skip: (name: string, round: number) => boolean = () => false,
): Promise<Map<string, number[]>> {
  const samples = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  const warmUp = 2;
  for (let round = -warmUp; round < rounds; round += 1) {
    const first = (round + warmUp) % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      const { name } = contender;
      if (round >= 0 && skip(name, round)) continue;
      await contender.ready?.();
      const begun = performance.now();
      await contender.run();
      if (round >= 0) samples.get(name)?.push(performance.now() - begun);
    }
  }
  return samples;
}
