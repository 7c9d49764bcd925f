/** Answers of `approval.*` and `policy.explain`, and the events of `approval.watch`. */
import * as z from 'zod/mini';
import { contentRoles } from '../../binding.ts';
import { approvalStates } from '../../command.ts';
import { answerScopes } from '../approval.ts';
import * as word from './words.ts';

const asked = z.object({
  command: z.string(),
  language: z.exactOptional(z.literal('python')),
  tool: z.exactOptional(z.object({ name: z.string(), sha256: word.sha256 })),
  shell: z.object({ path: z.string(), dialect: z.enum(['bash', 'posix', 'zsh']) }),
  mode: z.enum(['foreground', 'detached']),
  cwd: z.string(),
  workspace: word.nullableText,
  network: word.network,
  sandbox: z.object({ kind: word.sandboxKind, level: word.assuranceLevel }),
  files: word.fileGrants,
  stdin: z.enum(['closed', 'bytes', 'open']),
  input: z.exactOptional(z.object({ text: z.string(), bytes: word.count, is_whole: z.boolean() })),
  pty: z.boolean(),
  timeout_ms: z.nullable(word.count),
  variables: word.names,
  contents: z.array(
    z.object({
      role: z.enum(contentRoles),
      name: z.string(),
      path: word.nullableText,
      sha256: z.nullable(word.sha256),
      mode: z.exactOptional(word.count),
    }),
  ),
  rule: z.exactOptional(z.string()),
  binding: z.exactOptional(
    z.union([
      z.object({ kind: z.literal('named') }),
      z.object({
        kind: z.literal('workspace'),
        sha256: word.sha256,
        entries: word.count,
        why: z.string(),
      }),
      z.object({ kind: z.literal('unbound'), why: z.string() }),
    ]),
  ),
  argv: z.nullable(word.names),
});

/** One question to a person, and its answer. */
export const approval = z.object({
  approval_id: word.approvalId,
  exec_id: word.execId,
  session_id: word.sessionId,
  state: z.enum(approvalStates),
  digest: word.sha256,
  created_at: word.time,
  expires_at: word.time,
  requester: z.string(),
  asked,
  verdict: word.verdict,
  scope: z.exactOptional(z.enum(answerScopes)),
  scopes: z.exactOptional(z.array(z.enum(answerScopes))),
  decided_at: z.exactOptional(word.time),
  decided_by: z.exactOptional(z.string()),
  same_uid: z.exactOptional(z.literal(true)),
  words: z.exactOptional(z.string()),
  superseded_by: z.exactOptional(word.approvalId),
  changes: z.exactOptional(word.names),
});

const watchId = word.id('w-');

export const approvalEvent = z.object({ stream_id: watchId, approval });

export const approvalAnswers = {
  'policy.explain': word.verdict,
  'approval.list': z.object({ approvals: z.array(approval) }),
  'approval.get': approval,
  'approval.decide': approval,
  'approval.watch': z.object({ stream_id: watchId }),
  'approval.status': z.object({ enrolled: z.boolean(), same_uid_allowed: z.boolean() }),
} as const;
