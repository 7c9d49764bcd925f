/** One policy, applied to one caller: parses commands and decides on them. */
import { reachesNetwork } from '../network-access.ts';
import type { Caller, ShellDialect, Verdict } from '../command.ts';
import type { Analysis } from './analysis.ts';
import { analyseShell } from './analyse.ts';
import type { LimitName } from '../limits.ts';
import { describeReveal } from '../quote.ts';
import { decideCommand, hostRules, type DecisionInput, type Exposure } from './decide.ts';
import { judgeVariables } from './variable-grants.ts';
import { policyBaseFor, isPolicyBaseName, strictestBase } from './policy.ts';
import type { PolicyBaseName, GrantRules, VariableGrants, Policy } from './policy.ts';
import { strictestVerdict, applyCommandRules, type InvocationList } from './rules.ts';
import { listInvocations } from './invocations.ts';
import { allowVerdict, wholeCommandRule } from './verdict.ts';

export interface PolicyJudge {
  readonly name: string;
  /** SHA-256 (hex) of all that decides. */
  readonly version: string;
  parse(text: string, dialect: ShellDialect): ParsedCommand;
  /** A Python script: a process of its own reads it (about 20 ms). Never rejects. */
  parsePython(text: string): Promise<ParsedCommand>;
  /** Whether a person is asked about what nothing allows; else it is permitted or blocked. */
  readonly asks: boolean;
  /** Whether a decision needs facts from the file system. */
  needsFacts(reading: ParsedCommand): boolean;
  decide(reading: ParsedCommand, known: Omit<DecisionInput, 'analysis'>): Verdict;
}

/** What static analysis finds in the text of a command. */
export interface ParsedCommand {
  readonly analysis: Analysis;
  /** The commands that user-written rules are checked against; empty if there are no rules. */
  readonly invocations: InvocationList;
}

const noAnalysis: Analysis = {
  findings: [],
  allowed: null,
  named: [],
  commands: 0,
};
const noInvocations: InvocationList = { items: [], plain: null };

/**
 * @param atLeast a base that the session requested; it can only make the policy stricter
 */
export function createPolicyJudge(
  policy: Policy,
  caller: Caller | null,
  atLeast: PolicyBaseName | null,
): PolicyJudge {
  const layers = layersFor(policy, caller, atLeast);
  const bases = layers.map(({ base }) => base);
  const strictest = strictestBase(bases) ?? policy.base;
  const rules = layers.flatMap((layer) => layer.rules);
  const open = strictest === 'trusted' && rules.length === 0;
  const isListed = bases.some((base) => base === 'guarded' || base === 'locked');
  const { version } = policy;
  const name = nameOf(policy, strictest);
  return {
    name,
    version,
    asks: strictest === 'auto' || strictest === 'guarded',
    parse: (text, dialect) => {
      const analysis = open ? noAnalysis : analyseShell(text, dialect);
      return {
        analysis,
        invocations: rules.length > 0 ? listInvocations(text, dialect, analysis) : noInvocations,
      };
    },
    parsePython: async (text) => {
      if (open) return { analysis: noAnalysis, invocations: noInvocations };
      // Loaded with the first script.
      const { readPython } = await import('./python/check.ts');
      const { analysis, invocations: items, isTruncated } = await readPython(text);
      return {
        analysis,
        invocations: rules.length > 0 ? { items, plain: null, isTruncated } : noInvocations,
      };
    },
    needsFacts: ({ analysis, invocations }) =>
      isListed && (analysis.allowed !== null || invocations.plain !== null),
    decide: ({ analysis, invocations }, given) => {
      const requested = given.requested ?? [];
      // Variables from a tool's own file are intended.
      const chosen = requested.filter(({ isManaged = false }) => !isManaged);
      const variables = [...given.variables, ...chosen.map(({ name: one }) => one)];
      const known = { ...given, analysis, variables };
      // A variable that a caller sets is an assignment before the command, so it is not plain.
      const checkedInvocations =
        variables.length > 0 ? { ...invocations, plain: null } : invocations;
      const verdicts = layers.map((layer) => {
        const verdict =
          layer.base === null
            ? allowVerdict('layer', 'this file says nothing about commands besides its rules')
            : decideCommand({ name, version, base: layer.base }, known);
        return applyCommandRules(verdict, layer.rules, checkedInvocations);
      });
      const joinedWith = (carried: readonly string[]): Verdict => {
        const set = [...given.variables, ...carried];
        const asked = { requested, given: set, exposure: given.exposure };
        const granted = layers.flatMap((layer) => judgeVariables(layer, asked) ?? []);
        const bounds = [
          ...network(policy, given.exposure),
          ...unheldLimits(policy, given.exposure),
          ...shown(given.reveal ?? [], strictest),
        ];
        return [...verdicts, ...granted, ...bounds].reduce(strictestVerdict);
      };
      // A program that starts without a shell gets no state of the session.
      const direct = joinedWith([]);
      const joined = direct.runs === null ? joinedWith(given.carried ?? []) : direct;
      return started({ ...joined, policy: { name, version } }, known);
    },
  };
}

/** With the base, where it is stricter than the policy's own. */
function nameOf({ name, base }: Policy, strictest: PolicyBaseName): string {
  if (strictest === base) return name;
  return isPolicyBaseName(name) ? strictest : `${name} (${strictest})`;
}

/** The layers of a policy for one caller, and the base that the session requested. */
function layersFor(policy: Policy, caller: Caller | null, atLeast: PolicyBaseName | null) {
  const layers = policy.layers.map((layer) => ({
    base: policyBaseFor(layer, caller),
    rules: layer.commands,
    grants: layer.grants ?? null,
    isRequested: false,
  }));
  if (atLeast !== null) {
    const grants = atLeast === 'auto' ? allowedBy(policy) : null;
    layers.push({ base: atLeast, rules: [], grants, isRequested: true });
  }
  return layers;
}

/** What a user-written rule allows needs no approval under `auto`. */
function allowedBy({ layers }: Policy): VariableGrants {
  const named = (of: keyof VariableGrants): GrantRules => {
    const allow = layers.flatMap(({ grants }) => grants?.[of].allow ?? []);
    return { allow, ask: [], block: [] };
  };
  return { secrets: named('secrets'), environment: named('environment') };
}

/** A session with network whose policy has since revoked it, or requires approval. */
function network(policy: Policy, exposure: Exposure | null): Verdict[] {
  if (exposure === null || !reachesNetwork(exposure.network) || policy.network === 'on') return [];
  const isOff = policy.network === 'off';
  const reason = isOff ? 'may use the network, which policy has off' : 'may use the network';
  const decision = isOff ? 'block' : 'ask';
  const asked = [wholeCommandRule('reach.network', decision, reason)];
  const isByHost = exposure.network === 'hosts' && !isOff;
  const rules = isByHost ? hostRules(exposure.askedHosts ?? []) : asked;
  return rules.length === 0 ? [] : [{ ...allowVerdict('network', ''), decision, rules }];
}

/** Showing redacted values needs approval in every profile. */
function shown(reveal: readonly string[], base: PolicyBaseName): Verdict[] {
  if (reveal.length === 0) return [];
  const decision = base === 'locked' ? 'block' : 'ask';
  const reason = `would show ${describeReveal(reveal)}`;
  const rules = [wholeCommandRule('reach.reveal', decision, reason)];
  return [{ ...allowVerdict('reveal', ''), decision, rules }];
}

/** Limits that only the kernel enforces, and not for the host's root. */
const kernelLimits = [
  'cpuSeconds',
  'processes',
  'openFiles',
  'fileBytes',
  'addressSpaceBytes',
] as const satisfies readonly LimitName[];

/** Limits that a policy sets and that nothing enforces where the command would run. */
function unheldLimits({ limits }: Policy, exposure: Exposure | null): Verdict[] {
  const isUnheld = (name: LimitName): boolean =>
    exposure?.sandbox === 'none' || (exposure?.level === 'root-uid' && name === 'processes');
  const unheld = kernelLimits.filter((name) => limits[name] !== undefined && isUnheld(name));
  if (unheld.length === 0) return [];
  const reason = `would not be held by what policy bounds: ${unheld.join(', ')}`;
  return [
    {
      ...allowVerdict('limits', ''),
      decision: 'ask',
      rules: [wholeCommandRule('reach.limits', 'ask', reason)],
    },
  ];
}

/** A user-written rule can only start a program that was found, like every other rule. */
function started(verdict: Verdict, { facts }: DecisionInput): Verdict {
  const [program, ...rest] = verdict.runs ?? [];
  if (program === undefined || program.startsWith('/') || facts === null) return verdict;
  if (facts.executable !== null) return { ...verdict, runs: [facts.executable, ...rest] };
  const missing = wholeCommandRule('facts.executable', 'ask', 'is not found on the fixed PATH');
  const rule = { ...missing, evidence: program };
  return { ...verdict, decision: 'ask', rules: [rule, ...verdict.rules], runs: null };
}
