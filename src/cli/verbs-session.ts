/** The verbs of `trl session` and `trl exec`. */
import { bounds, limits, grants, shared, shown } from './verb.ts';
import type { Verb } from './verb.ts';

export const sessionVerbs: readonly (readonly [string, Verb])[] = [
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
];
