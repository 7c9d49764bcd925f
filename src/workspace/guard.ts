/**
 * Undoes, after each command, what could not be mounted over: a protected path that was absent and
 * now exists, a protected link that was changed, hooks of a repository that is new and its
 * configuration where that could run anything.
 *
 * Never follows a link that a command made: every step opens the next directory relative to the
 * last one (`/proc/self/fd/N/name`) and refuses links.
 *
 * Not undone: new repositories deeper than the first level of the workspace. The next session's
 * survey sees them.
 */
import { mkdtempSync, readlinkSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { DirectoryHandle } from './directory-handle.ts';
import { statOrUnreadable, lstatOrNull } from './inspect-path.ts';
import { findNewGitPrograms } from './new-repositories.ts';
import type { WorkspaceFacts } from './workspace-survey.ts';
import type { GuardedPath } from './protection.ts';
import { quarantineEntry } from './quarantine.ts';

const nameShown = 64;
const failedShown = 8;

export interface Guard {
  /**
   * Puts guarded paths back as they were. What is taken out is kept in the quarantine directory.
   * Resolves with the names that changed, relative to the workspace where they lie in it.
   *
   * @throws TrlError INTERNAL_ERROR, after everything was tried, with the names that could neither
   *   be moved nor renamed away: the workspace must not be called protected then.
   */
  revert(): Promise<string[]>;
}

/** @param quarantine an existing directory, private to the runtime, outside every workspace. */
export function openGuard(facts: WorkspaceFacts, quarantine: string): Promise<Guard> {
  const known = new Set([...facts.gitDirectories, ...facts.guarded.map((one) => one.path)]);
  const show = (name: string): string =>
    facts.root !== null && name.startsWith(`${facts.root}/`)
      ? path.relative(facts.root, name)
      : name;
  const isLayered = (tree: string): boolean => facts.layered === true && tree === facts.root;
  const writable = facts.granted.filter((tree) => tree.writable).map((tree) => tree.path);
  const trees = writable.filter((tree) => !isLayered(tree));
  const covers = facts.covers.filter((cover) => cover.as !== 'pin');
  const before = { trees, known, covered: covers.map((cover) => cover.path) };
  const revert = (): string[] => {
    const suspects = facts.guarded.filter(hasChanged);
    const planted = findNewGitPrograms(before);
    if (suspects.length === 0 && planted.length === 0) return [];
    const kept = mkdtempSync(path.join(quarantine, 'reverted-'));
    const failed: string[] = [];
    const changed = [...suspects, ...planted].filter((one, index) => {
      const name = path.basename(one.path).slice(0, nameShown);
      try {
        return putBack(one, path.join(kept, `${index}-${name}`));
      } catch {
        failed.push(show(one.path));
        return false;
      }
    });
    if (failed.length > 0) {
      const names = failed.slice(0, failedShown).join(', ');
      throw new TrlError('INTERNAL_ERROR', `Cannot put back what is protected: ${names}`);
    }
    return changed.map((one) => show(one.path));
  };
  return Promise.resolve({ revert: () => Promise.resolve().then(revert) });
}

/** One `lstat`, which may be fooled into suspecting too much, never too little. */
function hasChanged(guarded: GuardedPath): boolean {
  if (guarded.kind === 'absent') return statOrUnreadable(guarded.path) !== null;
  const stat = lstatOrNull(guarded.path);
  return !(stat?.isSymbolicLink() === true && linkTarget(guarded.path) === guarded.target);
}

function linkTarget(name: string): string | null {
  try {
    return readlinkSync(name);
  } catch {
    return null;
  }
}

/** Whether something had to be changed. */
function putBack(guarded: GuardedPath, kept: string): boolean {
  const parts = path.relative(guarded.tree, guarded.path).split('/');
  let directory = DirectoryHandle.open(guarded.tree);
  for (const [index, part] of parts.entries()) {
    if (directory === null) {
      if (hasChanged(guarded)) throw new Error('a directory on the way cannot be opened');
      return false;
    }
    using current = directory;
    const isLast = index === parts.length - 1;
    const stat = current.stat(part);
    if (isLast && guarded.kind === 'link') return restoreLink(current, guarded, kept);
    if (stat === null) return false;
    // A link on the way was not there before: it makes the guarded path appear.
    if (isLast || stat.isSymbolicLink()) {
      quarantineEntry(current, part, kept);
      return true;
    }
    directory = current.enter(part);
  }
  return false;
}

function restoreLink(
  directory: DirectoryHandle,
  { path: name, target }: Extract<GuardedPath, { kind: 'link' }>,
  kept: string,
): boolean {
  const base = path.basename(name);
  if (directory.stat(base) !== null) quarantineEntry(directory, base, kept);
  symlinkSync(target, directory.at(base));
  return true;
}
