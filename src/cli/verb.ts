/** What a verb of the command line is, and the flags that several take. */
import type { CliArguments } from './args.ts';
import type { FlagName } from './flags.ts';

export interface Verb {
  /** Words behind the flags, in help: `ID`, `[--] COMMAND…`. Empty: none are taken. */
  readonly words: string;
  readonly about: string;
  readonly flags: readonly FlagName[];
  readonly examples: readonly string[];
  /** What a shell completes for a word. */
  readonly complete?: readonly string[];
  /** Answers the function that does it; that one answers the exit code. */
  readonly load: () => Promise<(args: CliArguments) => Promise<number>>;
}

/** Bounds a session may set for its commands. */
export const boundFlags: readonly FlagName[] = [
  'timeout',
  'memory',
  'cpu',
  'processes',
  'file-size',
  'open-files',
];
export const limitFlags: readonly FlagName[] = [...boundFlags, 'idle-timeout'];
/** What a session is granted, and no command of it alone. */
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
export const startFlags: readonly FlagName[] = [
  'session',
  'cwd',
  'env',
  'env-key',
  'stdin',
  'pty',
  'policy',
  'wait',
];
export const changeFlags: readonly FlagName[] = ['workspace-mode', 'dry-run', 'verbose'];
export const sharedFlags: readonly FlagName[] = ['socket-path', 'json', 'help'];
export const outputFlags: readonly FlagName[] = ['raw', 'quiet'];
export const daemonFlags: readonly FlagName[] = [
  'workspace-root',
  'policy',
  'config',
  'env-mode',
  'bound',
  'tools',
];

export const httpFlags: readonly FlagName[] = [
  'http',
  'http-cert',
  'http-key',
  'http-host',
  'http-origin',
];

/** Whether the words of `verb` are a command with flags of its own. */
export const takesCommand = (verb: Verb): boolean => verb.words.includes('COMMAND');
