/**
 * What a command costs in a workspace, on top of the same command in a sandbox without one: changes
 * told, contents of both sides kept, on disk, applied to the real tree. All trees are measured in
 * the same rounds, through one daemon.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Place, startDaemon } from './daemon.ts';
import type { Check, Part } from './report.ts';
import { figuresOf, sampleRounds, type Contender, type Figures } from './stats.ts';
import { changed, changer, idler } from './workspace-changer.ts';
import { stepsOf, type StepTimes } from './workspace-timing.ts';
import { fileBytes, openTree } from './workspace-trees.ts';

export const bareName = 'bare sandbox';

export interface CostRow extends Figures {
  readonly name: string;
  /** Of the tree; `null`: there is none. */
  readonly files: number | null;
  /** p50 over the p50 of the bare sandbox. */
  readonly ratio: number;
  /** Median of the differences to the bare sandbox in each round, in `ms`. */
  readonly addedMs: number;
  readonly steps: StepTimes;
}

export async function measureCost(
  sizes: readonly number[],
  rounds: number,
): Promise<Part<readonly CostRow[]>> {
  const trees = sizes.map((size) => openTree(size));
  // A tree of its own: what another session changes in a tree is a change from outside.
  const quiet = openTree(2_000);
  using place = new Place();
  const times = path.join(place.dir, 'times.json');
  const disk = syncer(path.join(place.dir, 'disk'));
  let samples: Map<string, number[]>;
  const notes: string[] = [];
  {
    await using daemon = await startDaemon(place, {
      roots: [...trees, quiet].map(({ dir }) => dir),
      flags: ['--import', path.join(import.meta.dirname, 'workspace-timing.ts')],
      // More than 200,000 entries are not looked through, so the shipped policy asks a person.
      env: { TRL_BENCH_TIMES: times, TRL_POLICY: 'trusted' },
    });
    const create = (dir: string) =>
      daemon.client.createSession({ shell: '/bin/bash', working_dir: dir });
    const contenders = [changer(bareName, await create('/tmp'), null)];
    for (const tree of trees) {
      const session = await create(tree.dir);
      const begun = performance.now();
      await session.run('true');
      const ms = (performance.now() - begun).toFixed(0);
      notes.push(`first command in ${tree.files} files: ${ms} ms`);
      contenders.push(changer(rowName(tree.files), session, tree));
    }
    samples = await sampleRounds([...contenders, disk], rounds);
    // Not in the same rounds: four sandboxes are prepared ahead at once.
    const idlers = [
      idler(idleName, await create(quiet.dir)),
      idler(bareIdleName, await create('/tmp')),
    ];
    for (const [name, all] of await sampleRounds(idlers, rounds)) samples.set(name, all);
    const cold = contenders.reduce((sum, one) => sum + one.cold, 0);
    if (cold > 0) notes.push(`${cold} commands had no sandbox prepared ahead (the first ones do)`);
  }
  disk.close();
  const bare = samples.get(bareName) ?? [];
  const rowOf = (name: string, dir: string | null, files: number | null): CostRow => {
    const own = samples.get(name) ?? [];
    const base = name === idleName ? (samples.get(bareIdleName) ?? []) : bare;
    const figures = figuresOf(own);
    return {
      name,
      files,
      ...figures,
      ratio: figures.p50 / figuresOf(base).p50,
      addedMs: figuresOf(own.map((ms, round) => ms - (base[round] ?? Number.NaN))).p50,
      steps: dir === null ? {} : stepsOf(times, dir),
    };
  };
  const rows = trees.map((tree) => rowOf(rowName(tree.files), tree.dir, tree.files));
  const others = [bareName, bareIdleName, idleName, diskName];
  const data = [...others.map((name) => rowOf(name, null, null)), ...rows];
  return { data, notes, checks: checksOf(rows) };
}

const rowName = (files: number): string => `${files.toLocaleString('en')} files`;
const idleName = 'nothing changed';
const bareIdleName = 'bare, nothing written';
const diskName = 'write and fdatasync';

function checksOf(rows: readonly CostRow[]): Check[] {
  const each = rows.flatMap(({ name, ratio, addedMs }) => [
    { name: `${name}: with / bare sandbox`, value: ratio, unit: '×', targetMax: 1.3 },
    { name: `${name}: added`, value: addedMs, unit: 'ms', targetMax: 4 },
  ]);
  const p50s = rows.map(({ p50 }) => p50);
  const flat = Math.max(...p50s) / Math.min(...p50s);
  return [...each, { name: 'slowest tree / fastest tree', value: flat, unit: '×', targetMax: 1.2 }];
}

/** The same bytes, appended to a file and on disk: what the disk itself takes. */
function syncer(file: string): Contender & { close(): void } {
  const fd = openSync(file, 'a');
  const bytes = Buffer.alloc(changed * fileBytes, 'x');
  return {
    name: diskName,
    run: async () => {
      writeSync(fd, bytes);
      fdatasyncSync(fd);
    },
    close: () => closeSync(fd),
  };
}

/** The steps of the daemon's part, in the order in which they come. */
export function stepLines(rows: readonly CostRow[]): string[] {
  const names = ['ground', 'fresh', 'begin', 'launch', 'run', 'settle', 'capture', 'commit'];
  const inner = ['sync', 'apply', 'clear'];
  const all = [...names, ...inner];
  const head = `  ${'p50 of a step, ms'.padEnd(18)}${all.map((name) => name.padStart(8)).join('')}`;
  const lines = rows
    .filter(({ steps }) => Object.keys(steps).length > 0)
    .map(({ name, steps }) => {
      const cells = all.map((step) => (steps[step]?.toFixed(2) ?? '-').padStart(8));
      return `  ${name.padEnd(18)}${cells.join('')}`;
    });
  return lines.length === 0 ? [] : [head, ...lines];
}
