/** Audit records of approval steps, policy and configuration. */
import { canonicalJson } from '../../canonical.ts';
import { createHash } from 'node:crypto';
import type { Approval } from '../../approval/approval.ts';
import type { EventKind, Json } from '../../audit/event.ts';
import type { ApprovalState } from '../../command.ts';
import type { Configuration } from '../../configuration/configuration.ts';
import type { Policy } from '../../policy/policy.ts';
import type { AuditRecord } from './auditing.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const kindOfState: Readonly<Record<ApprovalState, EventKind>> = {
  pending: 'approval.requested',
  approved: 'approval.decided',
  denied: 'approval.decided',
  used: 'approval.used',
  expired: 'approval.ended',
  cancelled: 'approval.ended',
  superseded: 'approval.ended',
};

/** The current state of an approval, recorded at each of its steps. */
export function approvalAuditRecord(approval: Approval): AuditRecord {
  const { id, execId: exec, state, asked, digest, verdict, answer, supersededBy } = approval;
  const decided =
    answer === null
      ? {}
      : {
          decision: answer.decision,
          scope: answer.scope,
          by: answer.by.actor,
          proof: answer.by.proof,
          decided_at: answer.at,
        };
  return {
    kind: kindOfState[state],
    actor:
      answer !== null && kindOfState[state] === 'approval.decided'
        ? answer.by.actor
        : asked.requester,
    session: asked.session,
    exec,
    data: {
      approval: id,
      state,
      digest,
      superseded_by: supersededBy,
      rules: verdict.rules.map((one) => one.id),
      expires_at: approval.expiresAt,
      ...decided,
    },
  };
}

export function policyAuditRecord({
  name,
  version,
}: Pick<Policy, 'name' | 'version'>): AuditRecord {
  return { kind: 'policy.loaded', data: { name, version } };
}

/** A policy that was requested and refused: the previous one remains in force. */
export function policyRefusalRecord(why: string): AuditRecord {
  return { kind: 'policy.refused', data: { why } };
}

/**
 * Keys with their origins, and only a digest of the values, because some values contain secrets.
 */
export function configurationAuditRecord({ settings, files }: Configuration): AuditRecord {
  const values = settings.map(({ key, value }): Json => ({
    key,
    sha256: sha256(canonicalJson(value)),
  }));
  const origins = settings.map(({ key, origins: from }): Json => ({ key, origins: from }));
  return { kind: 'config.loaded', data: { files, origins, values } };
}
