/** The verbs of `trl secrets`. */
import type { FlagName } from './flags.ts';
import type { Verb } from './verb.ts';

const shared: readonly FlagName[] = ['socket-path', 'json', 'help'];

export const secretVerbs: readonly (readonly [string, Verb])[] = [
  [
    'secrets list',
    {
      words: '',
      about: 'list the names of secrets and where they come from; never a value',
      flags: shared,
      examples: [],
      load: async () => (await import('./secrets.ts')).runSecretsList,
    },
  ],
  [
    'secrets check',
    {
      words: 'NAME',
      about: 'say whether a command could have a secret; exits 1 when not',
      flags: shared,
      examples: ['trl secrets check API_KEY && trl run --env-key API_KEY ./deploy'],
      load: async () => (await import('./secrets.ts')).runSecretsCheck,
    },
  ],
  [
    'secrets set',
    {
      words: 'NAME',
      about: 'give a value at the terminal, unseen; kept in memory only',
      flags: ['stdin', ...shared],
      examples: ['trl secrets set API_KEY', 'pass show api | trl secrets set API_KEY --stdin'],
      load: async () => (await import('./secrets.ts')).runSecretsSet,
    },
  ],
  [
    'secrets request',
    {
      words: 'NAME',
      about: 'ask a person for a secret; exits 1 while nobody gave it',
      flags: ['reason', 'wait', ...shared],
      examples: ["trl secrets request API_KEY --reason 'to deploy' --wait 10m"],
      load: async () => (await import('./secrets.ts')).runSecretsRequest,
    },
  ],
  [
    'secrets requests',
    {
      words: '',
      about: 'list what somebody asks for',
      flags: shared,
      examples: [],
      load: async () => (await import('./secrets.ts')).runSecretsRequests,
    },
  ],
  [
    'secrets inject',
    {
      words: 'NAME…',
      about: 'let each command of a session have secrets, as far as policy does',
      flags: ['session', ...shared],
      examples: ['trl secrets inject API_KEY --session web'],
      load: async () => (await import('./secrets.ts')).runSecretsInject,
    },
  ],
  [
    'secrets delete',
    {
      words: 'NAME',
      about: 'forget a value; with --session take an injection back',
      flags: ['session', ...shared],
      examples: [],
      load: async () => (await import('./secrets.ts')).runSecretsDelete,
    },
  ],
];
