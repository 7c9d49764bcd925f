/** Whether a user-written rule matches an argument list. Pure, and linear in its length. */
import { policyDecisions } from './policy.ts';
import type { CommandRule, PolicyDecision, WordPattern } from './policy.ts';

/** Any number of arguments, also none. */
export const anyArgumentsPattern = '...';

/** Longer arguments fit no glob of an allow rule and every glob of another rule. */
const globbedLengthMax = 4_096;

/**
 * The strictest of the rules that fits, the first of equals; `null` when none does.
 *
 * @param argv decoded arguments; `null` for one that is not static: only `...` takes it
 */
export function strictestCommandRule(
  rules: readonly CommandRule[],
  argv: readonly (string | null)[],
): CommandRule | null {
  const fitting = rules.filter((rule) => ruleMatches(rule, argv));
  const byDecision = (decision: PolicyDecision) =>
    fitting.find((rule) => rule.decision === decision);
  return (
    policyDecisions
      .toReversed()
      .map(byDecision)
      .find((rule) => rule !== undefined) ?? null
  );
}

/**
 * Whether a rule fits. A rule that asks or blocks reads the program's name as the built-in classes
 * do: in any directory, in any case, with or without `.exe`. An allow rule takes it literally.
 */
export function ruleMatches(rule: CommandRule, argv: readonly (string | null)[]): boolean {
  const loose = rule.decision !== 'allow';
  const wordFits = (pattern: WordPattern, at: number): boolean => {
    const word = argv[at] ?? null;
    if (word === null) return false;
    if (oneFits(pattern, word, loose)) return true;
    return loose && at === 0 && oneFits(lowerCase(pattern), programName(word), loose);
  };
  return sequenceFits(rule.match, argv.length, wordFits);
}

/** Glob over words: after a mismatch only the last `...` need take one more. */
function sequenceFits(
  match: readonly WordPattern[],
  length: number,
  wordFits: (pattern: WordPattern, at: number) => boolean,
): boolean {
  let at = 0;
  let next = 0;
  let afterRest = -1;
  let taken = 0;
  while (at < length) {
    const pattern = match[next];
    if (pattern === anyArgumentsPattern) {
      next += 1;
      afterRest = next;
      taken = at;
    } else if (pattern !== undefined && wordFits(pattern, at)) {
      next += 1;
      at += 1;
    } else if (afterRest !== -1) {
      taken += 1;
      at = taken;
      next = afterRest;
    } else {
      return false;
    }
  }
  return match.slice(next).every((pattern) => pattern === anyArgumentsPattern);
}

function oneFits(pattern: WordPattern, word: string, loose: boolean): boolean {
  if (typeof pattern === 'string') return pattern === word;
  if ('any' in pattern) return pattern.any.includes(word);
  if (word.length > globbedLengthMax) return loose;
  return (loose || isHarmless(pattern.glob, word)) && globMatches(pattern.glob, word);
}

/** What a glob must not match: an option instead of an operand, and a path upwards. */
function isHarmless(glob: string, word: string): boolean {
  return (glob.startsWith('-') || !word.startsWith('-')) && !word.split('/').includes('..');
}

function lowerCase(pattern: WordPattern): WordPattern {
  if (typeof pattern === 'string') return pattern.toLowerCase();
  if ('any' in pattern) return { any: pattern.any.map((word) => word.toLowerCase()) };
  return { glob: pattern.glob.toLowerCase() };
}

function programName(word: string): string {
  const base = word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1);
  return base.toLowerCase().replace(/\.exe$/, '');
}

/**
 * Whether the whole word matches. All possible positions in the glob are followed in parallel, so
 * no input causes backtracking.
 */
export function globMatches(glob: string, word: string): boolean {
  const parts = glob.match(/\*\*|[^]/g) ?? [];
  const isStar = (at: number): boolean => parts[at] === '*' || parts[at] === '**';
  /** A star may also match nothing. */
  const reach = (places: Set<number>, from: number): void => {
    for (let at = from; !places.has(at); at += 1) {
      places.add(at);
      if (!isStar(at)) break;
    }
  };
  let places = new Set<number>();
  reach(places, 0);
  for (const character of word) {
    const next = new Set<number>();
    for (const at of places) {
      const part = parts[at];
      if (part === '**' || (part === '*' && character !== '/')) reach(next, at);
      else if (part === character || (part === '?' && character !== '/')) reach(next, at + 1);
    }
    if (next.size === 0) return false;
    places = next;
  }
  return places.has(parts.length);
}
