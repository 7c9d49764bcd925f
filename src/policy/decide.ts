/** Which verdict a command gets. Pure: text was analysed and facts gathered before. */
import type { Assurance, DecidingRule, SandboxKind, Verdict } from '../command.ts';
import { isInjectionName, isNameListed } from '../variable-names.ts';
import {
  hiddenSecretCode,
  secretVariableCode,
  type Analysis,
  type CommandFinding,
} from './analysis.ts';
import type { Facts } from './facts.ts';
import type { PolicyBaseName } from './policy.ts';
import { allowVerdict, wholeCommandRule } from './verdict.ts';

/** What a decision needs to know of a policy, for one caller. */
export interface DecidingPolicy {
  readonly name: string;
  readonly version: string;
  readonly base: PolicyBaseName;
}

/** How far the plan reaches: what would hold the command, and what it was granted beyond that. */
export interface Exposure {
  readonly sandbox: SandboxKind;
  readonly level: Assurance['level'];
  /** Whether the paths that no command may write are all held. */
  readonly protectedPaths: boolean;
  readonly network: 'off' | 'on';
  /** Whether the workspace is no place of keys, such as `~/.ssh` itself. */
  readonly keysHidden: boolean;
  /** Whether what a command does to the workspace can be undone. */
  readonly undo: boolean;
  /** Grants beyond the workspace, one clause each: `may write "/srv/data"`. */
  readonly extraGrants: readonly string[];
}

/** A variable that a call, its session or a person asked for by name. */
export interface RequestedVariable {
  readonly name: string;
  /** Whether a source of secrets has it, rather than the runtime's environment. */
  readonly isSecret: boolean;
  /** Whether the file of a registered tool names it, which a person wrote. Default: not. */
  readonly isManaged?: boolean;
}

/** What is known of one command. */
export interface DecisionInput {
  readonly analysis: Analysis;
  /** `null`: nothing could be looked up, the text stands alone. */
  readonly facts: Facts | null;
  readonly exposure: Exposure | null;
  /** Names of the variables that the caller set for this command. */
  readonly variables: readonly string[];
  /** Names that the session's caller set for all its commands. Default: none. */
  readonly carried?: readonly string[];
  /** Variables that were asked for by name. Default: none. */
  readonly requested?: readonly RequestedVariable[];
  /** Values that its output would show although they look like secrets. Default: none. */
  readonly reveal?: readonly string[];
}

/** The strictest finding decides; nothing that is found later can make a verdict milder. */
export function decideCommand(policy: DecidingPolicy, known: DecisionInput): Verdict {
  if (policy.base === 'trusted') {
    return withPolicy(
      policy,
      allowVerdict('trusted', 'everything may run in the sandbox asked for'),
    );
  }
  const found = [...known.analysis.findings, ...(known.facts?.findings ?? [])];
  const blocks = found.filter(
    (one) => one.bound === 'block' && !(policy.base === 'auto' && isLifted(one, known)),
  );
  if (blocks.length > 0) return verdictOf(policy, 'block', blocks.map(ruleOf));
  switch (policy.base) {
    case 'auto':
      return unlessBeyond(policy, known, found);
    case 'guarded':
      return listed(policy, known, found);
    case 'locked':
      return onlyListed(listed(policy, known, found));
  }
}

/** What these do ends at the walls of a sandbox, and is undone with what else a command changed. */
const contained: ReadonlySet<string> = new Set([
  'fs.rm-rf',
  'fs.dd',
  'fs.mkfs',
  'kill.force',
  'shell.eval',
  'shell.exec',
  // A sandbox has a closed list of variables, and what is secret of them is hidden in the output.
  'secrets.environment',
]);

/** Whether a block of the text does not hold for this command in its sandbox. */
function isLifted(
  { code, variables, isNeverMeant = false }: CommandFinding,
  { exposure: reach, requested = [] }: DecisionInput,
): boolean {
  if (contained.has(code)) {
    return !isNeverMeant && (reach === null || (reach.undo && staysInside(reach)));
  }
  if (code === hiddenSecretCode) return holdsKeys(reach);
  if (code !== secretVariableCode || variables === undefined) return false;
  // What was granted is hidden in the output. With network a person is asked, for the grant.
  const granted = new Set(requested.flatMap(({ name, isSecret }) => (isSecret ? name : [])));
  return staysInside(reach) && variables.every((name) => granted.has(name));
}

/** Whether nothing but the network leads out of the sandbox. */
function staysInside(reach: Exposure | null): boolean {
  return reach !== null && exposureRules({ ...reach, network: 'off' }).length === 0;
}

/** Whether the keys of the home directory are certain to be absent from the sandbox. */
function holdsKeys(reach: Exposure | null): boolean {
  return reach !== null && reach.keysHidden && exposureRules(reach).length === 0;
}

/** `auto`: the sandbox holds what stays inside it; a person answers for what reaches beyond. */
function unlessBeyond(
  policy: DecidingPolicy,
  known: DecisionInput,
  found: readonly CommandFinding[],
): Verdict {
  const { exposure: reach } = known;
  if (reach === null) {
    const rule = allowing('auto.contained', 'is not asked while it stays inside its sandbox');
    const note = 'Text alone: what the plan reaches is known when it is run';
    return { ...verdictOf(policy, 'allow', [rule]), notes: [note] };
  }
  const beyond = exposureRules(reach);
  if (beyond.length > 0) return verdictOf(policy, 'ask', beyond);
  if (!reach.undo) {
    const verdict = listed(policy, known, found);
    if (verdict.decision === 'allow') return verdict;
    const lasting = 'may change the workspace, where nothing can be undone';
    return verdictOf(policy, 'ask', [asking('reach.undo', lasting)]);
  }
  const reason = 'stays inside a sandbox of full assurance, without network';
  return verdictOf(policy, 'allow', [allowing('auto.contained', reason)]);
}

/** `guarded`: one plain command from the list, run as it was analysed; all else is asked. */
function listed(
  policy: DecidingPolicy,
  known: DecisionInput,
  found: readonly CommandFinding[],
): Verdict {
  const { allowed } = known.analysis;
  const asks = found.map(ruleOf);
  if (allowed === null || asks.length > 0) {
    const unlisted = 'is not on the list of what may run without asking';
    return verdictOf(policy, 'ask', asks.length > 0 ? asks : [asking('ask.unlisted', unlisted)]);
  }
  const changed = known.variables.filter((name) => changesProgram(name, allowed.run.unset));
  if (changed.length > 0) {
    const rules = changed.map((name) => asking('env.program', `the variable ${name} changes it`));
    return verdictOf(policy, 'ask', rules);
  }
  if (allowed.runsRepositoryCode && known.exposure !== null) {
    const beyond = exposureRules(known.exposure);
    if (beyond.length > 0) return verdictOf(policy, 'ask', beyond);
  }
  const script = known.facts?.script ?? null;
  const reason =
    script === null
      ? `is on the list: ${allowed.rule}`
      : `runs scripts.${script.name} = ${JSON.stringify(script.text)}, sha256 ${script.sha256}`;
  const [, ...rest] = allowed.run.argv;
  return {
    ...verdictOf(policy, 'allow', [allowing(`allow.${allowed.rule}`, reason)]),
    runs: [known.facts?.executable ?? allowed.run.argv[0] ?? '', ...rest],
    notes: known.facts === null ? ['No workspace: decided on the text alone'] : [],
  };
}

/** Whether a variable can make a listed program do something else. */
const changesProgram = (name: string, unset: readonly string[]): boolean =>
  name === 'PATH' || isInjectionName(name) || isNameListed(name, unset);

/** `locked`: nobody is asked. */
function onlyListed(verdict: Verdict): Verdict {
  if (verdict.decision !== 'ask') return verdict;
  const rules = verdict.rules.map((rule): DecidingRule => ({ ...rule, decision: 'block' }));
  return { ...verdict, decision: 'block', rules };
}

/** One rule for each thing that reaches beyond a sandbox of full assurance; empty: none does. */
export function exposureRules(reach: Exposure): DecidingRule[] {
  const { sandbox, level, network, protectedPaths, extraGrants: beyond } = reach;
  const found: DecidingRule[] = [];
  if (sandbox === 'none') found.push(asking('reach.sandbox', 'would run without a sandbox'));
  else if (level !== 'full') {
    found.push(asking('reach.assurance', `its sandbox holds at level ${level}, not full`));
  } else if (!protectedPaths) {
    found.push(asking('reach.protection', 'not every protected path of the workspace is held'));
  }
  if (network === 'on') found.push(asking('reach.network', 'may use the network'));
  for (const grant of beyond) found.push(asking('reach.files', grant));
  return found;
}

function ruleOf({ code, bound, why, span, via, evidence, instead }: CommandFinding): DecidingRule {
  return { id: code, decision: bound, reason: why, span, via, evidence, instead };
}

const asking = (id: string, reason: string): DecidingRule => wholeCommandRule(id, 'ask', reason);
const allowing = (id: string, reason: string): DecidingRule =>
  wholeCommandRule(id, 'allow', reason);

function verdictOf(
  policy: DecidingPolicy,
  decision: Verdict['decision'],
  rules: readonly DecidingRule[],
): Verdict {
  const { name, version } = policy;
  return { decision, rules, policy: { name, version }, runs: null, notes: [] };
}

const withPolicy = ({ name, version }: DecidingPolicy, verdict: Verdict): Verdict => ({
  ...verdict,
  policy: { name, version },
});
