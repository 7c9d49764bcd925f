/** Applies user-written rules to a verdict. Pure. */
import type { DecidingRule, Verdict } from '../command.ts';
import type { SourceSpan } from './analysis.ts';
import { strictestCommandRule } from './rule-matching.ts';
import { policyDecisions, type CommandRule, type PolicyDecision } from './policy.ts';

/** One command of a text, at any depth. */
export interface CommandInvocation {
  /** Decoded; `null` for an argument that is not static. */
  readonly argv: readonly (string | null)[];
  readonly span: SourceSpan;
  /** Through which wrappers it was reached, outermost first. */
  readonly via: readonly string[];
}

/** What rules are checked against. */
export interface InvocationList {
  readonly items: readonly CommandInvocation[];
  /** The words, if the text is one plain command without findings. */
  readonly plain: readonly string[] | null;
  /** Whether a limit was reached before all commands were found: then approval is required. */
  readonly isTruncated?: boolean;
}

/** Ids of rules that only say that the command is not listed: an allow rule lifts these. */
export const unlistedRuleId = 'ask.unlisted';

/**
 * A verdict of a layer's base under the rules of that layer. A rule that asks or blocks holds for
 * every command in the text; an allow rule only for a text that is one plain command, and it lifts
 * nothing but the approval that every unlisted command needs.
 */
export function applyCommandRules(
  verdict: Verdict,
  rules: readonly CommandRule[],
  { items: units, plain, isTruncated: cut = false }: InvocationList,
): Verdict {
  const tight = rules.filter(({ decision }) => decision !== 'allow');
  const held = units.flatMap((unit) => {
    const rule = strictestCommandRule(tight, unit.argv);
    return rule === null ? [] : [decidingRule(rule, unit)];
  });
  if (cut && tight.length > 0) held.push(unread);
  if (held.length > 0) {
    return strictestVerdict(verdict, { ...verdict, ...joined(held), runs: null });
  }
  if (plain === null || !isUnlisted(verdict)) return verdict;
  const allow = strictestCommandRule(rules, plain);
  if (allow?.decision !== 'allow') return verdict;
  const unit = { argv: plain, span: units[0]?.span ?? [0, 0], via: [] } as const;
  return { ...verdict, decision: 'allow', rules: [decidingRule(allow, unit)], runs: plain };
}

/** A rule may match what was not read. */
const unread: DecidingRule = {
  id: 'limit.rules',
  decision: 'ask',
  reason: 'is too much to hold all of it against the rules',
  span: null,
  via: [],
  evidence: null,
  instead: null,
};

const isUnlisted = ({ decision, rules }: Verdict): boolean =>
  decision !== 'allow' && rules.length > 0 && rules.every(({ id }) => id === unlistedRuleId);

/**
 * The strictest of two verdicts on one command, with the rules of both, the strictest first. What
 * is started instead of a shell remains if both allow and one names it.
 */
export function strictestVerdict(one: Verdict, other: Verdict): Verdict {
  const order = policyDecisions.indexOf(one.decision) - policyDecisions.indexOf(other.decision);
  const rules = [...one.rules, ...other.rules];
  const decision = order >= 0 ? one.decision : other.decision;
  const { policy } = one;
  const notes = [...new Set([...one.notes, ...other.notes])];
  const runs = decision === 'allow' ? (one.runs ?? other.runs) : null;
  return { decision, rules: strictestFirst(rules), policy, runs, notes };
}

function joined(rules: readonly DecidingRule[]): Pick<Verdict, 'decision' | 'rules'> {
  const [first] = strictestFirst(rules);
  return { decision: first?.decision ?? 'allow', rules: strictestFirst(rules) };
}

/** The strictest first, each once. */
function strictestFirst(rules: readonly DecidingRule[]): DecidingRule[] {
  const known = new Set<string>();
  const rank = (decision: PolicyDecision): number => policyDecisions.indexOf(decision);
  const ordered = rules.toSorted((a, b) => rank(b.decision) - rank(a.decision));
  return ordered.filter((rule) => {
    const { id, span, via } = rule;
    const key = JSON.stringify([id, span, via, span === null ? rule.evidence : null]);
    return !known.has(key) && known.add(key);
  });
}

function decidingRule(rule: CommandRule, { argv, span, via }: CommandInvocation): DecidingRule {
  const { id, decision, reason, instead } = rule;
  const evidence = argv.map((word) => word ?? '…').join(' ');
  return { id, decision, reason, span, via, evidence, instead };
}
