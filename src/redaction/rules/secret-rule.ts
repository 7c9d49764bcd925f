/** One form of key, as a row of the tables in this folder. */
export interface SecretRule {
  /** Stable, shown with each redaction: `github-token`. */
  readonly id: string;
  /** In the notation of `shape.ts`; any of them. */
  readonly shapes: readonly string[];
  /** How sure a match is, from 0 to 1; default .95. */
  readonly score: number;
  /** Words of which one must come before, on the line and at most 40 characters away. */
  readonly near: readonly string[];
  /** Of a rule with `near`: whether a word such as "key" must follow the word at once. */
  readonly joined: boolean;
  /** Whether letter case does not count in the literals. */
  readonly fold: boolean;
  /** Whether it may follow a letter or digit: the literal is distinctive. */
  readonly anywhere: boolean;
  /** Whether what looks like words or a placeholder counts, too. */
  readonly wordy: boolean;
  /** True raises the score to .99. False changes nothing: what was changed is still a key. */
  readonly checksum: ((secret: string) => boolean) | null;
  /** Texts that must not match, beside those which the test makes from the shapes. */
  readonly negatives: readonly string[];
}

const usual = {
  score: 0.95,
  near: [],
  joined: false,
  fold: false,
  anywhere: false,
  wordy: false,
  checksum: null,
  negatives: [],
} as const;

/** A rule of its shapes, which carry a literal of their own. */
export function defineRule(
  id: string,
  shapes: string | readonly string[],
  options: Partial<Omit<SecretRule, 'id' | 'shapes' | 'near'>> = {},
): SecretRule {
  return { ...usual, id, shapes: typeof shapes === 'string' ? [shapes] : shapes, ...options };
}

/** A rule of shapes that only mean something beside one of the words, lower-case. */
export function defineNearRule(
  id: string,
  words: string | readonly string[],
  shapes: string | readonly string[] = ['{s16-200}'],
): SecretRule {
  return {
    ...usual,
    id,
    near: typeof words === 'string' ? [words] : words,
    shapes: typeof shapes === 'string' ? [shapes] : shapes,
    score: 0.85,
  };
}
