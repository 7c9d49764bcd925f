/** What the reading of one script shares: its bounds, what was found, what variables may hold. */
import type { ParsedScript } from 'unbash';
import type { Span } from '../analysis.ts';
import { reached } from './budget.ts';
import { visible } from './characters.ts';
import type { Scope } from './scope.ts';
import type { Budget, Command, Input, Problem } from './script.ts';

export interface Reading {
  readonly text: string;
  readonly budget: Budget;
  readonly commands: Command[];
  readonly problems: Problem[];
  readonly defined: Set<string>;
  readonly scope: Scope;
  /** Parses a text that the shell would expand again; `null` where that fails. */
  readonly parse: (text: string) => ParsedScript | null;
  /** The commands of a script inside a word; read once, whoever asks again gets the same. */
  readonly nested: (script: ParsedScript, place: Place, span: Span) => readonly Command[];
  /** Runs a reading for which nothing counts as read before: a function's body at a call. */
  readonly afresh: (run: () => readonly Command[]) => readonly Command[];
}

/** Where in the tree the reading is. */
export interface Place {
  /** Levels of nesting above. */
  readonly depth: number;
  /** What a command here reads unless it says otherwise. */
  readonly stdin: Input;
  /** Whether an assignment here surely happens, in order, and lasts. */
  readonly certain: boolean;
  /** The span that stands for all positions, where the parser counts in a decoded text. */
  readonly within: Span | null;
}

const sameProblemMax = 4;

/** Records a problem; of each code the first four are kept. */
export function report(reading: Reading, code: string, span: Span): void {
  const same = reading.problems.filter((problem) => problem.code === code);
  if (same.length >= sameProblemMax || same.some((problem) => isEqual(problem.span, span))) return;
  const evidence = visible(reading.text.slice(...span));
  reading.problems.push({ code, span, evidence });
}

/** The span of a node in the text that was given. */
export function spanOf(place: Place, node: { readonly pos: number; readonly end: number }): Span {
  return place.within ?? [node.pos, node.end];
}

/** Counts one more word: whether the time is used up; then that is reported. */
export function isLate(reading: Reading, span: Span): boolean {
  const { budget } = reading;
  budget.words += 1;
  if (reached(budget) !== 'limit.time') return false;
  report(reading, 'limit.time', span);
  return true;
}

/** One level further in, or `null` where a bound is reached; then the bound is reported. */
export function deeper(reading: Reading, place: Place, span: Span): Place | null {
  const { budget } = reading;
  const bound = place.depth >= budget.depthMax ? 'limit.nesting' : reached(budget);
  if (bound === null) return { ...place, depth: place.depth + 1 };
  report(reading, bound, span);
  return null;
}

function isEqual(left: Span, right: Span): boolean {
  return left[0] === right[0] && left[1] === right[1];
}
