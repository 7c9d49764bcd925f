/**
 * What a command costs in a workspace, on top of the same command in a sandbox without one, of
 * which nothing is recorded: changes told, contents of both sides kept, applied to the real tree,
 * and the signed audit events, on disk. All trees are measured in the same rounds, through one
 * daemon; the bare sandbox through another one, which records nothing.
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
/** What all of it may cost, as a ratio to the bare sandbox and in `ms`; and of the trees. */
export const ratioMax = 1.4;
const addedMax = 5;
const flatMax = 1.2;
/** Where one fdatasync takes longer, `ms`, the cost is told as a ratio to two of them. */
const diskMax = 1;

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
  using other = new Place();
  const times = path.join(place.dir, 'times.json');
  const disk = syncer({ name: diskName, file: path.join(place.dir, 'disk'), times: 1 });
  const twice = syncer({ name: twiceName, file: path.join(place.dir, 'twice'), times: 2 });
  let samples: Map<string, number[]>;
  const notes: string[] = [];
  {
    await using daemon = await startDaemon(place, {
      roots: [...trees, quiet].map(({ dir }) => dir),
      patch: path.join(import.meta.dirname, 'workspace-timing.ts'),
      // More than 200,000 entries are not looked through, so the shipped policy asks a person.
      env: { TRL_BENCH_TIMES: times, TRL_POLICY: 'trusted' },
    });
    await using silent = await startDaemon(other, {
      patch: path.join(import.meta.dirname, 'workspace-unrecorded.ts'),
      env: { TRL_POLICY: 'trusted' },
    });
    const create = (dir: string) =>
      daemon.client.createSession({ shell: '/bin/bash', working_dir: dir });
    const bareSession = () =>
      silent.client.createSession({ shell: '/bin/bash', working_dir: '/tmp' });
    const contenders = [
      changer(bareName, await bareSession(), null),
      changer(recordedName, await create('/tmp'), null),
    ];
    for (const tree of trees) {
      const session = await create(tree.dir);
      const begun = performance.now();
      await session.run('true');
      const ms = (performance.now() - begun).toFixed(0);
      notes.push(`first command in ${tree.files} files: ${ms} ms`);
      contenders.push(changer(rowName(tree.files), session, tree));
    }
    samples = await sampleRounds([...contenders, disk, twice], rounds);
    // Not in the same rounds: four sandboxes are prepared ahead at once.
    const idlers = [
      idler(idleName, await create(quiet.dir)),
      idler(bareIdleName, await bareSession()),
    ];
    for (const [name, all] of await sampleRounds(idlers, rounds)) samples.set(name, all);
    const cold = contenders.reduce((sum, one) => sum + one.cold, 0);
    if (cold > 0) notes.push(`${cold} commands had no sandbox prepared ahead (the first ones do)`);
  }
  disk.close();
  twice.close();
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
  const others = [bareName, recordedName, bareIdleName, idleName, diskName, twiceName];
  const data = [...others.map((name) => rowOf(name, null, null)), ...rows];
  return { data, notes, checks: checksOf(rows, data) };
}

const rowName = (files: number): string => `${files.toLocaleString('en')} files`;
const idleName = 'nothing changed';
const bareIdleName = 'bare, nothing written';
const recordedName = 'bare, recorded';
const diskName = 'write and fdatasync';
const twiceName = 'twice that';

function checksOf(rows: readonly CostRow[], all: readonly CostRow[]): Check[] {
  const p50Of = (name: string): number => all.find((row) => row.name === name)?.p50 ?? Number.NaN;
  const isFast = p50Of(diskName) <= diskMax;
  const each = rows.flatMap(({ name, ratio, addedMs }): Check[] => [
    { name: `${name}: all of it / bare sandbox`, value: ratio, unit: '×', targetMax: ratioMax },
    isFast
      ? { name: `${name}: added`, value: addedMs, unit: 'ms', targetMax: addedMax }
      : { name: `${name}: added / two syncs`, value: addedMs / p50Of(twiceName), unit: '×' },
  ]);
  const p50s = rows.map(({ p50 }) => p50);
  const flat = Math.max(...p50s) / Math.min(...p50s);
  const flatCheck = { name: 'slowest tree / fastest tree', value: flat, unit: '×' };
  return [...each, { ...flatCheck, targetMax: flatMax }];
}

interface Syncs {
  readonly name: string;
  readonly file: string;
  readonly times: number;
}

/** The same bytes, appended to a file and on disk: what the disk itself takes. */
function syncer({ name, file, times }: Syncs): Contender & { close(): void } {
  const fd = openSync(file, 'a');
  const bytes = Buffer.alloc(changed * fileBytes, 'x');
  return {
    name,
    run: async () => {
      for (let at = 0; at < times; at += 1) {
        writeSync(fd, bytes);
        fdatasyncSync(fd);
      }
    },
    close: () => closeSync(fd),
  };
}

/** The steps of the daemon's part, in the order in which they come. */
export function stepLines(rows: readonly CostRow[]): string[] {
  const names = ['ground', 'fresh', 'begin', 'start', 'launch', 'run', 'settle', 'end'];
  const inner = ['capture', 'commit', 'sync', 'apply', 'clear'];
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
