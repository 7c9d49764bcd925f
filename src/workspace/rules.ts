/** Path rules as an operator writes them: absolute, `~/…`, or relative to the workspace; globs. */
import path from 'node:path';
import picomatch from 'picomatch';

export interface Rules {
  /** Absolute, normalised paths without wildcards. `X/**` is `X`. */
  readonly paths: readonly string[];
  /** Whether an absolute path matches a rule with wildcards. */
  readonly matches: (name: string) => boolean;
  readonly hasGlobs: boolean;
}

export interface Base {
  readonly root: string | null;
  readonly home: string;
}

/**
 * Reads rules. A relative rule without a slash names files at any depth of the workspace, as in
 * `.gitignore`; with one, a path from its root. Without a workspace, relative rules mean nothing.
 */
export function readRules(entries: readonly string[], base: Base): Rules {
  const absolute = entries.flatMap((entry) => absoluteRule(entry, base));
  const paths = absolute.filter((entry) => !isGlob(entry)).map((entry) => path.normalize(entry));
  const globs = absolute.filter(isGlob);
  const matchers = globs.map((glob) => picomatch(glob, { dot: true, nonegate: true }));
  return {
    paths: [...new Set(paths.map((one) => (one === '/' ? one : one.replace(/\/+$/, ''))))],
    matches: (name) => matchers.some((match) => match(name)),
    hasGlobs: globs.length > 0,
  };
}

function absoluteRule(entry: string, { root, home }: Base): string[] {
  const folded = entry.replace(/\/+\*\*?$/, (tail) => (tail.endsWith('**') ? '' : tail));
  if (folded === '') return ['/'];
  if (folded === '~' || folded.startsWith('~/')) return [home + folded.slice(1)];
  if (path.isAbsolute(folded)) return [folded];
  if (root === null) return [];
  const literal = root.replaceAll(/[\\*?[\]{}()!+@|]/g, String.raw`\$&`);
  const depth = folded.includes('/') ? '' : '**/';
  return [isGlob(folded) || depth !== '' ? `${literal}/${depth}${folded}` : `${root}/${folded}`];
}

function isGlob(entry: string): boolean {
  return picomatch.scan(entry).isGlob;
}
