/** Verdicts that follow from no analysis. */
import type { Verdict } from '../command.ts';

/** Lets a command run for one reason, under a policy that has no text. */
export function permit(id: string, reason: string): Verdict {
  const rule = { id, decision: 'allow', reason, span: null, via: [], evidence: null } as const;
  return {
    decision: 'allow',
    rules: [{ ...rule, instead: null }],
    policy: { name: id, version: '' },
    runs: null,
    notes: [],
  };
}
