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
import path from 'node:path';
import { keep, rowHead, rowLine, type Part } from './report.ts';
import { readBench, runBench, show } from './runs.ts';
import { bareName, measureCost, stepLines } from './workspace-cost.ts';
import { measureCpu } from './workspace-cpu.ts';
import { measureDenied } from './workspace-denied.ts';
import { measureMetadata, metadataLines } from './workspace-metadata.ts';
import { costSvg, costText } from './workspace-plot.ts';
import { measureRefresh } from './workspace-refresh.ts';
import { treesDir } from './workspace-trees.ts';

const names = ['cost', 'git', 'denied', 'metadata', 'refresh'] as const;
type Name = (typeof names)[number];

const isClean = (arg: string): boolean => arg === '--clean';
const args = process.argv.slice(2);
const bench = readBench(
  names,
  args.filter((arg) => !isClean(arg)),
);
const { quick, results, about } = bench;
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

if (args.some(isClean)) rmSync(treesDir, { recursive: true, force: true });
else await runBench(bench, measure, file);
