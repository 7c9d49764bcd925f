/**
 * What variables may hold, where the script itself determines it. Assignments that surely happen
 * replace; those inside conditions, loops, functions and subshells add a candidate. What is
 * resolved here is evidence that may raise a decision and never lowers one.
 */
export type VariableValue = readonly string[];

const candidatesMax = 16;
const itemsMax = 64;
const textMax = 4_096;
/** Characters of values that are put in, all in all: a text may name one 10,000 times. */
const givenMax = 262_144;
const shortMax = 16;

export interface VariableScope {
  readonly candidates: Map<string, readonly (VariableValue | null)[]>;
  /** Which candidate is looked at, counted from the last. */
  pick: number;
  /** The largest number of candidates that was met since it was last set to zero. */
  most: number;
  /** Characters of values that were put in so far; past the bound a value counts as unknown. */
  given: number;
}

/** A scope as `bash -c` starts: no positional parameters and the usual field separators. */
export function createVariableScope(): VariableScope {
  return { candidates: new Map([['IFS', [[' \t\n']]]]), pick: 0, most: 0, given: 0 };
}

/** Records an assignment. `value` is `null` where it is not static. */
export function assignVariable(
  scope: VariableScope,
  name: string,
  value: VariableValue | null,
  certain: boolean,
): void {
  const small = value !== null && isSmall(value) ? value : null;
  const before = certain ? [] : (scope.candidates.get(name) ?? []);
  scope.candidates.set(name, [...before, small].slice(-candidatesMax));
}

/** Every item of a variable, or `null` where nothing is known. */
export function lookUpVariable(scope: VariableScope, name: string): VariableValue | null {
  const known = scope.candidates.get(name)?.filter((value) => value !== null);
  if (known === undefined || known.length === 0) return null;
  scope.most = Math.max(scope.most, known.length);
  const value = known[Math.max(0, known.length - 1 - scope.pick)] ?? null;
  const length = value?.reduce((sum, item) => sum + item.length, 0) ?? 0;
  if (length > shortMax) scope.given += length;
  return scope.given > givenMax && length > shortMax ? null : value;
}

function isSmall(value: VariableValue): boolean {
  return value.length <= itemsMax && value.every((item) => item.length <= textMax);
}
