/** What it costs that paths do not exist for a command: nothing a command, a walk once. */
import type { Session } from '../src/client/index.ts';
import { Place, startDaemon, type Daemon } from './daemon.ts';
import type { Part } from './report.ts';
import { figuresOf, sampleRounds, type Figures } from './stats.ts';
import { changer, idler } from './workspace-changer.ts';
import { openTree, type BenchTree } from './workspace-trees.ts';

export interface DeniedRow extends Figures {
  readonly name: string;
  readonly ratio: number;
}

export interface DeniedFigures {
  readonly files: number;
  readonly denied: number;
  readonly rows: readonly DeniedRow[];
  /** The session's first command, in `ms`: its layers, watches and mask are made. */
  readonly firstMs: { readonly open: number; readonly denied: number };
}

export async function measureDenied(
  files: number,
  denied: number,
  rounds: number,
): Promise<Part<DeniedFigures>> {
  // Two trees: what one session changes in a tree is a change from outside for another.
  const trees = [openTree(files, denied), openTree(files + 20, denied)] as const;
  using place = new Place();
  await using daemon = await startDaemon(place, { roots: trees.map(({ dir }) => dir) });
  const open = await begin(daemon, trees[0], []);
  const masked = await begin(daemon, trees[1], ['*.secret']);
  if (open.seen !== denied || masked.seen !== 0) {
    throw new Error(`${open.seen} and ${masked.seen} of ${denied} are seen`);
  }
  const names = ['none denied', `${denied.toLocaleString('en')} denied`] as const;
  const quiet = names.map((name) => `${name}, no change`);
  const pairs = [
    [changer(names[0], open.session, trees[0]), changer(names[1], masked.session, trees[1])],
    [idler(quiet[0] ?? '', open.session), idler(quiet[1] ?? '', masked.session)],
  ];
  const samples = new Map<string, number[]>();
  for (const pair of pairs) {
    for (const [name, all] of await sampleRounds(pair, rounds)) samples.set(name, all);
  }
  const figures = (name: string): Figures => figuresOf(samples.get(name) ?? []);
  const row = (name: string, base: string): DeniedRow => ({
    name,
    ...figures(name),
    ratio: figures(name).p50 / figures(base).p50,
  });
  const rows = [names, quiet].flatMap(([one = '', other = '']) => [row(one, one), row(other, one)]);
  const check = (name: string, value = Number.NaN) => ({ name, value, unit: '×', targetMax: 1.05 });
  return {
    data: { files, denied, rows, firstMs: { open: open.firstMs, denied: masked.firstMs } },
    notes: [
      `first command of the session: ${open.firstMs.toFixed(0)} ms with none denied, ` +
        `${masked.firstMs.toFixed(0)} ms with ${denied} denied (${files} files)`,
    ],
    checks: [
      check(`${names[1]} / none, 5 files changed`, rows[1]?.ratio),
      check(`${names[1]} / none, nothing changed`, rows[3]?.ratio),
    ],
  };
}

interface Begun {
  readonly session: Session;
  readonly firstMs: number;
  /** Files that were to be denied. */
  readonly seen: number;
}

async function begin(
  { client }: Daemon,
  { dir }: BenchTree,
  deny: readonly string[],
): Promise<Begun> {
  const params = { path: dir, policy: { read: { deny } } };
  const { workspace_id: id } = await client.call('workspace.open', params);
  const session = await client.createSession({ shell: '/bin/bash', workspace_id: id });
  const begun = performance.now();
  await session.run('true');
  const firstMs = performance.now() - begun;
  const { stdout } = await session.run("find . -name '*.secret' | wc -l");
  return { session, firstMs, seen: Number(stdout) };
}
