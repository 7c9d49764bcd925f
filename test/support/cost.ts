/** What something costs, so that other work of the machine does not count. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** CPU time of this thread, in ms: the mean of so many runs that the clock's ticks do not show. */
export function cpuMsOf(run: () => unknown): number {
  const before = process.threadCpuUsage();
  for (let runs = 1; ; runs += 1) {
    run();
    const { user, system } = process.threadCpuUsage(before);
    if (user + system > 200_000) return (user + system) / 1_000 / runs;
  }
}

/** Bytes that this process holds on to: what only waits to be collected does not count. */
export function heldBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
