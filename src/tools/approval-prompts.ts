/** Questions to people that a call runs into. */
import type { Client } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import { unicodeEscape, replaceHiddenCharacters } from '../hidden-characters.ts';
import { bindingText, inputHeading, approvalTextKind } from '../protocol/approval.ts';
import type { ApprovalDecideParams, ApprovalView } from '../protocol/approval.ts';

const digestShown = 16;

/** The question that `error` stands for; `null`: it is another failure. */
export async function findPendingApproval(
  client: Client,
  error: unknown,
): Promise<ApprovalView | null> {
  if (!isTrlError(error, 'APPROVAL_REQUIRED')) return null;
  const id: unknown = error.data?.['approval_id'];
  return typeof id === 'string' && isApprovalId(id) ? client.approval(id) : null;
}

/**
 * What a person answered through the program that they use. Which program that is, nothing proves:
 * it is taken where nobody is enrolled and policy takes the uid for one.
 *
 * @throws TrlError `AUTH_FAILED` where a passphrase is enrolled, or policy wants one.
 */
export async function submitApprovalDecision(
  client: Client,
  approval: Pick<ApprovalView, 'approval_id' | 'digest'>,
  answer: Pick<ApprovalDecideParams, 'decision' | 'scope'>,
): Promise<void> {
  const { approval_id, digest } = approval;
  await client.decide({ approval_id, ...answer, digest: digest.slice(0, digestShown) });
}

/** Whether an answer without a passphrase is taken. */
export async function acceptsUnprovenAnswers(client: Client): Promise<boolean> {
  const { enrolled, same_uid_allowed: allowed } = await client.approvalStatus();
  return !enrolled && allowed;
}

/** What a model tells its person, and does next. */
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

/** How far a yes binds what it runs. */
export function bindingLines(asked: ApprovalView['asked']): string[] {
  const text = bindingText(asked);
  return text === null ? [] : [escapeForeignInline(text)];
}

/** What the command gets on standard input, where it gets something. */
export function approvalInputLines(asked: ApprovalView['asked']): string[] {
  const heading = inputHeading(asked);
  if (heading === null) return [];
  return asked.input === undefined
    ? [`${heading}.`]
    : [`${heading}:`, escapeForeignText(asked.input.text)];
}

/**
 * Text of others, set apart from what this program says: what could hide or move text is shown by
 * its number, and no line of it begins where one of ours does.
 */
export const escapeForeignText = (text: string): string =>
  text
    .split('\n')
    .map(
      (line) =>
        `    ${replaceHiddenCharacters(line, (one) => (one === '\t' ? one : unicodeEscape(one)))}`,
    )
    .join('\n');

/** As {@link escapeForeignText}, within a line of ours: its line ends are shown, too. */
export const escapeForeignInline = (text: string): string =>
  replaceHiddenCharacters(text, unicodeEscape);

const isApprovalId = (text: string): text is `a-${string}` => text.startsWith('a-');
