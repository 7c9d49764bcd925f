/** One question to a person, from asked to over. */
import { randomBytes } from 'node:crypto';
import type { ApprovalId, ApprovalState, ExecId, Verdict } from '../command.ts';
import { limits } from '../limits.ts';
import { subjectDigest } from './subject.ts';
import type { ApprovalSubject } from './subject.ts';

/** `same_uid`: nothing but the user's uid showed who it was, and an agent has that too. */
export type ApprovalProof = 'passphrase' | 'same_uid';

export interface ApprovalAnswer {
  readonly decision: 'approve' | 'deny';
  /** `session`: equal plans of the session run without asking again; `project`: by a rule. */
  readonly scope: 'once' | 'session' | 'project';
  /** Unix ms. */
  readonly at: number;
  readonly by: { readonly actor: string; readonly proof: ApprovalProof };
  readonly words: string | null;
}

export interface Approval {
  readonly v: 1;
  readonly id: ApprovalId;
  readonly execId: ExecId;
  readonly state: ApprovalState;
  readonly asked: ApprovalSubject;
  /** {@link subjectDigest} of `asked`. */
  readonly digest: string;
  readonly verdict: Verdict;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms: from then on nobody may say yes. */
  readonly expiresAt: number;
  readonly answer: ApprovalAnswer | null;
  /** Whether equal plans of the session run without asking. */
  readonly grants: boolean;
  /** Unix ms at which it was over, or `null`. */
  readonly closedAt: number | null;
  readonly supersededBy: ApprovalId | null;
  /** What changed since the approval that this one replaces, one sentence each. */
  readonly changes: readonly string[];
}

export const newApprovalId = (): ApprovalId => `a-${randomBytes(16).toString('hex')}`;

/** Whether a start may still follow. */
export const isApprovalOpen = ({ state }: Approval): boolean =>
  state === 'pending' || state === 'approved';

/** Unix ms at which it expires if nothing happens; `null`: it is over. */
export function approvalDueAt(approval: Approval): number | null {
  const { state, expiresAt, answer } = approval;
  if (state === 'pending') return expiresAt;
  return state === 'approved' ? (answer?.at ?? 0) + limits.approvalClaimMs.default : null;
}

/** Whether it lets equal plans of its session run at `now` (Unix ms). */
export function isSessionGrant(approval: Approval, now: number): boolean {
  const { state, grants, answer } = approval;
  if (!grants || answer === null || (state !== 'approved' && state !== 'used')) return false;
  return now < answer.at + limits.approvalGrantMs.default;
}

/** The approval in a row of the store, or `null` for a row that is not one as it was written. */
export function parseApproval(id: string, json: string): Approval | null {
  try {
    const found: Approval = JSON.parse(json);
    const isWhole = found.v === 1 && found.id === id && subjectDigest(found.asked) === found.digest;
    return isWhole ? found : null;
  } catch {
    // What cannot be read approves nothing.
    return null;
  }
}
