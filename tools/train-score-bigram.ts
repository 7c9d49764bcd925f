/**
 * Counts pairs of characters for src/redaction/detect/bigram-weights.ts:
 * `tools/node tools/train-score-bigram.ts CORPUS TEXT_DIR...`. CORPUS holds
 * clean-output.jsonl.gz and secrets-negatives.jsonl.gz; text files (.ts .js .md .py .txt) are read
 * from the directories.
 * The same input gives the same table.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

const [corpus, ...directories] = process.argv.slice(2);
if (corpus === undefined) throw new Error('train-score-bigram.ts CORPUS TEXT_DIR...');

const size = 96;
const counts = new Float64Array(size * size);
/** What was drawn at random would teach the table that it is usual. */
const random = /(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{20,}/gu;

for (const file of ['clean-output.jsonl.gz', 'secrets-negatives.jsonl.gz']) {
  const lines = gunzipSync(readFileSync(path.join(corpus, file)))
    .toString('utf8')
    .split('\n');
  for (const line of lines) {
    if (line === '') continue;
    const row: { text: string; kind: string; group?: string } = JSON.parse(line);
    if (/pem|base64|sum|xxd|od$|hexdump|object|x509/u.test(row.kind)) continue;
    if (row.group !== 'near_miss') count(row.text, 4);
  }
}
for (const directory of directories) {
  const files = globSync('**/*.{ts,js,md,py,txt}', { cwd: directory }).toSorted();
  for (const file of files.slice(0, 600)) {
    if (/\.min\.|dist|bundle/u.test(file)) continue;
    count(readFileSync(path.join(directory, file), 'utf8').slice(0, 40_000), 1);
  }
}

function count(text: string, weight: number): void {
  for (const run of text.replaceAll(random, ' ').split(/\s+/u)) {
    const times = run.length > 40 ? weight / 2 : weight;
    for (let at = 1; at < run.length; at++) {
      const cell = place(run.charCodeAt(at - 1)) * size + place(run.charCodeAt(at));
      counts[cell] = (counts[cell] ?? 0) + times;
    }
  }
}

function place(code: number): number {
  return code >= 32 && code < 127 ? code - 32 : 95;
}

const table = new Int8Array(size * size);
for (let row = 0; row < size; row++) {
  let total = 0;
  for (let column = 0; column < size; column++) total += counts[row * size + column] ?? 0;
  for (let column = 0; column < size; column++) {
    // Of 64 characters of a key one is drawn with 1/64; half a count for what was never seen.
    const share = ((counts[row * size + column] ?? 0) + 2) / (total + 2 * size);
    const bits = Math.log2(share * 64);
    table[row * size + column] = Math.max(-80, Math.min(80, Math.round(bits * 16)));
  }
}
const encoded = Buffer.from(table.buffer).toString('base64');
const lines = encoded.match(/.{1,92}/gu) ?? [];
writeFileSync(
  'src/redaction/detect/bigram-weights.ts',
  `/** 96 × 96 signed bytes; made by tools/train-score-bigram.ts. */\n` +
    `export const bigramWeights = [\n` +
    lines.map((line) => `  '${line}',\n`).join('') +
    `].join('');\n`,
);
