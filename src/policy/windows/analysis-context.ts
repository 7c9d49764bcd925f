/** One analysis under way: where it stands, and the bridge to the rules of all shells. */
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

/** Adds a finding about `command`; the same code at the same place is told once. */
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

/** Holds a program that is no part of the shell against the knowledge base. */
export function judgeWindowsProgram(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  names: ProgramNameResolver,
): void {
  const { found, carrier, via } = walk;
  const script = { commands: [], plain: null, problems: [], defined: [] };
  classifyCommand(converted(command, names), { found, script, source: '', carrier, via });
  const called = command.words[0]?.value ?? null;
  if (called !== null) {
    noteContentReference({ found, script, source: '', carrier, via }, 'executable', called);
  }
}

/** What a command of the dialect is called among programs: `iwr` is `curl`. */
export type ProgramNameResolver = (called: string) => string;

function converted(
  command: WindowsCommand,
  names: ProgramNameResolver,
  depth = 0,
): shell.ShellCommand {
  const { span } = command;
  const words = command.words.map((word, at) => word1(word, at === 0 ? names : null));
  const shown = command.kind === 'value' ? [echo(span), ...words] : words;
  const inner = command.words.map(({ group }) =>
    depth > convertMax ? [] : group.map((one) => converted(one, names, depth + 1)),
  );
  return {
    span,
    words: shown,
    assignments: [],
    redirects: [],
    input: inputOf(command, names, depth),
    inner: command.kind === 'value' ? [[], ...inner] : inner,
  };
}

const echo = (span: SourceSpan): shell.ShellWord => {
  return { span, value: 'echo', pieces: ['echo'], glob: null, variables: [], derived: true };
};

function word1(word: WindowsWord, names: ProgramNameResolver | null): shell.ShellWord {
  const { span, pieces, variables } = word;
  const value = word.value !== null && names !== null ? names(word.value) : word.value;
  const parts = value === null ? pieces : [value];
  return { span, value, pieces: parts, glob: null, variables, derived: true };
}

function inputOf(
  command: WindowsCommand,
  names: ProgramNameResolver,
  depth: number,
): shell.StdinSource {
  if (command.input.length === 0 || depth > convertMax) return { kind: 'inherited' };
  return { kind: 'pipe', from: command.input.map((one) => converted(one, names, depth + 1)) };
}

/** Where the text on a command's input comes from, and the text itself when it is known. */
export function windowsInputText(
  command: WindowsCommand,
  names: ProgramNameResolver,
): { origin: TextOrigin; text: string | null } {
  const input = inputOf(command, names, 0);
  return { origin: inputOrigin(input, []), text: literalInput(input) };
}

/** Where the output of what runs inside a word comes from. */
export function windowsWordOrigin(word: WindowsWord, names: ProgramNameResolver): TextOrigin {
  return inputOrigin({ kind: 'pipe', from: word.group.map((one) => converted(one, names, 1)) }, []);
}

/** How secret the file is that a word names, also by a pattern. */
export function windowsWordSecrecy(word: WindowsWord): Secrecy {
  const text = word.pieces.map((piece) => piece ?? '\uFFFF').join('');
  const path = text
    .replaceAll('\\', '/')
    .replace(/^(?:microsoft\.powershell\.core\/)?filesystem::/i, '')
    .replace(/^[a-z]:(?=.)/i, '')
    .replace(/::?\$data$/i, '')
    .replace(/(?<=[^/.])[. ]+$/, '');
  const whole = fileSecrecy(path.replaceAll('\uFFFF', /\uFFFF\//.test(path) ? '\uFFFF' : 'x'));
  if (whole !== null || !/[*?[]/.test(path) || word.value === null) return whole;
  return wordSecrecy({
    span: word.span,
    value: null,
    pieces: [path],
    glob: path,
    variables: [],
    derived: true,
  });
}

/** Names of variables in a word that hold secrets. */
export const secretVariablesIn = (words: readonly WindowsWord[]): readonly string[] =>
  words
    .flatMap(({ variables }) => variables)
    .filter((variable) => isSecretVariableName(variable.toUpperCase()));
