/** From which score on something is hidden; above 1: never. */
import type { SecretPrior, RedactionProfile } from '../secret-finding.ts';

export interface ScoreThresholds {
  /** Of a token that stands alone in its line, by what the command prints. */
  readonly alone: Readonly<Record<SecretPrior, number>>;
  /** Of one with a word like "key" or "token" before it. */
  readonly labelled: Readonly<Record<SecretPrior, number>>;
  /** Of one among other text: there most are identifiers of sessions, requests and objects. */
  readonly inline: Readonly<Record<SecretPrior, number>>;
  /** Of what stands beside a telling name, and of known formats. */
  readonly context: number;
  readonly format: number;
}

/** What a score cannot outvote. `null`: no veto. */
export interface ScoreVetoes {
  /** A token of less Shannon entropy, in bits a character, stays. Default 2.6. */
  readonly shannonBitsMin: number | null;
  /** A token of more bits a pair in the model of words stays. Default 0.6. */
  readonly bigramBitsMax: number | null;
}

const table = {
  strict: {
    alone: { secrets: 0.2, none: 0.6, hashes: 0.93 },
    labelled: { secrets: 0.15, none: 0.4, hashes: 0.85 },
    inline: { secrets: 0.3, none: 0.9, hashes: 0.99 },
    context: 0.6,
    format: 0.5,
  },
  balanced: {
    alone: { secrets: 0.4, none: 0.9, hashes: 0.985 },
    labelled: { secrets: 0.3, none: 0.85, hashes: 0.96 },
    inline: { secrets: 0.5, none: 1.01, hashes: 1.01 },
    context: 0.7,
    format: 0.6,
  },
  lenient: {
    alone: { secrets: 0.7, none: 0.985, hashes: 0.995 },
    labelled: { secrets: 0.6, none: 0.95, hashes: 0.99 },
    inline: { secrets: 0.8, none: 1.01, hashes: 1.01 },
    context: 0.8,
    format: 0.7,
  },
} as const satisfies Record<RedactionProfile, ScoreThresholds>;

export const defaultVetoes: ScoreVetoes = { shannonBitsMin: 2.6, bigramBitsMax: 0.6 };

export function thresholdsOf(profile: RedactionProfile): ScoreThresholds {
  return table[profile];
}
