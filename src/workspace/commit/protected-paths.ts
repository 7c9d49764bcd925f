/**
 * Which paths are protected by a name in them. At any depth, as each directory may be opened or
 * entered by itself.
 */
import { protectedNamesTable } from '../protected-names.ts';
import { protectedContents, protectedPatterns } from '../protected-patterns.ts';
import type { HeldReason } from './commit-filter.ts';
import { foldName } from './fold-name.ts';

/** Packages ship these for their own development; nobody opens or enters a package's directory. */
const harmlessInPackages: ReadonlySet<HeldReason> = new Set([
  'editor-tasks',
  'git-hooks',
  'agent-configuration',
]);
const packageDirectory = 'node_modules';

interface Name {
  readonly parts: readonly string[];
  readonly reason: HeldReason;
}

const names: ReadonlyMap<string, readonly Name[]> = tabulate();

function tabulate(): Map<string, Name[]> {
  const table = new Map<string, Name[]>();
  for (const { names: row, reason } of protectedNamesTable) {
    for (const name of row.split(' ')) {
      const parts = name.split('/').map(foldName);
      const first = parts[0] ?? '';
      table.set(first, [...(table.get(first) ?? []), { parts, reason }]);
    }
  }
  return table;
}

/**
 * Why a path is protected by a name in it, or `null`.
 *
 * @param parts folded
 * @param as a `link` (or a file) in the place of a directory that holds a protected name leads to
 *   another one, and is protected itself; `gone` is a file that is deleted
 */
export function nameProtectionOf(
  parts: readonly string[],
  as: 'directory' | 'link' | 'gone',
): HeldReason | null {
  let inPackage = false;
  for (const [at, part] of parts.entries()) {
    if (part === packageDirectory) inPackage = true;
    const candidates = names.get(part);
    const rest = candidates === undefined ? [] : parts.slice(at);
    for (const { parts: wanted, reason } of candidates ?? []) {
      const shared = as === 'link' ? Math.min(wanted.length, rest.length) : wanted.length;
      if (inPackage && (as === 'gone' || harmlessInPackages.has(reason))) continue;
      if (wanted.slice(0, shared).every((one, index) => rest[index] === one)) return reason;
    }
  }
  const last = parts.at(-1) ?? '';
  const found = protectedPatterns.find(({ pattern }) => pattern.test(last));
  if (found === undefined) return null;
  return inPackage && harmlessInPackages.has(found.reason) ? null : found.reason;
}

/** Why a file of this name is protected where its content says so; `null`: it never is. */
export function contentProtectionOf(
  name: string,
): { readonly content: RegExp; readonly reason: HeldReason } | null {
  return protectedContents.find((one) => one.name.test(foldName(name))) ?? null;
}

/** A protected name that a path stands for the start of, or the whole. */
export interface ProtectedPrefix {
  /** What comes after it; nothing: the path has the whole name. */
  readonly rest: readonly string[];
  readonly reason: HeldReason;
}

/** Which protected names begin with the end of a path: a link there leads to all of them. */
export function protectedPrefixesOf(path: string): ProtectedPrefix[] {
  const parts = path.split('/').map(foldName);
  return parts.flatMap((part, at) => {
    const end = parts.slice(at);
    return (names.get(part) ?? [])
      .filter(({ parts: wanted }) => end.every((one, index) => wanted[index] === one))
      .map(({ parts: wanted, reason }) => ({ rest: wanted.slice(end.length), reason }));
  });
}

/** First parts of protected names. */
export function isProtectedPrefix(name: string): boolean {
  return names.has(foldName(name));
}
