/**
 * How random a token looks, by a small network over its features; and from which score on it is
 * hidden.
 */
import type { RedactionProfile, SecretPrior } from '../secret-finding.ts';
import { computeTokenFeatures, tokenFeatureCount, type TokenSurroundings } from './features.ts';
import { hiddenUnits, scoreWeights } from './score-weights.ts';

/** Weights are signed bytes; each unit and the output have a scale of their own. */
const { bytes, scales } = scoreWeights;
const cells = new Int8Array(Buffer.from(bytes, 'base64'));
const hidden = new Float64Array(hiddenUnits);
const rowWidth = tokenFeatureCount + 1;

/**
 * The network learned the usual lengths of keys, so its answer jumps from length to length. It
 * scores the first characters of a token, as many as each of these lengths, and the highest answer
 * counts. So more random characters never lower the score.
 */
const judgedLengths = [16, 18, 20, 28, 32, 40];

/** From 0 to 1; 0 for fewer than 16 characters. */
export function scoreToken(
  text: string,
  start: number,
  end: number,
  around: TokenSurroundings,
): number {
  let highest = 0;
  for (const charactersMax of judgedLengths) {
    if (charactersMax > end - start) break;
    const features = computeTokenFeatures(text, start, end, { ...around, charactersMax });
    highest = Math.max(highest, answerTo(features));
  }
  return highest;
}

function answerTo(features: Float64Array): number {
  for (let unit = 0; unit < hiddenUnits; unit++) {
    const row = unit * rowWidth;
    let sum = cells[row + tokenFeatureCount] ?? 0;
    for (let at = 0; at < tokenFeatureCount; at++) {
      sum += (cells[row + at] ?? 0) * (features[at] ?? 0);
    }
    hidden[unit] = Math.max(0, sum * (scales[unit] ?? 0));
  }
  const row = hiddenUnits * rowWidth;
  let out = cells[row + hiddenUnits] ?? 0;
  for (let unit = 0; unit < hiddenUnits; unit++) {
    out += (cells[row + unit] ?? 0) * (hidden[unit] ?? 0);
  }
  return 1 / (1 + Math.exp(-out * (scales[hiddenUnits] ?? 0)));
}

export interface ScoreThresholds {
  /** For a token alone on its line, by what the command prints. */
  readonly alone: Readonly<Record<SecretPrior, number>>;
  /** For a token after a word such as "key" or "token". */
  readonly labelled: Readonly<Record<SecretPrior, number>>;
  /** For a token among other text, where most are identifiers of sessions, requests and objects. */
  readonly inline: Readonly<Record<SecretPrior, number>>;
  /** For values next to a telling name, and for known formats. */
  readonly context: number;
  readonly format: number;
}

/** Vetoes that overrule the score. `null`: no veto. */
export interface ScoreVetoes {
  /** A token of lower Shannon entropy, in bits for each character, stays visible. Default 2.6. */
  readonly shannonBitsMin: number | null;
  /** A token with more bits for each pair in the model of words stays visible. Default 0.6. */
  readonly bigramBitsMax: number | null;
}

const thresholdTable = {
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
  return thresholdTable[profile];
}
