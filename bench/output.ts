/** Output of one command, streamed to a client in binary frames, and what it costs whom. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Place, startDaemon, type Daemon } from './daemon.ts';
import { cpuSeconds } from './processes.ts';
import type { Part } from './report.ts';
import { figuresOf } from './stats.ts';

export interface OutputFigures {
  readonly bytes: number;
  readonly mbPerSecond: number;
  /** The same bytes through a pipe of `child_process.spawn`, in the same rounds. */
  readonly rawMbPerSecond: number;
  /** CPU time of each process for one run, in `s`. */
  readonly cpu: Readonly<Record<'client' | 'daemon' | 'runner', number>>;
}

export async function measureOutput(options: {
  bytes: number;
  rounds: number;
}): Promise<Part<OutputFigures>> {
  const { bytes, rounds } = options;
  const command = `head -c ${bytes} /dev/zero`;
  using place = new Place();
  await using daemon = await startDaemon(place);
  const session = await daemon.client.createSession({ working_dir: place.work });
  const trlMs: number[] = [];
  const rawMs: number[] = [];
  const cpu = { client: 0, daemon: 0, runner: 0 };
  await session.run('true');
  for (let round = 0; round < rounds; round += 1) {
    const start = cpuOf(daemon);
    trlMs.push(await timed(bytes, () => streamed(session.stream(command))));
    const end = cpuOf(daemon);
    for (const name of ['client', 'daemon', 'runner'] as const) {
      cpu[name] += (end[name] - start[name]) / rounds;
    }
    rawMs.push(await timed(bytes, () => piped(command)));
  }
  const speed = (all: readonly number[]): number => bytes / 1e3 / figuresOf(all).p50;
  const data = { bytes, mbPerSecond: speed(trlMs), rawMbPerSecond: speed(rawMs), cpu };
  const check = {
    name: 'output in binary frames',
    value: data.mbPerSecond,
    unit: 'MB/s',
    // Every byte is redacted: docs/decisions/0016. Without redaction it was 280.
    targetMin: 30,
  };
  return { data, notes: [], checks: [check] };
}

const cpuOf = ({ pid, runnerPid }: Daemon): OutputFigures['cpu'] => ({
  client: cpuSeconds(process.pid),
  daemon: cpuSeconds(pid),
  runner: cpuSeconds(runnerPid),
});

async function timed(bytes: number, run: () => Promise<number>): Promise<number> {
  const begun = performance.now();
  const taken = await run();
  if (taken !== bytes) throw new Error(`${taken} of ${bytes} bytes came`);
  return performance.now() - begun;
}

async function streamed(
  stream: AsyncIterable<{ readonly type: string; readonly bytes?: Uint8Array }>,
): Promise<number> {
  let taken = 0;
  for await (const event of stream) taken += event.bytes?.length ?? 0;
  return taken;
}

async function piped(command: string): Promise<number> {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  let taken = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    taken += bytes.length;
  });
  await once(child, 'close');
  return taken;
}
