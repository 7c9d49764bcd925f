/** One hidden layer, trained by Adam on the weighted log loss, then rounded to bytes. */
import { randomFrom } from './train-score-keys.ts';

export interface Example {
  readonly features: Float64Array;
  readonly target: 0 | 1;
  readonly weight: number;
  readonly token: string;
  readonly kind: string;
}

export interface Model {
  /** From 0 to 1, with the rounded weights. */
  score(features: Float64Array): number;
  /** The file that holds them. */
  source(): string;
}

const units = 20;
const batch = 64;

export function train(
  examples: readonly Example[],
  {
    seed,
    epochs,
    inputs,
  }: { readonly seed: number; readonly epochs: number; readonly inputs: number },
): Model {
  const next = randomFrom(seed);
  const width = inputs + 1;
  const size = units * width + units + 1;
  const weights = Float64Array.from({ length: size }, () => (next() - 0.5) * 0.6);
  const gradient = new Float64Array(size);
  const first = new Float64Array(size);
  const second = new Float64Array(size);
  const balance = balanceOf(examples);
  const order = examples.map((_, at) => at);
  let step = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, next);
    const rate = 0.004 * (1 - epoch / epochs) + 0.0004;
    for (let from = 0; from < order.length; from += batch) {
      gradient.fill(0);
      const some = order.slice(from, from + batch);
      for (const at of some) {
        const example = examples[at];
        if (example !== undefined) backward(weights, gradient, example, balance, inputs);
      }
      step++;
      for (let at = 0; at < size; at++) {
        const g = (gradient[at] ?? 0) / some.length + 1e-5 * (weights[at] ?? 0);
        first[at] = 0.9 * (first[at] ?? 0) + 0.1 * g;
        second[at] = 0.999 * (second[at] ?? 0) + 0.001 * g * g;
        const mean = (first[at] ?? 0) / (1 - 0.9 ** step);
        const spread = Math.sqrt((second[at] ?? 0) / (1 - 0.999 ** step)) + 1e-8;
        weights[at] = (weights[at] ?? 0) - (rate * mean) / spread;
      }
    }
  }
  return rounded(weights, inputs);
}

function balanceOf(examples: readonly Example[]): readonly [number, number] {
  const sums: [number, number] = [0, 0];
  for (const { target, weight } of examples) sums[target] += weight;
  const total = sums[0] + sums[1];
  return [total / (2 * sums[0]), total / (2 * sums[1])];
}

function shuffle(order: number[], next: () => number): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(next() * (at + 1));
    [order[at], order[other]] = [order[other] ?? 0, order[at] ?? 0];
  }
}

const hidden = new Float64Array(units);

function forward(weights: Float64Array, features: Float64Array, inputs: number): number {
  const width = inputs + 1;
  for (let unit = 0; unit < units; unit++) {
    const row = unit * width;
    let sum = weights[row + inputs] ?? 0;
    for (let at = 0; at < inputs; at++) sum += (weights[row + at] ?? 0) * (features[at] ?? 0);
    hidden[unit] = Math.max(0, sum);
  }
  const row = units * width;
  let out = weights[row + units] ?? 0;
  for (let unit = 0; unit < units; unit++) out += (weights[row + unit] ?? 0) * (hidden[unit] ?? 0);
  return 1 / (1 + Math.exp(-out));
}

// oxlint-disable-next-line max-params -- the inner loop of the training
function backward(
  weights: Float64Array,
  gradient: Float64Array,
  example: Example,
  balance: readonly [number, number],
  inputs: number,
): void {
  const { features, target, weight } = example;
  const error = (forward(weights, features, inputs) - target) * weight * balance[target];
  const width = inputs + 1;
  const row = units * width;
  gradient[row + units] = (gradient[row + units] ?? 0) + error;
  for (let unit = 0; unit < units; unit++) {
    gradient[row + unit] = (gradient[row + unit] ?? 0) + error * (hidden[unit] ?? 0);
    if ((hidden[unit] ?? 0) === 0) continue;
    const down = error * (weights[row + unit] ?? 0);
    const cells = unit * width;
    for (let at = 0; at < inputs; at++) {
      gradient[cells + at] = (gradient[cells + at] ?? 0) + down * (features[at] ?? 0);
    }
    gradient[cells + inputs] = (gradient[cells + inputs] ?? 0) + down;
  }
}

/** Each unit's weights as signed bytes with one scale. */
function rounded(weights: Float64Array, inputs: number): Model {
  const width = inputs + 1;
  const bytes = new Int8Array(weights.length);
  const back = new Float64Array(weights.length);
  const scales: number[] = [];
  for (let unit = 0; unit <= units; unit++) {
    const from = unit * width;
    const to = unit === units ? weights.length : from + width;
    const most = Math.max(...weights.slice(from, to).map((one) => Math.abs(one)), 1e-6);
    const scale = Number((most / 127).toPrecision(5));
    scales.push(scale);
    for (let at = from; at < to; at++) {
      bytes[at] = Math.max(-127, Math.min(127, Math.round((weights[at] ?? 0) / scale)));
      back[at] = (bytes[at] ?? 0) * scale;
    }
  }
  return {
    score: (features) => forward(back, features, inputs),
    source: () => {
      const lines =
        Buffer.from(bytes.buffer)
          .toString('base64')
          .match(/.{1,92}/gu) ?? [];
      return (
        `/** Signed bytes, made by tools/train-score.ts: a row a unit, its bias last. */\n` +
        `export const hiddenUnits = ${units};\n` +
        `export const scoreWeights = {\n  scales: [${scales.join(', ')}],\n  bytes: [\n` +
        lines.map((line) => `    '${line}',\n`).join('') +
        `  ].join(''),\n};\n`
      );
    },
  };
}
