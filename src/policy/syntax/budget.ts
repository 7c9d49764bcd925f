/** The limits of one analysis: a reached limit is reported, and earlier findings count. */
import { limits } from '../../limits.ts';
import type { AnalysisBudget } from './script.ts';

const unfinishedMs = 30;
/** What is read regardless of the time: every ordinary script, a few milliseconds of work. */
const few = { commands: 256, words: 4_096 };

/**
 * A budget for one decision, with the defaults of `limits.ts`: 65,536 bytes a script, 64 levels of
 * nesting, 2,000 commands, 50 ms. All scripts of a decision share it. The deadline is 20 ms from
 * now: what is under way when it passes (a parse, a long word) still ends within the 50 ms.
 */
export function createAnalysisBudget(): AnalysisBudget {
  return {
    bytesMax: limits.policyBytes.default,
    depthMax: limits.policyDepth.default,
    commandsMax: limits.policyCommands.default,
    deadline: performance.now() + limits.policyMs.default - unfinishedMs,
    commands: 0,
    words: 0,
  };
}

/** Which bound is reached, if any. */
export function exhaustedBound(budget: AnalysisBudget): 'limit.commands' | 'limit.time' | null {
  if (budget.commands >= budget.commandsMax) return 'limit.commands';
  return isPastDeadline(budget) ? 'limit.time' : null;
}

/**
 * As `exhausted`, but the clock is not read for the first 256 commands and 4,096 words: a busy
 * machine does not change what is decided on an ordinary text, and the start of a huge one is
 * still read.
 */
export function reachedBound(budget: AnalysisBudget): 'limit.commands' | 'limit.time' | null {
  const { commands, commandsMax, words } = budget;
  if (commands >= commandsMax) return 'limit.commands';
  if (commands <= few.commands && words <= few.words) return null;
  return isPastDeadline(budget) ? 'limit.time' : null;
}

/** Whether the deadline has passed. */
export function isPastDeadline(budget: AnalysisBudget): boolean {
  return performance.now() > budget.deadline;
}
