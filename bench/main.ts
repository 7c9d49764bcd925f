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
import path from 'node:path';
import { measureLatency } from './latency.ts';
import { measureOutput } from './output.ts';
import { latencySvg } from './plot.ts';
import { keep, rowHead, rowLine, type Part } from './report.ts';
import { readBench, runBench, show } from './runs.ts';
import { measureSessions } from './sessions.ts';
import { measureStartup } from './startup.ts';

/** Latency first: the caller is to be small, and the others make it grow. */
const names = ['latency', 'output', 'sessions', 'startup'] as const;
type Name = (typeof names)[number];

const bench = readBench(names);
const { quick, results, about } = bench;

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
    const part = await measureLatency(quick ? 20 : 40);
    for (const { callerBytes, rows } of part.data) {
      const title = `Per command, ms, from a caller of ${Math.round(callerBytes / 1e6)} MB`;
      show(title, [rowHead, ...rows.map(rowLine)]);
    }
    keep(results, {});
    writeFileSync(path.join(results, 'latency.svg'), latencySvg(part.data, about));
    return part;
  },
};

await runBench(bench, measure, 'latest.json');
