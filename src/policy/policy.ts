/**
 * A policy: layers of rules about commands, of which the strictest decides, and limits on what a
 * session may be granted. A layer is one profile or one file.
 */
import type { PolicyHosts } from '../network/command-network.ts';
import { createHash } from 'node:crypto';
import { policyProfiles, type Caller, type PolicyProfile, type Role } from '../command.ts';
import { limits, type LimitName } from '../limits.ts';
import { joinPublication, type PublicationLayer, type PublicationRules } from './publication.ts';
import { systemConfigDirectory } from '../yaml/config-directories.ts';

// Where policy files are. Here, because most starts do not load what reads them.
export const managedPolicyFile = `${systemConfigDirectory}/policy.yaml`;
/** At the root of a workspace. */
export const projectPolicyFileName = '.trl.yaml';
/** In the user's configuration directory. */
export const userPolicyFileName = 'policy.yaml';
export const trustRecordFileName = 'trusted.json';

/** The shipped profiles, from loosest to strictest. */
export const policyBaseNames = policyProfiles;
export type PolicyBaseName = PolicyProfile;

export const isPolicyBaseName = (name: string): name is PolicyBaseName =>
  policyBaseNames.some((known) => known === name);

/** From loosest to strictest. */
export const policyDecisions = ['allow', 'ask', 'block'] as const;
export type PolicyDecision = (typeof policyDecisions)[number];

/** Network that a session may be given, from loosest to strictest. */
export const networkModes = ['on', 'ask', 'off'] as const;
export type NetworkMode = (typeof networkModes)[number];

/** One argument: itself, one of several, or a glob; the text `...` is any number of them. */
export type WordPattern =
  | string
  | { readonly any: readonly string[] }
  /** `*`: any text without `/`; `**`: any text; `?`: one character. */
  | { readonly glob: string };

/** A user-written rule about commands. */
export interface CommandRule {
  /** `rule.deploys`, or by its position: `rule.user.3`. */
  readonly id: string;
  readonly decision: PolicyDecision;
  /** The whole argument list, `argv[0]` included. */
  readonly match: readonly WordPattern[];
  readonly reason: string;
  readonly instead: string | null;
}

/** Gives callers that match all its conditions another base. */
export interface CallerRule {
  readonly actor: string | null;
  readonly kind: Caller['kind'] | null;
  readonly role: Role | null;
  readonly base: PolicyBaseName;
}

/** Patterns of names by decision: the strictest that matches decides. */
export type GrantRules = Readonly<Record<PolicyDecision, readonly string[]>>;

/** What a layer specifies for variables that a command requests by name. */
export interface VariableGrants {
  readonly secrets: GrantRules;
  /** Variables of the runtime's environment. */
  readonly environment: GrantRules;
}

export type PolicyLayerKind = 'profile' | 'user' | 'managed' | 'project';

export interface PolicyLayer {
  /** The profile's name, or the path of the file. */
  readonly name: string;
  readonly kind: PolicyLayerKind;
  /** `null`: the layer has only rules about commands. */
  readonly base: PolicyBaseName | null;
  readonly callers: readonly CallerRule[];
  readonly commands: readonly CommandRule[];
  /** Absent: the layer does not specify any. */
  readonly grants?: VariableGrants;
}

/** Maxima, in the units of `limits.ts`. */
export type LimitMaxima = Readonly<Partial<Record<LimitName, number>>>;

export interface PolicyBounds {
  readonly files: {
    /** What a session may be granted outside its workspace: each list must contain a path. */
    readonly read: readonly (readonly string[])[];
    readonly write: readonly (readonly string[])[];
    /** Never read and never written, whatever the grants. */
    readonly deny: readonly string[];
  };
  /** `ask`: a session with network needs approval. */
  readonly network: NetworkMode;
  /** Hosts that sessions with rules for hosts reach without approval, and never. */
  readonly hosts: PolicyHosts;
  /** Names of variables that no command gets from the runtime; a final `*` matches any suffix. */
  readonly withhold: readonly string[];
  readonly limits: LimitMaxima;
  readonly approvals: {
    /** An approval that nobody decides for so long is denied. */
    readonly expiresMs: number;
    /** Whether the user's own uid may decide, without a passphrase. */
    readonly sameUid: boolean;
    /** Whether an approval may cover identical plans of the same session. */
    readonly sessionScope: boolean;
  };
  /** What must not be published, and for whom. */
  readonly publication: PublicationRules;
}

export interface Policy extends PolicyBounds {
  readonly name: string;
  /** SHA-256 (hex) of all its parts, and of the knowledge base. */
  readonly version: string;
  /** The strictest base of all layers, for callers that no rule names. */
  readonly base: PolicyBaseName;
  /** At least one; the first one has a base. */
  readonly layers: readonly PolicyLayer[];
}

/** Limits of approvals if no file specifies others. */
export const defaultApprovalBounds = {
  expiresMs: limits.approvalMs.default,
  sameUid: true,
  sessionScope: true,
} as const satisfies PolicyBounds['approvals'];

/** The limits that one layer specifies; other layers may specify the rest. */
export interface PolicyLayerBounds extends Partial<
  Omit<PolicyBounds, 'approvals' | 'publication'>
> {
  readonly approvals?: Omit<PolicyBounds['approvals'], 'expiresMs'> & {
    readonly expiresMs: number | null;
  };
  readonly publication?: PublicationLayer;
}

export const strictestBase = (found: readonly (PolicyBaseName | null)[]): PolicyBaseName | null =>
  strictest(
    policyBaseNames,
    found.filter((base) => base !== null),
  );

export const strictestNetwork = (found: readonly NetworkMode[]): NetworkMode =>
  strictest(networkModes, found) ?? 'off';

function strictest<T>(order: readonly T[], found: readonly T[]): T | null {
  return order.toReversed().find((one) => found.includes(one)) ?? null;
}

/** Which base a layer gives a caller: the strictest rule that names them, else the layer's own. */
export function policyBaseFor(layer: PolicyLayer, caller: Caller | null): PolicyBaseName | null {
  const named = layer.callers.filter((rule) => caller !== null && names(rule, caller));
  return strictestBase(named.map(({ base }) => base)) ?? layer.base;
}

function names(rule: CallerRule, caller: Caller): boolean {
  return (
    (rule.actor === null || rule.actor === caller.actor) &&
    (rule.kind === null || rule.kind === caller.kind) &&
    (rule.role === null || caller.roles.includes(rule.role))
  );
}

/** Whether no command gets the variable of this name from the runtime. */
export function isWithheldByPolicy(policy: Pick<Policy, 'withhold'>, name: string): boolean {
  return policy.withhold.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/**
 * Joins layers and limits: each limit is the tightest, denying lists are united, permitting lists
 * must all match.
 *
 * @param knowledge version of the knowledge of commands, part of the policy's own
 */
export function joinPolicyLayers(
  name: string,
  layers: readonly PolicyLayer[],
  bounds: readonly PolicyLayerBounds[],
  knowledge: string,
): Policy {
  const approvals = bounds.flatMap((one) => one.approvals ?? []);
  const expiries = approvals.flatMap(({ expiresMs }) => expiresMs ?? []);
  const files = bounds.flatMap((one) => one.files ?? []);
  const rest = {
    name,
    base: strictestBase(layers.map(({ base }) => base)) ?? 'locked',
    layers,
    files: {
      read: files.flatMap(({ read }) => read),
      write: files.flatMap(({ write }) => write),
      deny: unique(files.flatMap(({ deny }) => deny)),
    },
    network: strictestNetwork(bounds.flatMap(({ network }) => network ?? [])),
    hosts: joinHosts(bounds.flatMap(({ hosts }) => hosts ?? [])),
    withhold: unique(bounds.flatMap(({ withhold }) => withhold ?? [])),
    limits: lowest(bounds.flatMap(({ limits }) => limits ?? [])),
    approvals: {
      expiresMs: Math.min(
        ...expiries,
        expiries.length === 0 ? defaultApprovalBounds.expiresMs : Infinity,
      ),
      sameUid: approvals.every(({ sameUid }) => sameUid),
      sessionScope: approvals.every(({ sessionScope }) => sessionScope),
    },
    publication: joinPublication(bounds.flatMap(({ publication }) => publication ?? [])),
  };
  return { ...rest, version: digestOrderedJson([knowledge, rest]) };
}

function joinHosts(all: readonly PolicyHosts[]): PolicyHosts {
  const joined = (of: keyof PolicyHosts): string[] => unique(all.flatMap((one) => one[of]));
  return { allow: joined('allow'), deny: joined('deny'), private: joined('private') };
}

function lowest(all: readonly LimitMaxima[]): LimitMaxima {
  const found = new Map<string, number>();
  for (const [name, value] of all.flatMap((one) => Object.entries(one))) {
    found.set(name, Math.min(value, found.get(name) ?? Infinity));
  }
  return Object.fromEntries(found);
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/** SHA-256 (hex) of the value's JSON with the keys of every object in order. */
export function digestOrderedJson(value: unknown): string {
  const ordered = JSON.stringify(value, (_, found: unknown) =>
    typeof found === 'object' && found !== null && !Array.isArray(found)
      ? Object.fromEntries(Object.entries(found).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : found,
  );
  return createHash('sha256').update(ordered).digest('hex');
}
