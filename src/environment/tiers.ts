/**
 * The tiers of a command's environment. SAFE is always there (`base.ts`); TOOL-MANAGED is what a
 * registered tool declares, in that tool's process only; USER-REQUESTED is what a call or its
 * session named. `legacy` adds what is left of the runtime's own environment. Pure.
 */
import { isInjectionName, matchesNamePattern, variableNameForm } from '../variable-names.ts';
import { isWithheldVariable } from './base.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Variables that a shell sets for itself: a given value would be wrong. */
const shellsOwn: ReadonlySet<string> = new Set(['_', 'OLDPWD', 'PWD', 'SHLVL']);

/**
 * What a command inherits in `legacy` mode besides the safe variables: all that the runtime has,
 * less what is withheld, and less what makes programs run something else.
 */
export function inheritedVariables(
  env: Variables,
  withhold: readonly string[],
): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined || !isInherited(name, withhold) ? [] : [[name, value]],
  );
  return Object.fromEntries(kept);
}

const isInherited = (name: string, withhold: readonly string[]): boolean =>
  variableNameForm.test(name) &&
  !shellsOwn.has(name) &&
  !isInjectionName(name) &&
  !isWithheldVariable(name, withhold);

/**
 * The names that a registered tool gets in its own process, of those that are there: sorted, each
 * once. A pattern is a name or, ending in `*`, the start of one. What is withheld or makes programs
 * run something else is in no tool's tier, and a bare `*` matches nothing.
 */
export function toolManagedNames(
  patterns: readonly string[],
  available: Iterable<string>,
  withhold: readonly string[] = [],
): readonly string[] {
  const taken = patterns.filter((pattern) => variableNameForm.test(pattern.replace(/\*$/, '')));
  const found = [...available].filter(
    (name) =>
      isInherited(name, withhold) && taken.some((pattern) => matchesNamePattern(pattern, name)),
  );
  return [...new Set(found)].toSorted();
}

/** Names of the runtime's environment that no command gets: sorted. */
export function withheldNames(names: Iterable<string>, withhold: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => isWithheldVariable(name, withhold)).toSorted();
}

/** For each name that the command uses and has in `legacy` mode alone. Never a value. */
export function legacyWarning(name: string): string {
  return (
    `${name} is there because of env_mode legacy, and scoped would hide it: ` +
    `ask for it by env_keys (--env-key ${name})`
  );
}
