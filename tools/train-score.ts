/**
 * Trains the score of src/redaction/detect: `tools/node tools/train-score.ts CORPUS [--hold]
 * [--clean DIR]`. Keys are made up here, from alphabets, lengths, prefixes and places that are
 * drawn with a fixed seed; what is no key comes from clean-output.jsonl.gz and
 * secrets-negatives.jsonl.gz of CORPUS, and from text files of DIR. No secret of the corpus is
 * trained on.
 *
 * With `--hold` a third of the alphabets and of the clean categories is kept aside, and what the
 * score makes of them is printed; nothing is written. Without it, everything is trained on and
 * src/redaction/detect/score-weights.ts is written.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { rows } from '../bench/secrets/corpus.ts';
import { tokenFeatureCount, computeTokenFeatures } from '../src/redaction/detect/score.ts';
import { extractToken, findTokenRuns, screenToken } from '../src/redaction/detect/tokens.ts';
import { keysOf, makers, places, randomFrom } from './train-score-keys.ts';
import { train, type Example } from './train-score-net.ts';

const seed = 20_261_122;
const epochs = 24;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { hold: { type: 'boolean', default: false }, clean: { type: 'string', multiple: true } },
});
const [corpus] = positionals;
if (corpus === undefined) throw new Error('train-score.ts CORPUS [--hold] [--clean DIR]');

interface Row {
  readonly text: string;
  readonly kind: string;
  readonly group?: string;
}

/** Every token of a line that would be scored. */
function tokensOf(text: string): { features: Float64Array; token: string; at: number }[] {
  const bytes = Buffer.from(text, 'utf8');
  const latin = bytes.toString('latin1');
  const runs = findTokenRuns(bytes);
  const pairs = runs.pairs.slice(0, runs.count * 2);
  const found = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const token = extractToken(latin, pairs[at] ?? 0, pairs[at + 1] ?? 0);
    if (token === null) continue;
    const [start, end] = token;
    const lineStart = latin.lastIndexOf('\n', start - 1) + 1;
    const stop = latin.indexOf('\n', end);
    const lineEnd = stop < 0 ? latin.length : stop;
    if (screenToken(latin, start, end, { start: lineStart, end: lineEnd }) !== null) continue;
    const labelled = /key|token|secret|pass|cred|auth|creat/iu.test(latin.slice(lineStart, start));
    const features = computeTokenFeatures(latin, start, end, {
      lineStart,
      lineEnd,
      labelled,
    }).slice();
    found.push({ features, token: latin.slice(start, end), at: start });
  }
  return found;
}

/** What is no key, by category. */
function cleanExamples(corpus: string): Map<string, Example[]> {
  const examples = new Map<string, Example[]>();
  const add = (kind: string, text: string, weight: number): void => {
    for (const { features, token } of tokensOf(text)) {
      const list = examples.get(kind) ?? [];
      list.push({ features, target: 0, weight, token, kind });
      examples.set(kind, list);
    }
  };
  for (const row of rows<Row>(corpus, 'clean-output')) add(row.kind, row.text, 4);
  for (const row of rows<Row>(corpus, 'secrets-negatives')) {
    if (row.group !== 'near_miss') add(row.kind, row.text, 8);
  }
  for (const directory of values.clean ?? []) {
    for (const file of globSync('**/*.{txt,log}', { cwd: directory }).toSorted()) {
      const lines = readFileSync(path.join(directory, file), 'utf8').split('\n');
      for (const line of lines) add(file, line, 1);
    }
  }
  return examples;
}

/** Keys, by alphabet. */
function keyExamples(next: () => number): Map<string, Example[]> {
  const examples = new Map<string, Example[]>();
  for (const maker of makers) {
    const list: Example[] = [];
    for (const key of keysOf(maker, 900, next)) {
      const place = places[Math.floor(next() * places.length)] ?? '%';
      const at = place.indexOf('%');
      const text = place.replace('%', () => key);
      const hit = tokensOf(text).find((one) => one.at >= at - 1 && one.at < at + key.length);
      if (hit !== undefined) {
        list.push({
          features: hit.features,
          target: 1,
          weight: 1,
          token: hit.token,
          kind: maker.name,
        });
      }
    }
    examples.set(maker.name, list);
  }
  return examples;
}

function heldOut(kinds: Iterable<string>, next: () => number): Set<string> {
  return new Set([...kinds].toSorted().filter(() => next() < 1 / 3));
}

const next = randomFrom(seed);
const clean = cleanExamples(corpus);
const keys = keyExamples(next);
const held = values.hold
  ? new Set([...heldOut(clean.keys(), next), ...heldOut(keys.keys(), next)])
  : new Set<string>();
const all = [...clean.values(), ...keys.values()].flat();
const seen = all.filter(({ kind }) => !held.has(kind));
const model = train(seen, { seed, epochs, inputs: tokenFeatureCount });

for (const threshold of [0.5, 0.7, 0.8, 0.9, 0.95, 0.98]) {
  const share = (target: number, unseen: boolean): string => {
    const some = all.filter((one) => one.target === target && held.has(one.kind) === unseen);
    const over = some.filter((one) => model.score(one.features) >= threshold).length;
    return `${over}/${some.length}`;
  };
  process.stdout.write(
    `${threshold}: keys ${share(1, false)}, held ${share(1, true)}; ` +
      `clean ${share(0, false)}, held ${share(0, true)}\n`,
  );
}
const worst = all
  .filter(({ target }) => target === 0)
  .map((one) => ({ one, score: model.score(one.features) }))
  .toSorted((a, b) => b.score - a.score)
  .slice(0, 60);
for (const { one, score } of worst) {
  process.stdout.write(
    `${score.toFixed(2)} ${one.kind}${held.has(one.kind) ? ' (held)' : ''} ${one.token}\n`,
  );
}
for (const [name, list] of keys) {
  const hit = list.filter((one) => model.score(one.features) >= 0.9).length;
  process.stdout.write(`${name}${held.has(name) ? ' (held)' : ''} ${hit}/${list.length} at 0.9\n`);
}
if (!values.hold) writeFileSync('src/redaction/detect/score-weights.ts', model.source());
