/** Finds programs that watch files: only for them are external saves written through a view. */
import { fstatSync, readdirSync, readFileSync } from 'node:fs';
import { descriptorTarget } from './processes.ts';

const inotify = 'anon_inode:inotify';

/** Whether one of `pids` watches something by inotify on the file system of an open directory. */
export function hasInotifyWatch(pids: readonly number[], root: number): boolean {
  const mark = ` sdev:${deviceOf(fstatSync(root).dev)} `;
  return pids.some((pid) => {
    return descriptorsOf(pid).some((fd) => {
      if (descriptorTarget(`/proc/${pid}/fd/${fd}`) !== inotify) return false;
      return infoOf(pid, fd).includes(mark);
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

function infoOf(pid: number, fd: string): string {
  try {
    return readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
  } catch {
    return '';
  }
}
