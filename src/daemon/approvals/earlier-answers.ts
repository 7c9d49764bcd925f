/** What a person answered before: for equal plans of the session, or for the project by a rule. */
import type { ApprovalSubject } from '../../approval/subject.ts';
import { subjectDigest, withoutWorkspaceState } from '../../approval/subject.ts';
import {
  authorizeByApproval,
  authorizeByRule,
  type AuthorizedExecution,
  type PendingApproval,
} from '../../run.ts';
import type { DaemonApprovalService } from './approval-service.ts';

/** `null`: a person must be asked. */
export function authorizeByEarlierAnswer(
  approving: DaemonApprovalService,
  question: PendingApproval,
): AuthorizedExecution | null {
  const { subject: asked } = question;
  const { approvals } = approving;
  const digests = [asked, withoutWorkspaceState(asked)].map((one) => subjectDigest(one));
  const found = digests.map((digest) => approvals.sessionGrant(asked.session, digest));
  const approval = found[0] ?? found[1] ?? null;
  if (approval !== null) return authorizeByApproval(question, approval);
  const find = (one: ApprovalSubject) => approving.ruleFor(one);
  const rule = find(asked);
  return rule === null ? null : authorizeByRule(question, rule, find);
}
