/** Every verb of the command line: what it takes, what it says of itself, what it runs. */
import { policyProfiles } from '../command.ts';
import type { Args } from './args.ts';
import type { FlagName } from './flags.ts';
import { auditVerbs } from './verbs-audit.ts';
import { secretVerbs } from './verbs-secrets.ts';
import { workspaceVerbs } from './verbs-workspace.ts';

export interface Verb {
  /** Words behind the flags, in help: `ID`, `[--] COMMAND…`. Empty: none are taken. */
  readonly words: string;
  readonly about: string;
  readonly flags: readonly FlagName[];
  readonly examples: readonly string[];
  /** What a shell completes for a word. */
  readonly complete?: readonly string[];
  /** Answers the function that does it; that one answers the exit code. */
  readonly load: () => Promise<(args: Args) => Promise<number>>;
}

/** Bounds a session may set for its commands. */
const bounds: readonly FlagName[] = [
  'timeout',
  'memory',
  'cpu',
  'processes',
  'file-size',
  'open-files',
];
const limits: readonly FlagName[] = [...bounds, 'idle-timeout'];
const grants: readonly FlagName[] = [
  'net',
  'sandbox',
  'allow-read',
  'deny-read',
  'allow-write',
  'deny-write',
];
const started: readonly FlagName[] = [
  'session',
  'cwd',
  'env',
  'env-key',
  'stdin',
  'pty',
  'policy',
  'wait',
];
const changing: readonly FlagName[] = ['workspace-mode', 'dry-run', 'verbose'];
const shared: readonly FlagName[] = ['socket-path', 'json', 'help'];
const shown: readonly FlagName[] = ['raw', 'quiet'];
const daemon: readonly FlagName[] = ['workspace-root', 'policy', 'config', 'env-mode'];

/** Whether the words of `verb` are a command with flags of its own. */
export const takesCommand = (verb: Verb): boolean => verb.words.includes('COMMAND');

export const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  [
    'run',
    {
      words: '[--] COMMAND…',
      about: 'run a command in a sandbox and exit as it does',
      flags: [...started, ...limits, ...grants, ...changing, ...shown, ...shared],
      examples: [
        "trl run 'npm test 2>&1 | tail'      one word is shell text",
        'trl run -- grep -r "a b" src        several are an argument list',
        'trl run --json --timeout 5m make    the receipt, in one line',
        'trl run --allow-read ~/data --net on -- python3 fetch.py',
        'trl run --dry-run npm update        what it would change, and nothing more',
      ],
      load: async () => (await import('./run.ts')).run,
    },
  ],
  [
    'serve',
    {
      words: '',
      about: 'start the runtime and listen on its socket',
      flags: ['socket-path', ...daemon, 'json', 'help'],
      examples: ['trl serve --workspace-root ~/projects'],
      load: async () => (await import('./serve.ts')).serve,
    },
  ],
  [
    'stdio',
    {
      words: '',
      about: 'speak the protocol on standard input and output',
      flags: [...daemon, 'help'],
      examples: ['trl stdio --workspace-root .'],
      load: async () => (await import('./serve.ts')).stdio,
    },
  ],
  [
    'redact',
    {
      words: '',
      about: 'hide secrets in what is piped through',
      flags: ['spans', 'known', 'profile', 'command', 'json', 'help'],
      examples: [
        'journalctl -u api | trl redact',
        'env | trl redact --command env --json   what was hidden, on standard error',
        'trl redact --spans <texts.jsonl         where secrets are, as UTF-16 offsets',
      ],
      load: async () => (await import('./redact.ts')).redact,
    },
  ],
  [
    'session create',
    {
      words: '',
      about: 'make a session and print its id',
      flags: [
        'name',
        'shell',
        'carry',
        'cwd',
        'env',
        'env-key',
        'policy',
        'workspace',
        'workspace-mode',
        ...bounds,
        ...grants,
        ...shared,
      ],
      examples: ['s=$(trl session create) && trl run --session "$s" cd src'],
      load: async () => (await import('./session.ts')).create,
    },
  ],
  [
    'session list',
    {
      words: '',
      about: 'list the sessions',
      flags: shared,
      examples: [],
      load: async () => (await import('./session.ts')).list,
    },
  ],
  [
    'session info',
    {
      words: 'ID|NAME',
      about: 'show a session',
      flags: shared,
      examples: [],
      load: async () => (await import('./session.ts')).info,
    },
  ],
  [
    'session destroy',
    {
      words: 'ID|NAME…',
      about: 'end sessions',
      flags: ['force', ...shared],
      examples: [],
      load: async () => (await import('./session.ts')).destroy,
    },
  ],
  [
    'session attach',
    {
      words: 'ID|NAME',
      about: 'open an interactive shell in a session',
      flags: ['raw', 'socket-path', 'json', 'help'],
      examples: [],
      load: async () => (await import('./session.ts')).attach,
    },
  ],
  [
    'exec start',
    {
      words: '[--] COMMAND…',
      about: 'start a command that keeps running, and print its id',
      flags: [
        'session',
        'cwd',
        'env',
        'env-key',
        'stdin',
        'pty',
        'workspace-mode',
        ...limits,
        ...shared,
      ],
      examples: ['x=$(trl exec start --session web -- npm start) && trl exec attach "$x"'],
      load: async () => (await import('./exec.ts')).start,
    },
  ],
  [
    'exec list',
    {
      words: '',
      about: 'list commands that run or ended a short time ago',
      flags: ['session', ...shared],
      examples: [],
      load: async () => (await import('./exec.ts')).list,
    },
  ],
  [
    'exec attach',
    {
      words: 'ID',
      about: 'follow a command and exit as it does; Ctrl-C leaves it running',
      flags: ['from', ...shown, ...shared],
      examples: [],
      load: async () => (await import('./exec.ts')).attach,
    },
  ],
  [
    'exec cancel',
    {
      words: 'ID',
      about: 'end a command: TERM, and KILL after the grace time',
      flags: ['signal', ...shared],
      examples: ['trl exec cancel --signal INT x-…'],
      load: async () => (await import('./exec.ts')).cancel,
    },
  ],
  [
    'exec read',
    {
      words: 'ID',
      about: 'print a part of the output of a command',
      flags: ['from', 'max', 'wait', 'tail', 'grep', 'raw', ...shared],
      examples: ['trl exec read --tail 20 x-…'],
      load: async () => (await import('./exec.ts')).read,
    },
  ],
  [
    'exec write',
    {
      words: 'ID [TEXT]',
      about: 'give a command input: TEXT, else standard input',
      flags: ['eof', ...shared],
      examples: ["trl exec write x-… $'yes\\n'"],
      load: async () => (await import('./exec.ts')).write,
    },
  ],
  [
    'approvals list',
    {
      words: '',
      about: 'list what waits for a person',
      flags: ['state', 'session', ...shared],
      examples: [],
      load: async () => (await import('./approvals.ts')).list,
    },
  ],
  [
    'approvals show',
    {
      words: 'ID',
      about: 'show everything that an approval binds; the start of an id is enough',
      flags: shared,
      examples: [],
      load: async () => (await import('./approvals.ts')).show,
    },
  ],
  [
    'approvals approve',
    {
      words: 'ID',
      about: 'show a command, ask for the passphrase and let it run once',
      flags: ['for-session', 'message', 'passphrase-stdin', ...shared],
      examples: ['trl approvals approve a-3f'],
      load: async () => (await import('./approvals.ts')).approve,
    },
  ],
  [
    'approvals deny',
    {
      words: 'ID',
      about: 'say no, and why',
      flags: ['message', 'passphrase-stdin', ...shared],
      examples: ["trl approvals deny a-3f -m 'use the staging server'"],
      load: async () => (await import('./approvals.ts')).deny,
    },
  ],
  [
    'approvals watch',
    {
      words: '',
      about: 'answer what comes, one key each; with --json only print it',
      flags: shared,
      examples: [],
      load: async () => (await import('./approvals-watch.ts')).watch,
    },
  ],
  [
    'approvals enroll',
    {
      words: '',
      about: 'set the passphrase that proves a person, at a terminal',
      flags: ['help'],
      examples: [],
      load: async () => (await import('./approvals-enroll.ts')).enroll,
    },
  ],
  ...workspaceVerbs,
  ...secretVerbs,
  ...auditVerbs,
  [
    'policy check',
    {
      words: 'FILE…',
      about: 'check policy files; errors have line and column',
      flags: ['json', 'help'],
      examples: ['trl policy check policy.yaml'],
      load: async () => (await import('./policy.ts')).check,
    },
  ],
  [
    'policy test',
    {
      words: '[FILE]',
      about: 'try the shipped examples, and the examples and cases of a file',
      flags: ['json', 'help'],
      examples: ['trl policy test policy.yaml'],
      load: async () => (await import('./policy.ts')).test,
    },
  ],
  [
    'policy explain',
    {
      words: '[--] COMMAND…',
      about: 'say what would become of a command, and why; nothing runs',
      flags: ['shell', 'policy', 'stdin', 'json', 'help'],
      examples: [
        "trl policy explain 'cd src && rm -rf build'",
        'trl policy explain --shell powershell --policy locked -- Get-Content a.txt',
        'trl policy explain --stdin < lines      {"id":1,"shell":"bash","command":"ls"}',
      ],
      load: async () => (await import('./policy.ts')).explain,
    },
  ],
  [
    'policy show',
    {
      words: '[NAME|FILE]',
      about: 'show a policy; without a name, the one that decides here',
      flags: ['json', 'help'],
      examples: ['trl policy show guarded'],
      complete: policyProfiles,
      load: async () => (await import('./policy.ts')).show,
    },
  ],
  [
    'policy schema',
    {
      words: '',
      about: 'print the JSON Schema of policy files',
      flags: ['help'],
      examples: [],
      load: async () => (await import('./policy.ts')).schema,
    },
  ],
  [
    'policy trust',
    {
      words: 'DIR',
      about: 'let the .trl.yaml of a directory hold, as it is now',
      flags: ['json', 'help'],
      examples: ['trl policy trust .'],
      load: async () => (await import('./policy.ts')).trust,
    },
  ],
  [
    'config show',
    {
      words: '',
      about: 'show what is set for the runtime, by file, variable and flag',
      flags: ['origin', 'config', 'env-mode', 'json', 'help'],
      examples: ['trl config show --origin'],
      load: async () => (await import('./config.ts')).show,
    },
  ],
  [
    'doctor',
    {
      words: '',
      about: 'tell what the sandbox needs and how to get it',
      flags: shared,
      examples: [],
      load: async () => (await import('./doctor.ts')).doctor,
    },
  ],
  [
    'completions',
    {
      words: 'bash|zsh|fish',
      about: 'print completions for a shell',
      flags: ['help'],
      examples: ['trl completions bash > ~/.local/share/bash-completion/completions/trl'],
      complete: ['bash', 'zsh', 'fish'],
      load: async () => (await import('./completions.ts')).completions,
    },
  ],
]);
