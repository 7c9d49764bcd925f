/** Inspects a path inside a tree, component by component; links are reported, not followed. */
import { lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';
import { errnoCodeOf } from './byte-path.ts';

type PathInspection =
  | { readonly kind: 'absent' | 'unreadable' }
  /** `at` is the first link on the way; `real` where the whole path leads, if anywhere. */
  | {
      readonly kind: 'link';
      readonly at: string;
      readonly target: string;
      readonly real: string | null;
    }
  | { readonly kind: 'directory' | 'file'; readonly stat: Stats };

/** Inspects `name`, which is `tree` or below it. */
export function inspectPath(tree: string, name: string): PathInspection {
  const parts = path.relative(tree, name).split('/').filter(Boolean);
  let at = tree;
  let stat = statOrUnreadable(at);
  for (const part of parts) {
    if (stat === 'unreadable') return { kind: 'unreadable' };
    if (stat?.isDirectory() !== true) return { kind: 'absent' };
    at = path.join(at, part);
    stat = statOrUnreadable(at);
    if (stat !== null && stat !== 'unreadable' && stat.isSymbolicLink()) {
      return { kind: 'link', at, target: readlinkSync(at), real: realPathOrNull(name) };
    }
  }
  if (stat === null) return { kind: 'absent' };
  if (stat === 'unreadable') return { kind: 'unreadable' };
  return { kind: stat.isDirectory() ? 'directory' : 'file', stat };
}

/** What is there; nothing; or a directory on the way that keeps this process out. */
export function statOrUnreadable(name: string): Stats | 'unreadable' | null {
  try {
    return lstatSync(name, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    return errnoCodeOf(error) === 'ENOTDIR' ? null : 'unreadable';
  }
}

export function lstatOrNull(name: string): Stats | null {
  const found = statOrUnreadable(name);
  return found === 'unreadable' ? null : found;
}

export function realPathOrNull(name: string): string | null {
  try {
    return realpathSync.native(name);
  } catch {
    return null;
  }
}

/** The real path of the part of `name` that exists, with the rest as written. */
export function realPathPrefix(name: string): string {
  const real = realPathOrNull(name);
  if (real !== null || name === '/') return real ?? name;
  return path.join(realPathPrefix(path.dirname(name)), path.basename(name));
}

/** Whether `inner` is `outer` or below it. Both are absolute and normalised. */
export function isBelow(inner: string, outer: string): boolean {
  return inner === outer || outer === '/' || inner.startsWith(`${outer}/`);
}
