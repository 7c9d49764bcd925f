/** What an analysis of command text finds out: the words that every dialect and the rules share. */

/** UTF-16 offsets `[from, to)` in the text as it was given. */
export type SourceSpan = readonly [number, number];

/** How strict a finding is: it is a lower bound of the decision, and nothing lowers it. */
export type MinimumDecision = 'ask' | 'block';

/**
 * Of a file with keys that no sandbox shows (`~/.ssh/id_rsa`): `auto` lifts the block
 * where the file is certain to be absent.
 */
export const hiddenSecretCode = 'secrets.hidden';

/** Of a variable with a secret that is shown: `auto` lifts it where all of them were granted. */
export const secretVariableCode = 'secrets.variable';

/** One reason why a command is not simply allowed. */
export interface CommandFinding {
  /** Stable and dotted, class first: `fs.rm-rf`, `shell.dynamic`, `limit.nesting`. */
  readonly code: string;
  readonly bound: MinimumDecision;
  readonly span: SourceSpan;
  /** Through which wrappers it was reached, outermost first: `['timeout', 'bash -c']`. */
  readonly via: readonly string[];
  /** What was found, decoded: `rm -rf build`. Never a variable's value. */
  readonly evidence: string;
  /** One clause for people: `deletes a tree by force`. */
  readonly why: string;
  /** What to do in its place, one sentence, or `null`. */
  readonly instead: string | null;
  /** Names of all variables that it is about. Default: they are not known. */
  readonly variables?: readonly string[];
  /** Nobody means it, whatever holds it: `rm -rf /`. Default: not so. */
  readonly isNeverMeant?: boolean;
}

/** The single plain command that an allow rule accepted, and how it may be run. */
export interface AllowedCommand {
  /** Id of the allow rule: `git.status`. */
  readonly rule: string;
  /** The words as they were analysed. */
  readonly argv: readonly string[];
  /** What is started in place of a shell: `argv[0]` is still a name, resolved later as a fact. */
  readonly run: HardenedCommand;
  /** Operands that are files: each must lie inside the workspace and be no secret file. */
  readonly files: readonly string[];
  /** The script of `package.json` that would run, or `null`. Then full assurance is needed. */
  readonly packageScript: string | null;
  /** Whether code of the repository runs (`npm run`, `npx tsc`): then full assurance is needed. */
  readonly runsRepositoryCode: boolean;
}

export interface HardenedCommand {
  readonly argv: readonly string[];
  /** Variables taken away before it starts; a name ending in `*` stands for all that start so. */
  readonly unset: readonly string[];
  readonly set: Readonly<Record<string, string>>;
}

/** A thing whose content decides what a command does, by the name that the command uses. */
export interface ContentReference {
  readonly role: 'executable' | 'script' | 'package-script';
  /** `npm`, `./build.sh`, `scripts/x.py`; for a package script its name in `package.json`. */
  readonly name: string;
}

/** What a text says that may name files: what a person's yes to it has to bind. */
export interface FileMentions {
  /** Words, and texts that hold some: which of them name a file is not known. */
  readonly words: ReadonlySet<string>;
  /** Patterns of the shell. */
  readonly globs: ReadonlySet<string>;
  /** Words and patterns whose files are run. */
  readonly scripts: ReadonlySet<string>;
  /** What it may write: names and patterns, or `*` where that is any of its words. */
  readonly writes: ReadonlySet<string>;
  /** Directories that it goes to, as it says: empty text is HOME, `*` one that is not known. */
  readonly moves: ReadonlySet<string>;
  /** What the commands are given that may run files which they do not name. */
  readonly loads: ReadonlySet<string>;
  /** Programs that write what others send. */
  readonly fetches: ReadonlySet<string>;
  /** Why it may run files that it does not name, one clause each; empty: it does not. */
  readonly open: ReadonlySet<string>;
}

/** The outcome for one text. With no finding and no `allowed` the decision is `ask`. */
export interface Analysis {
  readonly findings: readonly CommandFinding[];
  readonly allowed: AllowedCommand | null;
  readonly named: readonly ContentReference[];
  /** Absent: nobody read the text for them. */
  readonly mentions?: FileMentions;
  /** Number of commands found at any depth. */
  readonly commands: number;
}
