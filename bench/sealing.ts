/**
 * npm run bench:sealing [-- --quick]
 *
 * What sealing raw output costs: redaction with and without a recipient, the sealed file against
 * the same output written and synced as it is and as plain zstd, and what a recipient adds to a
 * short command's output. Times are CPU time of the process where it says so, so that a busy
 * machine changes little; what waits for the disk is told by the clock.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { constants, zstdCompressSync } from 'node:zlib';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { RedactorChannel } from '../src/redactor/channel.ts';
import { generateIdentity } from '../src/sealing/keys.ts';
import { RawLogWriter } from '../src/sealing/raw-log-writer.ts';
import { checkLines, type Check } from './report.ts';
import { figuresOf } from './stats.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const MB = 1e6;
const chunkBytes = 64 * 1024;
const bytesMax = 1e12;
const { recipient } = generateIdentity();
const root = mkdtempSync(path.join(tmpdir(), 'trl-bench-sealing-'));
const checks: Check[] = [];
const say = (line: string): void => void process.stdout.write(`${line}\n`);
let made = 0;
const newPath = (): string => path.join(root, `x-${(made += 1)}`);

function logs(bytes: number): Buffer {
  const lines: string[] = [];
  for (let n = 0, length = 0; length < bytes; n += 1) {
    const id = randomBytes(6).toString('hex');
    const [minute, ms] = [n % 60, n % 1000];
    const line =
      `2026-11-22T10:${minute}:07.${ms}Z INFO http request_id=${id} method=GET ` +
      `path=/api/v1/orders/${n} status=200 duration_ms=${n % 97}`;
    lines.push(line);
    length += line.length + 1;
  }
  return Buffer.from(lines.join('\n').slice(0, bytes));
}

interface Cost {
  readonly cpuMs: number;
  readonly clockMs: number;
}

async function cost(act: () => Promise<void>): Promise<Cost> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1e3, clockMs: performance.now() - begun };
}

const chunksOf = (input: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(input.length / chunkBytes) }, (_, at) =>
    input.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  );

/** Until the disk has room, as a redactor holds its command back. */
async function sealed(input: Buffer): Promise<void> {
  let room = (): void => {};
  const options = { base: newPath(), recipients: [recipient], bytesMax };
  const failed = ({ why }: { why: string }): never => {
    throw new Error(why);
  };
  const writer = new RawLogWriter(options, { onFailure: failed, onRoom: () => room() });
  for (const chunk of chunksOf(input)) {
    writer.append('stdout', chunk);
    if (!writer.isBehind) continue;
    await new Promise<void>((resolve) => {
      room = resolve;
    });
  }
  await writer.end();
}

async function written(input: Buffer, shape: (chunk: Buffer) => Buffer): Promise<void> {
  const file = await open(newPath(), 'wx', 0o600);
  for (const chunk of chunksOf(input)) await file.write(shape(chunk));
  await file.datasync();
  await file.close();
}

const asItIs = (chunk: Buffer): Buffer => chunk;
const packed = (chunk: Buffer): Buffer =>
  zstdCompressSync(chunk, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });

async function redacted(input: Buffer, seals: boolean): Promise<void> {
  const tags = new RedactionTags(Buffer.alloc(32));
  const known = Array.from({ length: 20 }, (_, at) => {
    const value = randomBytes(24).toString('base64url');
    return { name: `S${at}`, value, tag: tags.of(value) };
  });
  const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
  const seal = seals ? { base: newPath(), recipients: [recipient], bytesMax } : null;
  const channel = new RedactorChannel(
    { channel: 1, command: 'cat', known, interactive: false, reveal: [], seal },
    { index: new KnownIndex(known), tags, options },
    { give: () => {}, unsealed: () => {} },
  );
  for (const chunk of chunksOf(input)) {
    channel.take('stdout', chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await channel.end();
}

/** Figures of each in turns, so that what else the machine does meets all of them. */
async function compare(
  runs: Readonly<Record<string, () => Promise<void>>>,
  rounds: number,
): Promise<Map<string, { readonly cpuMs: number; readonly clockMs: number }>> {
  const costs = new Map<string, Cost[]>(Object.keys(runs).map((name) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(runs)) {
      const one = await cost(run);
      if (round >= 0) costs.get(name)?.push(one);
    }
  }
  // What others do only adds to it.
  const least = (all: readonly number[]): number => figuresOf(all).min;
  return new Map(
    [...costs].map(([name, all]) => [
      name,
      {
        cpuMs: least(all.map(({ cpuMs }) => cpuMs)),
        clockMs: least(all.map(({ clockMs }) => clockMs)),
      },
    ]),
  );
}

try {
  const input = logs((values.quick ? 16 : 64) * MB);
  const rounds = values.quick ? 3 : 7;
  const files = await compare(
    {
      'written as it is, synced': () => written(input, asItIs),
      'written as zstd, synced': () => written(input, packed),
      'sealed, synced': () => sealed(input),
    },
    rounds,
  );
  const speed = (ms: number): string => `${(input.length / MB / (ms / 1e3)).toFixed(0)} MB/s`;
  for (const [name, { cpuMs, clockMs }] of files) {
    say(`${name}: ${speed(cpuMs)} CPU, ${speed(clockMs)} by the clock`);
  }
  const ratio = (of: typeof files, one: string, other: string, by: keyof Cost): number =>
    (of.get(one)?.[by] ?? NaN) / (of.get(other)?.[by] ?? NaN);
  checks.push({
    name: 'sealed against written as it is, clock',
    value: ratio(files, 'sealed, synced', 'written as it is, synced', 'clockMs'),
    unit: '×',
    targetMax: 1.3,
  });
  checks.push({
    name: 'sealed against written as zstd, CPU',
    value: ratio(files, 'sealed, synced', 'written as zstd, synced', 'cpuMs'),
    unit: '×',
    targetMax: 1.3,
  });

  const part = input.subarray(0, (values.quick ? 4 : 16) * MB);
  const views = await compare(
    { redacted: () => redacted(part, false), 'redacted and sealed': () => redacted(part, true) },
    rounds,
  );
  for (const [name, { cpuMs }] of views) {
    say(`${name}: ${(part.length / MB / (cpuMs / 1e3)).toFixed(1)} MB/s CPU`);
  }
  checks.push({
    name: 'redaction with a recipient',
    value: ratio(views, 'redacted and sealed', 'redacted', 'cpuMs'),
    unit: '×',
    targetMax: 1.3,
  });

  const line = Buffer.from('one line of output\n');
  const short = await compare({ sealed: () => sealed(line) }, values.quick ? 50 : 300);
  const { cpuMs = NaN, clockMs = NaN } = short.get('sealed') ?? {};
  say(`one line, sealed and synced: ${cpuMs.toFixed(2)} ms CPU, ${clockMs.toFixed(2)} ms`);
  say('');
  for (const text of checkLines(checks)) say(text);
} finally {
  rmSync(root, { recursive: true, force: true });
}
