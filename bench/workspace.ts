/**
 * npm run bench:workspace [-- --quick] [--only cost|git|denied|metadata|refresh] [--results DIR]
 *                         [--clean]
 *
 * What it costs to know, keep and apply what each command changed, as ratios to baselines of the
 * same run: a bare sandbox, git's shadow commit, nothing denied, the host itself. The trees (3 GB,
 * quick: 100 MB) stay below /var/tmp/trl-bench-UID for the next run; `--clean` removes them and
 * measures nothing. Figures go to `workspace.json` and `workspace.svg` in DIR (default:
 * bench/results).
 */
import { rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { checkLines, keep, rowHead, rowLine, type Check, type Part } from './report.ts';
import { bareName, measureCost, stepLines } from './workspace-cost.ts';
import { measureCpu } from './workspace-cpu.ts';
import { measureDenied } from './workspace-denied.ts';
import { measureMetadata, metadataLines } from './workspace-metadata.ts';
import { costSvg, costText } from './workspace-plot.ts';
import { measureRefresh } from './workspace-refresh.ts';
import { treesDir } from './workspace-trees.ts';

const names = ['cost', 'git', 'denied', 'metadata', 'refresh'] as const;
type Name = (typeof names)[number];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    clean: { type: 'boolean', default: false },
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
const sizes = quick ? [1_000, 10_000] : [1_000, 100_000, 500_000];
const large = quick ? 10_000 : 100_000;
const rounds = quick ? 20 : 60;

const measure: Readonly<Record<Name, () => Promise<Part<unknown>>>> = {
  cost: async () => {
    const part = await measureCost(sizes, rounds);
    const bareMs = part.data.find(({ name }) => name === bareName)?.p50 ?? Number.NaN;
    show('A command that changes 5 files of 4.5 KB, ms', [rowHead, ...part.data.map(rowLine)]);
    show('Of which in the daemon', stepLines(part.data));
    show('Against the size of the tree', costText(part.data, bareMs));
    keep(results, {}, file);
    writeFileSync(path.join(results, 'workspace.svg'), costSvg(part.data, bareMs, about));
    return part;
  },
  git: async () => {
    const part = await measureCpu(large, quick ? 3 : 5);
    const { bareMs, withMs, addedMs, gitMs, commands } = part.data;
    show(`CPU of a command, all processes of the runtime, ${commands} commands each, ms`, [
      `  bare sandbox ${bareMs.toFixed(1)}, with changes ${withMs.toFixed(1)}, ` +
        `added ${addedMs.toFixed(1)}; git add -A && git write-tree ${gitMs.toFixed(0)}`,
    ]);
    return part;
  },
  denied: async () => {
    const part = await measureDenied(20_000, 10_000, rounds);
    show('With paths that do not exist for the command, ms', [
      rowHead,
      ...part.data.rows.map(rowLine),
    ]);
    return part;
  },
  metadata: async () => {
    const part = await measureMetadata(large, quick ? 3 : 5);
    show(`Metadata-heavy work, ${large.toLocaleString('en')} files`, metadataLines(part.data));
    return part;
  },
  refresh: async () => {
    const part = await measureRefresh(sizes, Math.round(rounds / 2));
    show('A command that reads a file, ms', [rowHead, ...part.data.map(rowLine)]);
    return part;
  },
};
const file = 'workspace.json';

function show(title: string, lines: readonly string[]): void {
  process.stdout.write(`\n${title}\n${lines.join('\n')}\n`);
}

async function run(): Promise<void> {
  process.stdout.write(`${about}\n`);
  const checks: Check[] = [];
  for (const name of names.filter((known) => values.only.includes(known))) {
    const part = await measure[name]();
    for (const note of part.notes) process.stdout.write(`  note: ${note}\n`);
    checks.push(...part.checks);
    keep(results, { [name]: { about, quick, ...part } }, file);
  }
  show('Targets', checkLines(checks));
  process.stdout.write(`\nwritten: ${path.join(results, file)}\n`);
}

if (values.clean) rmSync(treesDir, { recursive: true, force: true });
else await run();
