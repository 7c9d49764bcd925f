/** Verbs for policy, approvals, tokens, secrets, the audit log and publication. */
import { policyProfiles } from '../command.ts';
import type { FlagName } from './flags.ts';
import { remoteFlags } from './verb.ts';
import type { VerbSection } from './verb.ts';

const publishFlags: readonly FlagName[] = [
  'audience',
  'exec',
  'output',
  'changes',
  'session',
  'evidence',
  'accept',
  'passphrase-stdin',
];

export const peopleSections: readonly VerbSection[] = [
  {
    title: 'Policy and people',
    verbs: {
      'approvals list': {
        about: 'list pending approvals',
        flags: ['state', 'session', ...remoteFlags],
        load: async () => (await import('./approvals.ts')).runApprovalsList,
      },
      'approvals show': {
        words: 'ID',
        about: 'show all that an approval covers; a prefix of the id is enough',
        flags: remoteFlags,
        load: async () => (await import('./approvals.ts')).runApprovalsShow,
      },
      'approvals approve': {
        words: 'ID',
        about: 'show a command, ask for the passphrase and approve the command once',
        flags: ['for-session', 'for-project', 'message', 'passphrase-stdin', ...remoteFlags],
        examples: ['trl approvals approve a-3f'],
        load: async () => (await import('./approvals.ts')).runApprovalsApprove,
      },
      'approvals deny': {
        words: 'ID',
        about: 'deny a command, with a reason',
        flags: ['message', 'passphrase-stdin', ...remoteFlags],
        examples: ["trl approvals deny a-3f -m 'use the staging server'"],
        load: async () => (await import('./approvals.ts')).runApprovalsDeny,
      },
      'approvals watch': {
        about: 'answer approvals as they arrive, one key each; --json: print',
        flags: remoteFlags,
        load: async () => (await import('./approvals-watch.ts')).runApprovalsWatch,
      },
      'approvals enroll': {
        about: 'set the passphrase that authenticates a person, at a terminal',
        flags: [],
        load: async () => (await import('./approvals.ts')).runApprovalsEnroll,
      },
      'policy check': {
        words: 'FILE…',
        about: 'check policy files; errors show line and column',
        flags: ['json'],
        examples: ['trl policy check policy.yaml'],
        load: async () => (await import('./policy.ts')).runPolicyCheck,
      },
      'policy test': {
        words: '[FILE]',
        about: 'test the built-in examples, and the examples and cases of a file',
        flags: ['json'],
        examples: ['trl policy test policy.yaml'],
        load: async () => (await import('./policy.ts')).runPolicyTest,
      },
      'policy explain': {
        words: '[--] COMMAND…',
        about: 'show the decision for a command, and why; nothing runs',
        flags: ['shell', 'policy', 'stdin', 'json'],
        examples: [
          "trl policy explain 'cd src && rm -rf build'",
          'trl policy explain --shell powershell --policy locked -- Get-Content a.txt',
          'trl policy explain --stdin < lines      {"id":1,"shell":"bash","command":"ls"}',
        ],
        load: async () => (await import('./policy.ts')).runPolicyExplain,
      },
      'policy show': {
        words: '[NAME|FILE]',
        about: 'show a policy; without a name, the one in effect here',
        flags: ['json'],
        examples: ['trl policy show guarded'],
        complete: policyProfiles,
        load: async () => (await import('./policy.ts')).runPolicyShow,
      },
      'policy schema': {
        about: 'print the JSON Schema of policy files',
        flags: [],
        load: async () => (await import('./policy.ts')).runPolicySchema,
      },
      'policy rules': {
        words: '[remove ID]',
        about: 'list rules that approvals added to projects, or remove one',
        flags: ['json'],
        examples: ['trl policy rules remove r-3f'],
        load: async () => (await import('./policy.ts')).runPolicyRules,
      },
      'policy trust': {
        words: 'DIR',
        about: "trust a directory's .trl.yaml in its current version",
        flags: ['json'],
        examples: ['trl policy trust .'],
        load: async () => (await import('./policy.ts')).runPolicyTrust,
      },
      'token create': {
        about: 'create a token for HTTP and print it, once',
        flags: ['role', 'name', 'expires', 'passphrase-stdin', 'json'],
        examples: [
          'trl token create --role agent --name ci --expires 30d',
          'trl token create --role auditor     asks for the passphrase if one is set',
        ],
        load: async () => (await import('./token.ts')).runTokenCreate,
      },
      'token list': {
        about: 'list tokens by id and name, without the tokens themselves',
        flags: ['json'],
        load: async () => (await import('./token.ts')).runTokenList,
      },
      'token revoke': {
        words: 'ID|NAME',
        about: 'revoke a token and close its open connections',
        flags: ['json'],
        examples: ['trl token revoke ci'],
        load: async () => (await import('./token.ts')).runTokenRevoke,
      },
      console: {
        about: 'open the web console of the running runtime with a single-use link',
        flags: ['no-open', 'passphrase-stdin', ...remoteFlags],
        examples: ['trl console --no-open     only prints the link'],
        load: async () => (await import('./console.ts')).runConsole,
      },
    },
  },
  {
    title: 'Secrets',
    verbs: {
      redact: {
        about: 'hide secrets in the text on standard input',
        flags: ['spans', 'known', 'profile', 'command', 'json'],
        examples: [
          'journalctl -u api | trl redact',
          'env | trl redact --command env --json   lists what was hidden on standard error',
          'trl redact --spans <texts.jsonl         positions of secrets, as UTF-16 offsets',
        ],
        load: async () => (await import('./redact.ts')).runRedact,
      },
      'secrets list': {
        about: 'list the names of secrets and their sources, without values',
        flags: remoteFlags,
        load: async () => (await import('./secrets.ts')).runSecretsList,
      },
      'secrets check': {
        words: 'NAME',
        about: 'check whether a command could get a secret; exits with 1 if not',
        flags: remoteFlags,
        examples: ['trl secrets check API_KEY && trl run --env-key API_KEY ./deploy'],
        load: async () => (await import('./secrets.ts')).runSecretsCheck,
      },
      'secrets set': {
        words: 'NAME',
        about: 'enter a value at the terminal, without echo; it is kept in memory only',
        flags: ['stdin', ...remoteFlags],
        examples: ['trl secrets set API_KEY', 'pass show api | trl secrets set API_KEY --stdin'],
        load: async () => (await import('./secrets.ts')).runSecretsSet,
      },
      'secrets request': {
        words: 'NAME',
        about: 'ask a person for a secret; exits with 1 until a person provides it',
        flags: ['reason', 'wait', ...remoteFlags],
        examples: ["trl secrets request API_KEY --reason 'to deploy' --wait 10m"],
        load: async () => (await import('./secrets.ts')).runSecretsRequest,
      },
      'secrets requests': {
        about: 'list pending requests for secrets',
        flags: remoteFlags,
        load: async () => (await import('./secrets.ts')).runSecretsRequests,
      },
      'secrets inject': {
        words: 'NAME…',
        about: 'give every command of a session the secrets, if policy allows it',
        flags: ['session', ...remoteFlags],
        examples: ['trl secrets inject API_KEY --session web'],
        load: async () => (await import('./secrets.ts')).runSecretsInject,
      },
      'secrets delete': {
        words: 'NAME',
        about: 'delete a value; with --session, stop injecting it into that session',
        flags: ['session', ...remoteFlags],
        load: async () => (await import('./secrets.ts')).runSecretsDelete,
      },
    },
  },
  {
    title: 'The record, and publication',
    verbs: {
      'publish check': {
        words: '[PATH…|-]',
        about: 'check if data may be published; exits with 1 if not',
        flags: ['git', 'remote', 'staged', ...publishFlags, ...remoteFlags],
        examples: [
          'trl publish check dist README.md',
          'trl publish check --exec x-… --output',
          'trl publish check --git origin/main..HEAD     in CI',
          'make | trl publish check -',
        ],
        load: async () => (await import('./publish.ts')).runPublishCheck,
      },
      'publish run': {
        words: '[PATH…|-]',
        about: 'write exactly what was checked to a new directory or archive',
        flags: ['to', ...publishFlags, ...remoteFlags],
        examples: ['trl publish run dist --to ../release.tar'],
        load: async () => (await import('./publish.ts')).runPublishRun,
      },
      'publish hook': {
        about: 'print or install a pre-push hook of git that checks commits',
        flags: ['install', 'audience'],
        examples: ['trl publish hook --install'],
        load: async () => (await import('./publish.ts')).runPublishHook,
      },
      'audit log': {
        about: 'list recorded events, newest last',
        flags: ['exec', 'session', 'kind', 'actor', 'since', 'until', 'limit', 'json'],
        examples: [
          "trl audit log --since 1h --kind 'exec.*'",
          'trl audit log --exec x-… --json     one event per line',
        ],
        load: async () => (await import('./audit.ts')).runAuditLog,
      },
      'audit show': {
        words: 'EXEC|[LOG:]SEQ',
        about: 'show every recorded event of a command, or one event',
        flags: ['statement', 'json'],
        examples: [
          'trl audit show x-…',
          'trl audit show x-… --statement > envelope.json',
          'trl audit show 42',
        ],
        load: async () => (await import('./audit.ts')).runAuditShow,
      },
      'audit verify': {
        about: 'check that no event was changed or removed; exits with 1 if one was',
        flags: ['head', 'proof', 'export', 'key', 'json'],
        examples: [
          'trl audit verify',
          'trl audit verify --head receipt.json     compares with a head that you stored elsewhere',
          'trl audit verify --proof proof.json --key key.pub',
        ],
        load: async () => (await import('./audit-verify.ts')).runAuditVerify,
      },
      'audit export': {
        about: 'write the whole log, with heads and public key, to verify it elsewhere',
        flags: ['out', 'json'],
        examples: ['trl audit export --out audit.jsonl && trl audit verify --export audit.jsonl'],
        load: async () => (await import('./audit.ts')).runAuditExport,
      },
      'audit prove': {
        words: 'EXEC|[LOG:]SEQ',
        about: "prove that the log contains an event, or a command's signed statement",
        flags: ['out', 'json'],
        examples: ['trl audit prove x-… --out proof.json'],
        load: async () => (await import('./audit.ts')).runAuditProve,
      },
      'audit graph': {
        words: 'EXEC',
        about: "print a command's inputs, outputs and related commands, in DOT",
        flags: ['out'],
        examples: ['trl audit graph x-… | dot -Tsvg > graph.svg'],
        load: async () => (await import('./audit.ts')).runAuditGraph,
      },
      'audit keygen': {
        about: 'create a key pair for sealed raw output; --out takes the secret key',
        flags: ['out', 'json'],
        examples: ['trl audit keygen --out auditor.txt'],
        load: async () => (await import('./audit-raw.ts')).runAuditKeygen,
      },
      'audit reveal': {
        words: 'EXEC',
        about: "show a command's raw output; the log records this first",
        flags: ['identity', 'raw', 'json'],
        examples: ['trl audit reveal x-… --identity auditor.txt'],
        load: async () => (await import('./audit-raw.ts')).runAuditReveal,
      },
      'audit shred': {
        words: 'EXEC…',
        about: 'destroy the keys of raw output, so that nobody can read it any more',
        flags: ['json'],
        load: async () => (await import('./audit-raw.ts')).runAuditShred,
      },
    },
  },
];
