/**
 * The shipped profiles, as data. Each is at least as strict as the one before it for every
 * command and every situation, so that the strictest of two is one of the two.
 */
import { knowledgeVersion } from './commands/table.ts';
import { joinPolicyLayers } from './policy.ts';
import type { PolicyBaseName, NetworkMode, Policy } from './policy.ts';

export interface ShippedProfile {
  readonly about: string;
  /** The most that a session may be granted if no file specifies it. */
  readonly network: NetworkMode;
}

export const shippedProfiles = {
  trusted: {
    about: 'everything runs, in the sandbox that was asked for',
    network: 'on',
  },
  auto: {
    about: 'nothing is asked while the sandbox holds the command; blocks stay',
    network: 'ask',
  },
  guarded: {
    about: 'a short list runs, the rest is asked; blocks stay',
    network: 'ask',
  },
  locked: {
    about: 'a short list runs, nothing is asked, the rest is refused',
    network: 'off',
  },
} as const satisfies Record<PolicyBaseName, ShippedProfile>;

/** The policy that is a shipped profile and nothing else. */
export function policyFromProfile(base: PolicyBaseName): Policy {
  const layer = { name: base, kind: 'profile', base, callers: [], commands: [] } as const;
  return joinPolicyLayers(
    base,
    [layer],
    [{ network: shippedProfiles[base].network }],
    knowledgeVersion(),
  );
}
