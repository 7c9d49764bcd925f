/** Text among the arguments, or on the input, of a command that it runs as a program. */
import { parseCommandOptions, type OptionValue } from '../commands/options.ts';
import type { PayloadSpec } from '../commands/schema.ts';
import type { SourceSpan } from '../analysis.ts';
import type { ShellWord } from '../syntax/script.ts';
import type { ParsedInvocation } from './unwrap.ts';
import {
  inputWithGaps,
  outputWithGaps,
  gapsAsVariables,
  isStandardInputPath,
  legibleWord,
  literalInput,
} from './derived-words.ts';

/** A program inside a command. */
export interface EmbeddedProgram {
  readonly language: 'shell' | 'expansion' | 'code';
  readonly text: string;
  /** The word that carries it. */
  readonly span: SourceSpan;
  /** Arguments that it is started with, as `$1 $2 …`. */
  readonly positional: readonly string[];
  /** How it was reached, after the command's name: `-c`. */
  readonly how: string;
}

/** Every program that is static, or static enough to be read. */
export function findEmbeddedPrograms(read: ParsedInvocation): readonly EmbeddedProgram[] {
  const found = (read.node.payloads ?? []).flatMap((payload) => fromArguments(read, payload));
  return [...found, ...inItsPlace(read), ...fromOutput(read), ...fromInput(read)];
}

/** `flock FILE -c 'TEXT'`. */
function inItsPlace({ node, parsed, command }: ParsedInvocation): readonly EmbeddedProgram[] {
  if (node.wrapper?.shell !== true) return [];
  const at = parsed.operands[node.wrapper.skip ?? 0] ?? command.words.length;
  const text = command.words[at + 1];
  if (command.words[at]?.value !== '-c' || text === undefined) return [];
  return fromWords({ language: 'shell', when: 'command' }, [text]);
}

/** `bash <(echo ls)`: the script is what the substitution writes. */
function fromOutput({ node, parsed, command }: ParsedInvocation): readonly EmbeddedProgram[] {
  const at = parsed.operands[0];
  const inner = at === undefined ? undefined : command.inner[at];
  const word = at === undefined ? undefined : command.words[at];
  if (node.script !== true || inner === undefined || inner.length === 0) return [];
  const text = word === undefined ? null : outputWithGaps(inner);
  if (word === undefined || text === null) return [];
  const language = node.sink === 'code' ? 'code' : 'shell';
  return [{ language, text, span: word.span, positional: [], how: '' }];
}

function fromArguments(read: ParsedInvocation, payload: PayloadSpec): readonly EmbeddedProgram[] {
  const { parsed } = read;
  if (payload.when !== undefined && !parsed.options.has(payload.when)) return [];
  if (payload.option !== undefined) {
    const given = parsed.options.get(payload.option) ?? [];
    const values = given.filter((value) => value !== null);
    return values.flatMap((value) => fromOption(payload, value));
  }
  const operands = parsed.operands.flatMap((at) => read.command.words[at] ?? []);
  const [first] = operands;
  if (first === undefined || replacedByOption(read, payload)) return [];
  if (payload.operand === 'each') return operands.flatMap((word) => fromWords(payload, [word]));
  if (payload.operand === 'all') return fromWords(payload, operands);
  if (payload.operand === 'rest') return fromWords(payload, behind(operands.slice(1), read));
  const at = payload.operand ?? 0;
  const [zeroth, ...rest] = operands.slice(at + 1).map(({ value }) => value);
  const known = rest.filter((value) => value !== null);
  const positional = known.length === rest.length ? known : [];
  const found = fromWords(payload, operands.slice(at, at + 1), positional);
  return typeof zeroth === 'string' && payload.language === 'shell'
    ? found.map((program) => ({ ...program, text: named(program.text, zeroth) }))
    : found;
}

/** `ssh HOST -t COMMAND`: options may also stand behind the first operand. */
function behind(words: readonly ShellWord[], { node }: ParsedInvocation): readonly ShellWord[] {
  const from = parseCommandOptions(words, node).operands[0] ?? words.length;
  return words.slice(from);
}

/** `sh -c '$0 -rf x' rm`: the first argument is the script's name. */
function named(text: string, name: string): string {
  return text.replaceAll(/\$(?:0|\{0\})/g, () => name);
}

/** `awk -f FILE DATA`: the first operand is no program then. */
function replacedByOption({ node, parsed }: ParsedInvocation, payload: PayloadSpec): boolean {
  return payload.operand === 0 && node.pattern !== undefined && parsed.options.has(node.pattern);
}

function fromOption(
  payload: PayloadSpec,
  given: OptionValue<ShellWord>,
): readonly EmbeddedProgram[] {
  const text = given.text ?? legibleWord(given.word);
  const { span } = given.word;
  if (payload.language !== 'config') {
    return [{ language: payload.language, text, span, positional: [], how: payload.option ?? '' }];
  }
  const shell = configured(text);
  return shell === null
    ? []
    : [{ language: 'shell', text: shell, span, positional: [], how: '-c' }];
}

const runs = new RegExp(
  `^(?:${[
    String.raw`core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)`,
    String.raw`pager\..*|sequence\.editor|diff\.external|diff\..*\.(?:textconv|command)`,
    String.raw`filter\..*\.(?:clean|smudge|process)|merge\..*\.driver`,
    String.raw`(?:difftool|mergetool|browser|man)\..*\.(?:cmd|path)`,
    String.raw`credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?program|interactive\.difffilter`,
    String.raw`remote\..*\.(?:uploadpack|receivepack)|trailer\..*\.(?:cmd|command)`,
    String.raw`uploadpack\.packobjectshook`,
  ].join('|')})$`,
  'i',
);

/** The shell command that a setting of git (`alias.x=!id`) or of ssh makes it run. */
function configured(setting: string): string | null {
  const [, local] = /^(?:proxy|local|knownhosts)command[\s=]+(.*)$/is.exec(setting.trim()) ?? [];
  if (local !== undefined) return local;
  const equals = setting.indexOf('=');
  if (equals === -1) return null;
  const [key, value] = [setting.slice(0, equals), setting.slice(equals + 1)];
  if (/^alias\./i.test(key)) return value.startsWith('!') ? value.slice(1) : `git ${value}`;
  return runs.test(key) ? value.replace(/^!/, '') : null;
}

function fromWords(
  payload: PayloadSpec,
  words: readonly ShellWord[],
  positional: readonly string[] = [],
): readonly EmbeddedProgram[] {
  const [first] = words;
  const last = words.at(-1);
  if (first === undefined || last === undefined) return [];
  const language = payload.language === 'config' ? 'shell' : payload.language;
  const text = words.map(({ pieces }) => gapsAsVariables(pieces)).join(' ');
  const span = [first.span[0], last.span[1]] as const;
  return [{ language, text, span, positional, how: payload.when === 'command' ? '-c' : '' }];
}

/** Whether an interpreter takes its program from standard input. */
export function readsProgramFromInput({ node, parsed, command }: ParsedInvocation): boolean {
  if (node.sink === undefined || parsed.options.has('help')) return false;
  if (parsed.options.has('command') || parsed.options.has('code')) return false;
  if (parsed.options.has('module')) return false;
  // What is given to a command on another machine is no script.
  const isThere = node.payloads?.some(({ operand }) => operand === 'rest') === true;
  if (isThere && parsed.operands.length > 1) return false;
  const first = command.words[parsed.operands[0] ?? command.words.length]?.value;
  const named = parsed.operands.length > 0 && !isStandardInputPath(first ?? '');
  return !named || parsed.options.has('stdin') || node.script !== true;
}

function fromInput(read: ParsedInvocation): readonly EmbeddedProgram[] {
  if (!readsProgramFromInput(read)) return [];
  const { input } = read.command;
  const text = literalInput(input) ?? inputWithGaps(input);
  if (text === null) return [];
  const span = input.kind === 'text' ? input.span : read.command.span;
  const language = read.node.sink === 'code' ? 'code' : 'shell';
  return [{ language, text, span, positional: [], how: '' }];
}
