/** From nothing to an answer: the CLI and the daemon against the Node that runs them. */
import path from 'node:path';
import { Place, startDaemon } from './daemon.ts';
import { runProgram } from './processes.ts';
import type { Part } from './report.ts';
import { roundRobin, type Figures } from './stats.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const nodeName = 'node -e 0';
/** The command line of the one peer that has one. */
const peer = path.join(
  path.dirname(import.meta.dirname),
  'node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js',
);

export type StartupRow = Figures & { readonly name: string; readonly ratio: number };

export async function measureStartup(rounds: number): Promise<Part<readonly StartupRow[]>> {
  using place = new Place();
  using shared = new Place();
  const at = (where: Place) => ({
    cwd: where.work,
    env: { ...where.env, TRL_START: 'background' },
  });
  const stop = (): Promise<unknown> => runProgram(trl, ['daemon', 'stop'], at(shared));
  const run =
    (where: Place, ...flags: string[]) =>
    (): Promise<void> =>
      runProgram(trl, ['run', ...flags, '--', 'true'], at(where));
  const ends: (() => Promise<void>)[] = [];
  const contenders = [
    { name: nodeName, run: () => runProgram(process.execPath, ['-e', '0'], at(place)) },
    { name: 'srt true', run: () => runProgram(process.execPath, [peer, 'true'], at(place)) },
    { name: 'trl --version', run: () => runProgram(trl, ['--version'], at(place)) },
    { name: 'trl run --private -- true', run: run(place, '--private') },
    // Nothing listens.
    {
      name: 'trl run -- true, the first',
      ready: async () => void (await stop()),
      run: run(shared),
    },
    { name: 'trl run -- true, later', ready: run(shared), run: run(shared) },
    {
      name: 'daemon to first ping',
      ready: async () => {
        for (const end of ends.splice(0)) await end();
      },
      run: async () => {
        const daemon = await startDaemon(place);
        ends.push(async () => daemon[Symbol.asyncDispose]());
      },
    },
  ];
  const measured = await roundRobin(contenders, rounds);
  await stop();
  for (const end of ends) await end();
  const node = measured.get(nodeName)?.p50 ?? Number.NaN;
  const data = [...measured].map(([name, row]) => ({ name, ...row, ratio: row.p50 / node }));
  const added = (measured.get('trl --version')?.min ?? Number.NaN) - (data[0]?.min ?? 0);
  return {
    data,
    notes: [`trl --version adds ${added.toFixed(0)} ms to ${nodeName} (best of each)`],
    checks: [],
  };
}
