/** The verbs of `trl session` and `trl exec`. */
import { boundFlags, limitFlags, grantFlags, sharedFlags, outputFlags } from './verb.ts';
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
        ...boundFlags,
        ...grantFlags,
        ...sharedFlags,
      ],
      examples: ['s=$(trl session create) && trl run --session "$s" cd src'],
      load: async () => (await import('./session.ts')).runSessionCreate,
    },
  ],
  [
    'session list',
    {
      words: '',
      about: 'list the sessions',
      flags: sharedFlags,
      examples: [],
      load: async () => (await import('./session.ts')).runSessionList,
    },
  ],
  [
    'session info',
    {
      words: 'ID|NAME',
      about: 'show a session',
      flags: sharedFlags,
      examples: [],
      load: async () => (await import('./session.ts')).runSessionInfo,
    },
  ],
  [
    'session destroy',
    {
      words: 'ID|NAME…',
      about: 'end sessions',
      flags: ['force', ...sharedFlags],
      examples: [],
      load: async () => (await import('./session.ts')).runSessionDestroy,
    },
  ],
  [
    'session attach',
    {
      words: 'ID|NAME',
      about: 'open an interactive shell in a session',
      flags: ['raw', 'socket-path', 'json', 'help'],
      examples: [],
      load: async () => (await import('./session.ts')).runSessionAttach,
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
        ...limitFlags,
        ...sharedFlags,
      ],
      examples: ['x=$(trl exec start --session web -- npm start) && trl exec attach "$x"'],
      load: async () => (await import('./exec.ts')).runExecStart,
    },
  ],
  [
    'exec list',
    {
      words: '',
      about: 'list commands that run or ended a short time ago',
      flags: ['session', ...sharedFlags],
      examples: [],
      load: async () => (await import('./exec.ts')).runExecList,
    },
  ],
  [
    'exec attach',
    {
      words: 'ID',
      about: 'follow a command and exit as it does; Ctrl-C leaves it running',
      flags: ['from', ...outputFlags, ...sharedFlags],
      examples: [],
      load: async () => (await import('./exec.ts')).runExecAttach,
    },
  ],
  [
    'exec cancel',
    {
      words: 'ID',
      about: 'end a command: TERM, and KILL after the grace time',
      flags: ['signal', ...sharedFlags],
      examples: ['trl exec cancel --signal INT x-…'],
      load: async () => (await import('./exec.ts')).runExecCancel,
    },
  ],
  [
    'exec read',
    {
      words: 'ID',
      about: 'print a part of the output of a command',
      flags: ['from', 'max', 'wait', 'tail', 'grep', 'raw', ...sharedFlags],
      examples: ['trl exec read --tail 20 x-…'],
      load: async () => (await import('./exec.ts')).runExecRead,
    },
  ],
  [
    'exec write',
    {
      words: 'ID [TEXT]',
      about: 'give a command input: TEXT, else standard input',
      flags: ['eof', ...sharedFlags],
      examples: ["trl exec write x-… $'yes\\n'"],
      load: async () => (await import('./exec.ts')).runExecWrite,
    },
  ],
];
