/** The methods `approval.*` and `policy.explain`, and the events of `approval.watch`. */
import * as z from 'zod/mini';
import {
  defineMethod,
  getRoute,
  ownershipRules,
  wholeListPaging,
  postRoute,
  permittedRoles,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { contentRoles } from '../binding.ts';
import { approvalStates, judgedShells } from '../command.ts';
import { answerScopes } from '../protocol/approval.ts';

const asked = z.object({
  command: z.string(),
  language: z.exactOptional(z.literal('python')),
  tool: z.exactOptional(z.object({ name: z.string(), sha256: shared.sha256Schema })),
  shell: z.object({ path: z.string(), dialect: z.enum(['bash', 'posix', 'zsh']) }),
  mode: z.enum(['foreground', 'detached']),
  cwd: z.string(),
  workspace: shared.nullableTextSchema,
  network: shared.networkSchema,
  sandbox: z.object({ kind: shared.sandboxKindSchema, level: shared.assuranceLevelSchema }),
  files: shared.fileGrantsSchema,
  stdin: z.enum(['closed', 'bytes', 'open']),
  input: z.exactOptional(
    z.object({ text: z.string(), bytes: shared.countSchema, is_whole: z.boolean() }),
  ),
  pty: z.boolean(),
  timeout_ms: z.nullable(shared.countSchema),
  variables: shared.nameListSchema,
  contents: z.array(
    z.object({
      role: z.enum(contentRoles),
      name: z.string(),
      path: shared.nullableTextSchema,
      sha256: z.nullable(shared.sha256Schema),
      mode: z.exactOptional(shared.countSchema),
    }),
  ),
  rule: z.exactOptional(z.string()),
  binding: z.exactOptional(
    z.union([
      z.object({ kind: z.literal('named') }),
      z.object({
        kind: z.literal('workspace'),
        sha256: shared.sha256Schema,
        entries: shared.countSchema,
        why: z.string(),
      }),
      z.object({ kind: z.literal('unbound'), why: z.string() }),
    ]),
  ),
  argv: z.nullable(shared.nameListSchema),
});

/** One question to a person, and its answer. */
export const approvalSchema = z.object({
  approval_id: shared.approvalIdSchema,
  exec_id: shared.execIdSchema,
  session_id: shared.sessionIdSchema,
  state: z.enum(approvalStates),
  digest: shared.sha256Schema,
  created_at: shared.timestampSchema,
  expires_at: shared.timestampSchema,
  requester: z.string(),
  asked,
  verdict: shared.verdictSchema,
  scope: z.exactOptional(z.enum(answerScopes)),
  scopes: z.exactOptional(z.array(z.enum(answerScopes))),
  decided_at: z.exactOptional(shared.timestampSchema),
  decided_by: z.exactOptional(z.string()),
  same_uid: z.exactOptional(z.literal(true)),
  words: z.exactOptional(z.string()),
  superseded_by: z.exactOptional(shared.approvalIdSchema),
  changes: z.exactOptional(shared.nameListSchema),
});

const watchId = shared.createIdSchema('w-');

export const approvalEventSchema = z.object({ stream_id: watchId, approval: approvalSchema });

/** Every `approval` method: its parameters, its answer and its rules. */
export const approvalMethods = {
  'policy.explain': defineMethod({
    params: z.object({
      command: field.commandParam,
      session_id: z.exactOptional(field.sessionIdParam),
      shell: z.exactOptional(z.enum(judgedShells, { error: judgedShells.join(', ') })),
    }),
    answer: shared.verdictSchema,
    roles: permittedRoles.everybody,
    owns: ownershipRules.session,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: '/v1/policy/explain',
        about: 'What policy would say of a command; nothing runs',
      },
    ],
    audit: null,
  }),
  'approval.list': defineMethod({
    params: z.object({
      state: z.exactOptional(z.enum(approvalStates, { error: 'the state of an approval' })),
      session_id: z.exactOptional(field.sessionIdParam),
    }),
    answer: z.object({ approvals: z.array(approvalSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.listed,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/approvals',
        about: 'List questions to people',
        query: { state: 'text', session_id: 'text' },
        page: { ...wholeListPaging, items: 'approvals', key: 'approval_id' },
      },
    ],
    audit: null,
  }),
  'approval.get': defineMethod({
    params: z.object({ approval_id: field.approvalIdParam }),
    answer: approvalSchema,
    roles: permittedRoles.everybody,
    owns: { own: ['approval_id'] },
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/approvals/{approval_id}',
        about: 'Look at a question',
      },
    ],
    audit: null,
  }),
  'approval.decide': defineMethod({
    params: z.object({
      approval_id: field.approvalIdParam,
      decision: z.enum(['approve', 'deny'], { error: '"approve" or "deny"' }),
      scope: z.exactOptional(z.enum(answerScopes, { error: answerScopes.join(', ') })),
      words: z.exactOptional(field.answerWordsParam),
      digest: field.digestPrefixParam,
      passphrase: z.exactOptional(field.passphraseParam),
    }),
    answer: approvalSchema,
    roles: permittedRoles.approver,
    owns: { own: ['approval_id'] },
    lane: 'beside',
    http: [
      {
        ...postRoute,
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
  'approval.watch': defineMethod({
    params: field.emptyParams,
    answer: z.object({ stream_id: watchId }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/approval-events',
        about: 'Follow questions to people as server-sent events',
        answer: 'events',
      },
    ],
    audit: null,
  }),
  'approval.status': defineMethod({
    params: field.emptyParams,
    answer: z.object({ enrolled: z.boolean(), same_uid_allowed: z.boolean() }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/approver',
        about: 'Whether a person is enrolled, and what policy wants of one',
      },
    ],
    audit: null,
  }),
} as const;
