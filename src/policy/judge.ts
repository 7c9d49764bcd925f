/** One policy as it stands for one caller: what it looks at, and by what it decides. */
import type { Caller, ShellDialect, Verdict } from '../command.ts';
import type { Analysis } from './analysis.ts';
import { analyseShell } from './analyse.ts';
import type { LimitName } from '../limits.ts';
import { revealText } from '../quote.ts';
import { decide, type Known, type Reach } from './decide.ts';
import { underGrants } from './environment.ts';
import { baseOf, isBaseName, strictestBase } from './policy.ts';
import type { BaseName, GrantRules, Grants, Policy } from './policy.ts';
import { strictestVerdict, underRules, type Seen } from './rules.ts';
import { seenIn } from './units.ts';
import { permit, plainRule } from './verdict.ts';

export interface Judge {
  readonly name: string;
  /** SHA-256 (hex) of all that decides. */
  readonly version: string;
  read(text: string, dialect: ShellDialect): Reading;
  /** A Python script: a process of its own reads it (about 20 ms). Never rejects. */
  readScript(text: string): Promise<Reading>;
  /** Whether a decision needs what only the file system can tell. */
  needsFacts(reading: Reading): boolean;
  decide(reading: Reading, known: Omit<Known, 'analysis'>): Verdict;
}

/** What the text of a command tells. */
export interface Reading {
  readonly analysis: Analysis;
  /** What the rules of people are held against; empty where there are none. */
  readonly seen: Seen;
}

const nothing: Analysis = {
  findings: [],
  allowed: null,
  named: [],
  commands: 0,
};
const unseen: Seen = { units: [], plain: null };

/**
 * @param atLeast a base that the session asked for; it can only be stricter than the policy's own
 */
export function judgeFor(policy: Policy, caller: Caller | null, atLeast: BaseName | null): Judge {
  const layers = policy.layers.map((layer) => ({
    base: baseOf(layer, caller),
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
  const added = isBaseName(policy.name) ? strictest : `${policy.name} (${strictest})`;
  const name = strictest === policy.base ? policy.name : added;
  return {
    name,
    version,
    read: (text, dialect) => {
      const analysis = open ? nothing : analyseShell(text, dialect);
      return { analysis, seen: rules.length > 0 ? seenIn(text, dialect, analysis) : unseen };
    },
    readScript: async (text) => {
      if (open) return { analysis: nothing, seen: unseen };
      // Loaded when the first script comes.
      const { readPython } = await import('./python/check.ts');
      const { analysis, units, cut } = await readPython(text);
      return { analysis, seen: rules.length > 0 ? { units, plain: null, cut } : unseen };
    },
    needsFacts: ({ analysis, seen }) =>
      isListed && (analysis.allowed !== null || seen.plain !== null),
    decide: ({ analysis, seen }, given) => {
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
            ? permit('layer', 'this file says nothing about commands besides its rules')
            : decide({ name, version, base: layer.base }, known);
        return underRules(verdict, layer.rules, held);
      });
      const joinedWith = (carried: readonly string[]): Verdict => {
        const set = [...given.variables, ...carried];
        const asked = { requested, given: set, reach: given.reach };
        const granted = layers.flatMap((layer) => underGrants(layer, asked) ?? []);
        const bounds = [
          ...network(policy, given.reach),
          ...unheldLimits(policy, given.reach),
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
function allowedBy({ layers }: Policy): Grants {
  const named = (of: keyof Grants): GrantRules => {
    const allow = layers.flatMap(({ grants }) => grants?.[of].allow ?? []);
    return { allow, ask: [], block: [] };
  };
  return { secrets: named('secrets'), environment: named('environment') };
}

/** A session that has network, under a policy that has since taken it away or asks about it. */
function network(policy: Policy, reach: Reach | null): Verdict[] {
  if (reach?.network !== 'on' || policy.network === 'on') return [];
  const isOff = policy.network === 'off';
  const reason = isOff ? 'may use the network, which policy has off' : 'may use the network';
  const decision = isOff ? 'block' : 'ask';
  const rules = [plainRule('reach.network', decision, reason)];
  return [{ ...permit('network', ''), decision, rules }];
}

/** Whatever the profile, a person answers for what is shown. */
function shown(reveal: readonly string[], base: BaseName): Verdict[] {
  if (reveal.length === 0) return [];
  const decision = base === 'locked' ? 'block' : 'ask';
  const reason = `would show ${revealText(reveal)}`;
  const rules = [plainRule('reach.reveal', decision, reason)];
  return [{ ...permit('reveal', ''), decision, rules }];
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
function unheldLimits({ limits }: Policy, reach: Reach | null): Verdict[] {
  const isUnheld = (name: LimitName): boolean =>
    reach?.sandbox === 'none' || (reach?.level === 'root-uid' && name === 'processes');
  const unheld = kernelLimits.filter((name) => limits[name] !== undefined && isUnheld(name));
  if (unheld.length === 0) return [];
  const reason = `would not be held by what policy bounds: ${unheld.join(', ')}`;
  return [
    { ...permit('limits', ''), decision: 'ask', rules: [plainRule('reach.limits', 'ask', reason)] },
  ];
}

/** What a rule of a person lets start must be a program that was found, as all the others are. */
function started(verdict: Verdict, { facts }: Known): Verdict {
  const [program, ...rest] = verdict.runs ?? [];
  if (program === undefined || program.startsWith('/') || facts === null) return verdict;
  if (facts.executable !== null) return { ...verdict, runs: [facts.executable, ...rest] };
  const missing = plainRule('facts.executable', 'ask', 'is not found on the fixed PATH');
  const rule = { ...missing, evidence: program };
  return { ...verdict, decision: 'ask', rules: [rule, ...verdict.rules], runs: null };
}
