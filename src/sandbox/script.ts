/** Where a Python script runs: a directory of its own that is gone with its processes. Pure. */
import type { Box, ExecId } from '../command.ts';
import { limits } from '../limits.ts';

/** The variable that names the workspace to a script, which does not start there. */
export const workspaceVariable = 'TRL_WORKSPACE';

const directory = '.script';
const nameLength = 16;

/**
 * The directory that holds those of scripts: in the private `/tmp`, or in `/run` where `/tmp` is a
 * tree of the host. Nothing but an empty mount point is ever in it for other commands.
 */
export function scriptsDirectory(trees: readonly string[]): string {
  return trees.includes('/tmp') || trees.includes('/') ? `/run/${directory}` : `/tmp/${directory}`;
}

/**
 * The box of a script, and the directory that it starts in. In a sandbox that is a file system in
 * memory of the script's own mount namespace: it ends with the last process, however that ends.
 * Without one it is a directory of the host's `/tmp`, which the runner makes and removes.
 */
export function scriptLocation(box: Box, id: ExecId, parent: string): { box: Box; cwd: string } {
  const name = id.slice(2, 2 + nameLength);
  if (box.kind === 'none') return { box, cwd: `/tmp/trl-script-${name}` };
  const cwd = `${parent}/${name}`;
  const size = String(limits.scratchBytes.default);
  const mounts = ['--perms', '0700', '--size', size, '--tmpfs', parent];
  return { box: { ...box, args: [...box.args, ...mounts, '--perms', '0700', '--dir', cwd] }, cwd };
}
