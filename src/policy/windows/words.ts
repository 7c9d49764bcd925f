/** Commands of PowerShell and cmd at any depth, their words decoded where they are static. */
import type { SourceSpan } from '../analysis.ts';

/** One word; `value` is `null` if a part of it is known only when it runs. */
export interface WindowsWord {
  readonly span: SourceSpan;
  readonly value: string | null;
  /** Static text and gaps (`null`) in order. */
  readonly pieces: readonly (string | null)[];
  /** Names of environment variables whose values are in it. */
  readonly variables: readonly string[];
  /** Whether its first character is in quotes: then `-x` is no parameter. */
  readonly quoted: boolean;
  /** Whether constants and operators hide its text: `'{1}{0}' -f 'ex','i'`. */
  readonly isComputed: boolean;
  /** How cmd passes it on: with its quotes; `null` where the shell removes them. */
  readonly raw: string | null;
  /** What runs inside it: `( … )`, `$( … )`. */
  readonly group: readonly WindowsCommand[];
}

export interface WindowsCommand {
  /** A `value` is an expression whose result is written out, such as `"text" | …`. */
  readonly kind: 'command' | 'value';
  readonly span: SourceSpan;
  readonly words: readonly WindowsWord[];
  /** What the pipe's left side runs. */
  readonly input: readonly WindowsCommand[];
  /** Whether its result goes to the output, not into a variable or a condition. */
  readonly shown: boolean;
  /** Calls of .NET in it: `[io.directory]::delete` in lower case, with its arguments. */
  readonly calls: readonly DotNetCall[];
}

export interface DotNetCall {
  readonly name: string;
  readonly args: readonly WindowsWord[];
}

export interface WindowsSyntaxProblem {
  readonly code: string;
  readonly span: SourceSpan;
}

export interface WindowsScript {
  readonly commands: readonly WindowsCommand[];
  readonly problems: readonly WindowsSyntaxProblem[];
}

/** How deep groups may be nested; deeper ones are read as if side by side. */
export const windowsGroupDepthMax = 64;
const commandsMax = 2_000;
/** Words of one command that are examined. */
export const windowsCommandWordsMax = 4_096;
const stepsBetweenClockReads = 64;

/** A position in a text, and the commands and problems found up to there. */
export abstract class WindowsLexer {
  readonly commands: WindowsCommand[] = [];
  readonly problems: WindowsSyntaxProblem[] = [];
  protected text: string;
  protected at = 0;
  /** How many brackets are open here. */
  protected depth = 0;
  protected readonly deadline: number;
  #steps = 0;

  /** `deadline` is the `performance.now()` after which the rest is left unread. */
  constructor(text: string, deadline: number) {
    this.text = text;
    this.deadline = deadline;
  }

  /** Whether the time limit is reached; then the rest of the text is skipped. */
  protected late(): boolean {
    this.#steps += 1;
    if (this.#steps % stepsBetweenClockReads !== 0 || performance.now() < this.deadline) {
      return false;
    }
    if (this.at < this.text.length) this.problem('limit.time', this.at);
    this.at = this.text.length;
    return true;
  }

  /** Each code is reported once: the first position is enough. */
  protected problem(code: string, from = this.at): void {
    if (this.problems.every((known) => known.code !== code)) {
      this.problems.push({ code, span: [from, Math.max(from, this.at)] });
    }
  }

  protected get here(): string {
    return this.text[this.at] ?? '';
  }

  protected next(): string {
    return this.text[this.at + 1] ?? '';
  }

  protected starts(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  /** What the pattern, which is sticky, matches at this position. */
  protected peek(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text);
  }

  /** As `peek`, and moves behind it. */
  protected take(pattern: RegExp): RegExpExecArray | null {
    const found = this.peek(pattern);
    this.at += found?.[0].length ?? 0;
    return found;
  }

  protected keep(command: WindowsCommand): readonly WindowsCommand[] {
    if (this.commands.length >= commandsMax) {
      this.problem('limit.commands');
      return [];
    }
    this.commands.push(command);
    return [command];
  }
}

/** A word under construction: text and gaps. */
export class WindowsWordBuilder {
  readonly variables: string[] = [];
  readonly group: WindowsCommand[] = [];
  quoted = false;
  isComputed = false;
  raw: string | null = null;
  readonly #pieces: (string | null)[] = [];
  #text: string[] = [];

  add(text: string): void {
    this.#text.push(text);
  }

  gap(): void {
    this.#flush();
    this.#pieces.push(null);
  }

  /** Appends the parts of another word. */
  join(word: WindowsWord): void {
    for (const piece of word.pieces) {
      if (piece === null) this.gap();
      else this.add(piece);
    }
    this.variables.push(...word.variables);
    this.group.push(...word.group);
    this.isComputed ||= word.isComputed;
  }

  word(span: SourceSpan): WindowsWord {
    this.#flush();
    const pieces = this.#pieces;
    const value = pieces.length === 0 ? '' : pieces.length === 1 ? (pieces[0] ?? null) : null;
    const { quoted, isComputed, raw, variables, group } = this;
    return { span, value, pieces, variables, quoted, isComputed, raw, group };
  }

  #flush(): void {
    if (this.#text.length > 0) {
      this.#pieces.push(this.#text.join(''));
      this.#text = [];
    }
  }
}

/** A word of known text at `span`. */
export function windowsTextWord(value: string, span: SourceSpan): WindowsWord {
  const known = { span, value, pieces: [value], variables: [] };
  return { ...known, quoted: true, isComputed: false, raw: null, group: [] };
}

/** A word as a person reads it: gaps as an ellipsis. */
export const legibleWindowsWord = (word: WindowsWord): string =>
  word.pieces.map((piece) => piece ?? '…').join('');
