/** Words that the policy makes itself: parts of other words, items of an input. */
import type { SourceSpan } from '../analysis.ts';
import { staticOutput } from '../syntax/static-output.ts';
import type { ShellCommand, StdinSource, ShellWord } from '../syntax/script.ts';

/** A static word at `span`. */
export function shellTextWord(value: string | null, span: SourceSpan): ShellWord {
  const pieces = [value];
  return { span, value, pieces, glob: null, variables: [], derived: true };
}

/** The known text of a word, with gaps as U+FFFF, which no path or name contains. */
export function gapMarkedText(word: ShellWord): string {
  return word.pieces.map((piece) => piece ?? '\uFFFF').join('');
}

/** A word as a person reads it: gaps as an ellipsis. */
export function legibleWord(word: ShellWord): string {
  return word.pieces.map((piece) => piece ?? '…').join('');
}

/** The same command from its word number `from` on. */
export function commandTail(command: ShellCommand, from: number): ShellCommand {
  return { ...command, words: command.words.slice(from), inner: command.inner.slice(from) };
}

/** The same command up to its word number `to`. */
export function commandHead(command: ShellCommand, to: number): ShellCommand {
  return { ...command, words: command.words.slice(0, to), inner: command.inner.slice(0, to) };
}

/** What runs inside its words, each once: all words that one of the source becomes share it. */
export function innerCommands({ inner }: ShellCommand): readonly ShellCommand[] {
  return [...new Set(inner)].flat();
}

/** The word of that number, and what runs inside it, at the end. */
export function appendWord(
  command: ShellCommand,
  word: ShellWord,
  from: readonly ShellCommand[],
): ShellCommand {
  return { ...command, words: [...command.words, word], inner: [...command.inner, from] };
}

/** A path without `//`, `/./` and `/x/..`. */
export function normalizeShellPath(path: string): string {
  if (!/\/\.{0,2}\//.test(path)) return path.replace(/^\.\//, '');
  const parts: string[] = [];
  for (const part of path.split('/').slice(path.startsWith('/') ? 1 : 0)) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else parts.push(part);
  }
  return (path.startsWith('/') ? '/' : '') + parts.join('/');
}

/** Whether a path is standard input under one of its names. */
export function isStandardInputPath(path: string): boolean {
  return /^(?:-|\/dev\/(?:stdin|fd\/0)|\/proc\/(?:self|thread-self)\/fd\/0)$/.test(
    normalizeShellPath(path),
  );
}

/** A gap becomes a variable, so that the text around it is still read as it is. */
export function gapsAsVariables(pieces: readonly (string | null)[]): string {
  return pieces.map((piece) => piece ?? '${_}').join('');
}

const gapsMax = { depth: 8, commands: 256, words: 4_096 };

/** What comes in on standard input with gaps as variables; `null`: not even that is known. */
export function inputWithGaps(input: StdinSource): string | null {
  if (input.kind === 'text') return gapsAsVariables(input.pieces);
  if (input.kind !== 'pipe' && input.kind !== 'substitution') return null;
  return outputWithGaps(input.from);
}

/** What the commands write, with gaps as variables. */
export function outputWithGaps(commands: readonly ShellCommand[]): string | null {
  const count = { commands: 0, words: 0 };
  const made = new Map<ShellCommand, ShellCommand>();
  const filled = (command: ShellCommand, depth: number): ShellCommand => {
    const before = made.get(command);
    count.commands += 1;
    count.words += command.words.length;
    if (before !== undefined) return before;
    const over = count.commands > gapsMax.commands || count.words > gapsMax.words;
    if (over || depth > gapsMax.depth) return command;
    const words = command.words.map((word) => {
      return word.value === null ? shellTextWord(gapsAsVariables(word.pieces), word.span) : word;
    });
    const { input } = command;
    const piped = input.kind === 'pipe' || input.kind === 'substitution';
    const whole: StdinSource = piped
      ? { ...input, from: input.from.map((one) => filled(one, depth + 1)) }
      : input.kind === 'text'
        ? { ...input, text: gapsAsVariables(input.pieces) }
        : input;
    const gapped = { ...command, words, input: whole };
    made.set(command, gapped);
    return gapped;
  };
  return staticOutput(commands.map((command) => filled(command, 0)));
}

/** The known text on standard input: a literal, or the output of commands such as `echo`. */
export function literalInput(input: StdinSource): string | null {
  switch (input.kind) {
    case 'text':
      return input.text;
    case 'pipe':
    case 'substitution':
      return output(input.from);
    case 'file':
    case 'inherited':
      return null;
  }
}

function output(commands: readonly ShellCommand[]): string | null {
  let whole = '';
  for (const command of commands) {
    const passes = command.words[0]?.value === 'cat' || command.words[0]?.value === 'tee';
    const bare = command.words.length === 1 || command.words[0]?.value === 'tee';
    const part = passes && bare ? literalInput(command.input) : staticOutput([command]);
    if (part === null) return null;
    whole += part;
  }
  return whole;
}
