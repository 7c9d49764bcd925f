/** The verbs of `trl audit`. They read the log's files themselves and need no runtime. */
import type { FlagName } from './flags.ts';
import type { Verb } from './verb.ts';

const shared: readonly FlagName[] = ['json', 'help'];

export const auditVerbs: readonly (readonly [string, Verb])[] = [
  [
    'audit log',
    {
      words: '',
      about: 'list what was recorded, newest last',
      flags: ['exec', 'session', 'kind', 'actor', 'since', 'until', 'limit', ...shared],
      examples: [
        "trl audit log --since 1h --kind 'exec.*'",
        'trl audit log --exec x-… --json     one event a line',
      ],
      load: async () => (await import('./audit.ts')).runAuditLog,
    },
  ],
  [
    'audit show',
    {
      words: 'EXEC|[LOG:]SEQ',
      about: 'show all that was recorded of a command, or one event',
      flags: ['statement', ...shared],
      examples: [
        'trl audit show x-…',
        'trl audit show x-… --statement > envelope.json',
        'trl audit show 42',
      ],
      load: async () => (await import('./audit.ts')).runAuditShow,
    },
  ],
  [
    'audit verify',
    {
      words: '',
      about: 'check that nothing was changed or taken away; exits 1 when something was',
      flags: ['head', 'proof', 'export', 'key', ...shared],
      examples: [
        'trl audit verify',
        'trl audit verify --head receipt.json     against a head that was kept elsewhere',
        'trl audit verify --proof proof.json --key key.pub',
      ],
      load: async () => (await import('./audit-verify.ts')).runAuditVerify,
    },
  ],
  [
    'audit export',
    {
      words: '',
      about: 'write the log as it is, with heads and public key, to check it elsewhere',
      flags: ['out', ...shared],
      examples: ['trl audit export --out audit.jsonl && trl audit verify --export audit.jsonl'],
      load: async () => (await import('./audit.ts')).runAuditExport,
    },
  ],
  [
    'audit prove',
    {
      words: 'EXEC|[LOG:]SEQ',
      about: 'write a proof that an event is in the log; of a command, its signed statement',
      flags: ['out', ...shared],
      examples: ['trl audit prove x-… --out proof.json'],
      load: async () => (await import('./audit.ts')).runAuditProve,
    },
  ],
  [
    'audit graph',
    {
      words: 'EXEC',
      about: 'print what hangs together with a command, in DOT',
      flags: ['out', 'help'],
      examples: ['trl audit graph x-… | dot -Tsvg > graph.svg'],
      load: async () => (await import('./audit.ts')).runAuditGraph,
    },
  ],
  [
    'audit keygen',
    {
      words: '',
      about: 'make a key to which raw output is sealed; the secret half goes to a new file',
      flags: ['out', ...shared],
      examples: ['trl audit keygen --out auditor.txt'],
      load: async () => (await import('./audit-raw.ts')).runAuditKeygen,
    },
  ],
  [
    'audit reveal',
    {
      words: 'EXEC',
      about: 'show the raw output of a command; that it was shown is recorded first',
      flags: ['identity', 'raw', ...shared],
      examples: ['trl audit reveal x-… --identity auditor.txt'],
      load: async () => (await import('./audit-raw.ts')).runAuditReveal,
    },
  ],
  [
    'audit shred',
    {
      words: 'EXEC…',
      about: 'destroy the keys of raw output, so that nobody can read it any more',
      flags: shared,
      examples: [],
      load: async () => (await import('./audit-raw.ts')).runAuditShred,
    },
  ],
];
