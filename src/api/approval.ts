/** The methods `approval.*` and `policy.explain`, and the events of `approval.watch`. */
import * as z from 'zod/mini';
import { define, get, ownership, pages, post, roles } from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { contentRoles } from '../binding.ts';
import { approvalStates, judgedShells } from '../command.ts';
import { answerScopes } from '../protocol/approval.ts';

const asked = z.object({
  command: z.string(),
  language: z.exactOptional(z.literal('python')),
  tool: z.exactOptional(z.object({ name: z.string(), sha256: shared.sha256 })),
  shell: z.object({ path: z.string(), dialect: z.enum(['bash', 'posix', 'zsh']) }),
  mode: z.enum(['foreground', 'detached']),
  cwd: z.string(),
  workspace: shared.nullableText,
  network: shared.network,
  sandbox: z.object({ kind: shared.sandboxKind, level: shared.assuranceLevel }),
  files: shared.fileGrants,
  stdin: z.enum(['closed', 'bytes', 'open']),
  input: z.exactOptional(
    z.object({ text: z.string(), bytes: shared.count, is_whole: z.boolean() }),
  ),
  pty: z.boolean(),
  timeout_ms: z.nullable(shared.count),
  variables: shared.names,
  contents: z.array(
    z.object({
      role: z.enum(contentRoles),
      name: z.string(),
      path: shared.nullableText,
      sha256: z.nullable(shared.sha256),
      mode: z.exactOptional(shared.count),
    }),
  ),
  rule: z.exactOptional(z.string()),
  binding: z.exactOptional(
    z.union([
      z.object({ kind: z.literal('named') }),
      z.object({
        kind: z.literal('workspace'),
        sha256: shared.sha256,
        entries: shared.count,
        why: z.string(),
      }),
      z.object({ kind: z.literal('unbound'), why: z.string() }),
    ]),
  ),
  argv: z.nullable(shared.names),
});

/** One question to a person, and its answer. */
export const approval = z.object({
  approval_id: shared.approvalId,
  exec_id: shared.execId,
  session_id: shared.sessionId,
  state: z.enum(approvalStates),
  digest: shared.sha256,
  created_at: shared.time,
  expires_at: shared.time,
  requester: z.string(),
  asked,
  verdict: shared.verdict,
  scope: z.exactOptional(z.enum(answerScopes)),
  scopes: z.exactOptional(z.array(z.enum(answerScopes))),
  decided_at: z.exactOptional(shared.time),
  decided_by: z.exactOptional(z.string()),
  same_uid: z.exactOptional(z.literal(true)),
  words: z.exactOptional(z.string()),
  superseded_by: z.exactOptional(shared.approvalId),
  changes: z.exactOptional(shared.names),
});

const watchId = shared.id('w-');

export const approvalEvent = z.object({ stream_id: watchId, approval });

/** Every `approval` method: its parameters, its answer and its rules. */
export const approvalMethods = {
  'policy.explain': define({
    params: z.object({
      command: field.command,
      session_id: z.exactOptional(field.sessionId),
      shell: z.exactOptional(z.enum(judgedShells, { error: judgedShells.join(', ') })),
    }),
    answer: shared.verdict,
    roles: roles.everybody,
    owns: ownership.session,
    lane: 'beside',
    http: [
      {
        ...post,
        path: '/v1/policy/explain',
        about: 'What policy would say of a command; nothing runs',
      },
    ],
    audit: null,
  }),
  'approval.list': define({
    params: z.object({
      state: z.exactOptional(z.enum(approvalStates, { error: 'the state of an approval' })),
      session_id: z.exactOptional(field.sessionId),
    }),
    answer: z.object({ approvals: z.array(approval) }),
    roles: roles.everybody,
    owns: ownership.listed,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/approvals',
        about: 'List questions to people',
        query: { state: 'text', session_id: 'text' },
        page: { ...pages, items: 'approvals', key: 'approval_id' },
      },
    ],
    audit: null,
  }),
  'approval.get': define({
    params: z.object({ approval_id: field.approvalId }),
    answer: approval,
    roles: roles.everybody,
    owns: { own: ['approval_id'] },
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/approvals/{approval_id}',
        about: 'Look at a question',
      },
    ],
    audit: null,
  }),
  'approval.decide': define({
    params: z.object({
      approval_id: field.approvalId,
      decision: z.enum(['approve', 'deny'], { error: '"approve" or "deny"' }),
      scope: z.exactOptional(z.enum(answerScopes, { error: answerScopes.join(', ') })),
      words: z.exactOptional(field.answerWords),
      digest: field.digestStart,
      passphrase: z.exactOptional(field.passphrase),
    }),
    answer: approval,
    roles: roles.approver,
    owns: { own: ['approval_id'] },
    lane: 'beside',
    http: [
      {
        ...post,
        path: '/v1/approvals/{approval_id}/decision',
        about: 'Answer a question',
      },
    ],
    audit: {
      kind: 'call.done',
      params: ['approval_id', 'decision', 'scope'],
      answer: ['state'],
    },
  }),
  'approval.watch': define({
    params: field.noParams,
    answer: z.object({ stream_id: watchId }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/approval-events',
        about: 'Follow questions to people as server-sent events',
        answer: 'events',
      },
    ],
    audit: null,
  }),
  'approval.status': define({
    params: field.noParams,
    answer: z.object({ enrolled: z.boolean(), same_uid_allowed: z.boolean() }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/approver',
        about: 'Whether a person is enrolled, and what policy wants of one',
      },
    ],
    audit: null,
  }),
} as const;
