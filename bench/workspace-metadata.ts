/**
 * Work that asks for much metadata, inside a session and on the host: timed in the shell that runs
 * it, so that starting a sandbox is not in it. Before each timed run inside the tree is as the run
 * before left it; the first walk after a refresh, which finds nothing cached, is told apart.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../src/client/index.ts';
import { Place, startDaemon } from './daemon.ts';
import type { Check, Part } from './report.ts';
import { figuresOf } from './stats.ts';
import { pauseMs } from './workspace-changer.ts';
import { openTree, treesDir } from './workspace-trees.ts';

interface Spent {
  readonly wallMs: number;
  readonly cpuMs: number;
}

export interface MetadataRow {
  readonly name: string;
  readonly n: number;
  readonly native: Spent;
  readonly inside: Spent;
  /** The first run after somebody else changed something in the tree. */
  readonly refreshed: Spent;
}

interface Work {
  readonly name: string;
  readonly dir: string;
  readonly command: string;
}

export async function measureMetadata(
  files: number,
  rounds: number,
): Promise<Part<readonly MetadataRow[]>> {
  const tree = openTree(files);
  const project = openProject();
  const repository = openRepository(files);
  const works: Work[] = [
    { name: 'git status', dir: repository, command: 'git status --porcelain' },
    { name: 'find | wc', dir: tree.dir, command: 'find . -type f | wc -l' },
    { name: 'rg -l', dir: tree.dir, command: 'rg -l --no-ignore 1zz2yy3xx . || true' },
    { name: 'tsc --noEmit', dir: project, command: './tsc --noEmit' },
  ];
  const missing = spawnSync('rg', ['--version']).status === 0 ? [] : ['rg is not installed'];
  const wanted = works.filter(({ name }) => missing.length === 0 || !name.startsWith('rg'));
  using place = new Place();
  const roots = [tree.dir, project, repository];
  await using daemon = await startDaemon(place, { roots });
  const rows: MetadataRow[] = [];
  const notes = [...missing];
  for (const work of wanted) {
    const { dir } = work;
    await using session = await daemon.client.createSession({
      shell: '/bin/bash',
      working_dir: dir,
    });
    rows.push(await measure(work, session, { rounds, notes }));
  }
  return { data: rows, notes, checks: rows.flatMap(checksOf) };
}

async function measure(
  work: Work,
  session: Session,
  { rounds, notes }: { readonly rounds: number; readonly notes: string[] },
): Promise<MetadataRow> {
  const [native, inside, refreshed]: [Spent[], Spent[], Spent[]] = [[], [], []];
  const own = async (): Promise<Spent> => {
    await sleep(pauseMs);
    const receipt = await session.run(timedText(work.command), { timeout_s: 300 });
    if (receipt.exit_code !== 0) throw new Error(`${work.name}: ${receipt.stderr}`);
    return spentOf(receipt.stderr);
  };
  await own();
  for (let round = 0; round < rounds; round += 1) {
    if (round < Math.max(3, rounds / 3)) {
      writeFileSync(path.join(work.dir, 'outside'), `${round}\n`);
      refreshed.push(await own());
      rmSync(path.join(work.dir, 'outside'));
      await own();
    }
    // Git looks at contents anew where the other side wrote its index: owners differ inside.
    const crossed = host(work);
    native.push(host(work));
    if (round === 0) notes.push(crossNote(work, 'on the host', crossed));
    const back = await own();
    // What the first one wrote, as git its index, was applied: the second finds nothing cached.
    await own();
    inside.push(await own());
    if (round === 0) notes.push(crossNote(work, 'inside', back));
  }
  return {
    name: work.name,
    n: rounds,
    native: middle(native),
    inside: middle(inside),
    refreshed: middle(refreshed),
  };
}

const crossNote = ({ name }: Work, where: string, { wallMs }: Spent): string =>
  `${name}: the first ${where} after the other side ran it took ${wallMs.toFixed(0)} ms`;

/** The last line of standard error has the times. */
const timedText = (command: string): string =>
  `TIMEFORMAT='%3R %3U %3S'; export LC_ALL=C; time { ${command}; } >/dev/null`;

function host({ command, dir }: Work): Spent {
  const args = ['-c', timedText(command)];
  const { status, stderr } = spawnSync('bash', args, { cwd: dir, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
  return spentOf(stderr);
}

function spentOf(stderr: string): Spent {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  const [wall = Number.NaN, user = 0, system = 0] = last.split(' ').map(Number);
  return { wallMs: wall * 1e3, cpuMs: (user + system) * 1e3 };
}

const middle = (all: readonly Spent[]): Spent => ({
  wallMs: figuresOf(all.map(({ wallMs }) => wallMs)).p50,
  cpuMs: figuresOf(all.map(({ cpuMs }) => cpuMs)).p50,
});

function checksOf({ name, native, inside }: MetadataRow): Check[] {
  const check = (what: string, value: number) => ({
    name: `${name}: inside / native, ${what}`,
    value,
    unit: '×',
    targetMax: 1.15,
  });
  return [check('wall', inside.wallMs / native.wallMs), check('CPU', inside.cpuMs / native.cpuMs)];
}

export function metadataLines(rows: readonly MetadataRow[]): string[] {
  const cell = ({ wallMs, cpuMs }: Spent): string =>
    `${wallMs.toFixed(0)} (${cpuMs.toFixed(0)})`.padStart(16);
  const head = ['native', 'inside', 'after a refresh'].map((name) => name.padStart(16)).join('');
  return [
    `  ${'wall (CPU), ms, p50'.padEnd(20)}${head}       n`,
    ...rows.map(({ name, native, inside, refreshed, n }) => {
      const cells = [native, inside, refreshed].map(cell).join('');
      return `  ${name.padEnd(20)}${cells}${String(n).padStart(8)}`;
    }),
  ];
}

/** This repository's sources and what type-checks them. */
function openProject(): string {
  const root = path.dirname(import.meta.dirname);
  const dir = path.join(treesDir, 'project');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  for (const name of ['src', 'tsconfig.json', 'package.json', 'node_modules']) {
    cpSync(path.join(root, name), path.join(dir, name), { recursive: true });
  }
  // The program itself: the Node that runs this need not be there for a sandbox.
  const platform = `typescript-${process.platform}-${process.arch}`;
  symlinkSync(`node_modules/@typescript/${platform}/lib/tsc`, path.join(dir, 'tsc'));
  return dir;
}

/** A repository whose index is fresh, as after a commit. */
function openRepository(files: number): string {
  const tree = openTree(files);
  const dir = path.join(treesDir, `repository-${files}`);
  if (!existsSync(path.join(dir, '.git', 'trl-bench-made'))) {
    rmSync(dir, { recursive: true, force: true });
    cpSync(tree.dir, dir, { recursive: true });
    const git = (...args: string[]) => execFileSync('git', args, { cwd: dir, stdio: 'ignore' });
    git('init', '-q');
    git('config', 'core.compression', '0');
    git('add', '-A');
    git('-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-q', '-m', 'all');
    writeFileSync(path.join(dir, '.git', 'trl-bench-made'), '');
  }
  execFileSync('git', ['status', '--porcelain'], { cwd: dir, stdio: 'ignore' });
  return dir;
}
