/** Finds the commands that a command starts from its own arguments. */
import type { SourceSpan } from '../analysis.ts';
import type { OptionValue, ParsedOptions } from '../commands/options.ts';
import type { CommandNode, WrapperSpec } from '../commands/schema.ts';
import type { ShellCommand, ShellWord } from '../syntax/script.ts';
import { appendWord, literalInput, commandTail, shellTextWord } from './derived-words.ts';

const itemsMax = 256;
/** Of a text that is divided into words, in UTF-16 units. */
const splitMax = 8_192;
/** Limit of patterns that `{}` may represent. */
const namesMax = 8;
/** Words of all commands that one command starts: past it only the first of each are taken. */
const copiedMax = 65_536;
const firstWords = 16;

/** A command whose own name is already cut off, with its options read. */
export interface ParsedInvocation {
  readonly node: CommandNode;
  /** Words are the arguments alone. */
  readonly command: ShellCommand;
  readonly parsed: ParsedOptions<ShellWord>;
}

/** Every command that it starts, its name as the first word. */
export function unwrapCommand(read: ParsedInvocation): readonly ShellCommand[] {
  const { wrapper } = read.node;
  if (wrapper === undefined) return [];
  if (wrapper.unless !== undefined && read.parsed.options.has(wrapper.unless)) return [];
  if (wrapper.at !== undefined) return inTheMiddle(read.command, wrapper);
  const own = wrapper.splitOnly === undefined ? [begin(read, wrapper)] : [];
  const found = own.map((inner) => ended(inner, wrapper));
  const split = wrapper.split === undefined ? [] : splits(read, wrapper.split);
  const isKnown = ({ words: [first] }: ShellCommand): boolean =>
    wrapper.splitOnly?.includes(first?.value ?? '') !== false;
  return [...found, ...split.filter(isKnown)]
    .map((inner) => (wrapper.packages === true ? unversioned(inner) : inner))
    .filter((inner) => wrapper.packages !== true || !isOwnScript(inner))
    .map((inner) => (wrapper.input === true ? withInput(read, inner) : inner))
    .filter(({ words }) => words.length > 0);
}

function begin({ command, parsed }: ParsedInvocation, wrapper: WrapperSpec): ShellCommand {
  if (wrapper.after !== undefined) {
    const at = command.words.findIndex(({ value }) => value === wrapper.after);
    if (at !== -1) return commandTail(command, at + 1);
    if (wrapper.skip === undefined) return commandTail(command, command.words.length);
  }
  let from = parsed.operands[wrapper.skip ?? 0] ?? command.words.length;
  // `env - A=1 ls`: the dash is an option.
  const isBefore = (word: ShellWord | undefined): boolean =>
    isAssignmentWord(word) || word?.value === '-';
  while (wrapper.assignments === true && isBefore(command.words[from])) from += 1;
  return commandTail(command, from);
}

/** Whether the word is `NAME=value`, also with a value that is not known. */
export function isAssignmentWord(word: ShellWord | undefined): boolean {
  return /^[A-Za-z_]\w*=/.test(word?.pieces[0] ?? '');
}

function ended(inner: ShellCommand, { until }: WrapperSpec): ShellCommand {
  const end = inner.words.findIndex(({ value }) => value !== null && until?.includes(value));
  return end === -1
    ? inner
    : { ...inner, words: inner.words.slice(0, end), inner: inner.inner.slice(0, end) };
}

/** The words from `from` up to the end of that command; the rest is not copied. */
function between(
  command: ShellCommand,
  from: number,
  max: number,
  { until }: WrapperSpec,
): ShellCommand {
  const end = Math.min(command.words.length, from + max);
  let to = from;
  for (; to < end; to += 1) {
    const value = command.words[to]?.value ?? null;
    if (value !== null && until?.includes(value)) break;
  }
  const words = command.words.slice(from, to);
  return { ...command, words, inner: command.inner.slice(from, to) };
}

/** `find … -exec COMMAND ; … -exec COMMAND {} +`. */
function inTheMiddle(command: ShellCommand, wrapper: WrapperSpec): readonly ShellCommand[] {
  const starts = command.words.flatMap(({ value }, at) =>
    value !== null && wrapper.at?.includes(value) ? [at + 1] : [],
  );
  const names = command.words.flatMap(({ value }, at) => {
    const name = /^-i?(?:name|path)$/.test(value ?? '') ? command.words[at + 1]?.value : null;
    return typeof name === 'string' ? [name] : [];
  });
  const few = names.slice(0, namesMax);
  let copied = 0;
  return starts
    .map((from) => {
      const inner = between(command, from, copied > copiedMax ? firstWords : Infinity, wrapper);
      copied += inner.words.length;
      return inner;
    })
    .filter(({ words }) => words.length > 0)
    .map((inner) => withFound(inner, few));
}

/** `{}` represents the files that `-name` finds. */
function withFound(inner: ShellCommand, names: readonly string[]): ShellCommand {
  if (names.length === 0) return inner;
  const words = inner.words.flatMap((word) =>
    word.value === '{}' && inner.words.length <= itemsMax
      ? names.map((name) => patternWord(name, word.span))
      : [word],
  );
  return { ...inner, words, inner: words.map((_, at) => inner.inner[at] ?? []) };
}

function patternWord(name: string, span: SourceSpan): ShellWord {
  const glob = /[*?[]/.test(name);
  return { ...shellTextWord(name, span), value: glob ? null : name, glob: glob ? name : null };
}

/** `env -S 'rm -rf' x`: the value's words come before the rest. */
function splits(read: ParsedInvocation, option: string): readonly ShellCommand[] {
  const { command, parsed } = read;
  const values = parsed.options.get(option) ?? [];
  return values.flatMap((given) => {
    if (given?.text == null) return [];
    const words = splitWords(given.text).map((text) => shellTextWord(text, given.word.span));
    const rest = commandTail(command, parsed.operands[0] ?? command.words.length);
    const start = words.findIndex((word) => !isAssignmentWord(word) && word.value !== '-');
    const all = [...words.slice(Math.max(start, 0)), ...rest.words];
    return [{ ...command, words: all, inner: all.map(() => []) }];
  });
}

/** Words as `env -S` and `xargs` divide them: blanks, quotes, backslashes. */
export function splitWords(text: string): readonly string[] {
  const found = text
    .slice(0, splitMax)
    .matchAll(/(?:\\[^]|"(?:\\[^]|[^"\\])*"|'[^']*'|[^\s"'\\]|["'\\])+/g);
  return [...found].slice(0, itemsMax).map(([word]) =>
    word.replaceAll(/\\([^])|"((?:\\[^]|[^"\\])*)"|'([^']*)'/g, (...parts: string[]) => {
      const [, escaped, double, single] = parts;
      return escaped ?? double?.replaceAll(/\\([^])/g, '$1') ?? single ?? '';
    }),
  );
}

/** `vercel@latest` → `vercel`, `@railway/cli` → `railway`. */
function unversioned(inner: ShellCommand): ShellCommand {
  const [first, ...rest] = inner.words;
  const value = first?.value ?? null;
  if (first === undefined || value === null) return inner;
  const name = value.replace(/(?<=[^/])@[^@/]*$/, '');
  const binary = /^@[^/]+\/cli$/.test(name) ? name.slice(1, -4) : name;
  return { ...inner, words: [shellTextWord(binary, first.span), ...rest] };
}

/** No project has a binary `sudo`, but many have one of these. */
const scripts = /^(?:format|eval|exec|halt|reboot|shutdown|poweroff)$/i;

/**
 * Whether a runner of packages would find this name among the project's own scripts: a program of
 * the system, or a builtin of the shell, is not meant by it.
 */
function isOwnScript({ words }: ShellCommand): boolean {
  return scripts.test(words[0]?.value ?? '');
}

/** Items of a known input: as the last arguments, or in the place of `{}`. */
function withInput(read: ParsedInvocation, inner: ShellCommand): ShellCommand {
  const text = literalInput(read.command.input);
  if (text === null || inner.words.length === 0) return inner;
  const items = splitWords(text);
  const replaced = replacement(read.parsed.options.get('replace'));
  const span = inner.words[0]?.span ?? inner.span;
  const words =
    replaced === null
      ? [...inner.words, ...items.map((item) => shellTextWord(item, span))]
      : inner.words.map((word) => filled(word, replaced, text.trim()));
  return { ...inner, words, inner: words.map((_, at) => inner.inner[at] ?? []) };
}

/** The same commands with what `from` writes as a last argument, or where `replace` says. */
export function unwrapWithUnknownArgument(
  read: ParsedInvocation,
  from: readonly ShellCommand[],
): readonly ShellCommand[] {
  if (read.node.wrapper?.input !== true) return [];
  const replaced = replacement(read.parsed.options.get('replace'));
  return unwrapCommand(read).map((inner) => {
    const span = inner.words[0]?.span ?? inner.span;
    if (replaced === null) return appendWord(inner, shellTextWord(null, span), from);
    // In the middle of a script it is mostly an argument.
    const isName = (word: ShellWord): boolean => {
      const before = word.value?.split(replaced, 1)[0] ?? null;
      return before !== null && before !== word.value && /(?:^|[;&|({`])\s*$/.test(before);
    };
    const commands = inner.words.map((word, at) => (isName(word) ? from : (inner.inner[at] ?? [])));
    return { ...inner, inner: commands };
  });
}

function replacement(given: readonly (OptionValue<ShellWord> | null)[] | undefined): string | null {
  if (given === undefined) return null;
  const text = given.at(-1)?.text;
  return text === undefined || text === null || text === '' ? '{}' : text;
}

function filled(word: ShellWord, mark: string, text: string): ShellWord {
  const { value } = word;
  if (value === null || !value.includes(mark)) return word;
  return shellTextWord(
    value.replaceAll(mark, () => text),
    word.span,
  );
}
