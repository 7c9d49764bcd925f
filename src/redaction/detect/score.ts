/**
 * How random a token looks: its features (its letters, its shape, and the line around it), the
 * score of a small network over them, and the score from which a token is hidden.
 */
import type { RedactionProfile, SecretPrior } from '../secret-finding.ts';
import { pairBits } from './bigram.ts';
import { ALNUM, BLANK, isCharacterOf, QUOTE } from './characters.ts';
import { hiddenUnits, scoreWeights } from './score-weights.ts';

/** The line around a token, as offsets in the text. */
export interface TokenSurroundings {
  readonly lineStart: number;
  readonly lineEnd: number;
  /** The line has a name that can belong to a secret: "key", "token", "created". */
  readonly labelled: boolean;
  /** How many of its characters are examined. Default 512. */
  readonly charactersMax?: number;
}

export const tokenFeatureCount = 42;
/** Overwritten for each token. */
const features = new Float64Array(tokenFeatureCount);
const counts = new Uint16Array(128);
const logs = Float64Array.from({ length: 513 }, (_, count) => Math.log2(Math.max(1, count)));

interface Tally {
  upper: number;
  lower: number;
  digit: number;
  hexLower: number;
  hexUpper: number;
  vowels: number;
  turns: number;
  /** Longest run of letters in one case, and of digits. */
  letters: number;
  digits: number;
}

/** Numbers between about -1 and 1. Valid until the next call. */
export function computeTokenFeatures(
  text: string,
  start: number,
  end: number,
  around: TokenSurroundings,
): Float64Array {
  const stop = Math.min(end, start + (around.charactersMax ?? 512));
  const length = stop - start;
  const tally = tallyOf(text, start, stop);
  const { mean, low, high } = bitsOf(text, start, stop);
  const alnum = tally.upper + tally.lower + tally.digit;
  const f = features;
  let at = 0;
  f[at++] = Math.log2(length) / 4 - 1;
  f[at++] = length === 32 || length === 40 || length === 64 || length === 128 ? 1 : 0;
  f[at++] = length % 4 === 0 ? 1 : 0;
  f[at++] = length >= 21 && length <= 27 ? 1 : 0;
  f[at++] = length > 70 ? 1 : 0;
  f[at++] = tally.upper / length;
  f[at++] = tally.lower / length;
  f[at++] = tally.digit / length;
  f[at++] = (length - alnum) / length;
  f[at++] = tally.upper > 0 && tally.lower > 0 && tally.digit > 0 ? 1 : 0;
  f[at++] = tally.upper === 0 ? 1 : 0;
  f[at++] = tally.lower === 0 ? 1 : 0;
  f[at++] = tally.digit === 0 ? 1 : 0;
  f[at++] = tally.hexLower === alnum ? 1 : 0;
  f[at++] = tally.hexUpper === alnum ? 1 : 0;
  f[at++] = tally.turns / length;
  f[at++] = Math.min(tally.letters, 16) / 16;
  f[at++] = Math.min(tally.digits, 12) / 12;
  f[at++] = tally.vowels / Math.max(1, tally.upper + tally.lower);
  f[at++] = mean / 3;
  f[at++] = low / 4;
  f[at++] = high / 3;
  f[at++] = shannon(length) / 6;
  f[at++] = distinct / Math.min(length, 62);
  at = signsOf(text, start, stop, at);
  at = surroundingsOf(text, start, end, { around, at });
  return features;
}

let distinct = 0;

/** Bits for each character; sets `distinct`. */
function shannon(length: number): number {
  let bits = 0;
  distinct = 0;
  for (let code = 0; code < 128; code++) {
    const count = counts[code] ?? 0;
    if (count === 0) continue;
    distinct++;
    bits += count * (logs[count] ?? 0);
  }
  return Math.log2(length) - bits / length;
}

/** Bits for each character of a text; 0 if all are equal. */
export function shannonEntropy(text: string, start: number, end: number): number {
  tallyOf(text, start, end);
  return shannon(end - start);
}

function tallyOf(text: string, start: number, end: number): Tally {
  counts.fill(0);
  const tally = {
    upper: 0,
    lower: 0,
    digit: 0,
    hexLower: 0,
    hexUpper: 0,
    vowels: 0,
    turns: 0,
    letters: 0,
    digits: 0,
  };
  let kind = 0;
  let run = 0;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    counts[code & 127] = (counts[code & 127] ?? 0) + 1;
    let next = 0;
    if (code >= 97 && code <= 122) {
      next = 1;
      tally.lower++;
      if (code <= 102) tally.hexLower++;
    } else if (code >= 65 && code <= 90) {
      next = 2;
      tally.upper++;
      if (code <= 70) tally.hexUpper++;
    } else if (code >= 48 && code <= 57) {
      next = 3;
      tally.digit++;
      tally.hexLower++;
      tally.hexUpper++;
    }
    if (isVowel(code)) tally.vowels++;
    run = next === kind ? run + 1 : 1;
    if (next !== kind) tally.turns++;
    kind = next;
    if (kind === 3) tally.digits = Math.max(tally.digits, run);
    else if (kind !== 0) tally.letters = Math.max(tally.letters, run);
  }
  return tally;
}

function isVowel(code: number): boolean {
  const lower = code | 32;
  return lower === 97 || lower === 101 || lower === 105 || lower === 111 || lower === 117;
}

/** Mean bits of the pairs, and the lowest and highest mean of eight pairs in a row. */
function bitsOf(
  text: string,
  start: number,
  end: number,
): { mean: number; low: number; high: number } {
  let sum = 0;
  let window = 0;
  let low = 8;
  let high = -8;
  for (let at = start + 1; at < end; at++) {
    const bits = pairBits(text.charCodeAt(at - 1), text.charCodeAt(at));
    sum += bits;
    window += bits;
    if (at - start > 8) window -= pairBits(text.charCodeAt(at - 9), text.charCodeAt(at - 8));
    if (at - start >= 8) {
      low = Math.min(low, window / 8);
      high = Math.max(high, window / 8);
    }
  }
  return { mean: sum / Math.max(1, end - start - 1), low, high };
}

function signsOf(text: string, start: number, end: number, first: number): number {
  const f = features;
  let at = first;
  const length = end - start;
  for (const sign of '-_./+:=') {
    f[at++] = Math.min(4, counts[sign.charCodeAt(0)] ?? 0) / 4;
  }
  f[at++] = text.charAt(end - 1) === '=' ? 1 : 0;
  // A short word, a sign, and one long part: the usual form of a key with a prefix.
  let tail = end;
  while (tail > start && isCharacterOf(text, tail - 1, ALNUM)) tail--;
  const head = tail - start;
  f[at++] = head > 1 && head <= 12 && end - tail >= 12 ? 1 : 0;
  f[at++] = (end - tail) / length;
  return at;
}

function surroundingsOf(
  text: string,
  start: number,
  end: number,
  { around, at: first }: { readonly around: TokenSurroundings; readonly at: number },
): number {
  const f = features;
  let at = first;
  const before = text.charAt(start - 1);
  let from = around.lineStart;
  while (from < start && isCharacterOf(text, from, BLANK | QUOTE)) from++;
  let to = around.lineEnd;
  while (
    to > end &&
    (isCharacterOf(text, to - 1, BLANK | QUOTE) || ',;'.includes(text.charAt(to - 1)))
  ) {
    to--;
  }
  f[at++] = from === start && to === end ? 1 : 0;
  f[at++] = isCharacterOf(text, start - 1, QUOTE) && isCharacterOf(text, end, QUOTE) ? 1 : 0;
  f[at++] = around.labelled ? 1 : 0;
  f[at++] = before === '=' || before === ':' ? 1 : 0;
  f[at++] = before === '/' || before === '@' || before === '#' ? 1 : 0;
  f[at++] = codeSigns(text, Math.max(around.lineStart, start - 40), start) / 10;
  f[at++] = codeSigns(text, end, Math.min(around.lineEnd, end + 40)) / 10;
  f[at++] = start > around.lineStart && !' \t"\'`,;('.includes(before) ? 1 : 0;
  return at;
}

/** The number of brackets, semicolons and the like, at most ten. */
function codeSigns(text: string, start: number, end: number): number {
  let signs = 0;
  for (let at = start; at < end; at++) if ('(){}[];<>=|&'.includes(text.charAt(at))) signs++;
  return Math.min(10, signs);
}

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
