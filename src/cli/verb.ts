/** Rows of the table of verbs, and the flags that several verbs take. */
import type { CliArguments } from './args.ts';
import type { FlagName } from './flags.ts';

export interface VerbRow {
  /** Words behind the flags, as help shows them: `ID`, `[--] COMMAND…`. Default: none. */
  readonly words?: string;
  /** One line, in the imperative. */
  readonly about: string;
  /** What help adds below it. */
  readonly details?: string;
  /** `--help` is a flag of every verb and is not listed here. */
  readonly flags: readonly FlagName[];
  readonly examples?: readonly string[];
  /** Words that a shell completes. */
  readonly complete?: readonly string[];
  /** Loads the function that runs the verb and returns its exit code. */
  readonly load: () => Promise<(args: CliArguments) => Promise<number>>;
}

/** A row with its defaults. */
export type Verb = VerbRow & Required<Pick<VerbRow, 'words' | 'examples'>>;

/** A section of `trl help` and of docs/cli.md. */
export interface VerbSection {
  readonly title: string;
  readonly verbs: Readonly<Record<string, VerbRow>>;
}

export const remoteFlags: readonly FlagName[] = ['socket-path', 'json'];
/** Limits that a session may set for its commands. */
export const limitFlags: readonly FlagName[] = [
  'timeout',
  'memory',
  'cpu',
  'processes',
  'file-size',
  'open-files',
];
/** What a whole session is granted, never a single command of it. */
export const grantFlags: readonly FlagName[] = [
  'net',
  'network',
  'sandbox',
  'allow-read',
  'deny-read',
  'allow-write',
  'deny-write',
  'share-cache',
];
/** What `run` and `exec start` have in common. */
export const startFlags: readonly FlagName[] = [
  'session',
  'cwd',
  'env',
  'env-key',
  'broker',
  'stdin',
  'pty',
  'workspace-mode',
  ...limitFlags,
  'idle-timeout',
];
export const daemonFlags: readonly FlagName[] = [
  'workspace-root',
  'policy',
  'config',
  'env-mode',
  'bound',
  'tools',
];
export const httpFlags = ['http', 'http-cert', 'http-key', 'http-host', 'http-origin'] as const;

/** Whether the words of `verb` are a command, which may have flags of its own. */
export const takesCommand = ({ words }: Verb): boolean => words.includes('COMMAND');
