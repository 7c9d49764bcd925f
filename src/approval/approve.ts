/** Turns a plan into an approved one: the only place where that type is made. */
/* oxlint-disable typescript/consistent-type-assertions -- the mint */
/* oxlint-disable typescript/no-unsafe-type-assertion -- the mint */
import { createHash } from 'node:crypto';
import type { ApprovedPlan, Box, Plan, SealedBox, Verdict } from '../command.ts';
import { TrlError } from '../errors.ts';

/** JSON with sorted keys and no blanks: equal plans give equal text. Source: RFC 8785. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A session's box is one large object that all its plans share: it is hashed once. */
const sealed = new WeakMap<Box, SealedBox>();

function sealBox(box: Box): SealedBox {
  const known = sealed.get(box);
  if (known !== undefined) return known;
  const canonical = canonicalJson(box);
  const made = { canonical, digest: sha256(canonical) };
  sealed.set(box, made);
  return made;
}

/**
 * @throws TrlError `POLICY_DENIED` for a block, `APPROVAL_REQUIRED` for what must be asked
 */
export function approve(plan: Plan, verdict: Verdict): ApprovedPlan {
  const rules = verdict.rules.map(({ id, reason }) => `${id} (${reason})`).join(', ');
  switch (verdict.decision) {
    case 'block':
      throw new TrlError('POLICY_DENIED', `Cannot run the command: blocked by ${rules}`);
    case 'ask':
      throw new TrlError('APPROVAL_REQUIRED', `Cannot run the command yet: ${rules}`);
    case 'allow': {
      const box = sealBox(plan.box);
      const canonical = canonicalJson({ ...plan, box: box.digest });
      const digest = sha256(canonical);
      return { plan, digest, canonical, box } as ApprovedPlan;
    }
  }
}
