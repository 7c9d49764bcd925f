/**
 * A shell script as the policy sees it: every command at any depth, its words decoded where they
 * are static. Knows the grammar of the shell and no command by name.
 */
import type { SourceSpan } from '../analysis.ts';

/** One word of a command after brace expansion: one argument, or an unknown number of them. */
export interface ShellWord {
  readonly span: SourceSpan;
  /** The exact argument, when it is one and static; `null` for globs and for dynamic words. */
  readonly value: string | null;
  /**
   * Static text and gaps (`null`) in order: `"if=$x"` is `['if=', null]`. Variables that were
   * resolved by a constant or a default are text here; an unquoted glob character is text too.
   * `~/x` is text as typed. `<(…)` is `['/dev/fd/', null]`.
   */
  readonly pieces: readonly (string | null)[];
  /** Whether an unquoted glob character is in it; `glob` is then the pattern, else `null`. */
  readonly glob: string | null;
  /**
   * Names of all variables whose value is in it, resolved or not: `['API_KEY']`. Not those whose
   * length (`${#x}`) or being set (`${x:+yes}`) is in it.
   */
  readonly variables: readonly string[];
  /** Whether a constant, a default or `$IFS` took part: it may block, it never allows. */
  readonly derived: boolean;
}

export interface Assignment {
  readonly span: SourceSpan;
  readonly name: string;
  readonly value: ShellWord | null;
}

export interface Redirect {
  readonly span: SourceSpan;
  /** `<` `>` `>>` `<>` `>|` `&>` `&>>` `<&` `>&`. Here-documents are the command's `input`. */
  readonly operator: string;
  /** `null`: the operator's default. */
  readonly descriptor: number | null;
  readonly target: ShellWord | null;
}

/** Where a command's standard input comes from. */
export type StdinSource =
  | { readonly kind: 'inherited' }
  /** A here-document or here-string; `text` is `null` where it is dynamic. */
  | {
      readonly kind: 'text';
      readonly text: string | null;
      /** Static text and gaps (`null`) in order, as those of a word. */
      readonly pieces: readonly (string | null)[];
      readonly span: SourceSpan;
      readonly variables: readonly string[];
    }
  | { readonly kind: 'file'; readonly target: ShellWord }
  /** The commands of the pipe's left side (all of a group, in order). */
  | { readonly kind: 'pipe'; readonly from: readonly ShellCommand[] }
  /** `< <(…)` : the commands of the substitution. */
  | { readonly kind: 'substitution'; readonly from: readonly ShellCommand[] };

/** One simple command (also an assignment or redirect alone: then `words` is empty). */
export interface ShellCommand {
  readonly span: SourceSpan;
  readonly words: readonly ShellWord[];
  readonly assignments: readonly Assignment[];
  readonly redirects: readonly Redirect[];
  readonly input: StdinSource;
  /** Per word (same length as `words`): the commands of `$(…)`, `<(…)`, `>(…)` inside it. */
  readonly inner: readonly (readonly ShellCommand[])[];
}

/** What keeps a script from being a single plain command, or from being understood. */
export interface SyntaxProblem {
  /**
   * The form: `several` `redirect` `assignment` `compound` `function` `background` `negation`
   * `time` `substitution` `empty`. What is not known: `unparseable`, `dynamic` (a variable, a
   * glob, braces, an unquoted tilde). What it looks like: `invisible` `confusable`. A bound:
   * `limit.bytes` `limit.nesting` `limit.commands` `limit.time` `limit.braces` `limit.parts`.
   */
  readonly code: string;
  readonly span: SourceSpan;
  readonly evidence: string;
}

export interface ShellScript {
  /**
   * In source order, at any depth: also inside substitutions, functions that nobody calls,
   * arithmetic, tests (`[[ … ]]` is a command of that name). A command appears again for every
   * further value its variables may hold, and a function's body for every call with arguments.
   */
  readonly commands: readonly ShellCommand[];
  /** The one command of a script without any problem whose words are all static; else `null`. */
  readonly plain: ShellCommand | null;
  readonly problems: readonly SyntaxProblem[];
  /** Functions and aliases that the script defines: calls of these names are dynamic. */
  readonly defined: readonly string[];
}

/** The bounds of one analysis, shared by all scripts that are found in it. */
export interface AnalysisBudget {
  readonly bytesMax: number;
  readonly depthMax: number;
  readonly commandsMax: number;
  /** `performance.now()` after which nothing more is looked at. */
  readonly deadline: number;
  /** Counted up as commands are found. */
  commands: number;
  /** Counted up as words are read, also those that are read again. */
  words: number;
}
