/**
 * What a change from outside adds to the next command: an editor saves a file by rename, then the
 * command reads it. It must see what was saved.
 */
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Place, startDaemon } from './daemon.ts';
import type { Part } from './report.ts';
import { figuresOf, sampleRounds, type Contender, type Figures } from './stats.ts';
import { pauseMs } from './workspace-changer.ts';
import { openTree, randomFrom } from './workspace-trees.ts';

export interface RefreshRow extends Figures {
  readonly name: string;
  /** p50 over that of the same command with nothing changed from outside. */
  readonly ratio: number;
  /** Median of the differences in each round, in `ms`. */
  readonly addedMs: number;
}

export async function measureRefresh(
  sizes: readonly number[],
  rounds: number,
): Promise<Part<readonly RefreshRow[]>> {
  const trees = sizes.map((size) => openTree(size));
  using place = new Place();
  await using daemon = await startDaemon(place, {
    roots: trees.map(({ dir }) => dir),
    env: { TRL_POLICY: 'trusted' },
  });
  const contenders: Contender[] = [];
  for (const tree of trees) {
    const session = await daemon.client.createSession({
      shell: '/bin/bash',
      working_dir: tree.dir,
    });
    const random = randomFrom(5);
    for (const isSaved of [false, true]) {
      const name = nameOf(tree.files, isSaved);
      let saved = 0;
      let file = tree.path(0);
      contenders.push({
        name,
        ready: async () => {
          await sleep(pauseMs);
          if (!isSaved) return;
          saved += 1;
          file = tree.path(Math.floor(random() * tree.files));
          const full = path.join(tree.dir, file);
          writeFileSync(`${full}~`, `saved ${saved}\n`);
          renameSync(`${full}~`, full);
        },
        run: async () => {
          const { stdout } = await session.run(`read -r a b < ${file}; echo "$a $b"`);
          if (isSaved && stdout !== `saved ${saved}\n`) throw new Error(`${name}: ${stdout}`);
        },
      });
    }
  }
  const samples = await sampleRounds(contenders, rounds);
  const rows = trees.flatMap(({ files }) => {
    const base = samples.get(nameOf(files, false)) ?? [];
    return [false, true].map((isSaved): RefreshRow => {
      const own = samples.get(nameOf(files, isSaved)) ?? [];
      const figures = figuresOf(own);
      const added = own.map((ms, round) => ms - (base[round] ?? Number.NaN));
      const ratio = figures.p50 / figuresOf(base).p50;
      return { name: nameOf(files, isSaved), ...figures, ratio, addedMs: figuresOf(added).p50 };
    });
  });
  const notes = rows
    .filter(({ ratio }) => ratio !== 1)
    .map(({ name, addedMs }) => `${name}: ${addedMs.toFixed(1)} ms added`);
  return { data: rows, notes, checks: [] };
}

const nameOf = (files: number, isSaved: boolean): string =>
  `${files.toLocaleString('en')}${isSaved ? ', saved outside' : ' files'}`;
