/** The verbs of `trl tool`. */
import { sharedFlags } from './verb.ts';
import type { Verb } from './verb.ts';

export const toolVerbs: readonly (readonly [string, Verb])[] = [
  [
    'tool list',
    {
      words: '',
      about: 'list the tools that files and programs registered with the runtime',
      flags: ['session', ...sharedFlags],
      examples: [],
      load: async () => (await import('./tool.ts')).runToolList,
    },
  ],
  [
    'tool call',
    {
      words: 'NAME',
      about: 'call a tool and exit as its command does',
      flags: ['input', 'session', 'wait', ...sharedFlags],
      examples: ['trl tool call open_ticket --input \'{"title":"It rains"}\''],
      load: async () => (await import('./tool.ts')).runToolCall,
    },
  ],
  [
    'tool check',
    {
      words: 'FILE…',
      about: 'say what is wrong with files of tools; exits 1 when one cannot be used',
      flags: ['json', 'help'],
      examples: ['trl tool check ~/.config/trl/tools/*.yaml'],
      load: async () => (await import('./tool.ts')).runToolCheck,
    },
  ],
  [
    'tool trust',
    {
      words: '[DIR]',
      about: "let the tools of a project's .trl/tools hold as they are now",
      flags: ['json', 'help'],
      examples: ['trl tool trust .'],
      load: async () => (await import('./tool.ts')).runToolTrust,
    },
  ],
];
