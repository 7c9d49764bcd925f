/** How much a token looks drawn at random: a small network over its features. */
import { tokenFeatureCount, computeTokenFeatures, type TokenSurroundings } from './features.ts';
import { hiddenUnits, scoreWeights } from './score-weights.ts';

/** One signed byte a weight; each unit and the output have a scale of their own. */
const { bytes, scales } = scoreWeights;
const cells = new Int8Array(Buffer.from(bytes, 'base64'));
const hidden = new Float64Array(hiddenUnits);
const width = tokenFeatureCount + 1;

/**
 * The network knows lengths that keys often have, so its answer jumps from length to length. A
 * token is judged by its first characters, as many as each of these lengths; the highest answer
 * counts. So more random characters never make a token look less random.
 */
const judgedLengths = [16, 18, 20, 28, 32, 40];

/** From 0 to 1; 0 for what is shorter than 16 characters. */
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
    const row = unit * width;
    let sum = cells[row + tokenFeatureCount] ?? 0;
    for (let at = 0; at < tokenFeatureCount; at++) {
      sum += (cells[row + at] ?? 0) * (features[at] ?? 0);
    }
    hidden[unit] = Math.max(0, sum * (scales[unit] ?? 0));
  }
  const row = hiddenUnits * width;
  let out = cells[row + hiddenUnits] ?? 0;
  for (let unit = 0; unit < hiddenUnits; unit++) {
    out += (cells[row + unit] ?? 0) * (hidden[unit] ?? 0);
  }
  return 1 / (1 + Math.exp(-out * (scales[hiddenUnits] ?? 0)));
}
