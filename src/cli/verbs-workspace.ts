/** The verbs around what commands change. */
import type { FlagName } from './flags.ts';
import type { Verb } from './verb.ts';
import { publishVerbs } from './verbs-publish.ts';

const shared: readonly FlagName[] = ['socket-path', 'json', 'help'];

export const workspaceVerbs: readonly (readonly [string, Verb])[] = [
  [
    'diff',
    {
      words: '[EXEC] [PATH…]',
      about: 'show what a command changed; default: the last one in this directory',
      flags: ['session', 'stat', 'context', ...shared],
      examples: ['trl diff --stat', 'trl diff --session web src   all its commands, net'],
      load: async () => (await import('./changes.ts')).runDiff,
    },
  ],
  [
    'undo',
    {
      words: 'EXEC [PATH…]',
      about: 'take back what a command changed; what others changed since stays',
      flags: ['dry-run', ...shared],
      examples: ['trl undo --dry-run x-…', 'trl undo x-… src/main.ts'],
      load: async () => (await import('./changes.ts')).runUndo,
    },
  ],
  [
    'snapshot list',
    {
      words: '[DIR]',
      about: 'list commands and how much each changed; default: of this directory',
      flags: ['session', 'limit', ...shared],
      examples: [],
      load: async () => (await import('./changes.ts')).runSnapshotList,
    },
  ],
  [
    'snapshot show',
    {
      words: 'EXEC|TREE',
      about: 'show what is recorded of a command: before, after and each change',
      flags: shared,
      examples: [],
      load: async () => (await import('./changes.ts')).runSnapshotShow,
    },
  ],
  [
    'snapshot restore',
    {
      words: 'EXEC|TREE [PATH…]',
      about: 'go back to before a command, or to a recorded tree',
      flags: ['dry-run', ...shared],
      examples: ['trl snapshot restore --dry-run x-…'],
      load: async () => (await import('./changes.ts')).runSnapshotRestore,
    },
  ],
  [
    'workspace list',
    {
      words: '',
      about: 'list the directories in which sessions may work',
      flags: shared,
      examples: [],
      load: async () => (await import('./workspace.ts')).runWorkspaceList,
    },
  ],
  [
    'workspace trust',
    {
      words: '[DIR]',
      about: 'let sessions work in a project, as its first "trl run" or "trl mcp" does',
      flags: shared,
      examples: [],
      load: async () => (await import('./workspace.ts')).runWorkspaceTrust,
    },
  ],
  [
    'workspace forget',
    {
      words: '[DIR]',
      about: 'start no session in a project any more; those that work there go on',
      flags: shared,
      examples: ['trl workspace forget ~/projects/old'],
      load: async () => (await import('./workspace.ts')).runWorkspaceForget,
    },
  ],
  [
    'cache list',
    {
      words: '',
      about: 'list what programs keep in HOME for later commands, by project',
      flags: shared,
      examples: [],
      load: async () => (await import('./workspace.ts')).runCacheList,
    },
  ],
  [
    'cache clear',
    {
      words: '[DIR]',
      about: 'remove that of a project; default: of this directory',
      flags: ['all', ...shared],
      examples: ['trl cache clear --all'],
      load: async () => (await import('./workspace.ts')).runCacheClear,
    },
  ],
  [
    'workspace open',
    {
      words: '[DIR]',
      about: 'open a directory with rules of its own and print its id',
      flags: ['workspace-mode', 'allow-read', 'deny-read', 'deny-write', ...shared],
      examples: [
        "w=$(trl workspace open --deny-read '**/*.pem' --deny-read customers)",
        'trl session create --workspace "$w"',
      ],
      load: async () => (await import('./workspace.ts')).runWorkspaceOpen,
    },
  ],
  [
    'workspace status',
    {
      words: '',
      about: 'show what of a session waits: staged, held, in conflict',
      flags: ['session', ...shared],
      examples: [],
      load: async () => (await import('./workspace.ts')).runWorkspaceStatus,
    },
  ],
  [
    'workspace apply',
    {
      words: '[PATH…]',
      about: 'publish staged changes; with --held also what a person must let through',
      flags: ['session', 'held', 'passphrase-stdin', ...shared],
      examples: ['trl workspace apply src', 'trl workspace apply --held .git/hooks'],
      load: async () => (await import('./workspace.ts')).runWorkspaceApply,
    },
  ],
  [
    'workspace discard',
    {
      words: '[PATH…]',
      about: 'throw staged and held changes away',
      flags: ['session', ...shared],
      examples: [],
      load: async () => (await import('./workspace.ts')).runWorkspaceDiscard,
    },
  ],
  ...publishVerbs,
];
