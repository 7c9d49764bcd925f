/** Proof that a call comes from a person. */
import type { Enrolment } from '../../approval/enrolment.ts';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { isTokenAuthenticated } from '../access/access-scope.ts';
import type { DaemonApprovalService } from './approval-service.ts';

export interface PersonProverParts {
  readonly enrolment: Enrolment;
  /** Whether policy accepts the uid as proof. */
  readonly approvalService: Pick<DaemonApprovalService, 'approvalStatus'>;
}

/** How a person was authenticated. */
export type CallerProof = NonNullable<Caller['proof']>;

/**
 * @throws TrlError `AUTH_FAILED` on the pipes of `stdio`, whose other end is a program; without the
 *   enrolled person's passphrase; where nobody is enrolled and policy wants the person proved
 */
export type ProvePerson = (
  action: string,
  caller: Pick<Caller, 'authenticatedBy' | 'roles' | 'proof'>,
  passphrase: string | undefined,
) => Promise<CallerProof>;

/**
 * Resolves for a person's token or login; for the enrolled person's passphrase; where nobody is
 * enrolled, for a caller on the socket if policy accepts the uid as proof.
 */
export function createPersonProver({
  enrolment,
  approvalService: approving,
}: PersonProverParts): ProvePerson {
  return async (action, caller, passphrase) => {
    const refuse = (why: string): TrlError => new TrlError('AUTH_FAILED', `${action}: ${why}`);
    if (isTokenAuthenticated(caller)) {
      const byRole = proofOfRole(caller);
      if (byRole !== null) return byRole;
      throw refuse("a person does it, and this token is an agent's");
    }
    if (caller.authenticatedBy !== 'socket-owner') {
      throw refuse('a person does it, on the socket of "trl serve"');
    }
    if (enrolment.approver() === null) {
      if (approving.approvalStatus().same_uid_allowed) return 'same_uid';
      throw refuse('policy wants the person proved; run: trl approvals enroll');
    }
    if (passphrase === undefined) throw refuse('the passphrase is needed');
    if (!(await enrolment.verify(passphrase))) throw refuse('the passphrase is wrong');
    return 'passphrase';
  };
}

/**
 * A token or login made by and for a person is the proof that the person gave when it was made.
 * `null`: it is an agent's.
 */
export function proofOfRole({ roles, proof }: Pick<Caller, 'roles' | 'proof'>): CallerProof | null {
  const isPersons = roles.includes('approver') || roles.includes('admin');
  return isPersons ? (proof ?? null) : null;
}
