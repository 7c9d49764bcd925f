/** Words that the policy makes itself: parts of other words, items of an input. */
import type { Span } from '../analysis.ts';
import { staticOutput } from '../syntax/output.ts';
import type { Command, Input, Word } from '../syntax/script.ts';

/** A static word that stands where `span` is. */
export function textWord(value: string | null, span: Span): Word {
  const pieces = [value];
  return { span, value, pieces, glob: null, variables: [], derived: true };
}

/** What a word is known to say, with gaps as U+FFFF, which no path or name contains. */
export function shown(word: Word): string {
  return word.pieces.map((piece) => piece ?? '\uFFFF').join('');
}

/** A word as a person reads it: gaps as an ellipsis. */
export function legible(word: Word): string {
  return word.pieces.map((piece) => piece ?? '…').join('');
}

/** The same command from its word number `from` on. */
export function tail(command: Command, from: number): Command {
  return { ...command, words: command.words.slice(from), inner: command.inner.slice(from) };
}

/** The same command up to its word number `to`. */
export function head(command: Command, to: number): Command {
  return { ...command, words: command.words.slice(0, to), inner: command.inner.slice(0, to) };
}

/** What runs inside its words, each once: all words that one of the source becomes share it. */
export function innerCommands({ inner }: Command): readonly Command[] {
  return [...new Set(inner)].flat();
}

/** Text that is known to come in on standard input: a literal, or what `echo` and kin write. */
export function literalInput(input: Input): string | null {
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

function output(commands: readonly Command[]): string | null {
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
