/** The state of one analysis, and the bridge to the rules of all shells. */
import type { SourceSpan } from '../analysis.ts';
import { classifyCommand } from '../shell/classify.ts';
import { inputOrigin, type TextOrigin } from '../shell/text-origin.ts';
import { fileSecrecy, wordSecrecy, isSecretVariableName, type Secrecy } from '../shell/secret.ts';
import {
  noteContentReference,
  type AnalysisState,
  type FindingReason,
} from '../shell/analysis-context.ts';
import { literalInput } from '../shell/derived-words.ts';
import type * as shell from '../syntax/script.ts';
import {
  possibleSecretFileReason,
  secretFileReason,
  secretVariableReason,
} from '../shell/reasons.ts';
import { powerShellProgramName } from './powershell/cmdlets.ts';
import { legibleWindowsWord, type WindowsCommand, type WindowsWord } from './words.ts';

export type WindowsDialect = 'powershell' | 'cmd';

export interface WindowsAnalysisContext {
  readonly found: AnalysisState;
  readonly dialect: WindowsDialect;
  /** The word of the original text that carries this script; `null`: it is the original. */
  readonly carrier: SourceSpan | null;
  readonly via: readonly string[];
  /** Aliases that the script makes, in lower case. */
  readonly aliases: Map<string, string>;
  /** Which command takes the output of another one. */
  readonly consumers: ReadonlyMap<WindowsCommand, WindowsCommand>;
  /** Reads and judges text of a dialect inside `command`, one level deeper. */
  readonly nested: (text: string, dialect: WindowsDialect, inside: NestedScriptPosition) => void;
}

export interface NestedScriptPosition {
  readonly walk: WindowsAnalysisContext;
  readonly via: string;
  readonly span: SourceSpan;
}

const evidenceMax = 200;
const convertMax = 8;

/** Adds a finding about `command`; the same code at the same position is reported once. */
export function reportWindowsFinding(
  walk: WindowsAnalysisContext,
  reason: FindingReason,
  command: WindowsCommand,
  shown?: string,
): void {
  const span = walk.carrier ?? command.span;
  const key = `${reason.code} ${span[0]} ${span[1]} ${walk.via.join('>')}`;
  if (walk.found.reportedAt.has(key)) return;
  walk.found.reportedAt.set(key, walk.found.findings.length);
  const evidence = shown ?? command.words.map((word) => legibleWindowsWord(word)).join(' ');
  const { code, bound, why, instead } = reason;
  const short = evidence.length > evidenceMax ? `${evidence.slice(0, evidenceMax)}…` : evidence;
  walk.found.findings.push({ code, bound, span, via: walk.via, evidence: short, why, instead });
}

/** `C:\Windows\System32\Shutdown.EXE` → `shutdown`. */
export function windowsProgramName(value: string): string {
  const base = value.slice(Math.max(value.lastIndexOf('/'), value.lastIndexOf('\\')) + 1);
  return base.toLowerCase().replace(/\.(?:exe|com|cmd|bat)$/, '');
}

/** Checks a program that is no part of the shell against the knowledge base. */
export function judgeKnownProgram(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const { found, carrier, via } = walk;
  const script = { commands: [], plain: null, problems: [], defined: [] };
  const at = { found, script, source: '', carrier, via };
  classifyCommand(asShellCommand(command, walk.dialect), at);
  const called = command.words[0]?.value ?? null;
  if (called !== null) noteContentReference(at, 'executable', called);
}

/**
 * The command under the names that the knowledge base has for programs. A word's group also lists
 * what is nested in it: each command is converted once, or nested brackets would double the work.
 */
function asShellCommand(
  command: WindowsCommand,
  dialect: WindowsDialect,
  depth = 0,
  converted = new Set<WindowsCommand>(),
): shell.ShellCommand {
  converted.add(command);
  const { span } = command;
  const nameOf = dialect === 'powershell' ? powerShellProgramName : windowsProgramName;
  const words = command.words.map((word, at): shell.ShellWord => {
    const value = word.value !== null && at === 0 ? nameOf(word.value) : word.value;
    const pieces = value === null ? word.pieces : [value];
    return { span: word.span, value, pieces, glob: null, variables: word.variables, derived: true };
  });
  const inner = command.words.map(({ group }) =>
    convertAll(depth > convertMax ? [] : group, dialect, depth + 1, converted),
  );
  if (command.kind === 'value') {
    words.unshift(shellTextWord('echo', span));
    inner.unshift([]);
  }
  const input = inputOf(command, dialect, depth, converted);
  return { span, words, assignments: [], redirects: [], input, inner };
}

const shellTextWord = (value: string, span: SourceSpan): shell.ShellWord => {
  return { span, value, pieces: [value], glob: null, variables: [], derived: true };
};

function convertAll(
  commands: readonly WindowsCommand[],
  dialect: WindowsDialect,
  depth: number,
  converted: Set<WindowsCommand>,
): shell.ShellCommand[] {
  return commands.flatMap((one) =>
    converted.has(one) ? [] : [asShellCommand(one, dialect, depth, converted)],
  );
}

function inputOf(
  { input }: WindowsCommand,
  dialect: WindowsDialect,
  depth: number,
  converted = new Set<WindowsCommand>(),
): shell.StdinSource {
  if (input.length === 0 || depth > convertMax) return { kind: 'inherited' };
  // A pipe stays a pipe: what feeds it decides, also where it was converted before.
  return {
    kind: 'pipe',
    from: input.map((one) => asShellCommand(one, dialect, depth + 1, converted)),
  };
}

/** Where the text on a command's input comes from, and the text itself if it is known. */
export function windowsInputText(
  command: WindowsCommand,
  dialect: WindowsDialect,
): { origin: TextOrigin; text: string | null } {
  const input = inputOf(command, dialect, 0);
  return { origin: inputOrigin(input, []), text: literalInput(input) };
}

/** Where the output of what runs inside a word comes from. */
export function windowsWordOrigin({ group }: WindowsWord, dialect: WindowsDialect): TextOrigin {
  const from = convertAll(group, dialect, 1, new Set());
  return inputOrigin({ kind: 'pipe', from }, []);
}

/** How secret the file is that a word names, also by a pattern. */
function windowsWordSecrecy(word: WindowsWord): Secrecy {
  const text = word.pieces.map((piece) => piece ?? '\uFFFF').join('');
  const path = text
    .replaceAll('\\', '/')
    .replace(/^(?:microsoft\.powershell\.core\/)?filesystem::/i, '')
    .replace(/^[a-z]:(?=.)/i, '')
    .replace(/::?\$data$/i, '')
    .replace(/(?<=[^/.])[. ]+$/, '');
  const whole = fileSecrecy(path.replaceAll('\uFFFF', /\uFFFF\//.test(path) ? '\uFFFF' : 'x'));
  if (whole !== null || !/[*?[]/.test(path) || word.value === null) return whole;
  return wordSecrecy({ ...shellTextWord(path, word.span), value: null, glob: path });
}

/** Reports that the command reads the file that `word` names, if it holds secrets. */
export function reportSecretFile(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  word: WindowsWord,
): void {
  const secrecy = windowsWordSecrecy(word);
  if (secrecy === 'block') reportWindowsFinding(walk, secretFileReason, command);
  else if (secrecy === 'ask') reportWindowsFinding(walk, possibleSecretFileReason, command);
}

/** Reports that the words show a variable that holds a secret. */
export function reportSecretVariable(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const secret = command.words
    .flatMap(({ variables }) => variables)
    .find((variable) => isSecretVariableName(variable.toUpperCase()));
  if (secret === undefined) return;
  const shown = walk.dialect === 'cmd' ? `%${secret}%` : `$env:${secret}`;
  reportWindowsFinding(walk, secretVariableReason, command, shown);
}
