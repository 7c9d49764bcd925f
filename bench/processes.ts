/** What /proc tells of processes, and how they are started and awaited here. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** Clock ticks a second in /proc, the same on every Linux that Node runs on. */
const ticksPerSecond = 100;

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

export function rssBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}

/** CPU time of a process itself, without its children, in `s`. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/**
 * CPU time of a process, of all that descend from it and of those of them that have ended, in `s`.
 * What descends from it but was left to another parent is not in it.
 */
export function familyCpuSeconds(pid: number): number {
  let ticks = 0;
  const waiting = [pid];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    try {
      const stat = readFileSync(`/proc/${next}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      for (const field of fields.slice(11, 15)) ticks += Number(field);
      waiting.push(...childrenOf(next));
    } catch {
      // It ended meanwhile: its time is its parent's now.
    }
  }
  return ticks / ticksPerSecond;
}

/** Runs a program to its end with its output read.  @throws Error when it does not exit with 0 */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const said: Buffer[] = [];
  child.stdout.resume();
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes));
  const [code] = await once(child, 'close');
  if (code !== 0) {
    throw new Error(`${file} ended with ${String(code)}: ${Buffer.concat(said).toString()}`);
  }
}
