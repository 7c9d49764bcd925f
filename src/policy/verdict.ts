/** Rules and verdicts that stand on no part of a text. */
import type { DecidingRule, Verdict } from '../command.ts';

/** A rule about the whole command. */
export function wholeCommandRule(
  id: string,
  decision: DecidingRule['decision'],
  reason: string,
): DecidingRule {
  return { id, decision, reason, span: null, via: [], evidence: null, instead: null };
}

/** Lets a command run for one reason, under a policy that has no text. */
export function allowVerdict(id: string, reason: string): Verdict {
  return {
    decision: 'allow',
    rules: [wholeCommandRule(id, 'allow', reason)],
    policy: { name: id, version: '' },
    runs: null,
    notes: [],
  };
}
