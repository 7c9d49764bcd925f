/** Earlier answers of a person: for identical plans of the session, or by a project rule. */
import type { ApprovalSubject } from '../../approval/subject.ts';
import { subjectDigest, withoutWorkspaceState } from '../../approval/subject.ts';
import { authorizeByApproval, authorizeByRule } from '../../authorize.ts';
import type { AuthorizedExecution, PendingApproval } from '../../execution.ts';
import type { DaemonApprovalService } from './approval-service.ts';

/** `null`: a person must decide. */
export function authorizeByEarlierAnswer(
  service: DaemonApprovalService,
  pending: PendingApproval,
): AuthorizedExecution | null {
  const { subject } = pending;
  const digests = [subject, withoutWorkspaceState(subject)].map((one) => subjectDigest(one));
  const found = digests.map((digest) => service.approvals.sessionGrant(subject.session, digest));
  const approval = found[0] ?? found[1] ?? null;
  if (approval !== null) return authorizeByApproval(pending, approval);
  const find = (one: ApprovalSubject) => service.ruleFor(one);
  const rule = find(subject);
  return rule === null ? null : authorizeByRule(pending, rule, find);
}
