/**
 * Asks the person behind an MCP client. The answer proves only that the client's program relayed
 * it, so a form is used only if such an answer is accepted. It never asks for a passphrase, because
 * programs and models read what passes through.
 */
import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { answerScopes, type AnswerScope, type ApprovalView } from '../api/approval.ts';
import { approvalTextKind, scopeMeanings } from '../client/approval-text.ts';
import { fieldOf, isObject } from '../json-shape.ts';
import { networkText, normalNetworkAccess } from '../network-access.ts';
import {
  bindingLines,
  approvalInputLines,
  escapeForeignText,
  escapeForeignInline,
} from '../tools/index.ts';

/** What is sealed between the form and the call that brings the answer. */
export interface ApprovalRequestState {
  readonly approval_id: ApprovalView['approval_id'];
  readonly exec_id: ApprovalView['exec_id'];
  readonly digest: string;
  /** SHA-256 of the tool's name and arguments: an answer is valid for this call only. */
  readonly call: string;
  /**
   * Whether the answer decides; else a person decides elsewhere, and confirms here that they did.
   */
  readonly decides: boolean;
}

export interface ApprovalFormAnswer {
  readonly decision: 'approve' | 'deny' | 'done' | 'later';
  /** How long an approval is valid; absent: once. */
  readonly scope?: AnswerScope;
}

const key = 'decision';
const answers = ['approve', 'deny', 'done'] as const;

/** Whether the client shows forms to its person. Earlier clients declared only `{}`. */
export function supportsForms(capabilities: unknown): boolean {
  const elicitation = fieldOf(capabilities, 'elicitation');
  if (!isObject(elicitation)) return false;
  return Object.hasOwn(elicitation, 'form') || !Object.hasOwn(elicitation, 'url');
}

/**
 * The approval request as a form: with both decisions, or, if none is accepted here, with where to
 * decide.
 */
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

/** Optional, for a client that shows only the first field: then an approval is for once. */
const scopeField = (scopes: readonly AnswerScope[]) => ({
  type: 'string' as const,
  title: 'How long is the approval valid?',
  description: scopes.map((one) => `${one}: ${scopeMeanings[one]}`).join('; '),
  enum: [...scopes],
  default: 'once',
});

/**
 * What the person answered. Closing the form decides nothing, nor does a scope that was not
 * offered.
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

/** The whole command, never cut, with characters that could hide made visible. */
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
    `in ${escapeForeignInline(asked.cwd)}, ` +
      `network ${networkText(normalNetworkAccess(asked.network), asked.hosts)}, ` +
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
