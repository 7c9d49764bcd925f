/**
 * npm run bench:redaction [-- --quick] [--engine]
 *
 * What redaction costs: speed over logs of this machine, the longest wait for a chunk and for a
 * line without an end, and what others feel while one command prints a lot. secretlint runs beside
 * it over the same texts. `--engine`: without a daemon. Speeds are per second of CPU time, so that
 * a busy machine changes little.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { SecretRuleSet } from '../src/redaction/rules/rule-set.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { openRedactor } from '../src/redaction/open-redactor.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { Place, startDaemon } from './daemon.ts';
import { checkLines, type Check } from './report.ts';
import { figuresOf, type Figures } from './stats.ts';

const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { quick: flag, engine: flag } });
const MB = 1e6;
const chunkBytes = 64 * 1024;
const wanted = (values.quick ? 10 : 50) * MB;
const checks: Check[] = [];
const tags = new RedactionTags(randomBytes(32));

/** Ordinary logs: what commands of this machine print, with numbers that never repeat. */
function logs(bytes: number): Buffer {
  const run = (file: string, ...args: string[]): string => {
    try {
      return execFileSync(file, args, { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] })
        .toString('latin1')
        .slice(0, 400_000);
    } catch {
      return '';
    }
  };
  const parts = [
    run('git', 'log', '--stat', '-n', '400'),
    run('git', 'log', '--oneline'),
    run('ls', '-lR', '/usr/lib/python3'),
    run('dpkg', '-l'),
    run('find', '/usr/share/doc', '-maxdepth', '2'),
    run('ps', 'aux'),
    run('cat', 'package-lock.json'),
  ];
  const lines = parts.join('\n').split('\n');
  const out: string[] = [];
  let length = 0;
  for (let n = 0; length < bytes; n += 1) {
    const line =
      n % 3 === 0
        ? `2026-11-${10 + (n % 20)}T10:${n % 60}:07.${n % 1000}Z INFO http request_id=${n} ` +
          `method=GET path=/api/v1/orders/${n * 7} status=200 duration_ms=${n % 97}`
        : (lines[n % lines.length] ?? '');
    out.push(line);
    length += line.length + 1;
  }
  return Buffer.from(out.join('\n').slice(0, bytes), 'latin1');
}

function secrets(count: number): KnownIndex | null {
  if (count === 0) return null;
  return new KnownIndex(
    Array.from({ length: count }, (_, n) => {
      const value = randomBytes(24).toString('base64url');
      return { name: `SECRET_${n}`, value, tag: tags.of(value) };
    }),
  );
}

interface Speed {
  readonly mbPerSecond: number;
  readonly worstMs: number;
}

function through(input: Buffer, index: KnownIndex | null, size = chunkBytes): Speed {
  const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
  const stream = openRedactor({ options, prior: 'none', index, tags, onRedaction: () => {} });
  let worstMs = 0;
  const begun = process.cpuUsage();
  for (let at = 0; at < input.length; at += size) {
    const start = performance.now();
    stream.push(input.subarray(at, at + size));
    worstMs = Math.max(worstMs, performance.now() - start);
  }
  stream.end();
  const { user, system } = process.cpuUsage(begun);
  return { mbPerSecond: input.length / (user + system), worstMs };
}

const input = logs(wanted);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

// The first rounds compile the code.
through(input.subarray(0, 5 * MB), secrets(20));
for (const count of [0, 1, 20, 100]) {
  const runs = [1, 2, 3].map(() => through(input, secrets(count)));
  const speed = figuresOf(runs.map(({ mbPerSecond }) => mbPerSecond)).p50;
  const worst = figuresOf(runs.map(({ worstMs }) => worstMs)).p50;
  const wait = `worst 64 kB chunk ${worst.toFixed(2)} ms`;
  say(`${count} known values: ${speed.toFixed(1)} MB/s a core, ${wait}`);
  if (count === 20) {
    checks.push({ name: 'redaction end to end', value: speed, unit: 'MB/s', targetMin: 30 });
    checks.push({ name: 'worst chunk of 64 kB', value: worst, unit: 'ms', targetMax: 5 });
  }
}

const rules = SecretRuleSet.shipped();
const text = input.toString('latin1');
const begun = process.cpuUsage();
let found = 0;
for (let at = 0; at < text.length; at += chunkBytes) {
  const part = text.slice(at, at + chunkBytes);
  found += rules.find(part, input.subarray(at, at + chunkBytes), 0, part.length).length;
}
const used = process.cpuUsage(begun);
const prefilter = text.length / (used.user + used.system);
say(`pre-filter and rules: ${prefilter.toFixed(0)} MB/s a core (${found} found)`);
checks.push({ name: 'pre-filter', value: prefilter, unit: 'MB/s', targetMin: 100 });

const shapes: Readonly<Record<string, string>> = {
  'one letter': 'x'.repeat(MB),
  base64: randomBytes(MB).toString('base64').slice(0, MB),
  'minified code': 'function(a,b){return a.token=b.key+1;},'.repeat(MB / 39),
  'query string': '&access_token=abc&key='.repeat(MB / 22),
};
const twenty = secrets(20);
for (const [name, line] of Object.entries(shapes)) {
  const bytes = Buffer.from(line);
  const times = [1, 2, 3, 4, 5].map(() => {
    const start = performance.now();
    through(bytes, twenty, bytes.length);
    return performance.now() - start;
  });
  const worst = figuresOf(times).p50;
  say(`a line of 1 MB without an end, ${name}: ${worst.toFixed(0)} ms`);
  checks.push({ name: `1 MB line, ${name}`, value: worst, unit: 'ms', targetMax: 80 });
}

await besides();
if (!values.engine) await others();
say('');
for (const line of checkLines(checks)) say(line);

/** The usual tool over the same texts. */
async function besides(): Promise<void> {
  try {
    const { lintSource } = await import('@secretlint/core');
    const { creator } = await import('@secretlint/secretlint-rule-preset-recommend');
    const part = input.subarray(0, 2 * MB).toString('latin1');
    const start = process.cpuUsage();
    await lintSource({
      source: { filePath: 'log.txt', content: part, contentType: 'text', ext: '.txt' },
      options: {
        config: { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }] },
        noPhysicFilePath: true,
      },
    });
    const { user, system } = process.cpuUsage(start);
    say(`secretlint over 2 MB of it: ${(part.length / (user + system)).toFixed(1)} MB/s`);
  } catch (error) {
    say(`secretlint was not measured: ${String(error)}`);
  }
}

/** What other callers wait while one command prints. */
async function others(): Promise<void> {
  using place = new Place();
  await using daemon = await startDaemon(place);
  const quiet = await daemon.client.createSession({ working_dir: place.work });
  await quiet.run('true');
  const pings = async (count: number): Promise<Figures> => {
    const times: number[] = [];
    for (let n = 0; n < count; n += 1) {
      const start = performance.now();
      await daemon.client.ping();
      times.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return figuresOf(times);
  };
  const idle = await pings(300);
  const bytes = values.quick ? 100 * MB : 1e9;
  const line = '2026-11-22T10:00:07Z INFO request served path=/api/v1/orders status=200';
  const start = performance.now();
  const taking = { over: false };
  // A process of its own: what takes the output must not be what measures.
  const command = `yes '${line}' | head -c ${bytes}`;
  const args = ['run', '--socket-path', place.socketPath, '--timeout', '10m', command];
  const taker = spawn(path.join(import.meta.dirname, '../trl'), args, {
    cwd: place.work,
    env: place.env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  taker.once('exit', () => {
    taking.over = true;
  });
  const before = coreOf(daemon.pid);
  const busy: Figures[] = [];
  while (!taking.over) busy.push(await pings(100));
  const after = coreOf(daemon.pid);
  const seconds = (performance.now() - start) / 1e3;
  const middle = (name: 'p50' | 'p95' | 'p99'): number =>
    figuresOf(busy.map((one) => one[name])).p50;
  say(
    `one command prints ${bytes / MB} MB: ${(bytes / MB / seconds).toFixed(0)} MB/s by the clock`,
  );
  for (const name of ['p50', 'p95', 'p99'] as const) {
    say(
      `a ping meanwhile: ${name} ${middle(name).toFixed(2)} ms, idle ${idle[name].toFixed(2)} ms`,
    );
  }
  // Where it waits longer than it works, the machine is short of cores and nothing blocks.
  say(
    `the daemon had a core for ${(after.hadMs - before.hadMs).toFixed(0)} ms meanwhile, ` +
      `and waited for one for ${(after.waitedMs - before.waitedMs).toFixed(0)} ms`,
  );
  checks.push({
    name: 'p99 of others',
    value: middle('p99') / idle.p99,
    unit: '× idle',
    targetMax: 2,
  });
}

/** How long the first thread of a process had a core, and was ready and had none. */
function coreOf(pid: number): { readonly hadMs: number; readonly waitedMs: number } {
  const [had, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
  return { hadMs: (had ?? 0) / 1e6, waitedMs: (waited ?? 0) / 1e6 };
}
