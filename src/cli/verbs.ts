/** Every verb of the command line: what it takes, what it says of itself, what it runs. */
import {
  limitFlags,
  grantFlags,
  startFlags,
  changeFlags,
  sharedFlags,
  outputFlags,
  daemonFlags,
  httpFlags,
} from './verb.ts';
import type { Verb } from './verb.ts';
import { auditVerbs } from './verbs-audit.ts';
import { policyVerbs } from './verbs-policy.ts';
import { runtimeVerbs } from './verbs-runtime.ts';
import { secretVerbs } from './verbs-secrets.ts';
import { sessionVerbs } from './verbs-session.ts';
import { tokenVerbs } from './verbs-token.ts';
import { toolVerbs } from './verbs-tool.ts';
import { workspaceVerbs } from './verbs-workspace.ts';

export const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  [
    'run',
    {
      words: '[--] COMMAND…',
      about: 'run a command in a sandbox and exit as it does',
      flags: [
        ...startFlags,
        ...limitFlags,
        ...grantFlags,
        ...changeFlags,
        ...outputFlags,
        'private',
        ...sharedFlags,
      ],
      examples: [
        "trl run 'npm test 2>&1 | tail'      one word is shell text",
        'trl run -- grep -r "a b" src        several are an argument list',
        'trl run --json --timeout 5m make    the receipt, in one line',
        'trl run --allow-read ~/data --net on -- python3 fetch.py',
        'trl run --dry-run npm update        what it would change, and nothing more',
      ],
      load: async () => (await import('./run.ts')).runSingleCommand,
    },
  ],
  [
    'serve',
    {
      words: '',
      about: 'start the runtime and listen on its socket',
      flags: ['socket-path', ...daemonFlags, ...httpFlags, 'json', 'help'],
      examples: [
        'trl serve --workspace-root ~/projects',
        'TRL_AUTH_TOKEN="$(openssl rand -hex 32)" trl serve --http 127.0.0.1:7070',
      ],
      load: async () => (await import('./serve.ts')).runServe,
    },
  ],
  [
    'stdio',
    {
      words: '',
      about: 'speak the protocol on standard input and output',
      flags: [...daemonFlags, 'help'],
      examples: ['trl stdio --workspace-root .'],
      load: async () => (await import('./serve.ts')).runStdio,
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
      load: async () => (await import('./redact.ts')).runRedact,
    },
  ],
  ...sessionVerbs,
  ...workspaceVerbs,
  ...secretVerbs,
  ...auditVerbs,
  ...policyVerbs,
  ...tokenVerbs,
  ...toolVerbs,
  ...runtimeVerbs,
  [
    'config show',
    {
      words: '',
      about: 'show what is set for the runtime, by file, variable and flag',
      flags: ['origin', 'config', 'env-mode', 'bound', 'json', 'help'],
      examples: ['trl config show --origin'],
      load: async () => (await import('./config.ts')).runConfigShow,
    },
  ],
  [
    'doctor',
    {
      words: '',
      about: 'tell what the sandbox needs and how to get it',
      flags: sharedFlags,
      examples: [],
      load: async () => (await import('./doctor.ts')).runDoctor,
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
      load: async () => (await import('./completions.ts')).runCompletions,
    },
  ],
]);
