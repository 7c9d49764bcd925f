/** The verbs of `trl approvals` and `trl policy`. */
import { policyProfiles } from '../command.ts';
import { sharedFlags } from './verb.ts';
import type { Verb } from './verb.ts';

export const policyVerbs: readonly (readonly [string, Verb])[] = [
  [
    'approvals list',
    {
      words: '',
      about: 'list what waits for a person',
      flags: ['state', 'session', ...sharedFlags],
      examples: [],
      load: async () => (await import('./approvals.ts')).runApprovalsList,
    },
  ],
  [
    'approvals show',
    {
      words: 'ID',
      about: 'show everything that an approval binds; the start of an id is enough',
      flags: sharedFlags,
      examples: [],
      load: async () => (await import('./approvals.ts')).runApprovalsShow,
    },
  ],
  [
    'approvals approve',
    {
      words: 'ID',
      about: 'show a command, ask for the passphrase and let it run once',
      flags: ['for-session', 'for-project', 'message', 'passphrase-stdin', ...sharedFlags],
      examples: ['trl approvals approve a-3f'],
      load: async () => (await import('./approvals.ts')).runApprovalsApprove,
    },
  ],
  [
    'approvals deny',
    {
      words: 'ID',
      about: 'say no, and why',
      flags: ['message', 'passphrase-stdin', ...sharedFlags],
      examples: ["trl approvals deny a-3f -m 'use the staging server'"],
      load: async () => (await import('./approvals.ts')).runApprovalsDeny,
    },
  ],
  [
    'approvals watch',
    {
      words: '',
      about: 'answer what comes, one key each; with --json only print it',
      flags: sharedFlags,
      examples: [],
      load: async () => (await import('./approvals-watch.ts')).runApprovalsWatch,
    },
  ],
  [
    'approvals enroll',
    {
      words: '',
      about: 'set the passphrase that proves a person, at a terminal',
      flags: ['help'],
      examples: [],
      load: async () => (await import('./approvals.ts')).runApprovalsEnroll,
    },
  ],
  [
    'policy check',
    {
      words: 'FILE…',
      about: 'check policy files; errors have line and column',
      flags: ['json', 'help'],
      examples: ['trl policy check policy.yaml'],
      load: async () => (await import('./policy.ts')).runPolicyCheck,
    },
  ],
  [
    'policy test',
    {
      words: '[FILE]',
      about: 'try the shipped examples, and the examples and cases of a file',
      flags: ['json', 'help'],
      examples: ['trl policy test policy.yaml'],
      load: async () => (await import('./policy.ts')).runPolicyTest,
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
      load: async () => (await import('./policy.ts')).runPolicyExplain,
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
      load: async () => (await import('./policy.ts')).runPolicyShow,
    },
  ],
  [
    'policy schema',
    {
      words: '',
      about: 'print the JSON Schema of policy files',
      flags: ['help'],
      examples: [],
      load: async () => (await import('./policy.ts')).runPolicySchema,
    },
  ],
  [
    'policy rules',
    {
      words: '[remove ID]',
      about: 'list what answers for a project let run unasked, or remove a rule, at once',
      flags: ['json', 'help'],
      examples: ['trl policy rules remove r-3f'],
      load: async () => (await import('./policy.ts')).runPolicyRules,
    },
  ],
  [
    'policy trust',
    {
      words: 'DIR',
      about: 'let the .trl.yaml of a directory hold, as it is now',
      flags: ['json', 'help'],
      examples: ['trl policy trust .'],
      load: async () => (await import('./policy.ts')).runPolicyTrust,
    },
  ],
];
