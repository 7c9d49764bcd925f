/** Why an approval starts nothing, for the caller. */
import { TrlError } from '../errors.ts';
import type { Approval } from './approval.ts';

export function approvalExpiredError({ id, execId, answer }: Approval): TrlError {
  const reason =
    answer === null ? 'nobody decided in time' : 'it did not start in time after the approval';
  return new TrlError('APPROVAL_EXPIRED', `Cannot run the command: ${reason} (${id})`, {
    data: { approval_id: id, exec_id: execId },
  });
}

/** Why nothing starts by this approval. */
export function approvalNotUsableError(approval: Approval): TrlError {
  const { id, execId, state, answer, supersededBy } = approval;
  const data = { approval_id: id, exec_id: execId };
  const denied = (reason: string): TrlError =>
    new TrlError('APPROVAL_DENIED', `Cannot run the command: ${reason} (${id})`, { data });
  switch (state) {
    case 'pending': {
      const message = `Cannot run the command yet: a person must decide first (${id})`;
      return new TrlError('APPROVAL_REQUIRED', message, { data });
    }
    case 'superseded': {
      const next = { ...data, approval_id: supersededBy };
      const message = `Cannot run the command yet: it changed since the approval (${supersededBy})`;
      return new TrlError('APPROVAL_REQUIRED', message, { data: next });
    }
    case 'expired':
      return approvalExpiredError(approval);
    case 'denied':
      return denied(answer?.words == null ? 'a person said no' : `a person said: ${answer.words}`);
    case 'cancelled':
      return denied('the question was withdrawn');
    case 'used':
    case 'approved':
      return denied('its approval was used');
  }
}
