/** Which verdict a command gets. Pure: facts come in, a verdict comes out. */
import type { Verdict } from '../command.ts';
import { permit } from './verdict.ts';

/** Policies by name. `trusted`: everything may run, inside the sandbox that was asked for. */
export const policyNames = ['trusted'] as const;
export type PolicyName = (typeof policyNames)[number];

export const isPolicyName = (name: string): name is PolicyName =>
  policyNames.some((known) => known === name);

export function decide(policy: PolicyName): Verdict {
  switch (policy) {
    case 'trusted':
      return permit('trusted', 'everything may run in the sandbox asked for');
  }
}
