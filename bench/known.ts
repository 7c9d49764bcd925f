// tools/node bench/known.ts --corpus DIR [--mb 50]: known values in the forms of the corpus, in
// output that holds none of them, and how fast. DIR holds secret-transforms.jsonl.gz and
// clean-output.jsonl.gz.
import { randomBytes } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { rows } from './secrets/corpus.ts';
import type { MaskedChunk } from '../src/redaction/secret-finding.ts';
import type { KnownValue } from '../src/redacted.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { KnownMasker } from '../src/redaction/known/known-masker.ts';

const MB = 1e6;
const chunkBytes = 64 * 1024;

const { values: options } = parseArgs({
  options: { corpus: { type: 'string' }, mb: { type: 'string', default: '50' } },
});
const corpus = options.corpus ?? '';
const bytesWanted = Number(options.mb) * MB;

interface Row {
  readonly secret: string;
  readonly transform: string;
  readonly must_mask: boolean | null;
  readonly text_b64: string;
}

const cleanText = (): string =>
  rows<{ text: string }>(corpus, 'clean-output')
    .map((row) => `${row.text}\n`)
    .join('');
const known = (value: string, name = 'K'): KnownValue => ({ name, value, tag: '[HIDDEN:000000]' });

function run(index: KnownIndex, bytes: Uint8Array): MaskedChunk[] {
  const masker = new KnownMasker(index);
  const pieces: MaskedChunk[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    pieces.push(...masker.push(bytes.subarray(at, at + chunkBytes)));
  }
  return [...pieces, ...masker.end()];
}

const letters = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/**
 * Hidden: something is replaced, and no run of the row's own letters and digits that is as long as
 * a window (12; 6 for passwords) is left which is not also in the same transform of another
 * secret, where only what is around the secret can be alike.
 */
function leftOver(row: Row, shown: string, others: readonly string[], window: number): boolean {
  const own = letters(Buffer.from(row.text_b64, 'base64').toString('latin1'));
  const left = shown.split('\0').map(letters);
  for (const part of left) {
    for (let at = 0; at + window <= part.length; at += 1) {
      const piece = part.slice(at, at + window);
      // Offsets of a dump are of no secret.
      if (piece.startsWith('0000')) continue;
      if (own.includes(piece) && !others.some((other) => other.includes(piece))) return true;
    }
  }
  return false;
}

function transformsReport(): void {
  const cases = rows<Row>(corpus, 'secret-transforms');
  const indexes = new Map<string, KnownIndex>();
  for (const { secret } of cases) indexes.set(secret, new KnownIndex([known(secret)]));
  const raw = new Map<string, { secret: string; text: string }[]>();
  for (const row of cases) {
    const text = letters(Buffer.from(row.text_b64, 'base64').toString('latin1'));
    raw.set(row.transform, [...(raw.get(row.transform) ?? []), { secret: row.secret, text }]);
  }
  const count = { token: [0, 0], password: [0, 0], 'must stay': [0, 0] };
  const missed: string[] = [];
  for (const row of cases) {
    if (row.must_mask === null) continue;
    const bytes = Buffer.from(row.text_b64, 'base64');
    const pieces = run(indexes.get(row.secret) ?? new KnownIndex([]), bytes);
    const hidden = pieces.some(({ kind }) => kind === 'hidden');
    const shown = pieces
      .map((piece) => (piece.kind === 'text' ? Buffer.from(piece.bytes).toString('latin1') : '\0'))
      .join('');
    const long = row.secret.length >= 20;
    const others = (raw.get(row.transform) ?? [])
      .filter(({ secret }) => secret !== row.secret)
      .map(({ text }) => text);
    const kind = row.must_mask ? (long ? 'token' : 'password') : 'must stay';
    const fine = row.must_mask
      ? hidden && !leftOver(row, shown, others, long ? 12 : 6)
      : shown === bytes.toString('latin1');
    count[kind][0] = (count[kind][0] ?? 0) + (fine ? 1 : 0);
    count[kind][1] = (count[kind][1] ?? 0) + 1;
    if (!fine) missed.push(`${row.transform} (${kind})`);
  }
  for (const [kind, [fine = 0, all = 0]] of Object.entries(count)) {
    console.log(`transforms: ${kind}: ${fine} of ${all} (${((100 * fine) / all).toFixed(1)} %)`);
  }
  if (missed.length > 0) console.log(`not as wanted: ${missed.join('; ')}`);
}

/** The corpus's clean lines, with their numbers changed each time, and real files. */
function cleanOutput(): Buffer {
  const parts: Buffer[] = [];
  const length = (): number => parts.reduce((sum, part) => sum + part.length, 0);
  const files = [
    ...globSync('/usr/share/doc/**/*'),
    ...globSync('node_modules/**/*.{js,json,ts,map}'),
    ...globSync('/usr/lib/**/*.{py,pm,so,h}'),
    ...globSync('/usr/bin/*'),
  ];
  const text = cleanText();
  for (let turn = 0; length() < bytesWanted / 2; turn += 1) {
    parts.push(Buffer.from(turn === 0 ? text : text.replaceAll(/[0-9a-f]{2}/g, changed(turn))));
  }
  for (const file of files) {
    if (length() >= bytesWanted) break;
    const size = statSync(file, { throwIfNoEntry: false });
    if (size?.isFile() !== true || size.size > 4 * MB) continue;
    const content = readFileSync(file);
    parts.push(file.endsWith('.gz') ? gunzipSync(content) : content);
  }
  return Buffer.concat(parts);
}

const changed =
  (turn: number) =>
  (two: string): string =>
    ((Number.parseInt(two, 16) * 7 + turn * 31) % 256).toString(16).padStart(2, '0');

const alphabets = [
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  '0123456789abcdef',
];

function secretsOf(count: number, passwords: boolean): KnownValue[] {
  return Array.from({ length: count }, (_, at) => {
    const password = passwords && at % 5 === 4;
    const alphabet = `${alphabets[at % 4 === 3 ? 1 : 0]}${password ? '!%&$#' : ''}`;
    const length = password ? 8 + (at % 7) : 20 + ((at * 7) % 45);
    const value = Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]);
    return known(value.join(''), `K${at}`);
  });
}

function falseHits(clean: Buffer): void {
  const index = new KnownIndex(secretsOf(100, true));
  const hits = run(index, clean).filter(({ kind }) => kind === 'hidden').length;
  console.log(`clean output: ${hits} hits in ${(clean.length / MB).toFixed(1)} MB, 100 secrets`);
}

function speed(name: string, bytes: Buffer): void {
  for (const [count, passwords] of [
    [1, false],
    [20, false],
    [100, false],
    [100, true],
  ] as const) {
    const values = secretsOf(count, passwords);
    const start = performance.now();
    const index = new KnownIndex(values);
    const built = performance.now() - start;
    let best = 0;
    let worstMs = 0;
    for (let turn = 0; turn < 3; turn += 1) {
      const masker = new KnownMasker(index);
      const chunks: number[] = [];
      const from = process.cpuUsage();
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        const before = performance.now();
        masker.push(bytes.subarray(at, at + chunkBytes));
        chunks.push(performance.now() - before);
      }
      masker.end();
      const { user, system } = process.cpuUsage(from);
      best = Math.max(best, bytes.length / (user + system));
      worstMs = Math.max(...chunks);
    }
    const line = randomBytes(768 * 1024).toString('base64');
    const before = performance.now();
    new KnownMasker(index).push(Buffer.from(line));
    const lineMs = performance.now() - before;
    console.log(
      `${name}: ${count} secrets${passwords ? ' with passwords' : ''}: ${best.toFixed(0)} MB/s ` +
        `of cpu, worst 64 kB chunk ${worstMs.toFixed(1)} ms, 1 MB line ${lineMs.toFixed(0)} ms, ` +
        `${built.toFixed(0)} ms to build`,
    );
  }
}

/** `yes $SECRET` for 200 MB. */
function endless(): void {
  const value = known('ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ');
  const masker = new KnownMasker(new KnownIndex([value]));
  const chunk = Buffer.from(`${value.value}\n`.repeat(1_600));
  let shown = 0;
  let hidden = 0;
  const before = process.memoryUsage().rss;
  const take = (pieces: readonly MaskedChunk[]): void => {
    for (const piece of pieces) {
      if (piece.kind === 'hidden') hidden += piece.bytes;
      else shown += piece.bytes.filter((byte) => byte !== 10).length;
    }
  };
  let most = before;
  for (let done = 0; done < 200 * MB; done += chunk.length) {
    take(masker.push(chunk));
    most = Math.max(most, process.memoryUsage().rss);
  }
  take(masker.end());
  console.log(
    `yes: ${(hidden / MB).toFixed(0)} MB hidden, ${shown} bytes left, memory grew by ` +
      `${((most - before) / MB).toFixed(0)} MB`,
  );
}

transformsReport();
const clean = cleanOutput();
falseHits(clean);
const logs = Buffer.from(cleanText().repeat(12));
speed('logs', logs);
endless();
