/** What a command of PowerShell or cmd would do, as far as its text tells. Pure. */
import { limits } from '../../limits.ts';
import type { Analysis } from '../analysis.ts';
import { createAnalysisState } from '../shell/classify.ts';
import { alwaysClassified } from '../shell/analysis-context.ts';
import type * as shellWalk from '../shell/analysis-context.ts';
import type * as shell from '../syntax/script.ts';
import { isPastDeadline, createAnalysisBudget } from '../syntax/budget.ts';
import { invisibleProblems } from '../syntax/characters.ts';
import { allowWindowsCommand } from './allow.ts';
import { judgeCmdCommand as judgeCmd } from './cmd/judge.ts';
import { readCmd } from './cmd/read.ts';
import { judgePowerShellCommand as judgePowerShell } from './powershell/judge.ts';
import { readPowerShell } from './powershell/read.ts';
import {
  dynamicScriptText,
  windowsProblemReason,
  windowsNestingLimit,
  windowsLengthLimit,
} from './reasons.ts';
import {
  reportWindowsFinding,
  type WindowsDialect,
  type NestedScriptPosition,
  type WindowsAnalysisContext,
} from './analysis-context.ts';
import type { WindowsCommand, WindowsScript } from './words.ts';

const depthMax = 8;

/**
 * Reads `text` as the shell would: every command at any depth, held against the refused classes.
 * Only a single plain command of the closed list is allowed. Never throws; over 64 KiB only the
 * first 64 KiB are read.
 */
export function analyseWindows(text: string, shell: WindowsDialect): Analysis {
  const budget = createAnalysisBudget();
  const found = createAnalysisState(budget, judgeWindowsShellStart);
  const part = within(text);
  const script = read(part, shell, budget.deadline);
  const walk = judged(script, shell, { found, carrier: null, via: [] });
  const whole = { ...blank, span: [0, text.length] as const };
  if (part.length < text.length) reportWindowsFinding(walk, windowsLengthLimit, whole, '');
  for (const { code, span } of [...script.problems, ...invisibleProblems(part)]) {
    reportWindowsFinding(walk, windowsProblemReason(code), { ...blank, span }, part.slice(...span));
  }
  const [only] = script.commands;
  const clear = found.findings.length === 0 && script.commands.length === 1;
  const accepted = clear && only !== undefined ? allowWindowsCommand(only, shell) : null;
  return {
    findings: found.findings,
    allowed: accepted,
    named: [...found.named.values()],
    commands: script.commands.length,
  };
}

const blank: WindowsCommand = {
  kind: 'command',
  span: [0, 0],
  words: [],
  input: [],
  shown: false,
  calls: [],
};

/** The part of the text that is read: no more than the bound, in UTF-8. */
function within(text: string): string {
  const bytesMax = limits.policyBytes.default;
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return Buffer.from(text)
    .subarray(0, bytesMax)
    .toString()
    .replace(/\uFFFD+$/, '');
}

const read = (text: string, dialect: WindowsDialect, deadline: number): WindowsScript =>
  dialect === 'powershell' ? readPowerShell(text, deadline) : readCmd(text, deadline);

/** Judges every command of a script; what is written in other commands comes with them. */
function judged(
  script: WindowsScript,
  dialect: WindowsDialect,
  place: Pick<WindowsAnalysisContext, 'found' | 'carrier' | 'via'>,
): WindowsAnalysisContext {
  const consumers = new Map<WindowsCommand, WindowsCommand>();
  for (const command of script.commands) {
    for (const from of command.input) consumers.set(from, command);
  }
  const walk: WindowsAnalysisContext = { ...place, dialect, aliases: new Map(), consumers, nested };
  const judge = dialect === 'powershell' ? judgePowerShell : judgeCmd;
  for (const command of script.commands) {
    place.found.classifiedCount += 1;
    const few = place.found.classifiedCount <= alwaysClassified.commands;
    if (!few && isPastDeadline(place.found.budget)) {
      reportWindowsFinding(walk, windowsProblemReason('limit.time'), command, '');
      break;
    }
    judge(walk, command);
  }
  return walk;
}

/** `powershell -c TEXT` and `cmd /c TEXT` that a shell of Unix starts. */
export function judgeWindowsShellStart(
  command: shell.ShellCommand,
  at: shellWalk.AnalysisContext,
): void {
  const { found, carrier, via } = at;
  const words = command.words.map(({ span, value, pieces, variables }) => {
    return { span, value, pieces, variables, quoted: false, raw: null, group: [] };
  });
  const consumers = new Map<WindowsCommand, WindowsCommand>();
  const place = { found, carrier, via, aliases: new Map<string, string>(), consumers };
  judgeCmd({ ...place, dialect: 'cmd', nested }, { ...blank, span: command.span, words });
}

/** A script inside a command: read once, however often it is reached. */
function nested(
  text: string,
  dialect: WindowsDialect,
  { walk, via, span }: NestedScriptPosition,
): void {
  const key = `${dialect}\0${text}`;
  const { found } = walk;
  const inside = { found, carrier: walk.carrier ?? span, via: [...walk.via, via] };
  const place = { ...blank, span };
  if (inside.via.length > depthMax) {
    reportWindowsFinding(walk, windowsNestingLimit, place, text);
    return;
  }
  if (found.read.has(key)) return;
  found.read.add(key);
  const script = read(text, dialect, found.budget.deadline);
  judged(script, dialect, inside);
  for (const { code } of script.problems) {
    // What was left unread in there may be anything.
    if (code.startsWith('limit.')) {
      reportWindowsFinding(walk, windowsProblemReason(code), place, text);
    } else if (code === 'unparseable') reportWindowsFinding(walk, dynamicScriptText, place, text);
  }
}
