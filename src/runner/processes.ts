/**
 * The processes of a command, read from /proc. Every function treats a process that ended in
 * between as absent; a zombie counts as gone.
 */
import { fstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

const read = (path: string): string | null => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
};

function childrenOf(pid: number): number[] {
  const text = read(`/proc/${pid}/task/${pid}/children`);
  return text === null ? [] : text.split(' ').filter(Boolean).map(Number);
}

/** All descendants of `pid`, parents first. Bounded by the number of processes. */
export function descendants(pid: number): number[] {
  const found: number[] = [];
  const queue = childrenOf(pid);
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    found.push(at);
    queue.push(...childrenOf(at));
  }
  return found;
}

/** `R`, `S`, `Z` …, or `null` when the process is gone. */
function stateOf(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`);
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).charAt(0);
}

export const isAlive = (pid: number): boolean => {
  const state = stateOf(pid);
  return state !== null && state !== 'Z' && state !== 'X';
};

/** Processes whose environment carries `TRL_EXEC_ID=id`, also under another parent. */
export function markedProcesses(id: string): number[] {
  const found: number[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    if (read(`/proc/${pid}/environ`)?.split('\0').includes(`TRL_EXEC_ID=${id}`) === true) {
      if (isAlive(pid)) found.push(pid);
    }
  }
  return found;
}

/** Seconds of the shim's own `sleep`: a number by which it is recognised. */
export const shimPauseSeconds = '0.0201';

export const isShimPause = (pid: number): boolean =>
  read(`/proc/${pid}/cmdline`) === `sleep\0${shimPauseSeconds}\0`;

/** Sends a signal; a process that is gone is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: it ended by itself. EPERM cannot be for a process that we started.
  }
}

export interface InputWait {
  readonly pid: number;
  readonly program: string;
  /** `false` for a program that polls its input among other things. */
  readonly certain: boolean;
}

/** System call numbers of `read`: x86-64 and arm64. */
const readCall = process.arch === 'arm64' ? '63' : '0';

/** The process among `pids` that is blocked in a read of the command's stdin or terminal. */
export function findInputWait(pids: readonly number[], stdin: string): InputWait | null {
  for (const pid of pids) {
    const call = read(`/proc/${pid}/syscall`)?.split(' ');
    if (call === undefined || call[0] !== readCall) continue;
    const target = descriptorTarget(`/proc/${pid}/fd/${Number(call[1])}`);
    if (target === null || (target !== stdin && target !== '/dev/tty')) continue;
    return { pid, program: read(`/proc/${pid}/comm`)?.trim() ?? '', certain: true };
  }
  return null;
}

/** What a descriptor is, as the kernel names it. */
export function descriptorTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

const inotify = 'anon_inode:inotify';

/**
 * Whether one of `pids` watches files by inotify on the file system of an open directory: only for
 * those are external saves written through a view.
 */
export function hasInotifyWatch(pids: readonly number[], root: number): boolean {
  const mark = ` sdev:${deviceOf(fstatSync(root).dev)} `;
  return pids.some((pid) => {
    return descriptorsOf(pid).some((fd) => {
      if (descriptorTarget(`/proc/${pid}/fd/${fd}`) !== inotify) return false;
      return read(`/proc/${pid}/fdinfo/${fd}`)?.includes(mark) === true;
    });
  });
}

/** As the kernel numbers devices, in hex; Node has the numbers of `stat`. */
function deviceOf(dev: number): string {
  const [major, minor] = [(dev >>> 8) & 0xfff, (dev & 0xff) | ((dev >>> 12) & 0xfff00)];
  return ((major << 20) | minor).toString(16);
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    // The process ended, or may not be inspected.
    return [];
  }
}
