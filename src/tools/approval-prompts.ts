/** Approval requests that a call runs into. */
import type { Client } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import { unicodeEscape, replaceHiddenCharacters } from '../hidden-characters.ts';
import { approvalTextKind, bindingText, inputHeading } from '../client/approval-text.ts';
import type { ApprovalDecideParams, ApprovalView } from '../api/approval.ts';

const digestShown = 16;

/** The approval request that `error` reports; `null`: it is another failure. */
export async function findPendingApproval(
  client: Client,
  error: unknown,
): Promise<ApprovalView | null> {
  if (!isTrlError(error, 'APPROVAL_REQUIRED')) return null;
  const id: unknown = error.data?.['approval_id'];
  return typeof id === 'string' && isApprovalId(id) ? client.approval(id) : null;
}

/**
 * Submits what a person decided in their own program. Nothing authenticates that program, so the
 * decision is accepted only if nobody is enrolled and policy accepts the uid as proof of a person.
 *
 * @throws TrlError `AUTH_FAILED` if a passphrase is enrolled, or policy requires one.
 */
export async function submitApprovalDecision(
  client: Client,
  approval: Pick<ApprovalView, 'approval_id' | 'digest'>,
  answer: Pick<ApprovalDecideParams, 'decision' | 'scope'>,
): Promise<void> {
  const { approval_id, digest } = approval;
  await client.decide({ approval_id, ...answer, digest: digest.slice(0, digestShown) });
}

/** Whether a decision without a passphrase is accepted. */
export async function acceptsUnprovenAnswers(client: Client): Promise<boolean> {
  const { enrolled, same_uid_allowed: allowed } = await client.approvalStatus();
  return !enrolled && allowed;
}

/** What a model reports to its user, and does next. */
export function waitingForApprovalText(approval: ApprovalView): string {
  const { approval_id: id, asked, verdict } = approval;
  const why = verdict.rules
    .filter(({ decision }) => decision === 'ask')
    .map(({ id: rule, reason }) => `- ${rule}: ${escapeForeignInline(reason)}`);
  return [
    `A person must approve this ${escapeForeignInline(approvalTextKind(asked))} before it runs:`,
    escapeForeignText(asked.command),
    ...approvalInputLines(asked),
    `in ${escapeForeignInline(asked.cwd)}`,
    ...bindingLines(asked),
    ...why,
    `Ask the user to run: trl approvals approve ${id}`,
    'Then call the tool again with the same arguments: it attaches, and nothing runs twice.',
  ].join('\n');
}

/** What an approval binds of what the command runs. */
export function bindingLines(asked: ApprovalView['asked']): string[] {
  const text = bindingText(asked);
  return text === null ? [] : [escapeForeignInline(text)];
}

/** The command's standard input, if it has any. */
export function approvalInputLines(asked: ApprovalView['asked']): string[] {
  const heading = inputHeading(asked);
  if (heading === null) return [];
  return asked.input === undefined
    ? [`${heading}.`]
    : [`${heading}:`, escapeForeignText(asked.input.text)];
}

/**
 * Untrusted text, separated from this program's own: characters that could hide or move text are
 * shown by their number, and no line of it begins like one of ours.
 */
export const escapeForeignText = (text: string): string =>
  text
    .split('\n')
    .map(
      (line) =>
        `    ${replaceHiddenCharacters(line, (one) => (one === '\t' ? one : unicodeEscape(one)))}`,
    )
    .join('\n');

/** As {@link escapeForeignText}, within one of our lines: its line ends are shown, too. */
export const escapeForeignInline = (text: string): string =>
  replaceHiddenCharacters(text, unicodeEscape);

const isApprovalId = (text: string): text is `a-${string}` => text.startsWith('a-');
