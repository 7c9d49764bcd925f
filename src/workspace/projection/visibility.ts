/** Which paths of a workspace policy shows: deny beats allow, an `allow` list hides all else. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import picomatch from 'picomatch';
import type { BytePath } from '../../change.ts';
import type { PathRules } from '../../command.ts';
import { bytePathOf, parentPathOf, pathText } from '../byte-path.ts';
import { realPathPrefix } from '../inspect-path.ts';
import { parsePathRules, type RuleBase, type PathRuleSet } from '../path-rules.ts';

export interface Visibility {
  /** Whether no rule hides anything. */
  readonly isEverything: boolean;
  /** Of the rules and what they are relative to. */
  readonly digest: string;
  /** Whether an `allow` list hides what it does not name. */
  readonly isAllowList: boolean;
  /** Directories that deny rules start from: where what they name may be, without wildcards. */
  readonly anchors: readonly BytePath[];
  /** Whether a deny rule names this very path, or all of the workspace for `''`. */
  denies(path: BytePath): boolean;
  /** Whether a deny rule names a path or what holds it. */
  deniesWithParents(path: BytePath): boolean;
  /**
   * Whether the `allow` list names this very path; always where there is none, and for `.git`: what
   * a repository shows is decided by what it holds.
   */
  allows(path: BytePath): boolean;
  /** Whether something below a directory may be on the `allow` list. */
  mayLeadToAllowed(path: BytePath): boolean;
  /** Whether the rules keep a path from the session, whether or not it is there. */
  hides(path: BytePath): boolean;
}

/**
 * Relative rules are as in `.gitignore` (see `readRules`), `~` is `base.home`. A rule that denies
 * a directory *above* the workspace says nothing of it: that it was opened says more.
 */
export function readVisibility(rules: PathRules, base: RuleBase & { root: string }): Visibility {
  const deny = sideOf(rules.deny, base);
  const allow = sideOf(rules.allow, base);
  const isAllowList = rules.allow.length > 0;
  const denies = (path: BytePath): boolean => deny.names(path);
  const allows = (path: BytePath): boolean => !isAllowList || isDotGit(path) || allow.names(path);
  const isAllAllowed = !isAllowList || allow.covers || allow.names('');
  return {
    isEverything: deny.isEmpty && isAllAllowed,
    digest: digestOf([rules.allow, rules.deny, base.root, base.home]),
    isAllowList: !isAllAllowed,
    anchors: anchorsOf(rules.deny, deny.parents, base.root),
    denies,
    deniesWithParents: (path) => withParents(path).some(denies),
    allows: (path) => isAllAllowed || allows(path),
    mayLeadToAllowed: (path) => allow.mayHold(path),
    hides: (path) => {
      const all = withParents(path);
      return all.some(denies) || !(isAllAllowed || all.some(allows));
    },
  };
}

interface Side {
  readonly isEmpty: boolean;
  /** Of paths without wildcards, all that hold them. */
  readonly parents: ReadonlySet<BytePath>;
  /** Whether a rule names a directory above the workspace. */
  readonly covers: boolean;
  names(path: BytePath): boolean;
  mayHold(path: BytePath): boolean;
}

function sideOf(entries: readonly string[], base: { root: string; home: string }): Side {
  const rules = parsePathRules(entries, base);
  const literal = literalsOf(rules, base.root);
  const { paths, parents } = literal;
  return {
    isEmpty: paths.size === 0 && !rules.hasGlobs,
    parents,
    covers: literal.isAbove,
    names: (path) =>
      paths.has(path) || (rules.hasGlobs && rules.matches(hostPath(base.root, path))),
    mayHold: (path) => rules.hasGlobs || parents.has(path),
  };
}

function anchorsOf(
  entries: readonly string[],
  parents: ReadonlySet<BytePath>,
  root: string,
): BytePath[] {
  const found = new Set(parents);
  for (const entry of entries) {
    const { base, isGlob } = picomatch.scan(entry);
    const start = path.resolve(root, base);
    if (!isGlob || !start.startsWith(`${root}/`)) continue;
    for (const one of withParents(bytePathOf(start.slice(root.length + 1)))) found.add(one);
  }
  return [...found];
}

/** Rules without wildcards as byte paths, with where links in them lead, and their parents. */
function literalsOf(rules: PathRuleSet, root: string) {
  const paths = new Set<BytePath>();
  const parents = new Set<BytePath>();
  let isAbove = false;
  for (const one of new Set(rules.paths.flatMap((name) => [name, realPathPrefix(name)]))) {
    if (one === root) paths.add('');
    else if (one.startsWith(`${root}/`)) paths.add(bytePathOf(one.slice(root.length + 1)));
    else if (one === '/' || root.startsWith(`${one}/`)) isAbove = true;
  }
  for (const path of paths) {
    for (const parent of withParents(parentPathOf(path))) parents.add(parent);
  }
  return { paths, parents, isAbove };
}

function isDotGit(path: BytePath): boolean {
  return path === '.git' || path.endsWith('/.git');
}

/** A path, what holds it, and so on up to `''`. */
function withParents(path: BytePath): BytePath[] {
  const all = [path];
  for (let at = path; at !== ''; all.push(at)) at = parentPathOf(at);
  return all;
}

/** As rules are matched: what is no UTF-8 in a name is U+FFFD, which a wildcard takes. */
function hostPath(root: string, path: BytePath): string {
  if (path === '') return root;
  // oxlint-disable-next-line no-control-regex -- bytes below 128 are text as they are
  const isAscii = /^[\0-\x7f]*$/.test(path);
  return `${root}/${isAscii ? path : pathText(path)}`;
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
