/** The verbs around what leaves a workspace. */
import type { FlagName } from './flags.ts';
import type { Verb } from './verb.ts';

const shared: readonly FlagName[] = ['socket-path', 'json', 'help'];
const what: readonly FlagName[] = ['audience', 'exec', 'output', 'changes', 'session'];
const person: readonly FlagName[] = ['evidence', 'accept', 'passphrase-stdin'];

export const publishVerbs: readonly (readonly [string, Verb])[] = [
  [
    'publish check',
    {
      words: '[PATH…|-]',
      about: 'tell whether files, changes, output or commits may leave; exit code 1: not',
      flags: [...what, 'git', 'remote', 'staged', ...person, ...shared],
      examples: [
        'trl publish check dist README.md',
        'trl publish check --exec x-… --output',
        'trl publish check --git origin/main..HEAD     in CI',
        'make | trl publish check -',
      ],
      load: async () => (await import('./publish.ts')).runPublishCheck,
    },
  ],
  [
    'publish run',
    {
      words: '[PATH…|-]',
      about: 'write exactly what was checked to a new directory or archive',
      flags: ['to', ...what, ...person, ...shared],
      examples: ['trl publish run dist --to ../release.tar'],
      load: async () => (await import('./publish.ts')).runPublishRun,
    },
  ],
  [
    'publish hook',
    {
      words: '',
      about: 'print or install a pre-push hook of git that checks commits',
      flags: ['install', 'audience', 'help'],
      examples: ['trl publish hook --install'],
      load: async () => (await import('./publish.ts')).runPublishHook,
    },
  ],
];
