/** Path rules as an operator writes them: absolute, `~/…`, or relative to the workspace; globs. */
import path from 'node:path';
import picomatch from 'picomatch';
import { isBelow, realPathPrefix } from './inspect-path.ts';

export interface PathRuleSet {
  /** Absolute, normalised paths without wildcards. `X/**` is `X`. */
  readonly paths: readonly string[];
  /** Whether an absolute path matches a rule with wildcards. */
  readonly matches: (name: string) => boolean;
  readonly hasGlobs: boolean;
}

export interface RuleBase {
  readonly root: string | null;
  readonly home: string;
}

/**
 * Reads rules. A relative rule without a slash names files at any depth of the workspace, as in
 * `.gitignore`; with one, a path from its root. Without a workspace, relative rules mean nothing.
 */
export function parsePathRules(entries: readonly string[], base: RuleBase): PathRuleSet {
  const absolute = entries.flatMap((entry) => absoluteRule(entry, base));
  // `[id]` is a wildcard and a name that people give to files.
  const isName = (entry: string): boolean => !isGlob(entry) || !/[*?]/.test(entry);
  const paths = absolute.filter(isName).map((entry) => path.normalize(entry));
  const globs = absolute.filter(isGlob).map(byRealBase);
  // `s`: a name may hold a newline, which `**` must pass as anything else.
  const options = { dot: true, nonegate: true, flags: 's' };
  const matchers = globs.map((glob) => picomatch(glob, options));
  return {
    paths: [...new Set(paths.map((one) => (one === '/' ? one : one.replace(/\/+$/, ''))))],
    matches: (name) => matchers.some((match) => match(name)),
    hasGlobs: globs.length > 0,
  };
}

/** Whether a rule may name something below the workspace; one that names what holds it does not. */
export function mayNameInside(
  entries: readonly string[],
  { root, home }: { readonly root: string; readonly home: string },
): boolean {
  return entries.some((entry) => {
    if (!path.isAbsolute(entry) && !entry.startsWith('~')) return true;
    const full = entry.startsWith('~') ? home + entry.slice(1) : entry;
    const { base } = picomatch.scan(full);
    const isInside = (one: string): boolean => one !== root && isBelow(one, root);
    const above = isGlob(full) && isBelow(root, path.normalize(base));
    return above || [full, realPathPrefix(path.normalize(full))].some(isInside);
  });
}

function absoluteRule(entry: string, { root, home }: RuleBase): string[] {
  const folded = entry.replace(/\/+\*\*?$/, (tail) => (tail.endsWith('**') ? '' : tail));
  if (folded === '') return ['/'];
  if (folded === '~' || folded.startsWith('~/')) return [home + folded.slice(1)];
  if (path.isAbsolute(folded)) return [folded];
  if (root === null) return [];
  const literal = escaped(root);
  // A name at the root is a path too: as such it is guarded where it does not exist yet.
  const [atRoot, below] = isGlob(folded)
    ? [`${literal}/${folded}`, `${literal}/**/${folded}`]
    : [`${root}/${folded}`, `${literal}/*/**/${folded}`];
  return folded.includes('/') ? [atRoot] : [atRoot, below];
}

/** Walks see real paths, so the part before the first wildcard is made one. */
function byRealBase(entry: string): string {
  const { base, glob } = picomatch.scan(entry);
  return base === '' || !path.isAbsolute(base) ? entry : `${escaped(realPathPrefix(base))}/${glob}`;
}

function escaped(literal: string): string {
  return literal.replaceAll(/[\\*?[\]{}()!+@|]/g, String.raw`\$&`);
}

function isGlob(entry: string): boolean {
  return picomatch.scan(entry).isGlob;
}
