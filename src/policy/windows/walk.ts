/** One analysis under way: where it stands, and the bridge to the rules of all shells. */
import type { Span } from '../analysis.ts';
import { classifyCommand } from '../shell/classify.ts';
import { originOf, type Origin } from '../shell/origin.ts';
import { fileSecrecy, wordSecrecy, isSecretName, type Secrecy } from '../shell/secret.ts';
import { name, type Found, type Reason } from '../shell/walk.ts';
import { literalInput } from '../shell/word.ts';
import type * as shell from '../syntax/script.ts';
import { legible, type Command, type Word } from './words.ts';

export type Dialect = 'powershell' | 'cmd';

export interface Walk {
  readonly found: Found;
  readonly dialect: Dialect;
  /** The word of the original text that carries this script; `null`: it is the original. */
  readonly carrier: Span | null;
  readonly via: readonly string[];
  /** Aliases that the script makes, in lower case. */
  readonly aliases: Map<string, string>;
  /** Which command takes the output of another one. */
  readonly consumers: ReadonlyMap<Command, Command>;
  /** Reads and judges text of a dialect inside `command`, one level deeper. */
  readonly nested: (text: string, dialect: Dialect, inside: Inside) => void;
}

export interface Inside {
  readonly walk: Walk;
  readonly via: string;
  readonly span: Span;
}

const evidenceMax = 200;
const convertMax = 8;

/** Adds a finding about `command`; the same code at the same place is told once. */
export function report(walk: Walk, reason: Reason, command: Command, shown?: string): void {
  const span = walk.carrier ?? command.span;
  const key = `${reason.code} ${span[0]} ${span[1]} ${walk.via.join('>')}`;
  if (walk.found.told.has(key)) return;
  walk.found.told.set(key, walk.found.findings.length);
  const evidence = shown ?? command.words.map((word) => legible(word)).join(' ');
  const { code, bound, why, instead } = reason;
  const short = evidence.length > evidenceMax ? `${evidence.slice(0, evidenceMax)}…` : evidence;
  walk.found.findings.push({ code, bound, span, via: walk.via, evidence: short, why, instead });
}

/** `C:\Windows\System32\Shutdown.EXE` → `shutdown`. */
export function programName(value: string): string {
  const base = value.slice(Math.max(value.lastIndexOf('/'), value.lastIndexOf('\\')) + 1);
  return base.toLowerCase().replace(/\.(?:exe|com|cmd|bat)$/, '');
}

/** Holds a program that is no part of the shell against the knowledge base. */
export function judgeProgram(walk: Walk, command: Command, names: Names): void {
  const { found, carrier, via } = walk;
  const script = { commands: [], plain: null, problems: [], defined: [] };
  classifyCommand(converted(command, names), { found, script, source: '', carrier, via });
  const called = command.words[0]?.value ?? null;
  if (called !== null) name({ found, script, source: '', carrier, via }, 'executable', called);
}

/** What a command of the dialect is called among programs: `iwr` is `curl`. */
export type Names = (called: string) => string;

function converted(command: Command, names: Names, depth = 0): shell.Command {
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

const echo = (span: Span): shell.Word => {
  return { span, value: 'echo', pieces: ['echo'], glob: null, variables: [], derived: true };
};

function word1(word: Word, names: Names | null): shell.Word {
  const { span, pieces, variables } = word;
  const value = word.value !== null && names !== null ? names(word.value) : word.value;
  const parts = value === null ? pieces : [value];
  return { span, value, pieces: parts, glob: null, variables, derived: true };
}

function inputOf(command: Command, names: Names, depth: number): shell.Input {
  if (command.input.length === 0 || depth > convertMax) return { kind: 'inherited' };
  return { kind: 'pipe', from: command.input.map((one) => converted(one, names, depth + 1)) };
}

/** Where the text on a command's input comes from, and the text itself when it is known. */
export function inputText(command: Command, names: Names): { origin: Origin; text: string | null } {
  const input = inputOf(command, names, 0);
  return { origin: originOf(input, []), text: literalInput(input) };
}

/** Where the output of what runs inside a word comes from. */
export function wordOrigin(word: Word, names: Names): Origin {
  return originOf({ kind: 'pipe', from: word.group.map((one) => converted(one, names, 1)) }, []);
}

/** How secret the file is that a word names, also by a pattern. */
export function secrecyOf(word: Word): Secrecy {
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
export const secretsIn = (words: readonly Word[]): readonly string[] =>
  words
    .flatMap(({ variables }) => variables)
    .filter((variable) => isSecretName(variable.toUpperCase()));
