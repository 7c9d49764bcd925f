/** An approval as lines for a person. Nothing is cut, and nothing of it can steer a terminal. */
import { networkText, normalNetworkAccess } from '../network-access.ts';
import type { ApprovalView } from '../client/index.ts';
import type { DecidingRule, Verdict } from '../command.ts';
import {
  approvalTextKind,
  bindingText,
  inputHeading,
  scopeMeanings,
} from '../client/approval-text.ts';
import { quoteArgv } from '../quote.ts';
import { escapeHiddenText, quoteLines } from './print.ts';
import { showDuration } from './units.ts';

/** The answer is to what was shown: another digest is refused by the runtime. */
export const approvalReference = ({ approval_id: id, digest }: ApprovalView) => ({
  approval_id: id,
  digest,
});

/** What a person must see before an answer: the whole command, why it is asked, what changed. */
export function approvalSummaryLines(view: ApprovalView, columns: number): string[] {
  const { asked, verdict } = view;
  const lines = [
    `Approval ${view.approval_id}  ${stateOf(view)}`,
    `  asked by ${escapeHiddenText(view.requester)} in session ${view.session_id}, digest ` +
      view.digest.slice(0, 16),
    '',
    ...placeOf(view, columns),
    ...quoteLines(asked.command, columns),
    ...inputOf(view, columns),
  ];
  if (asked.argv !== null) {
    const words = quoteArgv(asked.argv);
    lines.push('Started in place of the shell:', ...quoteLines(words, columns));
  }
  if (view.changes !== undefined) {
    lines.push('', 'Changed since the last yes:');
    lines.push(...view.changes.flatMap((each) => quoteLines(each, columns)));
  }
  lines.push('', `Why it is asked (policy ${escapeHiddenText(verdict.policy.name)}):`);
  for (const rule of verdict.rules) {
    const via = rule.via.length === 0 ? '' : `, through ${rule.via.join(' › ')}`;
    lines.push(...quoteLines(`${rule.id}: ${rule.reason}${via}`, columns));
    if (rule.evidence !== null) lines.push(...quoteLines(`    found: ${rule.evidence}`, columns));
    if (rule.instead !== null) lines.push(...quoteLines(`    instead: ${rule.instead}`, columns));
  }
  for (const note of verdict.notes) lines.push(...quoteLines(`note: ${note}`, columns));
  const loose = asked.contents.filter(({ sha256 }) => sha256 === null);
  if (loose.length > 0) lines.push('', 'What it runs and nobody can look into beforehand:');
  for (const { role, name } of loose) lines.push(...quoteLines(`${role} ${name}`, columns));
  const binding = bindingText(asked);
  if (binding !== null) lines.push('', ...quoteLines(binding, columns));
  return [...lines, '', ...reachOf(view, columns), ...scopesOf(view, columns)];
}

/** How long an approval may be valid, if it can be more than single-use. */
function scopesOf({ scopes = [], asked }: ApprovalView, columns: number): string[] {
  if (scopes.length < 2) return [];
  const rule = asked.rule === undefined ? [] : ['The rule:', ...quoteLines(asked.rule, columns)];
  const meanings = scopes.map((one) => `  ${one}: ${scopeMeanings[one]}`);
  return ['', 'An approval may be valid for:', ...meanings, ...rule];
}

function inputOf({ asked }: ApprovalView, columns: number): string[] {
  const heading = inputHeading(asked);
  if (heading === null) return [];
  return asked.input === undefined
    ? [`${heading}.`]
    : [`${heading}:`, ...quoteLines(asked.input.text, columns)];
}

/** A long name goes behind bars: what the terminal wraps could pass for a line of this program. */
function placeOf({ asked }: ApprovalView, columns: number): string[] {
  const kind = approvalTextKind(asked);
  const by = asked.language === 'python' ? 'python3 -I' : escapeHiddenText(asked.shell.path);
  const kindShown = `${kind.slice(0, 1).toUpperCase()}${escapeHiddenText(kind.slice(1))}`;
  const how = `${kindShown}, ${asked.mode}, ${by}`;
  const line = `${how}, in ${escapeHiddenText(asked.cwd)}:`;
  const fits = line.length < columns && /^[ -~]*$/.test(line) && !line.includes('  ');
  return fits ? [line] : ['In the directory:', ...quoteLines(asked.cwd, columns), `${how}, there:`];
}

/** The summary, and everything else that the answer binds. */
export function approvalDetailLines(view: ApprovalView, columns: number): string[] {
  const { asked } = view;
  const bar = (text: string): string[] => quoteLines(text, columns);
  const lines = [...approvalSummaryLines(view, columns), '', 'What the command names:'];
  if (asked.contents.length === 0) lines.push('  nothing whose content is bound');
  for (const { role, name, path, sha256 } of asked.contents) {
    lines.push(...bar(`${role} ${name}: ${path ?? 'not found'}`));
    if (sha256 !== null) lines.push(...bar(`    sha256 ${sha256}`));
  }
  const names = asked.variables.length === 0 ? 'none' : asked.variables.join(' ');
  lines.push('', 'Variables, values not shown:', ...bar(names));
  const timeout = asked.timeout_ms === null ? 'no time-out' : showDuration(asked.timeout_ms);
  lines.push(
    '',
    `Input ${asked.stdin}, terminal ${asked.pty ? 'yes' : 'no'}, ends after ${timeout}`,
    `Execution ${view.exec_id}`,
    `Digest ${view.digest}`,
  );
  return lines;
}

function reachOf({ asked }: ApprovalView, columns: number): string[] {
  const { kind, level } = asked.sandbox;
  const held = kind === 'none' ? 'NO SANDBOX' : `sandbox ${level}`;
  const without = kind === 'none' ? 'none, it runs in the host' : 'none, only a private /tmp';
  const lines = [
    'What it reaches:',
    `  ${held}, network ${networkText(normalNetworkAccess(asked.network), asked.hosts)}`,
    ...quoteLines(`workspace: ${asked.workspace ?? without}`, columns),
  ];
  const { read, write } = asked.files;
  const grants = [
    ['may also read', read.allow],
    ['may also write', write.allow],
    ['may not read', read.deny],
    ['may not write', write.deny],
  ] as const;
  for (const [what, paths] of grants) {
    if (paths.length > 0) lines.push(...quoteLines(`${what}: ${paths.join(', ')}`, columns));
  }
  return lines;
}

const scopeNames = {
  once: 'once',
  session: 'for the session',
  project: 'for the project',
} as const;

function stateOf(view: ApprovalView): string {
  const by = view.decided_by === undefined ? '' : ` by ${escapeHiddenText(view.decided_by)}`;
  const uid = view.same_uid === true ? ', proved by the uid only' : '';
  const words = view.words === undefined ? '' : `: ${escapeHiddenText(view.words)}`;
  switch (view.state) {
    case 'pending':
      return `pending until ${view.expires_at}`;
    case 'approved':
    case 'used':
      return `${view.state} ${scopeNames[view.scope ?? 'once']}${by}${uid}${words}`;
    case 'denied':
      return `denied${by}${uid}${words}`;
    case 'superseded':
      return `superseded by ${view.superseded_by ?? 'another'}`;
    case 'expired':
    case 'cancelled':
      return view.state;
  }
}

/** One line of a decision that was taken. */
export function approvalOutcomeLine(view: ApprovalView): string {
  return `${view.approval_id} ${stateOf(view)}`;
}

// A verdict as people read it: the command with marks under what decided, then the rules.

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
