/**
 * Time per command, `true` in bash, from the call to the whole answer.
 *
 * Every run begins after the same pause, as a command of an agent that thinks in between does; a
 * sandbox that is prepared ahead meanwhile then disturbs nobody else's run. "Back to back" is the
 * exception: it begins when the session's last command has just been answered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunOptions, Session } from '../src/client/index.ts';
import { Place, startDaemon } from './daemon.ts';
import { bwrapName, openSandboxRuntime, plainPeers, rawName, srtName } from './peers.ts';
import { rssBytes } from './processes.ts';
import { roundRobin, type Contender, type Figures } from './stats.ts';
import type { Check, Part } from './report.ts';

const pauseMs = 100;
/** What a large caller is grown to, in resident bytes. */
const largeBytes = 600 * 1024 * 1024;
/** The slow peer is left out of two rounds of three: its figure needs no more. */
const slowEvery = 3;

export const coldName = 'TRL cold';
export const backName = 'TRL back to back';
export const warmName = 'TRL warm';

export interface LatencyRow extends Figures {
  readonly name: string;
  /** p50 over the p50 of the raw spawn in the same rounds. */
  readonly ratio: number;
}
export interface LatencyGroup {
  readonly callerBytes: number;
  readonly rows: readonly LatencyRow[];
}

export async function measureLatency(rounds: number): Promise<Part<readonly LatencyGroup[]>> {
  using place = new Place();
  const home = process.cwd();
  // The library protects what lies in the current directory, and looks through it each time.
  process.chdir(place.work);
  await using daemon = await startDaemon(place);
  const create = (): Promise<Session> =>
    daemon.client.createSession({ shell: '/bin/bash', working_dir: place.work });
  const sessions = { cold: await create(), back: await create(), warm: await create() };
  const contenders = [...plainPeers(place.work).map(paused), ...trlContenders(sessions)];
  const groups: LatencyGroup[] = [];
  const measure = async (): Promise<void> => {
    const skip = (name: string, round: number): boolean =>
      name === srtName && round % slowEvery !== 0;
    const measured = await roundRobin(contenders, rounds, skip);
    groups.push(groupOf(rssBytes(process.pid), measured));
  };
  // A spawn costs what the spawning process weighs, and the library of the one peer weighs.
  await measure();
  const srt = await openSandboxRuntime(place.work);
  try {
    if (srt.contender !== null) {
      contenders.push(paused(srt.contender));
      await measure();
    }
    const ballast: Buffer[] = [];
    while (rssBytes(process.pid) < largeBytes) ballast.push(Buffer.alloc(1024 * 1024, 1));
    await measure();
  } finally {
    await srt.end();
    process.chdir(home);
  }
  return { data: groups, notes: srt.missing, checks: groups.flatMap(checksOf) };
}

const paused = (contender: Contender): Contender => ({
  ...contender,
  ready: () => sleep(pauseMs),
});

function trlContenders(sessions: Record<'cold' | 'back' | 'warm', Session>): Contender[] {
  const command = async (session: Session, warm: boolean | null, options: RunOptions = {}) => {
    const { exit_code: code, sandbox } = await session.run('true', options);
    if (code !== 0) throw new Error(`the command ended with ${code}`);
    if (warm !== null && sandbox.warm !== warm) throw new Error(`warm is ${sandbox.warm}`);
  };
  return [
    // No sandbox is prepared ahead for a command that has an input.
    paused({ name: coldName, run: () => command(sessions.cold, false, { stdin: '' }) }),
    {
      name: backName,
      ready: async () => {
        await sleep(pauseMs);
        await command(sessions.back, null);
      },
      run: () => command(sessions.back, null),
    },
    paused({ name: warmName, run: () => command(sessions.warm, null) }),
  ];
}

function groupOf(callerBytes: number, measured: ReadonlyMap<string, Figures>): LatencyGroup {
  const raw = measured.get(rawName)?.p50 ?? Number.NaN;
  const rows = [...measured].map(([name, figures]) => ({
    name,
    ...figures,
    ratio: figures.p50 / raw,
  }));
  return { callerBytes, rows };
}

function checksOf({ callerBytes, rows }: LatencyGroup): Check[] {
  const p50 = (name: string): number => rows.find((row) => row.name === name)?.p50 ?? Number.NaN;
  const check = (name: string, of: number, targetMax: number): Check => ({
    name: `${Math.round(callerBytes / 1e6)} MB caller: ${name}`,
    value: of,
    unit: '×',
    targetMax,
  });
  const all = [coldName, backName, warmName];
  const checks =
    callerBytes < largeBytes
      ? [
          check('cold / spawn', p50(coldName) / p50(rawName), 5),
          check('cold / bwrap', p50(coldName) / p50(bwrapName), 2),
          check('warm / spawn', p50(warmName) / p50(rawName), 1),
        ]
      : all.map((name) =>
          check(`${name.slice('TRL '.length)} / spawn`, p50(name) / p50(rawName), 1),
        );
  const slowest = Math.max(...all.map(p50));
  return [...checks, check(`slowest / ${srtName}`, slowest / p50(srtName), 0.25)].filter(
    ({ value }) => !Number.isNaN(value),
  );
}
