/**
 * npm run bench:publish -- --corpus DIR [--logs DIR] [--snippets N] [--files N]: what the matching
 * half of the publication gate finds and flags.
 *
 * DIR holds packages (or other projects), one directory each, for instance made by
 * `npm i --ignore-scripts` of some 150 packages in an empty directory (its node_modules).
 * A third of them are projects: of their files a third are denied, a third the audience sees, a
 * third is held out (new text of the same authors). Another third is background that the audience
 * sees, the rest independent: told with and without files that share five lines in a row with a
 * denied one, which is vendored code and no error. LOGS holds files of output that has nothing to
 * do with them.
 */
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { DeniedIndex, matchDeniedText } from '../src/publish/denied-index.ts';
import type { PassageMatch } from '../src/publish/match.ts';
import { PassageCollector } from '../src/publish/gate-passages.ts';
import { forms } from '../test/support/publish-forms.ts';
import { figuresOf } from './stats.ts';

interface File {
  readonly path: string;
  readonly bytes: Buffer;
}

const { values } = parseArgs({
  options: {
    corpus: { type: 'string', default: 'node_modules' },
    logs: { type: 'string' },
    snippets: { type: 'string', default: '200' },
    files: { type: 'string', default: '1500' },
    verbose: { type: 'boolean', default: false },
  },
});
const fileBytesMax = 400_000;
const deniedBytesMax = 50e6;
const reviewed = 60;
const blocked = 120;

const corpus = split(values.corpus);
const index = build();
const copied = new Set(corpus.denied.flatMap(({ bytes }) => windowsOf(bytes)));
let missedVerbatim = 0;
plainRecall();
recall();
await flagged('held out, same projects', sampled(corpus.heldOut));
await flagged('independent', sampled(corpus.independent));
latency();
if (values.logs !== undefined) await flagged('logs', filesOf(values.logs, ['*', '**/*']));

/** At most `--files`, from anywhere among them. */
function sampled(files: readonly File[]): File[] {
  const order = files.toSorted((a, b) => seeded(a.path) - seeded(b.path));
  return order.slice(0, Number(values.files));
}

/** Deterministic: a run is comparable with the one before. */
function seeded(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  return (hash ^ (hash >>> 15)) >>> 0;
}

function split(directory: string) {
  const parts = {
    denied: new Array<File>(),
    seen: new Array<File>(),
    heldOut: new Array<File>(),
    independent: new Array<File>(),
  };
  const names = readdirSync(directory).filter((name) => !name.startsWith('.'));
  const packages = names.flatMap((name) =>
    name.startsWith('@')
      ? readdirSync(path.join(directory, name)).map((n) => `${name}/${n}`)
      : name,
  );
  let deniedBytes = 0;
  for (const name of packages) {
    const of = seeded(name) % 3;
    for (const file of filesOf(path.join(directory, name), ['**/*'])) {
      const third = seeded(file.path) % 3;
      if (of === 1) parts.seen.push(file);
      else if (of === 2) parts.independent.push(file);
      else if (third === 0 && deniedBytes < deniedBytesMax) {
        parts.denied.push(file);
        deniedBytes += file.bytes.length;
      } else if (third === 1) parts.seen.push(file);
      else if (third === 2) parts.heldOut.push(file);
    }
  }
  return parts;
}

function filesOf(directory: string, patterns: readonly string[]): File[] {
  const kinds = /\.(?:js|mjs|cjs|ts|tsx|mts|cts|json|md|css|html|py|go|rs|c|h|sh|txt|log)$/;
  const logs = patterns.includes('*');
  return globSync(patterns, { cwd: directory, exclude: (name) => name === 'node_modules' })
    .filter((name) => logs || (kinds.test(name) && !name.includes('.min.')))
    .toSorted()
    .flatMap((name) => {
      const file = path.join(directory, name);
      const state = statSync(file, { throwIfNoEntry: false });
      if (state === undefined || !state.isFile()) return [];
      return state.size <= fileBytesMax ? [{ path: file, bytes: readFileSync(file) }] : [];
    });
}

function build(): DeniedIndex {
  const made = new DeniedIndex();
  const before = process.cpuUsage();
  const started = performance.now();
  for (const { path: name, bytes } of corpus.denied) made.put(name, bytes);
  const spent = process.cpuUsage(before).user / 1000;
  const ms = performance.now() - started;
  for (const { path: name, bytes } of corpus.seen) made.putVisible(name, bytes);
  const stats = made.stats();
  const mb = corpus.denied.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1e6;
  const perByte = (stats.indexBytes / stats.deniedBytes).toFixed(2);
  console.log(`denied ${corpus.denied.length} files, ${mb.toFixed(1)} MB; ${perByte} bytes a byte`);
  console.log(
    `index ${(mb / (ms / 1000)).toFixed(1)} MB/s, of CPU ${(mb / (spent / 1000)).toFixed(1)}`,
  );
  const [one] = corpus.denied;
  if (one !== undefined) {
    const changed = performance.now();
    made.put(one.path, Buffer.concat([one.bytes, Buffer.from('\nchanged\n')]));
    made.put(one.path, one.bytes);
    const kb = Math.round(one.bytes.length / 1000);
    console.log(`a file of ${kb} KB changed twice: ${(performance.now() - changed).toFixed(2)} ms`);
  }
  return made;
}

/** The best score of one source, as the gate adds it up. */
async function score(bytes: Uint8Array): Promise<readonly [number, PassageMatch | undefined]> {
  const matches = await matchDeniedText(index, bytes, () => Promise.resolve());
  const passages = new PassageCollector();
  const whole = {
    kind: 'part',
    name: 'file',
    via: [],
    text: true,
    whole: true,
    span: null,
  } as const;
  for (const match of matches) passages.add(match, { ...whole, bytes });
  return [Math.max(0, ...passages.findings().map((found) => found.score ?? 0)), matches[0]];
}

/** Whether a file that counts as independent has lines in a row of a denied one: vendored code. */
function isCopied({ bytes }: File): boolean {
  return windowsOf(bytes).some((window) => copied.has(window));
}

/** Each five lines in a row without white space; lines of fewer than four characters are none. */
function windowsOf(bytes: Buffer): string[] {
  const lines = bytes
    .toString('latin1')
    .split('\n')
    .map((line) => line.replaceAll(/\s/g, ''))
    .filter((line) => line.length >= 4);
  const windows = lines.slice(4).map((_, i) => lines.slice(i, i + 5).join('\n'));
  return [...windows, ...lines.filter((line) => line.length >= 200)];
}

/** Of three lines of a denied file, none of which the audience sees, how many are found. */
function plainRecall(): void {
  const bare = (line: string): string => line.replaceAll(/\s/g, '');
  const seen = new Set(
    corpus.seen.flatMap(({ bytes }) =>
      bytes
        .toString('utf8')
        .split('\n')
        .map((line) => bare(line)),
    ),
  );
  const counted = { tried: 0, found: 0 };
  for (let turn = 0; counted.tried < 400 && turn < 40_000; turn += 1) {
    const file = corpus.denied[seeded(`plain ${turn}`) % corpus.denied.length];
    const lines = file?.bytes.toString('utf8').split(/\r?\n/) ?? [];
    const from = seeded(`plain line ${turn}`) % Math.max(1, lines.length - 3);
    const snippet = lines.slice(from, from + 3);
    const said = snippet.map((line) => bare(line));
    if (said.length < 3 || said.some((line) => line.length < 4 || line.length > 400)) continue;
    if (said.join('').length < 80 || said.some((line) => seen.has(line))) continue;
    counted.tried += 1;
    if (best(index.match(Buffer.from(snippet.join('\n')))) >= reviewed) counted.found += 1;
  }
  const share = ((100 * counted.found) / counted.tried).toFixed(1);
  console.log(`${share} % of ${counted.tried} times three unseen lines of >= 80 characters found`);
}

/** Snippets that say something the audience does not know: at least 60 characters of news. */
function snippets(lines: number, count: number): string[][] {
  const found: string[][] = [];
  for (let turn = 0; found.length < count && turn < count * 20; turn += 1) {
    const file = corpus.denied[seeded(`file ${lines} ${turn}`) % corpus.denied.length];
    if (file === undefined || file.bytes.includes(0)) continue;
    const text = file.bytes.toString('utf8').split(/\r?\n/);
    const from = seeded(`line ${lines} ${turn}`) % Math.max(1, text.length - lines);
    const snippet = text.slice(from, from + lines);
    if (snippet.length < lines || snippet.some((line) => line.length > 400)) continue;
    if (snippet.some((line) => line.trim().length < 4)) continue;
    if (best(index.match(Buffer.from(snippet.join('\n')))) < reviewed) {
      if (snippet.join('').replaceAll(/\s/g, '').length >= 80) missedVerbatim += 1;
      continue;
    }
    found.push(snippet);
  }
  return found;
}

function best(matches: readonly PassageMatch[]): number {
  return Math.max(0, ...matches.map(({ novel }) => novel));
}

function recall(): void {
  const count = Number(values.snippets);
  const around = corpus.independent.filter(({ bytes }) => bytes.length > 8_000);
  const table = new Map<string, string[]>(forms.map(({ name }) => [name, []]));
  for (const lines of [3, 5, 10]) {
    missedVerbatim = 0;
    const tried = snippets(lines, count);
    console.log(
      `${lines} lines: ${tried.length} snippets; ${missedVerbatim} of >= 80 known or short`,
    );
    for (const { name, of } of forms) {
      let found = 0;
      for (const [i, snippet] of tried.entries()) {
        const host = around[seeded(`${name} ${i}`) % around.length]?.bytes ?? Buffer.alloc(0);
        const cut = host.indexOf(0x0a, 2_000) + 1;
        const text = [
          host.subarray(0, cut),
          Buffer.from(`${of(snippet)}\n`),
          host.subarray(cut, 4_000),
        ];
        const score = best(index.match(Buffer.concat(text)));
        if (score >= reviewed) found += 1;
        else if (values.verbose) console.log(`missed by ${name} (${score}):\n${of(snippet)}`);
      }
      table.get(name)?.push(((100 * found) / tried.length).toFixed(1));
    }
  }
  for (const [name, shares] of table) console.log(`  ${name.padEnd(18)} ${shares.join('  ')}`);
}

async function flagged(name: string, files: readonly File[]): Promise<void> {
  const counted = { review: 0, block: 0 };
  const fair = { files: 0, flagged: 0 };
  const before = process.cpuUsage();
  let bytes = 0;
  for (const file of files) {
    bytes += file.bytes.length;
    const [sum, match] = await score(file.bytes);
    const own = !isCopied(file);
    fair.files += own ? 1 : 0;
    if (sum < reviewed) continue;
    fair.flagged += own ? 1 : 0;
    counted[sum < blocked ? 'review' : 'block'] += 1;
    if (values.verbose && match !== undefined) {
      const { path: source, lines, novel, text } = match;
      console.log(`${name} ${sum} ${file.path}\n  ${source}:${lines.join('-')} ${novel} ${text}`);
    }
  }
  const spent = process.cpuUsage(before).user / 1e6;
  const share = percent(counted.review + counted.block, files.length);
  console.log(
    `${name}: ${share} % of ${files.length} files flagged (${counted.review} review, ` +
      `${counted.block} block), ${percent(fair.flagged, fair.files)} % of ${fair.files} ` +
      `that copy no five lines, ${(bytes / 1e6 / spent).toFixed(1)} MB/s of CPU`,
  );
}

function percent(part: number, all: number): string {
  return ((100 * part) / Math.max(1, all)).toFixed(2);
}

function latency(): void {
  const line = (i: number): string =>
    `2026-03-04T12:00:${two(i % 60)}.${i}Z INFO request ${seeded(String(i))} took ${i % 97} ms\n`;
  const log = Buffer.from(Array.from({ length: 800 }, (_, i) => line(i)).join('')).subarray(
    0,
    50_000,
  );
  const code = Buffer.concat(corpus.independent.slice(0, 60).map(({ bytes }) => bytes));
  for (const [name, text] of [
    ['log', log],
    ['code', code.subarray(0, 50_000)],
  ] as const) {
    const times = Array.from({ length: 60 }, () => {
      const started = performance.now();
      index.match(text);
      return performance.now() - started;
    }).slice(10);
    const { p50, p95 } = figuresOf(times);
    console.log(`50 KB ${name}: p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms`);
  }
}

function two(n: number): string {
  return String(n).padStart(2, '0');
}
