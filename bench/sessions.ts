/** What a thousand sessions cost that nobody uses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Place, startDaemon, type Daemon } from './daemon.ts';
import { childrenOf, rssBytes } from './processes.ts';
import type { Part } from './report.ts';

const count = 1_000;
/** For the collection of what the calls themselves left behind. */
const settleMs = 1_000;

export interface SessionFigures {
  readonly count: number;
  /** Growth of daemon and runner together. */
  readonly bytes: number;
  readonly processes: number;
}

export async function measureSessions(): Promise<Part<SessionFigures>> {
  using place = new Place();
  await using daemon = await startDaemon(place);
  const create = async (): Promise<void> => {
    await daemon.client.createSession({ working_dir: place.work });
  };
  await create();
  await sleep(settleMs);
  const before = standing(daemon);
  for (let made = 0; made < count; made += 1) await create();
  await sleep(settleMs);
  const after = standing(daemon);
  const data = {
    count,
    bytes: after.bytes - before.bytes,
    processes: after.processes - before.processes,
  };
  return {
    data,
    notes: [],
    checks: [
      { name: `${count} idle sessions`, value: data.bytes / 1e6, unit: 'MB', targetMax: 10 },
      { name: `${count} idle sessions`, value: data.processes, unit: 'processes', targetMax: 0 },
    ],
  };
}

function standing({ pid, runnerPid }: Daemon): { bytes: number; processes: number } {
  return {
    bytes: rssBytes(pid) + rssBytes(runnerPid),
    processes: childrenOf(pid).length + childrenOf(runnerPid).length,
  };
}
