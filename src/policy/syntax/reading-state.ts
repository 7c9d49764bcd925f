/** What the reading of one script shares: its bounds, what was found, what variables may hold. */
import type { ParsedScript } from 'unbash';
import type { SourceSpan } from '../analysis.ts';
import { reachedBound } from './budget.ts';
import { escapeInvisible } from './characters.ts';
import type { VariableScope } from './scope.ts';
import type { AnalysisBudget, ShellCommand, StdinSource, SyntaxProblem } from './script.ts';

export interface ScriptReadingState {
  readonly text: string;
  readonly budget: AnalysisBudget;
  readonly commands: ShellCommand[];
  readonly problems: SyntaxProblem[];
  readonly defined: Set<string>;
  readonly scope: VariableScope;
  /** Parses a text that the shell would expand again; `null` where that fails. */
  readonly parse: (text: string) => ParsedScript | null;
  /** The commands of a script inside a word; read once and cached. */
  readonly nested: (
    script: ParsedScript,
    place: SyntaxPosition,
    span: SourceSpan,
  ) => readonly ShellCommand[];
  /** Runs a reading for which nothing counts as read before: a function's body at a call. */
  readonly afresh: (run: () => readonly ShellCommand[]) => readonly ShellCommand[];
}

/** Where in the tree the reading is. */
export interface SyntaxPosition {
  /** Levels of nesting above. */
  readonly depth: number;
  /** What a command here reads unless it says otherwise. */
  readonly stdin: StdinSource;
  /** Whether an assignment here surely happens, in order, and lasts. */
  readonly certain: boolean;
  /** The span used for all positions if the parser counts in a decoded text. */
  readonly within: SourceSpan | null;
}

const sameProblemMax = 4;

/** Records a problem; of each code the first four are kept. */
export function reportSyntaxProblem(
  reading: ScriptReadingState,
  code: string,
  span: SourceSpan,
): void {
  const same = reading.problems.filter((problem) => problem.code === code);
  if (same.length >= sameProblemMax || same.some((problem) => isEqual(problem.span, span))) return;
  const evidence = escapeInvisible(reading.text.slice(...span));
  reading.problems.push({ code, span, evidence });
}

/** The span of a node in the text that was given. */
export function nodeSpan(
  place: SyntaxPosition,
  node: { readonly pos: number; readonly end: number },
): SourceSpan {
  return place.within ?? [node.pos, node.end];
}

/** Counts one more word: whether the time is used up; then that is reported. */
export function isOutOfTime(reading: ScriptReadingState, span: SourceSpan): boolean {
  const { budget } = reading;
  budget.words += 1;
  if (reachedBound(budget) !== 'limit.time') return false;
  reportSyntaxProblem(reading, 'limit.time', span);
  return true;
}

/** One level further in, or `null` where a bound is reached; then the bound is reported. */
export function enterNesting(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  span: SourceSpan,
): SyntaxPosition | null {
  const { budget } = reading;
  const bound = place.depth >= budget.depthMax ? 'limit.nesting' : reachedBound(budget);
  if (bound === null) return { ...place, depth: place.depth + 1 };
  reportSyntaxProblem(reading, bound, span);
  return null;
}

function isEqual(left: SourceSpan, right: SourceSpan): boolean {
  return left[0] === right[0] && left[1] === right[1];
}
