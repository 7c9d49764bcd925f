/** From nothing to an answer: the CLI and the daemon against the Node that runs them. */
import path from 'node:path';
import { Place, startDaemon } from './daemon.ts';
import { runProgram } from './processes.ts';
import type { Part } from './report.ts';
import { roundRobin, type Figures } from './stats.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const nodeName = 'node -e 0';

export type StartupRow = Figures & { readonly name: string; readonly ratio: number };

export async function measureStartup(rounds: number): Promise<Part<readonly StartupRow[]>> {
  using place = new Place();
  const program = { cwd: place.work, env: place.env };
  const ends: (() => Promise<void>)[] = [];
  const measured = await roundRobin(
    [
      { name: nodeName, run: () => runProgram(process.execPath, ['-e', '0'], program) },
      { name: 'trl --version', run: () => runProgram(trl, ['--version'], program) },
      {
        name: 'trl run -- true',
        // Nothing listens: a daemon that a run left standing would make the next one warm.
        ready: async () => {
          for (const end of ends.splice(0)) await end();
        },
        run: () => runProgram(trl, ['run', '--', 'true'], program),
      },
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
    ],
    rounds,
  );
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
