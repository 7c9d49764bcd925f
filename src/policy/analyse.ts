/** Static analysis of a shell script's text. Pure: reads no file. */
import type { Analysis, CommandFinding } from './analysis.ts';
import type { ShellDialect } from '../command.ts';
import { allowPlainCommand } from './shell/allow.ts';
import { classifyScript, createAnalysisState } from './shell/classify.ts';
import { isUnreadCode, unreadTextReason } from './shell/mentions.ts';
import { createAnalysisBudget } from './syntax/budget.ts';
import { readShellScript } from './syntax/read.ts';
import type { SyntaxProblem, ShellScript } from './syntax/script.ts';
import { analyseWindows, judgeWindowsShellStart } from './windows/analyse.ts';
import { downloadedScriptReason } from './shell/reasons.ts';

/**
 * Checks every command of `text`, a script of the dialect, at any depth against the knowledge base.
 * Never throws. Unparsed input is a finding of bound `ask`.
 */
export function analyseShell(text: string, dialect: ShellDialect): Analysis {
  const budget = createAnalysisBudget();
  const script = readShellScript(text, budget);
  const found = createAnalysisState(budget, judgeWindowsShellStart);
  classifyScript({ found, script, source: text, carrier: null, via: [] });
  found.findings.push(...script.problems.map((problem) => asFinding(problem)));
  if (runsForeign(text, script)) found.findings.push(foreignDownload(text));
  const { open } = found.mentions;
  if (found.findings.some(({ code }) => isUnreadCode(code))) open.add(unreadTextReason);
  const clear = found.findings.length === 0 && script.plain !== null;
  const argv = clear ? script.plain.words.map(({ value }) => value ?? '') : null;
  // zsh replaces a word `=name` by a path.
  const other = dialect === 'zsh' && argv?.some((word) => word.startsWith('=')) === true;
  const allowed = argv === null || other ? null : allowPlainCommand(argv);
  const analysis = {
    findings: found.findings,
    allowed,
    named: [...found.named.values()],
    mentions: found.mentions,
    commands: budget.commands,
  };
  scripts.set(analysis, script);
  return analysis;
}

/**
 * Whether a text that no Unix shell can parse is PowerShell that runs a download: `iex
 * (iwr https://…)`. It would fail, but its author meant to run it.
 */
function runsForeign(text: string, { problems }: ShellScript): boolean {
  if (!/\b(?:iex|invoke-expression)\b/i.test(text) || !downloads.test(text)) return false;
  if (!problems.some(({ code }) => code === 'unparseable')) return false;
  const { findings } = analyseWindows(text, 'powershell');
  return findings.some(({ code }) => code === 'shell.eval' || code === 'shell.download');
}

const downloads = /\b(?:iwr|irm|invoke-(?:webrequest|restmethod)|curl|wget|download\w+)\b|https?:/i;

function foreignDownload(text: string): CommandFinding {
  const span = [0, text.length] as const;
  return {
    ...downloadedScriptReason,
    span,
    via: ['powershell'],
    evidence: text.slice(0, evidenceMax),
  };
}

const evidenceMax = 200;

const scripts = new WeakMap<Analysis, ShellScript>();

/** The parsed script of an analysis, so that the same text is not parsed twice. */
export function scriptOf(analysis: Analysis): ShellScript | null {
  return scripts.get(analysis) ?? null;
}

/** Why a script is not a single plain command, for people. */
const problemTexts = new Map([
  ['unparseable', 'cannot be read as a script'],
  ['dynamic', 'depends on values that are known only while it runs'],
  ['several', 'has several statements'],
  ['redirect', 'reads or writes a file by a redirect'],
  ['assignment', 'sets a variable'],
  ['compound', 'is more than a simple command'],
  ['function', 'defines a function'],
  ['alias', 'defines an alias'],
  ['background', 'goes on in the background'],
  ['substitution', 'puts the output of a command into another'],
  ['negation', 'turns the exit code round'],
  ['time', 'measures time'],
  ['invisible', 'holds characters that cannot be seen'],
  ['confusable', 'holds letters that look like others'],
  ['empty', 'holds no command'],
  ['limit.bytes', 'is too long to be read whole'],
  ['limit.nesting', 'is nested too deeply to be read'],
  ['limit.commands', 'holds too many commands to be read'],
  ['limit.braces', 'expands to too many words to be read'],
  ['limit.time', 'took too long to be read'],
]);

function asFinding({ code, span, evidence }: SyntaxProblem): CommandFinding {
  const dotted = code.includes('.') ? code : `shell.${code}`;
  const why = problemTexts.get(code) ?? 'is not one plain command';
  return { code: dotted, bound: 'ask', span, via: [], evidence, why, instead: null };
}
