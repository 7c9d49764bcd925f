/** Planted texts, found exactly: whatever stands between their letters, in any case. */
import { Patterns } from './exact-patterns.ts';
import { squeezedForms, type Squeezed } from './exact-squeeze.ts';

export interface CanaryHit {
  /** Which one, by its place in what was given. The text itself is told to nobody. */
  readonly index: number;
  readonly span: readonly [number, number];
}

const hitsMax = 100;

export class Canaries {
  readonly #patterns: Patterns<number>;

  constructor(canaries: readonly string[]) {
    this.#patterns = new Patterns(
      canaries.flatMap((canary, at) => squeezedForms(canary).map((form) => [form, at] as const)),
    );
  }

  get isEmpty(): boolean {
    return this.#patterns.isEmpty;
  }

  /** Each one once, at its first place. */
  find({ text, at }: Squeezed): readonly CanaryHit[] {
    const found = new Map<number, CanaryHit>();
    this.#patterns.each(text, (index, from, to) => {
      if (found.has(index) || found.size >= hitsMax) return true;
      found.set(index, { index, span: [at[from] ?? 0, (at[to - 1] ?? 0) + 1] });
      return true;
    });
    return [...found.values()];
  }
}
