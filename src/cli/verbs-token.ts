/** The verbs of `trl token`, and `trl console`: who speaks to the runtime but by its socket. */
import type { Verb } from './verb.ts';

export const tokenVerbs: readonly (readonly [string, Verb])[] = [
  [
    'token create',
    {
      words: '',
      about: 'make a token for HTTP and print it, once',
      flags: ['role', 'name', 'expires', 'passphrase-stdin', 'json', 'help'],
      examples: [
        'trl token create --role agent --name ci --expires 30d',
        'trl token create --role auditor     asks for the passphrase, where one is set',
      ],
      load: async () => (await import('./token.ts')).runTokenCreate,
    },
  ],
  [
    'token list',
    {
      words: '',
      about: 'list tokens by id and name; never a token',
      flags: ['json', 'help'],
      examples: [],
      load: async () => (await import('./token.ts')).runTokenList,
    },
  ],
  [
    'token revoke',
    {
      words: 'ID|NAME',
      about: 'refuse a token from now on, and end what it has open',
      flags: ['json', 'help'],
      examples: ['trl token revoke ci'],
      load: async () => (await import('./token.ts')).runTokenRevoke,
    },
  ],
  [
    'console',
    {
      words: '',
      about: 'open the web console of the running runtime, by a link that is good once',
      flags: ['no-open', 'passphrase-stdin', 'socket-path', 'json', 'help'],
      examples: ['trl console --no-open     prints the link alone'],
      load: async () => (await import('./console.ts')).runConsole,
    },
  ],
];
