/** That a call comes from a person, as far as that can be known. */
import type { Enrolment } from '../approval/enrolment.ts';
import type { Caller } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { Approving } from './approving.ts';

export interface Proving {
  readonly enrolment: Enrolment;
  /** Says whether policy takes what only the uid proves. */
  readonly approving: Pick<Approving, 'approvalStatus'>;
}

/**
 * @throws TrlError `AUTH_FAILED` on the pipes of `stdio`, whose other end is a program; without the
 *   enrolled person's passphrase; where nobody is enrolled and policy wants the person proved
 */
export type Prove = (
  action: string,
  caller: Pick<Caller, 'authenticatedBy'>,
  passphrase: string | undefined,
) => Promise<void>;

/**
 * Resolves for the enrolled person's passphrase; where nobody is enrolled, for a caller on the
 * socket as far as policy takes what only the uid proves.
 */
export function proverOf({ enrolment, approving }: Proving): Prove {
  return async (action, caller, passphrase) => {
    const refuse = (why: string): TrlError => new TrlError('AUTH_FAILED', `${action}: ${why}`);
    if (caller.authenticatedBy !== 'socket-owner') {
      throw refuse('a person does it, on the socket of "trl serve"');
    }
    if (enrolment.approver() === null) {
      if (approving.approvalStatus().same_uid_allowed) return;
      throw refuse('policy wants the person proved; run: trl approvals enroll');
    }
    if (passphrase === undefined) throw refuse('the passphrase is needed');
    if (!(await enrolment.verify(passphrase))) throw refuse('the passphrase is wrong');
  };
}
