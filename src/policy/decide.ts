/** Decides the verdict on a command. Pure: takes an analysis and facts. */
import { reachesNetwork, type BrokerRule, type NetworkAccess } from '../network-access.ts';
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

/** What a plan exposes: which sandbox confines the command, and what is granted additionally. */
export interface Exposure {
  readonly sandbox: SandboxKind;
  readonly level: Assurance['level'];
  /** Whether the sandbox protects all paths that no command may write. */
  readonly protectedPaths: boolean;
  readonly network: NetworkAccess;
  /** Hosts that nobody has permitted yet, as rules; absent: none. */
  readonly askedHosts?: readonly string[];
  /** Whether the workspace itself is not a directory of keys, such as `~/.ssh`. */
  readonly keysHidden: boolean;
  /** Whether what a command does to the workspace can be undone. */
  readonly undo: boolean;
  /** Grants outside the workspace, one clause each: `may write "/srv/data"`. */
  readonly extraGrants: readonly string[];
}

/** A variable that a call, its session or a person requested by name. */
export interface RequestedVariable {
  readonly name: string;
  /** Whether it comes from a source of secrets, not from the runtime's environment. */
  readonly isSecret: boolean;
  /** Whether the user-written file of a registered tool names it. Default: false. */
  readonly isManaged?: boolean;
  /** How it is used without being had; absent: the command gets the value. */
  readonly broker?: BrokerRule & {
    /** Whether a person's configuration says so, and not the call. */
    readonly isConfigured: boolean;
  };
}

/** What is known of one command. */
export interface DecisionInput {
  readonly analysis: Analysis;
  /** `null`: nothing could be looked up; only the text is known. */
  readonly facts: Facts | null;
  readonly exposure: Exposure | null;
  /** Names of the variables that the caller set for this command. */
  readonly variables: readonly string[];
  /** Names that the session's caller set for all its commands. Default: none. */
  readonly carried?: readonly string[];
  /** Variables that were requested by name. Default: none. */
  readonly requested?: readonly RequestedVariable[];
  /** Values that look like secrets and that the output would show. Default: none. */
  readonly reveal?: readonly string[];
}

/** The strictest finding decides; no later finding can make a verdict milder. */
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
      return unlessExposed(policy, known, found);
    case 'guarded':
      return listed(policy, known, found);
    case 'locked':
      return onlyListed(listed(policy, known, found));
  }
}

/** The effects of these stay inside a sandbox, and undoing the command's changes undoes them. */
const contained: ReadonlySet<string> = new Set([
  'fs.rm-rf',
  'fs.dd',
  'fs.mkfs',
  'kill.force',
  'shell.eval',
  'shell.exec',
  // A sandbox has a fixed list of variables, and secret ones are redacted in the output.
  'secrets.environment',
]);

/** Whether the sandbox of this command lifts the block. */
function isLifted(
  { code, variables, isNeverMeant = false }: CommandFinding,
  { exposure, requested = [] }: DecisionInput,
): boolean {
  if (contained.has(code)) {
    return !isNeverMeant && (exposure === null || (exposure.undo && staysInside(exposure)));
  }
  if (code === hiddenSecretCode) return hidesKeys(exposure);
  if (code !== secretVariableCode || variables === undefined) return false;
  // Granted values are redacted in the output. With network the grant needs approval.
  const granted = new Set(requested.flatMap(({ name, isSecret }) => (isSecret ? name : [])));
  return staysInside(exposure) && variables.every((name) => granted.has(name));
}

/** Whether the sandbox exposes nothing but the network. */
function staysInside(exposure: Exposure | null): boolean {
  return exposure !== null && exposureRules({ ...exposure, network: 'off' }).length === 0;
}

/** Whether the keys of the home directory are certain to be absent from the sandbox. */
function hidesKeys(exposure: Exposure | null): boolean {
  return exposure !== null && exposure.keysHidden && isContained(exposure);
}

/** Whether nothing leaves the sandbox: hosts that need no approval are a way out of it, too. */
export function isContained(exposure: Exposure): boolean {
  return !reachesNetwork(exposure.network) && exposureRules(exposure).length === 0;
}

/** `auto`: allows what the sandbox contains; exposure outside the sandbox needs approval. */
function unlessExposed(
  policy: DecidingPolicy,
  known: DecisionInput,
  found: readonly CommandFinding[],
): Verdict {
  const { exposure } = known;
  if (exposure === null) {
    const rule = allowing('auto.contained', 'is not asked while it stays inside its sandbox');
    const note = 'Text alone: what the plan reaches is known when it is run';
    return { ...verdictOf(policy, 'allow', [rule]), notes: [note] };
  }
  const exposed = exposureRules(exposure);
  if (exposed.length > 0) return verdictOf(policy, 'ask', exposed);
  if (!exposure.undo) {
    const verdict = listed(policy, known, found);
    if (verdict.decision === 'allow') return verdict;
    const lasting = 'may change the workspace, where nothing can be undone';
    return verdictOf(policy, 'ask', [asking('reach.undo', lasting)]);
  }
  const out = reachesNetwork(exposure.network) ? 'with allowed hosts alone' : 'without network';
  const reason = `stays inside a sandbox of full assurance, ${out}`;
  return verdictOf(policy, 'allow', [allowing('auto.contained', reason)]);
}

/** `guarded`: allows one plain command of the list, run as analysed; all else needs approval. */
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
    const exposed = exposureRules(known.exposure);
    if (exposed.length > 0) return verdictOf(policy, 'ask', exposed);
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

/** `locked`: what would need approval is blocked. */
function onlyListed(verdict: Verdict): Verdict {
  if (verdict.decision !== 'ask') return verdict;
  const rules = verdict.rules.map((rule): DecidingRule => ({ ...rule, decision: 'block' }));
  return { ...verdict, decision: 'block', rules };
}

/** One rule for each exposure outside a sandbox of full assurance; empty if there is none. */
export function exposureRules(exposure: Exposure): DecidingRule[] {
  const { sandbox, level, protectedPaths, extraGrants } = exposure;
  const found: DecidingRule[] = [];
  if (sandbox === 'none') found.push(asking('reach.sandbox', 'would run without a sandbox'));
  else if (level !== 'full') {
    found.push(asking('reach.assurance', `its sandbox holds at level ${level}, not full`));
  } else if (!protectedPaths) {
    found.push(asking('reach.protection', 'not every protected path of the workspace is held'));
  }
  found.push(...networkRules(exposure));
  for (const grant of extraGrants) found.push(asking('reach.files', grant));
  return found;
}

/** What is asked about hosts, alone: a person may answer it for every command. */
export const hostRules = (hosts: readonly string[]): DecidingRule[] =>
  hosts.length === 0 ? [] : [asking('reach.hosts', `may connect to ${hosts.join(', ')}`)];

function networkRules({ network, askedHosts = [] }: Exposure): DecidingRule[] {
  switch (network) {
    case 'off':
      return [];
    case 'hosts':
      return hostRules(askedHosts);
    case 'open':
      return [asking('reach.network', 'may use the network: any public host')];
    case 'host':
      return [asking('reach.network', 'may use the network')];
  }
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
