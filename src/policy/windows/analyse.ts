/** Static analysis of the text of a command of PowerShell or cmd. Pure. */
import { limits } from '../../limits.ts';
import type { Analysis } from '../analysis.ts';
import { alwaysClassified, type AnalysisContext } from '../shell/analysis-context.ts';
import { createAnalysisState } from '../shell/classify.ts';
import { nestingLimitReason } from '../shell/reasons.ts';
import { createAnalysisBudget, isPastDeadline } from '../syntax/budget.ts';
import { invisibleProblems } from '../syntax/characters.ts';
import type { ShellCommand } from '../syntax/script.ts';
import { allowWindowsCommand } from './allow.ts';
import {
  reportWindowsFinding,
  type NestedScriptPosition,
  type WindowsAnalysisContext,
  type WindowsDialect,
} from './analysis-context.ts';
import { judgeCmdCommand } from './cmd/judge.ts';
import { readCmd } from './cmd/read.ts';
import { judgePowerShellCommand } from './powershell/judge.ts';
import { readPowerShell } from './powershell/read.ts';
import { dynamicScriptText, windowsLengthLimit, windowsProblemReason } from './reasons.ts';
import type { WindowsCommand, WindowsScript } from './words.ts';

const depthMax = 8;

/**
 * Checks every command of `text`, at any depth, against the blocked ones. Allows only a single
 * plain command of a fixed list; what is unknown needs approval. Never throws; reads only the
 * first 64 KiB.
 */
export function analyseWindows(text: string, shell: WindowsDialect): Analysis {
  const budget = createAnalysisBudget();
  const found = createAnalysisState(budget, judgeWindowsShellStart);
  const part = readablePart(text);
  const script = read(part, shell, budget.deadline);
  const walk = judge(script, shell, { found, carrier: null, via: [] });
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

/** The start of the text within the limit, in bytes of UTF-8. */
function readablePart(text: string): string {
  const bytesMax = limits.policyBytes.default;
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return Buffer.from(text)
    .subarray(0, bytesMax)
    .toString()
    .replace(/\uFFFD+$/, '');
}

const read = (text: string, dialect: WindowsDialect, deadline: number): WindowsScript =>
  dialect === 'powershell' ? readPowerShell(text, deadline) : readCmd(text, deadline);

/** Judges every command of a script, and the scripts inside them. */
function judge(
  script: WindowsScript,
  dialect: WindowsDialect,
  place: Pick<WindowsAnalysisContext, 'found' | 'carrier' | 'via'>,
): WindowsAnalysisContext {
  const consumers = new Map<WindowsCommand, WindowsCommand>();
  for (const command of script.commands) {
    for (const from of command.input) consumers.set(from, command);
  }
  const walk: WindowsAnalysisContext = { ...place, dialect, aliases: new Map(), consumers, nested };
  const judgeCommand = dialect === 'powershell' ? judgePowerShellCommand : judgeCmdCommand;
  for (const command of script.commands) {
    place.found.classifiedCount += 1;
    const few = place.found.classifiedCount <= alwaysClassified.commands;
    if (!few && isPastDeadline(place.found.budget)) {
      reportWindowsFinding(walk, windowsProblemReason('limit.time'), command, '');
      break;
    }
    judgeCommand(walk, command);
  }
  return walk;
}

/** `powershell -c TEXT` and `cmd /c TEXT` that a Unix shell starts. */
export function judgeWindowsShellStart(command: ShellCommand, at: AnalysisContext): void {
  const { found, carrier, via } = at;
  const unquoted = { quoted: false, isComputed: false, raw: null, group: [] };
  const words = command.words.map(({ span, value, pieces, variables }) => {
    return { span, value, pieces, variables, ...unquoted };
  });
  const place = { found, carrier, via, aliases: new Map<string, string>(), consumers: new Map() };
  judgeCmdCommand({ ...place, dialect: 'cmd', nested }, { ...blank, span: command.span, words });
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
    reportWindowsFinding(walk, nestingLimitReason, place, text);
    return;
  }
  if (found.read.has(key)) return;
  found.read.add(key);
  const script = read(text, dialect, found.budget.deadline);
  judge(script, dialect, inside);
  for (const { code } of script.problems) {
    // What was left unread in there may be anything.
    if (code.startsWith('limit.')) {
      reportWindowsFinding(walk, windowsProblemReason(code), place, text);
    } else if (code === 'unparseable') reportWindowsFinding(walk, dynamicScriptText, place, text);
  }
}
