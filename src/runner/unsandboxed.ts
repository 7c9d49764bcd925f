/**
 * Processes of a command without a sandbox. Its shim adopts processes that leave the command's
 * tree, so that none escapes by a session or an environment of its own. A mark in the environment
 * finds the others: without perl no shim can adopt, and a shim may have been killed.
 */
import type { ExecId } from '../command.ts';
import type { CommandBox } from './command-box.ts';
import { isAlive, isShimPause, markedProcesses, sendSignal } from './processes.ts';

const survivorPollMs = 50;
/** How often and how long processes that outlived their shell may end by themselves. */
const lingerPollMs = 5;
const lingerPolls = 10;
/** A program that starts others as fast as they are stopped must not occupy the runner. */
const roundsMax = 16;

type Shim = Pick<CommandBox, 'pid' | 'processes'>;

/** Its processes, without the shim and its `sleep`. */
export function unsandboxedProcesses(shim: Shim, id: ExecId): number[] {
  const found = new Set([...shim.processes(), ...markedProcesses(id)]);
  return [...found].filter((pid) => pid !== shim.pid && !isShimPause(pid));
}

/** The same, stopped: none starts another while they are ended one by one. */
export function freezeProcesses(shim: Shim, id: ExecId): number[] {
  const stopped = new Set<number>();
  for (let round = 0; round < roundsMax; round += 1) {
    const found = unsandboxedProcesses(shim, id).filter((pid) => !stopped.has(pid));
    if (found.length === 0) break;
    for (const pid of found) {
      sendSignal(pid, 'SIGSTOP');
      stopped.add(pid);
    }
  }
  return [...stopped];
}

/** Ends processes that outlived the shell: TERM, KILL after the grace time. */
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
