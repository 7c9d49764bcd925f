/** One policy as it stands for one caller: what it looks at, and by what it decides. */
import type { Caller, ShellDialect, Verdict } from '../command.ts';
import type { Analysis } from './analysis.ts';
import { analyseShell } from './analyse.ts';
import type { LimitName } from '../limits.ts';
import { describeReveal } from '../quote.ts';
import { decideCommand, type DecisionInput, type Exposure } from './decide.ts';
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
  /** Whether a decision needs what only the file system can tell. */
  needsFacts(reading: ParsedCommand): boolean;
  decide(reading: ParsedCommand, known: Omit<DecisionInput, 'analysis'>): Verdict;
}

/** What the text of a command tells. */
export interface ParsedCommand {
  readonly analysis: Analysis;
  /** What the rules of people are held against; empty where there are none. */
  readonly invocations: InvocationList;
}

const nothing: Analysis = {
  findings: [],
  allowed: null,
  named: [],
  commands: 0,
};
const unseen: InvocationList = { items: [], plain: null };

/**
 * @param atLeast a base that the session asked for; it can only be stricter than the policy's own
 */
export function createPolicyJudge(
  policy: Policy,
  caller: Caller | null,
  atLeast: PolicyBaseName | null,
): PolicyJudge {
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
  const bases = layers.map(({ base }) => base);
  const strictest = strictestBase(bases) ?? policy.base;
  const rules = layers.flatMap((layer) => layer.rules);
  const open = strictest === 'trusted' && rules.length === 0;
  const isListed = bases.some((base) => base === 'guarded' || base === 'locked');
  const { version } = policy;
  const added = isPolicyBaseName(policy.name) ? strictest : `${policy.name} (${strictest})`;
  const name = strictest === policy.base ? policy.name : added;
  return {
    name,
    version,
    parse: (text, dialect) => {
      const analysis = open ? nothing : analyseShell(text, dialect);
      return {
        analysis,
        invocations: rules.length > 0 ? listInvocations(text, dialect, analysis) : unseen,
      };
    },
    parsePython: async (text) => {
      if (open) return { analysis: nothing, invocations: unseen };
      // Loaded when the first script comes.
      const { readPython } = await import('./python/check.ts');
      const { analysis, invocations: units, isTruncated: cut } = await readPython(text);
      return {
        analysis,
        invocations: rules.length > 0 ? { items: units, plain: null, isTruncated: cut } : unseen,
      };
    },
    needsFacts: ({ analysis, invocations: seen }) =>
      isListed && (analysis.allowed !== null || seen.plain !== null),
    decide: ({ analysis, invocations: seen }, given) => {
      const requested = given.requested ?? [];
      // What its file gives a tool changes nothing that was not meant.
      const chosen = requested.filter(({ isManaged = false }) => !isManaged);
      const variables = [...given.variables, ...chosen.map(({ name: one }) => one)];
      const known = { ...given, analysis, variables };
      // A variable that a caller sets is an assignment before the command: no plain one any more.
      const held = variables.length > 0 ? { ...seen, plain: null } : seen;
      const verdicts = layers.map((layer) => {
        const verdict =
          layer.base === null
            ? allowVerdict('layer', 'this file says nothing about commands besides its rules')
            : decideCommand({ name, version, base: layer.base }, known);
        return applyCommandRules(verdict, layer.rules, held);
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
      // What starts without a shell gets nothing that the session carries.
      const direct = joinedWith([]);
      const joined = direct.runs === null ? joinedWith(given.carried ?? []) : direct;
      return started({ ...joined, policy: { name, version } }, known);
    },
  };
}

/** What a person's rule allows needs no question of `auto`. */
function allowedBy({ layers }: Policy): VariableGrants {
  const named = (of: keyof VariableGrants): GrantRules => {
    const allow = layers.flatMap(({ grants }) => grants?.[of].allow ?? []);
    return { allow, ask: [], block: [] };
  };
  return { secrets: named('secrets'), environment: named('environment') };
}

/** A session that has network, under a policy that has since taken it away or asks about it. */
function network(policy: Policy, reach: Exposure | null): Verdict[] {
  if (reach?.network !== 'on' || policy.network === 'on') return [];
  const isOff = policy.network === 'off';
  const reason = isOff ? 'may use the network, which policy has off' : 'may use the network';
  const decision = isOff ? 'block' : 'ask';
  const rules = [wholeCommandRule('reach.network', decision, reason)];
  return [{ ...allowVerdict('network', ''), decision, rules }];
}

/** Whatever the profile, a person answers for what is shown. */
function shown(reveal: readonly string[], base: PolicyBaseName): Verdict[] {
  if (reveal.length === 0) return [];
  const decision = base === 'locked' ? 'block' : 'ask';
  const reason = `would show ${describeReveal(reveal)}`;
  const rules = [wholeCommandRule('reach.reveal', decision, reason)];
  return [{ ...allowVerdict('reveal', ''), decision, rules }];
}

/** What only the kernel bounds, and not for the host's root. */
const kernelLimits = [
  'cpuSeconds',
  'processes',
  'openFiles',
  'fileBytes',
  'addressSpaceBytes',
] as const satisfies readonly LimitName[];

/** Bounds that a policy names and that nothing holds where the command would run. */
function unheldLimits({ limits }: Policy, reach: Exposure | null): Verdict[] {
  const isUnheld = (name: LimitName): boolean =>
    reach?.sandbox === 'none' || (reach?.level === 'root-uid' && name === 'processes');
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

/** What a rule of a person lets start must be a program that was found, as all the others are. */
function started(verdict: Verdict, { facts }: DecisionInput): Verdict {
  const [program, ...rest] = verdict.runs ?? [];
  if (program === undefined || program.startsWith('/') || facts === null) return verdict;
  if (facts.executable !== null) return { ...verdict, runs: [facts.executable, ...rest] };
  const missing = wholeCommandRule('facts.executable', 'ask', 'is not found on the fixed PATH');
  const rule = { ...missing, evidence: program };
  return { ...verdict, decision: 'ask', rules: [rule, ...verdict.rules], runs: null };
}
