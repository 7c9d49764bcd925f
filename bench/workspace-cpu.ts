/**
 * CPU time for a command's changes: of all processes of the runtime, on top of what the same
 * command costs them in a sandbox without a workspace, against git's shadow commit of the same tree
 * after as many changes.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Place, startDaemon } from './daemon.ts';
import { familyCpuSeconds } from './processes.ts';
import type { Part } from './report.ts';
import { figuresOf } from './stats.ts';
import { changed, changer } from './workspace-changer.ts';
import {
  fileBytes,
  openTree,
  randomFrom,
  textOf,
  treesDir,
  type BenchTree,
} from './workspace-trees.ts';

export interface CpuFigures {
  readonly files: number;
  readonly commands: number;
  /** CPU `ms` of a command, medians of the blocks. */
  readonly bareMs: number;
  readonly withMs: number;
  readonly addedMs: number;
  /** CPU `ms` of `git add -A && git write-tree`. */
  readonly gitMs: number;
}

/** Commands a block: the clocks of /proc tick every 10 ms. */
const blockCommands = 20;

export async function measureCpu(files: number, blocks: number): Promise<Part<CpuFigures>> {
  const tree = openTree(files);
  const git = new ShadowGit(tree);
  const bare: number[] = [];
  const full: number[] = [];
  const shadow: number[] = [];
  {
    using place = new Place();
    await using daemon = await startDaemon(place, { roots: [tree.dir] });
    const create = (dir: string) =>
      daemon.client.createSession({ shell: '/bin/bash', working_dir: dir });
    const contenders = [
      { one: changer('bare', await create('/tmp'), null), samples: bare },
      { one: changer('with', await create(tree.dir), tree), samples: full },
    ];
    for (let block = 0; block < blocks; block += 1) {
      for (const { one, samples } of contenders) {
        await one.ready?.();
        await one.run();
        // What the runtime does after its answer belongs to the command.
        await one.ready?.();
        const begun = familyCpuSeconds(daemon.pid);
        for (let n = 0; n < blockCommands; n += 1) {
          await one.run();
          await one.ready?.();
        }
        samples.push(((familyCpuSeconds(daemon.pid) - begun) * 1e3) / blockCommands);
      }
    }
  }
  git.commit();
  for (let block = 0; block < blocks; block += 1) shadow.push(git.commitChanges());
  const [bareMs, withMs, gitMs] = [bare, full, shadow].map((all) => figuresOf(all).p50);
  if (bareMs === undefined || withMs === undefined || gitMs === undefined) throw new Error('none');
  const added = full.map((ms, block) => ms - (bare[block] ?? Number.NaN));
  const addedMs = figuresOf(added).p50;
  const name = `git add -A; write-tree / added, CPU, ${files.toLocaleString('en')} files`;
  return {
    data: { files, commands: blocks * blockCommands, bareMs, withMs, addedMs, gitMs },
    notes: [`added in each block, ms: ${added.map((ms) => ms.toFixed(1)).join(', ')}`],
    checks: [{ name, value: gitMs / addedMs, unit: '×', targetMin: 100 }],
  };
}

/** A repository outside the tree, with the whole tree in its index. */
class ShadowGit {
  readonly #tree: BenchTree;
  readonly #env: NodeJS.ProcessEnv;
  readonly #random = randomFrom(3);

  constructor(tree: BenchTree) {
    this.#tree = tree;
    const dir = path.join(treesDir, `git-${tree.name}`);
    this.#env = { ...process.env, GIT_DIR: dir, GIT_WORK_TREE: tree.dir };
    const made = path.join(dir, 'trl-bench-made');
    if (existsSync(made)) return;
    process.stdout.write(`making a repository of ${tree.files} files in ${dir} …\n`);
    rmSync(dir, { recursive: true, force: true });
    this.#bash('git init -q');
    // As many loose objects take long to make and as long to remove.
    this.#bash('git -c core.compression=1 -c core.bigFileThreshold=1 add -A');
    writeFileSync(made, '');
  }

  /** @returns CPU `ms`, user and system */
  commit(): number {
    const said = this.#bash('git add -A && git write-tree >/dev/null && times');
    const [, children = ''] = said.trim().split('\n');
    const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
    return times.reduce((sum, [, m, s]) => sum + (Number(m) * 60 + Number(s)) * 1e3, 0);
  }

  commitChanges(): number {
    for (let n = 0; n < changed; n += 1) {
      const file = this.#tree.path(Math.floor(this.#random() * this.#tree.files));
      const text = `${Date.now()} ${n}\n${textOf(fileBytes - 20, this.#random)}`;
      writeFileSync(path.join(this.#tree.dir, file), text);
    }
    return this.commit();
  }

  #bash(script: string): string {
    const options = { cwd: this.#tree.dir, env: this.#env, maxBuffer: 1 << 26 };
    return execFileSync('bash', ['-c', script], options).toString();
  }
}
