/**
 * Commands of PowerShell and cmd as the rules see them: every command at any depth, its words
 * decoded as far as they are static.
 */
import type { SourceSpan } from '../analysis.ts';

/** One word; `value` is `null` where a part of it is known only when it runs. */
export interface WindowsWord {
  readonly span: SourceSpan;
  readonly value: string | null;
  /** Static text and gaps (`null`) in order. */
  readonly pieces: readonly (string | null)[];
  /** Names of environment variables whose values are in it. */
  readonly variables: readonly string[];
  /** Whether its first character stands in quotes: then `-x` is no parameter. */
  readonly quoted: boolean;
  /** How cmd hands it on: with its quotes; `null` where the shell keeps none. */
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
  /** Calls of .NET in it: `[io.directory]::delete` in lower case, with the words given. */
  readonly calls: readonly DotNetCall[];
}

export interface DotNetCall {
  readonly name: string;
  readonly args: readonly WindowsWord[];
  readonly span: SourceSpan;
}

export interface WindowsSyntaxProblem {
  readonly code: string;
  readonly span: SourceSpan;
}

export interface WindowsScript {
  readonly commands: readonly WindowsCommand[];
  readonly problems: readonly WindowsSyntaxProblem[];
}

/** How deep groups may lie in each other before they are read as if side by side. */
export const windowsGroupDepthMax = 64;
export const windowsCommandsMax = 2_000;
/** Words of one command that are looked at. */
export const windowsCommandWordsMax = 4_096;

/** A word under construction: text and gaps. */
export class WindowsWordBuilder {
  readonly variables: string[] = [];
  readonly group: WindowsCommand[] = [];
  quoted = false;
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

  /** Takes over the pieces of another word. */
  join(word: WindowsWord): void {
    for (const piece of word.pieces) {
      if (piece === null) {
        this.gap();
      } else {
        this.add(piece);
      }
    }
    this.variables.push(...word.variables);
    this.group.push(...word.group);
  }

  word(span: SourceSpan): WindowsWord {
    this.#flush();
    const pieces = this.#pieces;
    const value = pieces.length === 0 ? '' : pieces.length === 1 ? (pieces[0] ?? null) : null;
    const { quoted, raw, variables, group } = this;
    return { span, value, pieces, variables, quoted, raw, group };
  }

  #flush(): void {
    if (this.#text.length > 0) {
      this.#pieces.push(this.#text.join(''));
      this.#text = [];
    }
  }
}

/** A word of known text that stands where `span` is. */
export function windowsTextWord(value: string, span: SourceSpan): WindowsWord {
  return { span, value, pieces: [value], variables: [], quoted: true, raw: null, group: [] };
}

/** A word as a person reads it: gaps as an ellipsis. */
export const legibleWindowsWord = (word: WindowsWord): string =>
  word.pieces.map((piece) => piece ?? '…').join('');
