/** Turns a plan into an approved one: the only place where that type is made. */
/* oxlint-disable typescript/consistent-type-assertions -- the mint */
/* oxlint-disable typescript/no-unsafe-type-assertion -- the mint */
import { createHash } from 'node:crypto';
import type { ApprovedPlan, Box, DecidingRule, Plan, CanonicalBox, Verdict } from '../command.ts';
import { TrlError } from '../errors.ts';
import { isSessionGrant, type Approval } from './approval.ts';
import { canonicalJson } from '../canonical.ts';
import { diffSubjects } from './subject-diff.ts';
import { ruleText, type LastingRule } from './lasting-rules.ts';
import { subjectDigest, rebindSubject, type ApprovalSubject } from './subject.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** All plans of a session share one large box: it is hashed once. */
const sealed = new WeakMap<Box, CanonicalBox>();

function sealBox(box: Box): CanonicalBox {
  const known = sealed.get(box);
  if (known !== undefined) return known;
  const canonical = canonicalJson(box);
  const made = { canonical, digest: sha256(canonical) };
  sealed.set(box, made);
  return made;
}

/**
 * Approves what policy allows.
 *
 * @throws TrlError `POLICY_DENIED` for a block, `APPROVAL_REQUIRED` for what needs approval
 */
export function approveByPolicy(plan: Plan, verdict: Verdict): ApprovedPlan {
  switch (verdict.decision) {
    case 'block':
      throw new PolicyRefusal(verdict);
    case 'ask':
      throw new TrlError('APPROVAL_REQUIRED', approvalReason(verdict));
    case 'allow':
      return mint(plan);
  }
}

/**
 * Approves what a person approved: by an approval that this start uses up, or by one that covers
 * identical plans of its session.
 *
 * @throws TrlError `POLICY_DENIED` for a block, which nobody can approve; `APPROVAL_REQUIRED` when
 *   the approval is for another subject
 */
export function approveByAnswer(
  plan: Plan,
  verdict: Verdict,
  { asked, approval }: { readonly asked: ApprovalSubject; readonly approval: Approval },
): ApprovedPlan {
  if (verdict.decision === 'block') return approveByPolicy(plan, verdict);
  const said = approval.state === 'used' || isSessionGrant(approval, Date.now());
  const same =
    asked.command === plan.command &&
    asked.session === plan.session_id &&
    subjectDigest(rebindSubject(approval.asked, asked)) === approval.digest;
  if (said && same) return mint(plan);
  throw new TrlError('APPROVAL_REQUIRED', 'Cannot run the command: nobody approved what it is now');
}

/**
 * Approves what a lasting rule covers: a command that needs approval only for the network, or only
 * for values that it shows.
 *
 * @throws TrlError `POLICY_DENIED` for a block, `APPROVAL_REQUIRED` for another subject
 */
export function approveByRule(
  plan: Plan,
  verdict: Verdict,
  { asked, rule }: { readonly asked: ApprovalSubject; readonly rule: LastingRule },
): { readonly approved: ApprovedPlan; readonly verdict: Verdict } {
  const isSame = canonicalJson(asked.rule ?? null) === canonicalJson(rule.of);
  const isOwn = asked.command === plan.command && asked.session === plan.session_id;
  if (verdict.decision !== 'ask' || !isSame || !isOwn) {
    if (verdict.decision === 'block') throw new PolicyRefusal(verdict);
    const message = 'Cannot run the command: no rule answers what it is now';
    throw new TrlError('APPROVAL_REQUIRED', message);
  }
  const by: DecidingRule = {
    id: `answer.${rule.id}`,
    decision: 'allow',
    reason: `was answered for the project: ${ruleText(rule.of)}`,
    span: null,
    via: [],
    evidence: null,
    instead: null,
  };
  return { approved: mint(plan), verdict: { ...verdict, decision: 'allow', rules: [by] } };
}

/** @throws TrlError `APPROVAL_EXPIRED` when the rule no longer covers what would start */
export function confirmRuleUnchanged(before: LastingRule, now: LastingRule | null): void {
  if (now !== null && now.id === before.id) return;
  const what = `the rule ${before.id} no longer fits just before the start`;
  throw new TrlError('APPROVAL_EXPIRED', `Cannot run the command: ${what}; run it again to ask`);
}

/**
 * The last check before the start, when everything else is ready.
 *
 * @throws TrlError `APPROVAL_EXPIRED` when what would start is not what was approved
 */
export function confirmSubjectUnchanged(answered: ApprovalSubject, found: ApprovalSubject): void {
  const now = rebindSubject(answered, found);
  if (subjectDigest(now) === subjectDigest(answered)) return;
  const [first] = diffSubjects(answered, now);
  const what = `${first?.text ?? 'what the approval binds changed'} just before the start`;
  const message = `Cannot run the command: ${what}; run it again to ask again`;
  throw new TrlError('APPROVAL_EXPIRED', message);
}

function mint(plan: Plan): ApprovedPlan {
  const box = sealBox(plan.box);
  const canonical = canonicalJson({ ...plan, box: box.digest });
  return { plan, digest: sha256(canonical), canonical, box } as ApprovedPlan;
}

/** Policy blocks the command; nobody can approve it. */
export class PolicyRefusal extends TrlError {
  readonly verdict: Verdict;
  constructor(verdict: Verdict) {
    super('POLICY_DENIED', refusal(verdict), { data: { verdict } });
    this.verdict = verdict;
  }
}

/** Short, and with the allowed way where there is one. */
function refusal(verdict: Verdict): string {
  const [first] = verdict.rules;
  if (first === undefined) return 'Cannot run the command: policy blocks it';
  const way = first.instead === null ? '' : `; instead: ${first.instead}`;
  return `Cannot run the command: ${clause(first, verdict)}${way}`;
}

/** Why a person has to decide. */
export function approvalReason(verdict: Verdict): string {
  const [first] = verdict.rules;
  const why = first === undefined ? '' : `: ${clause(first, verdict)}`;
  return `Cannot run the command yet${why}`;
}

function clause({ id, reason, evidence }: DecidingRule, { rules }: Verdict): string {
  const what = evidence === null ? 'it' : JSON.stringify(shorten(evidence));
  const others = rules.length > 1 ? ` and ${rules.length - 1} more` : '';
  return `${what} ${reason} (${id}${others})`;
}

const shownMax = 120;
const shorten = (text: string): string =>
  text.length <= shownMax ? text : `${text.slice(0, shownMax - 1)}…`;
