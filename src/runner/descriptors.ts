/** Descriptors that the process inherited: programs that it starts must not get them. */
import { closeSync, readFileSync, readdirSync } from 'node:fs';
import { fieldOf } from '../json-shape.ts';

const closeOnExec = 0o2000000;

/**
 * Closes every descriptor that a child would inherit, besides standard input, output and error
 * and those in `keep`. Node marks descriptors of its own close-on-exec, and inherited ones only up
 * to the first gap above 15: a pipe on 250 would be open in every command. Call it first of all.
 */
export function closeInherited(keep: readonly number[] = []): void {
  for (const fd of inheritableDescriptors(keep)) {
    try {
      closeSync(fd);
    } catch (error) {
      // One that a thread of this process had open for a moment.
      if (fieldOf(error, 'code') !== 'EBADF') throw error;
    }
  }
}

/** The descriptors that a child would inherit, besides the standard ones and those in `keep`. */
export function inheritableDescriptors(keep: readonly number[]): number[] {
  const kept = new Set([0, 1, 2, ...keep]);
  const open = readdirSync('/proc/self/fd').map(Number);
  return open.filter((fd) => !kept.has(fd) && isInheritable(fd));
}

/** Also false for the descriptor that listed the directory, which is closed by now. */
function isInheritable(fd: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false;
  }
}
