/**
 * What a command without a sandbox started. Its shim takes over whatever leaves the tree of its
 * processes, so that nothing gets away by a session or an environment of its own. The mark finds
 * what no shim has: without perl there is no taking over, and a shim may have been killed.
 */
import type { ExecId } from '../command.ts';
import type { CommandBox } from './command-box.ts';
import { isAlive, isShimPause, markedProcesses, sendSignal } from './processes.ts';

const survivorPollMs = 50;
/** How often and how long what outlived its shell is given to end. */
const lingerPollMs = 5;
const lingerPolls = 10;
/** A program that starts others as fast as they are stopped must not keep the runner. */
const roundsMax = 16;

type Shim = Pick<CommandBox, 'pid' | 'processes'>;

/** Its processes, without the shim and what that waits by. */
export function unsandboxedProcesses(shim: Shim, id: ExecId): number[] {
  const found = new Set([...shim.processes(), ...markedProcesses(id)]);
  return [...found].filter((pid) => pid !== shim.pid && !isShimPause(pid));
}

/** The same, stopped: none starts another while they are ended one by one. */
export function freezeProcesses(shim: Shim, id: ExecId): number[] {
  const held = new Set<number>();
  for (let round = 0; round < roundsMax; round += 1) {
    const fresh = unsandboxedProcesses(shim, id).filter((pid) => !held.has(pid));
    if (fresh.length === 0) break;
    for (const pid of fresh) {
      sendSignal(pid, 'SIGSTOP');
      held.add(pid);
    }
  }
  return [...held];
}

/** Ends what outlived the shell: TERM, KILL after the grace time. */
export async function endSurvivors(
  shim: Shim,
  id: ExecId,
  graceMs: number,
): Promise<{ readonly count: number; readonly survivors: readonly number[] }> {
  // What only copies the last output ends by itself, now that its input has.
  for (
    let polls = 0;
    polls < lingerPolls && unsandboxedProcesses(shim, id).length > 0;
    polls += 1
  ) {
    await new Promise((resolve) => setTimeout(resolve, lingerPollMs));
  }
  const found = unsandboxedProcesses(shim, id);
  if (found.length === 0) return { count: 0, survivors: [] };
  for (const pid of found) sendSignal(pid, 'SIGTERM');
  const deadline = Date.now() + graceMs;
  while (Date.now() < deadline && unsandboxedProcesses(shim, id).some(isAlive)) {
    await new Promise((resolve) => setTimeout(resolve, survivorPollMs));
  }
  const left = freezeProcesses(shim, id);
  for (const pid of left) sendSignal(pid, 'SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, survivorPollMs));
  return { count: found.length, survivors: [...new Set([...found, ...left])].filter(isAlive) };
}
