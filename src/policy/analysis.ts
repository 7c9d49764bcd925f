/** The result of analysing a command's text: types that every dialect and the rules share. */

/** UTF-16 offsets `[from, to)` in the original text. */
export type SourceSpan = readonly [number, number];

/** The mildest decision that a finding permits; nothing lowers it. */
export type MinimumDecision = 'ask' | 'block';

/**
 * Code for a file with keys that no sandbox shows (`~/.ssh/id_rsa`): `auto` lifts the block if the
 * file is certain to be absent.
 */
export const hiddenSecretCode = 'secrets.hidden';

/** Code for showing a variable with a secret: `auto` lifts it if all of them were granted. */
export const secretVariableCode = 'secrets.variable';

/** One reason why a command is not simply allowed. */
export interface CommandFinding {
  /** Stable and dotted, class first: `fs.rm-rf`, `shell.dynamic`, `limit.nesting`. */
  readonly code: string;
  readonly bound: MinimumDecision;
  readonly span: SourceSpan;
  /** Through which wrappers it was reached, outermost first: `['timeout', 'bash -c']`. */
  readonly via: readonly string[];
  /** The command that was found, decoded: `rm -rf build`. Never a variable's value. */
  readonly evidence: string;
  /** One clause for people: `deletes a tree by force`. */
  readonly why: string;
  /** What to do instead, one sentence, or `null`. */
  readonly instead: string | null;
  /** Names of all variables concerned. Default: unknown. */
  readonly variables?: readonly string[];
  /** Whether it is never intended, in any sandbox: `rm -rf /`. Default: false. */
  readonly isNeverMeant?: boolean;
}

/** The single plain command that an allow rule accepted, and how it may be run. */
export interface AllowedCommand {
  /** Id of the allow rule: `git.status`. */
  readonly rule: string;
  /** The words as they were analysed. */
  readonly argv: readonly string[];
  /** What is started instead of a shell: `argv[0]` is still a name, which the facts resolve. */
  readonly run: HardenedCommand;
  /** Operands that are files: each must be inside the workspace and must not be a secret file. */
  readonly files: readonly string[];
  /** The script of `package.json` that would run, or `null`. Then full assurance is needed. */
  readonly packageScript: string | null;
  /** Whether code of the repository runs (`npm run`, `npx tsc`): then full assurance is needed. */
  readonly runsRepositoryCode: boolean;
}

export interface HardenedCommand {
  readonly argv: readonly string[];
  /** Variables removed before it starts; a final `*` matches any suffix. */
  readonly unset: readonly string[];
  readonly set: Readonly<Record<string, string>>;
}

/** A file or script that determines what a command does, by the name that the command uses. */
export interface ContentReference {
  readonly role: 'executable' | 'script' | 'package-script';
  /** `npm`, `./build.sh`, `scripts/x.py`; for a package script its name in `package.json`. */
  readonly name: string;
}

/** The parts of a text that may name files: an approval of the text must bind these files. */
export interface FileMentions {
  /** Words, and texts with words: which of them name a file is unknown. */
  readonly words: ReadonlySet<string>;
  /** Patterns of the shell. */
  readonly globs: ReadonlySet<string>;
  /** Words and patterns whose files are run. */
  readonly scripts: ReadonlySet<string>;
  /** What it may write: names and patterns, or `*` for any of its words. */
  readonly writes: ReadonlySet<string>;
  /** Directories that it changes to, as written: empty text is HOME, `*` an unknown one. */
  readonly moves: ReadonlySet<string>;
  /** Arguments of commands that may run files which they do not name. */
  readonly loads: ReadonlySet<string>;
  /** Programs that write data received from elsewhere. */
  readonly fetches: ReadonlySet<string>;
  /** Why it may run files that it does not name, one clause each; empty if it does not. */
  readonly open: ReadonlySet<string>;
}

/** The outcome for one text. With no finding and no `allowed` the decision is `ask`. */
export interface Analysis {
  readonly findings: readonly CommandFinding[];
  readonly allowed: AllowedCommand | null;
  readonly named: readonly ContentReference[];
  /** Absent: the text was not searched for them. */
  readonly mentions?: FileMentions;
  /** Number of commands found at any depth. */
  readonly commands: number;
}
