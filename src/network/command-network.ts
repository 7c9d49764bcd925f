/** What one command may reach, and what of it a person must be asked about first. Pure. */
import type { EgressRules, UpstreamProxy } from '../network-access.ts';
import { isBridged, type NetworkAccess } from '../network-access.ts';
import { coversName, coversRule, parseHostRules, type HostRule } from './host-rules.ts';
import { isEveryRequest } from './request-rules.ts';

/** Hosts that a policy permits without a question, and those that it never permits. */
export interface PolicyHosts {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Names that may lead to private addresses. */
  readonly private: readonly string[];
}

export interface CommandNetworkInput {
  readonly network: NetworkAccess;
  /** Host rules that its session requested. */
  readonly requested: readonly string[];
  /** Host rules that its text implies. */
  readonly implied: readonly string[];
  readonly policy: PolicyHosts;
  /** Whether a person may be asked while the command runs. */
  readonly asks: boolean;
  /** Host rules that a person answered for already. */
  readonly answered: readonly string[];
  /** Where names are served instead, by a person's configuration. */
  readonly connect: EgressRules['connect'];
  /** Through which hosts outside are reached; `null`: none. */
  readonly proxy: UpstreamProxy | null;
}

export interface CommandNetwork {
  /** `null`: there is no bridge. */
  readonly egress: EgressRules | null;
  /** Hosts that nobody has permitted yet, as rules, in order. */
  readonly asked: readonly string[];
}

export function planCommandNetwork(input: CommandNetworkInput): CommandNetwork {
  const { network, policy, connect } = input;
  if (!isBridged(network)) return { egress: null, asked: [] };
  const permitted = parseHostRules([...policy.allow, ...input.answered]);
  // What is denied is not asked about: the bridge refuses it. A denied port or request leaves
  // the others.
  const denied = parseHostRules(policy.deny).filter(
    (rule) => rule.port === null && isEveryRequest(rule),
  );
  const isDenied = (name: string): boolean => denied.some((rule) => coversName(rule, name));
  const [requested, implied] = [parseHostRules(input.requested), parseHostRules(input.implied)];
  const asked = [...requested, ...implied].filter(
    (rule) => !coversRule(permitted, rule) && !isDenied(rule.name),
  );
  const texts = (rules: readonly HostRule[]): string[] =>
    [...new Set(rules.map(({ text }) => text))].toSorted();
  const toAsk = network === 'open' ? [] : texts(asked);
  const { deny, private: inner } = policy;
  // Where nobody is asked, a session that names hosts reaches these alone.
  const isImpliedAllowed = toAsk.length > 0 && (input.asks || requested.length === 0);
  const egress: EgressRules = {
    mode: network,
    ...(input.asks && network === 'hosts' ? { ask: true } : {}),
    allow: texts([...permitted, ...requested, ...(isImpliedAllowed ? implied : [])]),
    deny,
    private: inner,
    connect,
    ...(input.proxy === null ? {} : { proxy: input.proxy }),
  };
  return { egress, asked: toAsk };
}
