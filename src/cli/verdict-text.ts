/** A verdict as people read it: the command with marks under what decided, then the rules. */
import type { DecidingRule, Verdict } from '../command.ts';
import { escapeHiddenText } from './escape-text.ts';

/** First and last of the ranges that a terminal shows two columns wide. */
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
];
const rulesShownMax = 50;

/** All of it, ending with a line end. The command is never cut. */
export function formatVerdict(command: string, verdict: Verdict): string {
  const { decision, rules, policy, runs, notes } = verdict;
  const shown = rules.slice(0, rulesShownMax);
  const more = rules.length - shown.length;
  const lines = [
    ...marked(command, shown),
    '',
    `${decision}, by the policy ${escapeHiddenText(policy.name)} ${policy.version.slice(0, 12)}`,
    ...shown.flatMap(showRule),
    ...(more > 0 ? [`  and ${more} more rules`] : []),
    ...(runs === null ? [] : [`  starts, without a shell: ${JSON.stringify(runs)}`]),
    ...notes.map((note) => `  note: ${note}`),
  ];
  return `${lines.map((line) => escapeHiddenText(line)).join('\n')}\n`;
}

function showRule({ id, decision, reason, via, evidence, instead }: DecidingRule): string[] {
  return [
    `  ${decision.padEnd(5)}  ${id}: ${reason}`,
    ...(evidence === null ? [] : [`           found: ${evidence}`]),
    ...(via.length === 0 ? [] : [`         through: ${via.join(' → ')}`]),
    ...(instead === null ? [] : [`         instead: ${instead}`]),
  ];
}

/** The lines of the command; under each, one line of marks for every rule that means a part. */
function marked(command: string, rules: readonly DecidingRule[]): string[] {
  let from = 0;
  return command.split('\n').flatMap((line) => {
    const start = from;
    from += line.length + 1;
    const marks = rules.flatMap(({ id, span }) => {
      if (span === null) return [];
      const [first, last] = [Math.max(span[0] - start, 0), Math.min(span[1] - start, line.length)];
      if (first >= last) return [];
      const indent = ' '.repeat(width(line.slice(0, first)));
      const begins = span[0] >= start;
      return [`  ${indent}${'^'.repeat(width(line.slice(first, last)))}${begins ? ` ${id}` : ''}`];
    });
    return [`  ${line}`, ...new Set(marks)];
  });
}

/** Columns that the text takes in a terminal once it is {@link escapeHiddenText}. */
function width(text: string): number {
  return Array.from(text).reduce((sum, character) => {
    const escaped = escapeHiddenText(character);
    if (escaped !== character) return sum + escaped.length;
    if (/[\p{Mn}\p{Me}]/u.test(character)) return sum;
    const code = character.codePointAt(0) ?? 0;
    return sum + (wideRanges.some(([first, last]) => code >= first && code <= last) ? 2 : 1);
  }, 0);
}
