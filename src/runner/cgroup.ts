/**
 * Memory bounds by cgroup, v2 or v1, where this process may use them. The processes of a box are
 * placed while its shell still waits for its script, so nothing escapes by forking first.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Plan } from '../command.ts';
import { TrlError } from '../errors.ts';

export interface MemoryGroup {
  readonly by: 'cgroup-v1' | 'cgroup-v2';
  /** Whether the kernel ended a process of the group for want of memory. */
  wasOomKilled(): boolean;
  remove(): void;
}

const roots = [
  { by: 'cgroup-v2', dir: '/sys/fs/cgroup', file: 'memory.max', events: 'memory.events' },
  {
    by: 'cgroup-v1',
    dir: '/sys/fs/cgroup/memory',
    file: 'memory.limit_in_bytes',
    events: 'memory.oom_control',
  },
] as const;

const removeTries = 50;
const removeEveryMs = 100;

/**
 * Puts all processes of a box under a bound, or answers `null` where no cgroup can be used.
 *
 * @param runner its owner, by which groups of a killed runner are found
 * @param processes called until it returns no new process: a process that is forked meanwhile
 *   inherits the group of its parent, so after that none is outside
 */
export function boundMemory(
  { runner, name }: { readonly runner: string; readonly name: string },
  bytes: number,
  processes: () => readonly number[],
): MemoryGroup | null {
  for (const root of roots) {
    const dir = join(root.dir, `${prefix(runner)}${name}`);
    if (root.by === 'cgroup-v2' && !hasMemoryController(root.dir)) continue;
    if (root.by === 'cgroup-v1' && !existsSync(join(root.dir, root.file))) continue;
    try {
      mkdirSync(dir);
    } catch {
      continue;
    }
    try {
      writeFileSync(join(dir, root.file), String(bytes));
      forbidSwap(dir, root.by, bytes);
      place(join(dir, 'cgroup.procs'), processes);
      return {
        by: root.by,
        wasOomKilled: () => killed(join(dir, root.events)),
        remove: () => remove(dir, 0),
      };
    } catch {
      remove(dir, 0);
    }
  }
  return null;
}

/** Whether the kernel's bounds for users do not bind this command. */
export const isUnsandboxedRoot = (box: Plan['box']): boolean =>
  box.kind === 'none' && process.getuid?.() === 0;

/** @throws TrlError `SANDBOX_UNAVAILABLE` where nothing would enforce the bound */
export function refuseUnboundedMemory(group: MemoryGroup | null, box: Plan['box']): void {
  const isLeft = isUnsandboxedRoot(box);
  if (group !== null && !isLeft) return;
  const why = isLeft ? 'without a sandbox root leaves any cgroup' : 'no cgroup can be used here';
  throw new TrlError('SANDBOX_UNAVAILABLE', `Cannot bound memory: ${why}`);
}

const prefix = (runner: string): string => `trl-${runner}-`;

/** Removes the groups of a runner that has ended; running ones keep theirs. */
export function removeMemoryGroups(runner: string): void {
  for (const root of roots) {
    const names = existsSync(root.dir) ? readdirSync(root.dir) : [];
    for (const name of names.filter((one) => one.startsWith(prefix(runner)))) {
      remove(join(root.dir, name), 0);
    }
  }
}

function place(file: string, processes: () => readonly number[]): void {
  const placed = new Set<number>();
  for (;;) {
    const fresh = processes().filter((pid) => !placed.has(pid));
    if (fresh.length === 0) return;
    for (const pid of fresh) {
      writeFileSync(file, String(pid));
      placed.add(pid);
    }
  }
}

function hasMemoryController(dir: string): boolean {
  try {
    return readFileSync(join(dir, 'cgroup.subtree_control'), 'utf8').split(/\s/).includes('memory');
  } catch {
    return false;
  }
}

function forbidSwap(dir: string, by: MemoryGroup['by'], bytes: number): void {
  try {
    if (by === 'cgroup-v2') writeFileSync(join(dir, 'memory.swap.max'), '0');
    else writeFileSync(join(dir, 'memory.memsw.limit_in_bytes'), String(bytes));
  } catch {
    // A kernel without swap accounting: memory is bounded, swap is not.
  }
}

function killed(path: string): boolean {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? 0) > 0;
  } catch {
    return false;
  }
}

/** A group stays busy until its last zombie was reaped, so removal is tried again for a while. */
function remove(dir: string, tries: number): void {
  try {
    rmdirSync(dir);
  } catch {
    if (tries < removeTries) setTimeout(() => remove(dir, tries + 1), removeEveryMs);
  }
}
