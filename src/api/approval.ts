/** The methods `approval.*` and `policy.explain`, and the events of `approval.watch`. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
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

/** How long an approval is valid; `session`: for identical plans of the session, too. */
export const answerScopes = ['once', 'session', 'project'] as const;
export const answerScopeSchema = z.enum(answerScopes);

const asked = z.object({
  /** The whole text, never cut. */
  command: z.string(),
  /** Present when `command` is a Python script; else the shell takes it. */
  language: z.exactOptional(z.literal('python')),
  /** Present when it is a registered tool: its name, and the SHA-256 (hex) of its file. */
  tool: z.exactOptional(z.object({ name: z.string(), sha256: shared.sha256Schema })),
  shell: z.object({ path: z.string(), dialect: z.enum(['bash', 'posix', 'zsh']) }),
  mode: z.enum(['foreground', 'detached']),
  cwd: z.string(),
  workspace: shared.nullableTextSchema,
  network: shared.networkSchema,
  /** Hosts that it would be let connect to; absent: none is asked. */
  hosts: z.exactOptional(shared.nameListSchema),
  /** Secrets that it would use at hosts without having them; absent: none. */
  brokered: z.exactOptional(z.array(z.object({ name: z.string(), hosts: shared.nameListSchema }))),
  sandbox: z.object({ kind: shared.sandboxKindSchema, level: shared.assuranceLevelSchema }),
  files: shared.fileGrantsSchema,
  stdin: z.enum(['closed', 'bytes', 'open']),
  /** While the approval is pending: what the command gets there, if the runtime has it. */
  input: z.exactOptional(
    z.object({
      /** At most 8 Ki characters; bytes that are not text are written as `\\xNN`. */
      text: z.string(),
      bytes: shared.countSchema,
      /** Whether `text` is all of it. */
      is_whole: z.boolean(),
    }),
  ),
  pty: z.boolean(),
  timeout_ms: z.nullable(shared.countSchema),
  /** Names of the variables; the approval binds their values, which are never shown. */
  variables: shared.nameListSchema,
  /** What the command names and would run; `null` if nothing was found. */
  contents: z.array(
    z.object({
      role: z.enum(contentRoles),
      name: z.string(),
      path: shared.nullableTextSchema,
      sha256: z.nullable(shared.sha256Schema),
      /** Permission bits of a file or directory of the workspace. */
      mode: z.exactOptional(shared.countSchema),
    }),
  ),
  /** The rule that an approval for the project adds; absent: that scope is unavailable. */
  rule: z.exactOptional(z.string()),
  /** How the approval binds what runs besides `contents`; absent: not at all. */
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
  /** What is started in place of a shell, or `null`: the shell takes `command`. */
  argv: z.nullable(shared.nameListSchema),
});

/** One approval request, and its decision. */
export const approvalSchema = z.object({
  approval_id: shared.approvalIdSchema,
  exec_id: shared.execIdSchema,
  session_id: shared.sessionIdSchema,
  state: z.enum(approvalStates),
  /** SHA-256 (hex) of everything the approval binds; a decision names at least 8 digits of it. */
  digest: shared.sha256Schema,
  created_at: shared.timestampSchema,
  expires_at: shared.timestampSchema,
  /** The actor that runs the command. */
  requester: z.string(),
  asked,
  verdict: shared.verdictSchema,
  /** `once`, or `session`: identical plans of the session run without approval. */
  scope: z.exactOptional(answerScopeSchema),
  /** While the approval is pending: the scopes that policy permits. */
  scopes: z.exactOptional(z.array(answerScopeSchema)),
  decided_at: z.exactOptional(shared.timestampSchema),
  decided_by: z.exactOptional(z.string()),
  /** Present if nothing but the user's uid authenticated the person who decided. */
  same_uid: z.exactOptional(z.literal(true)),
  /** The person's message. */
  words: z.exactOptional(z.string()),
  superseded_by: z.exactOptional(shared.approvalIdSchema),
  /** What changed since the approval that this one replaces, one sentence each. */
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
      /** Default `bash`; with a session, the shell of that session. */
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
        about: 'What policy decides on a command; nothing runs',
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
        about: 'List approval requests',
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
        about: 'Look at an approval request',
      },
    ],
    audit: null,
  }),
  'approval.decide': defineMethod({
    params: z.object({
      approval_id: field.approvalIdParam,
      decision: z.enum(['approve', 'deny'], { error: '"approve" or "deny"' }),
      /** Default `once`; one of the approval's `scopes`. */
      scope: z.exactOptional(z.enum(answerScopes, { error: answerScopes.join(', ') })),
      /** A message to the agent, which is recorded. */
      words: z.exactOptional(field.answerWordsParam),
      /** The first 8 or more digits of the digest that the person saw. */
      digest: field.digestPrefixParam,
      /** Authenticates the person, if one is enrolled. */
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
        about: 'Decide an approval request',
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
        about: 'Follow approval requests as server-sent events',
        answer: 'events',
      },
    ],
    audit: null,
  }),
  'approval.status': defineMethod({
    params: field.emptyParams,
    answer: z.object({
      /** Whether a passphrase is set, so that every decision needs it. */
      enrolled: z.boolean(),
      /** Whether decisions without a passphrase are accepted while none is set. */
      same_uid_allowed: z.boolean(),
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/approver',
        about: 'Whether a person is enrolled, and what policy requires of them',
      },
    ],
    audit: null,
  }),
} as const;

/** One approval request and its decision. It contains no variable's value. */
export type ApprovalView = TypeOf<typeof approvalSchema>;
/** What the command would do, as a person sees it. */
export type ApprovalSubjectView = ApprovalView['asked'];
export type ApprovalEvent = TypeOf<typeof approvalEventSchema>;
export type ApprovalWatchId = ApprovalEvent['stream_id'];
export type PolicyExplainParams = ParamsOf<typeof approvalMethods, 'policy.explain'>;
export type ApprovalListParams = ParamsOf<typeof approvalMethods, 'approval.list'>;
export type ApprovalDecideParams = ParamsOf<typeof approvalMethods, 'approval.decide'>;
export type ApprovalStatus = AnswerOf<typeof approvalMethods, 'approval.status'>;
/** What `approval.watch` answers before the first event; all pending approvals come first. */
export type ApprovalWatchAnswer = AnswerOf<typeof approvalMethods, 'approval.watch'>;
export type AnswerScope = TypeOf<typeof answerScopeSchema>;
/** The beginning of the command's standard input, with known secrets masked. */
export type ApprovalInputView = NonNullable<ApprovalSubjectView['input']>;
