/** Planted texts, found exactly: whatever stands between their letters, in any case. */
import { PatternSet } from './exact-patterns.ts';
import { squeezedForms, type SqueezedText } from './exact-squeeze.ts';

export interface CanaryHit {
  /** Which one, by its place in what was given. The text itself is told to nobody. */
  readonly index: number;
  readonly span: readonly [number, number];
}

const hitsMax = 100;

export class CanarySet {
  readonly #patterns: PatternSet<number>;

  constructor(canaries: readonly string[]) {
    this.#patterns = new PatternSet(
      canaries.flatMap((canary, at) => squeezedForms(canary).map((form) => [form, at] as const)),
    );
  }

  get isEmpty(): boolean {
    return this.#patterns.isEmpty;
  }

  /** Each one once, at its first place. */
  find({ text, at }: SqueezedText): readonly CanaryHit[] {
    const found = new Map<number, CanaryHit>();
    this.#patterns.forEachMatch(text, (index, from, to) => {
      if (found.has(index) || found.size >= hitsMax) return true;
      found.set(index, { index, span: [at[from] ?? 0, (at[to - 1] ?? 0) + 1] });
      return true;
    });
    return [...found.values()];
  }
}
