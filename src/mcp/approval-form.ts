/**
 * Asking the person behind an MCP client. What comes back proves that the client's program relayed
 * it, and no more: it is asked for only where such an answer is taken at all. A passphrase is never
 * asked for here, for programs and models read what passes through.
 */
import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { fieldOf, isObject } from '../json-shape.ts';
import { answerScopes, approvalTextKind, scopeMeanings } from '../protocol/approval.ts';
import type { AnswerScope, ApprovalView } from '../protocol/approval.ts';
import {
  bindingLines,
  approvalInputLines,
  escapeForeignText,
  escapeForeignInline,
} from '../tools/index.ts';

/** What is sealed between the question and the call that brings the answer. */
export interface ApprovalRequestState {
  readonly approval_id: ApprovalView['approval_id'];
  readonly exec_id: ApprovalView['exec_id'];
  readonly digest: string;
  /** SHA-256 of the tool's name and arguments: an answer is for this call alone. */
  readonly call: string;
  /** Whether the answer decides; else a person decides elsewhere, and says here that they did. */
  readonly decides: boolean;
}

export interface ApprovalFormAnswer {
  readonly decision: 'approve' | 'deny' | 'done' | 'later';
  /** For how long a yes holds; absent: once. */
  readonly scope?: AnswerScope;
}

const key = 'decision';
const answers = ['approve', 'deny', 'done'] as const;

/** Whether the client shows forms to its person. Clients of before said just `{}`. */
export function supportsForms(capabilities: unknown): boolean {
  const elicitation = fieldOf(capabilities, 'elicitation');
  if (!isObject(elicitation)) return false;
  return Object.hasOwn(elicitation, 'form') || !Object.hasOwn(elicitation, 'url');
}

/** The question as a form: with both answers, or, where none is taken here, with where to go. */
export function approvalFormResult(
  approval: ApprovalView,
  decides: boolean,
  requestState: string,
): InputRequiredResult {
  const { scopes = [] } = approval;
  const where = `\n\nApprove it by: trl approvals approve ${approval.approval_id}`;
  return inputRequired({
    inputRequests: {
      [key]: inputRequired.elicit({
        message: decides ? messageOf(approval) : `${messageOf(approval)}${where}`,
        requestedSchema: {
          type: 'object',
          properties: {
            decision: {
              type: 'string',
              title: decides ? 'Run this command?' : 'Was it decided?',
              enum: decides ? ['approve', 'deny'] : ['done'],
            },
            ...(decides && scopes.length > 1 ? { scope: scopeField(scopes) } : {}),
          },
          required: ['decision'],
        },
      }),
    },
    requestState,
  });
}

/** Optional, for a client that shows the first field alone: then a yes is for once. */
const scopeField = (scopes: readonly AnswerScope[]) => ({
  type: 'string' as const,
  title: 'For how long does a yes hold?',
  description: scopes.map((one) => `${one}: ${scopeMeanings[one]}`).join('; '),
  enum: [...scopes],
  default: 'once',
});

/**
 * What the person said. Closing the form decides nothing, and a scope that nobody offered is none:
 * then nothing is decided either.
 */
export function readFormAnswer(responses: Record<string, unknown> | undefined): ApprovalFormAnswer {
  const found = inputResponse(responses, key);
  if (found.kind !== 'elicit' || found.action === 'cancel') return { decision: 'later' };
  if (found.action === 'decline') return { decision: 'deny' };
  const { decision: said, scope: chosen } = found.content ?? {};
  const decision = answers.find((one) => one === said) ?? 'later';
  if (decision !== 'approve' || chosen === undefined) return { decision };
  const scope = answerScopes.find((one) => one === chosen);
  return scope === undefined ? { decision: 'later' } : { decision, scope };
}

/** The whole command, never cut, with what could hide shown. */
function messageOf({ approval_id: id, digest, asked, verdict, changes }: ApprovalView): string {
  const why = verdict.rules
    .filter(({ decision }) => decision === 'ask')
    .map(({ id: rule, reason }) => `- ${rule}: ${escapeForeignInline(reason)}`);
  const kind = escapeForeignInline(approvalTextKind(asked));
  const variables =
    asked.variables.length === 0 ? [] : [`variables: ${asked.variables.join(', ')}`];
  return [
    kind === 'command' ? 'An agent wants to run:' : `An agent wants to run a ${kind}:`,
    '',
    escapeForeignText(asked.command),
    '',
    ...approvalInputLines(asked),
    ...bindingLines(asked),
    `in ${escapeForeignInline(asked.cwd)}, network ${asked.network}, ` +
      `sandbox ${asked.sandbox.level}`,
    ...variables,
    ...why,
    ...(asked.rule === undefined
      ? []
      : [`the rule of "project": ${escapeForeignInline(asked.rule)}`]),
    ...(changes ?? []).map((change) => `changed: ${escapeForeignInline(change)}`),
    `${id}, digest ${digest.slice(0, 16)}`,
  ].join('\n');
}
