/**
 * npm run bench [-- --quick] [--only latency|output|sessions|startup] [--results DIR]
 *
 * Measures TRL against its peers in the same run and prints ratios; the figures go to
 * `latest.json` and `latency.svg` in DIR (default: bench/results). Absolute times of a machine
 * that others use mean little; ratios within a run hold.
 *
 * It measures as whoever runs it. As an ordinary user, on a copy that the user may read:
 *   cp -a . /tmp/trl-bench && chown -R tester /tmp/trl-bench
 *   su tester -c 'cd /tmp/trl-bench && npm run bench'
 */
import { writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { measureLatency } from './latency.ts';
import { measureOutput } from './output.ts';
import { latencySvg } from './plot.ts';
import { checkLines, keep, rowHead, rowLine, type Check, type Part } from './report.ts';
import { measureSessions } from './sessions.ts';
import { measureStartup } from './startup.ts';

/** Latency first: the caller is to be small, and the others make it grow. */
const names = ['latency', 'output', 'sessions', 'startup'] as const;
type Name = (typeof names)[number];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [...names] },
    results: { type: 'string', default: path.join(import.meta.dirname, 'results') },
  },
});
const { quick } = values;
const results = path.resolve(values.results);
const wrong = values.only.find((name) => !names.some((known) => known === name));
if (wrong !== undefined) throw new Error(`--only ${wrong}: known are ${names.join(', ')}`);

const who = process.getuid?.() === 0 ? 'root' : 'an ordinary user';
const cores = os.availableParallelism();
const machine = `${cores} cores, Linux ${os.release()}, Node ${process.version}`;
const about = `${machine}, as ${who}, ${new Date().toISOString().slice(0, 10)}`;
const checks: Check[] = [];

const measure: Readonly<Record<Name, () => Promise<Part<unknown>>>> = {
  startup: async () => {
    const part = await measureStartup(quick ? 3 : 15);
    show('Start-up, ms', [rowHead, ...part.data.map(rowLine)]);
    return part;
  },
  sessions: measureSessions,
  output: async () => {
    const part = await measureOutput({ bytes: quick ? 2 ** 28 : 2 ** 30, rounds: quick ? 2 : 3 });
    const { bytes, mbPerSecond, rawMbPerSecond, cpu } = part.data;
    const cost = Object.entries(cpu).map(([name, s]) => `${name} ${s.toFixed(2)} s`);
    show(`Output, ${bytes / 2 ** 20} MiB of one command`, [
      `  TRL ${mbPerSecond.toFixed(0)} MB/s, a pipe of ${rawMbPerSecond.toFixed(0)} MB/s; ` +
        `CPU: ${cost.join(', ')}`,
    ]);
    return part;
  },
  latency: async () => {
    const part = await measureLatency(quick ? 6 : 40);
    for (const { callerBytes, rows } of part.data) {
      const title = `Per command, ms, from a caller of ${Math.round(callerBytes / 1e6)} MB`;
      show(title, [rowHead, ...rows.map(rowLine)]);
    }
    keep(results, {});
    writeFileSync(path.join(results, 'latency.svg'), latencySvg(part.data, about));
    return part;
  },
};

function show(title: string, lines: readonly string[]): void {
  process.stdout.write(`\n${title}\n${lines.join('\n')}\n`);
}

process.stdout.write(`${about}\n`);
for (const name of names.filter((known) => values.only.includes(known))) {
  const part = await measure[name]();
  for (const note of part.notes) process.stdout.write(`  note: ${note}\n`);
  checks.push(...part.checks);
  keep(results, { [name]: { about, quick, ...part } });
}
show('Targets', checkLines(checks));
process.stdout.write(`\nwritten: ${path.join(results, 'latest.json')}\n`);
