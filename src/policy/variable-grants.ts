/**
 * Judges the variables of a command: requested secrets and variables of the runtime, and variables
 * of the caller that make programs run something else. Pure. Names only; values are read after the
 * verdict.
 */
import type { DecidingRule, Verdict } from '../command.ts';
import { isInjectionName, matchesNamePattern } from '../variable-names.ts';
import { isContained, type Exposure, type RequestedVariable } from './decide.ts';
import {
  policyDecisions,
  type PolicyBaseName,
  type PolicyDecision,
  type GrantRules,
  type VariableGrants,
} from './policy.ts';
import { allowVerdict, wholeCommandRule } from './verdict.ts';

/** The input of the verdict on the variables of one command. */
export interface VariableVerdictInput {
  readonly requested: readonly RequestedVariable[];
  /** Names of the variables that a caller set, for the command or its session. */
  readonly given: readonly string[];
  readonly exposure: Exposure | null;
}

/** One layer: its base for one caller, and the grants of its files. */
export interface GrantLayer {
  readonly base: PolicyBaseName | null;
  readonly grants: VariableGrants | null;
  /** Whether the session or the call requested this base, as agents do. Default: false. */
  readonly isRequested?: boolean;
}

/** The verdict of one layer; `null` if it does not specify one for these variables. */
export function judgeVariables(layer: GrantLayer, variables: VariableVerdictInput): Verdict | null {
  const { requested, given } = variables;
  const names = new Set([...given, ...requested.map(({ name }) => name)]);
  const rules = [
    ...[...names].filter(isInjectionName).flatMap((name) => injectionRule(layer, name) ?? []),
    ...requested.flatMap((one) => grantRule(layer, one, variables.exposure) ?? []),
  ];
  if (rules.length === 0) return null;
  const decision = strictestOf(rules.map((rule) => rule.decision));
  const ordered = rules.toSorted((a, b) => rank(b.decision) - rank(a.decision));
  return { ...allowVerdict('environment', ''), decision, rules: ordered };
}

/** A variable that makes programs run something is judged as strictly as a command. */
function injectionRule({ base, grants }: GrantLayer, name: string): DecidingRule | null {
  const reason = `sets ${name}, by which programs run something else`;
  const said = grants === null ? null : ruled(grants.environment, name);
  // A pattern that matches many names was not written for this one.
  const isNamed = grants?.environment.allow.includes(name) ?? false;
  const own = base === null ? null : injectionDefaults[base];
  const decision = said === 'allow' && !isNamed ? own : (said ?? own);
  return decision === null
    ? null
    : about(name, wholeCommandRule('environment.injection', decision, reason));
}

const injectionDefaults = {
  trusted: 'allow',
  auto: 'ask',
  guarded: 'ask',
  locked: 'block',
} as const satisfies Record<PolicyBaseName, PolicyDecision>;

function grantRule(
  { base, grants, isRequested = false }: GrantLayer,
  variable: RequestedVariable,
  exposure: Exposure | null,
): DecidingRule | null {
  const { name, isSecret, isManaged = false } = variable;
  if (variable.broker !== undefined) return brokerRule({ base, grants }, variable);
  const id = isSecret ? 'secret.grant' : 'environment.grant';
  const what = isSecret ? `the secret ${name}` : `${name} of the runtime's environment`;
  const said = grants === null ? null : ruled(isSecret ? grants.secrets : grants.environment, name);
  if (said !== null) {
    return about(name, wholeCommandRule(id, said, `gets ${what}, which a rule names`));
  }
  // The author of the tool's file granted it; a rule that names it still applies.
  if (base === null || isManaged) return null;
  if (base === 'auto' && isRequested) {
    const why = ', and can print it in a form in which nothing hides it';
    return about(name, wholeCommandRule(id, 'ask', `gets ${what}${why}`));
  }
  const { decision, why } = grantDefault(base, isSecret, exposure);
  return about(name, wholeCommandRule(id, decision, `gets ${what}${why}`));
}

/** Of a secret that the command uses at hosts and never has. */
function brokerRule(
  { base, grants }: Pick<GrantLayer, 'base' | 'grants'>,
  { name, broker, isManaged = false }: RequestedVariable,
): DecidingRule | null {
  const { hosts = [], isConfigured = false } = broker ?? {};
  const what = `uses the secret ${name} at ${hosts.join(', ')} without having it`;
  const said = grants === null ? null : ruled(grants.secrets, name);
  // A rule for its name does not say at which hosts: where a call names these, a person is asked.
  const own = isConfigured || isManaged ? 'allow' : 'ask';
  if (said === null && (base === null || isManaged)) return null;
  const byBase = base === null ? own : brokerDefaults[base](own);
  const decision = said === null ? byBase : strictestOf([said, own]);
  return about(name, wholeCommandRule('secret.broker', decision, what));
}

const brokerDefaults = {
  trusted: () => 'allow',
  auto: (own) => own,
  guarded: () => 'ask',
  locked: () => 'block',
} as const satisfies Record<PolicyBaseName, (own: PolicyDecision) => PolicyDecision>;

/** One rule for each variable: rules without evidence differ only in their id. */
const about = (name: string, rule: DecidingRule): DecidingRule => ({ ...rule, evidence: name });

interface GrantDefault {
  readonly decision: PolicyDecision;
  /** Begins with a separator. */
  readonly why: string;
}

function grantDefault(
  base: PolicyBaseName,
  isSecret: boolean,
  exposure: Exposure | null,
): GrantDefault {
  switch (base) {
    case 'trusted':
      return { decision: 'allow', why: '' };
    case 'auto': {
      if (!isSecret) return { decision: 'allow', why: '' };
      const isHeld = exposure !== null && isContained(exposure);
      const why = isHeld
        ? ', inside a sandbox of full assurance without network'
        : ', and what it does with it is not held inside its sandbox';
      return { decision: isHeld ? 'allow' : 'ask', why };
    }
    case 'guarded':
      return { decision: 'ask', why: '' };
    case 'locked':
      return { decision: 'block', why: ', which no rule allows' };
  }
}

/** The strictest list that has a pattern for the name, or `null`. */
function ruled(rules: GrantRules, name: string): PolicyDecision | null {
  const found = policyDecisions.filter((one) =>
    rules[one].some((pattern) => matchesNamePattern(pattern, name)),
  );
  return found.at(-1) ?? null;
}

const rank = (decision: PolicyDecision): number => policyDecisions.indexOf(decision);

const strictestOf = (found: readonly PolicyDecision[]): PolicyDecision =>
  found.toSorted((a, b) => rank(b) - rank(a))[0] ?? 'allow';
