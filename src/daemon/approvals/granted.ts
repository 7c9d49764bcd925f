/** What a person answered before: for equal plans of the session, or for the project by a rule. */
import type { Asked } from '../../approval/request.ts';
import { askedDigest, withoutState } from '../../approval/request.ts';
import { permitted, permittedBy, type Decided, type Question } from '../../run.ts';
import type { Approving } from './approving.ts';

/** `null`: a person must be asked. */
export function grantedBefore(approving: Approving, question: Question): Decided | null {
  const { asked } = question;
  const { approvals } = approving;
  const digests = [asked, withoutState(asked)].map((one) => askedDigest(one));
  const found = digests.map((digest) => approvals.sessionGrant(asked.session, digest));
  const approval = found[0] ?? found[1] ?? null;
  if (approval !== null) return permitted(question, approval);
  const find = (one: Asked) => approving.ruleFor(one);
  const rule = find(asked);
  return rule === null ? null : permittedBy(question, rule, find);
}
