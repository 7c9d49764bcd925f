/** Recognises git directories and what belongs to them. Reads small files only; never runs git. */
import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { readSmallText } from './beneath.ts';
import { isBelow } from './inspect-path.ts';

/** A directory outside the workspace that a worktree inside it needs for `git commit`. */
export interface CommonDirectory {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
}

const smallFileBytes = 64 * 1024;

/** Whether `names` are what a git directory holds, bare or not. */
export function isGitDirectory(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && names.has('objects') && names.has('refs');
}

/** Whether `names` are what `.git/worktrees/NAME` holds. */
export function isWorktreeAdmin(names: ReadonlySet<string>): boolean {
  return names.has('HEAD') && names.has('commondir') && names.has('gitdir');
}

/**
 * The git directory that the file `<worktree>/.git` points at, when it lies outside `workspace`
 * and agrees: it must point back at this very worktree and belong to `uid`. Otherwise a file that
 * a command wrote could open any repository of the host.
 */
export function outsideCommonDirectory(
  worktree: string,
  workspace: string,
  uid: number,
): CommonDirectory | null {
  const git = pointer(path.join(worktree, '.git'), /^gitdir: (.+)$/m, worktree);
  if (git === null || isBelow(git, workspace)) return null;
  const common = pointer(path.join(git, 'commondir'), /^(.+)$/m, git);
  const named =
    common === null
      ? pointer(path.join(git, 'config'), /^\s*worktree\s*=\s*(.+)$/m, git)
      : pointer(path.join(git, 'gitdir'), /^(.+)$/m, git);
  const expected = common === null ? worktree : path.join(worktree, '.git');
  const directory = common ?? git;
  if (named !== expected || isBelow(workspace, directory)) return null;
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true || stat.uid !== uid) return null;
  return { path: directory, uid: stat.uid, gid: stat.gid };
}

/** The real path that a small text file names, or `null`. */
function pointer(file: string, pattern: RegExp, from: string): string | null {
  const value = pattern.exec(readSmallText(file, smallFileBytes) ?? '')?.[1]?.trim();
  if (value === undefined) return null;
  try {
    return realpathSync.native(path.resolve(from, value));
  } catch {
    return null;
  }
}
