/** Reads policy files: text in, checked rules out. Pure; `load.ts` finds the files. */
import type { PolicyHosts } from '../../network/command-network.ts';
import { parseHostRule } from '../../network/host-rules.ts';
import { expandPreset } from '../../network/presets.ts';
import type { JudgedShell } from '../../command.ts';
import { limits as limitTable } from '../../limits.ts';
import type { LimitName } from '../../limits.ts';
import type { FileProblem } from '../../yaml/file-error.ts';
import { fileProblemsMax, readYamlTree, type YamlTree } from '../../yaml/tree.ts';
import { describeSchemaIssue } from '../../yaml/schema-problems.ts';
import type {
  PolicyBaseName,
  CallerRule,
  CommandRule,
  PolicyDecision,
  PolicyLayerBounds,
} from '../policy.ts';
import type { VariableGrants } from '../policy.ts';
import type { PolicyLayerKind } from '../policy.ts';
import { ruleMatches, anyArgumentsPattern } from '../rule-matching.ts';
import { grantProblems, readVariableGrants } from './grants.ts';
import { readPublicationLayer } from './publication.ts';
import { PolicyError } from './policy-file.ts';
import { policyKeysAt, unenforcedPolicyKeys, policySchema, type PolicyDocument } from './schema.ts';
import { parsePolicyDurationMs, parsePolicySizeBytes } from './quantities.ts';

/** Where a text comes from. */
export interface PolicyFileOrigin {
  /** Named in errors, and the layer's name. */
  readonly file: string;
  /** A `project` file may only tighten, a `managed` one holds over all others. */
  readonly kind: Exclude<PolicyLayerKind, 'profile'>;
  /** Version of the runtime, named where a key is not enforced yet. */
  readonly version: string;
  /** In the id of a rule that has none of its own: `rule.user.3`. Default: the kind. */
  readonly label?: string;
}

/** A user's own case for `trl policy test`. */
export interface PolicyTestCase {
  readonly command: string;
  readonly shell: JudgedShell;
  readonly expect: PolicyDecision;
  readonly line: number;
  readonly column: number;
}

/** One file, checked by itself; what it extends is not read yet. */
export interface PolicyFile {
  readonly origin: PolicyFileOrigin;
  readonly name: string;
  readonly base: PolicyBaseName | null;
  readonly extends: readonly (FileProblem & { readonly file: string })[];
  readonly callers: readonly CallerRule[];
  readonly commands: readonly CommandRule[];
  readonly grants: VariableGrants | null;
  readonly bounds: PolicyLayerBounds;
  readonly cases: readonly PolicyTestCase[];
}

const expiresMsMin = 1_000;
const expiresMsMax = 7 * 86_400_000;
/** Keys that would loosen something, or read files that no hash covers. */
const notInProjects = ['base', 'callers', 'extends'] as const;

/**
 * @param input the text, or its bytes
 * @throws PolicyError with all that is wrong, in the order of the file
 */
export function readPolicyFile(input: string | Uint8Array, origin: PolicyFileOrigin): PolicyFile {
  const tree = readYamlTree(input, { file: origin.file, Failure: PolicyError });
  const parsed = policySchema.safeParse(tree.value);
  if (!parsed.success) {
    const wording = {
      tree,
      keysAt: policyKeysAt,
      notEnforced: unenforcedPolicyKeys,
      version: origin.version,
    };
    throw failure(
      origin,
      parsed.error.issues
        .slice(0, fileProblemsMax)
        .flatMap((issue) => describeSchemaIssue(issue, wording)),
    );
  }
  const text = parsed.data;
  const commands = commandsOf(text, origin.label ?? origin.kind);
  const limits = limitsOf(text);
  const problems = [
    ...(origin.kind === 'project' ? looser(text, tree) : []),
    ...(text.commands ?? []).flatMap((rule, at) => ruleProblems(rule, at, tree, commands[at])),
    ...sameIds(text, tree),
    ...callerProblems(text, tree),
    ...limitProblems(limits, tree),
    ...approvalProblems(text, tree),
    ...uselessAllow(text, tree, origin.kind),
    ...grantProblems(text, tree, origin.kind),
  ];
  if (problems.length > 0) throw failure(origin, problems);
  return {
    origin,
    name: text.name ?? origin.file,
    base: text.base ?? null,
    extends: [text.extends ?? []].flat().map((file, at) => ({
      file,
      ...tree.problem(Array.isArray(text.extends) ? ['extends', at] : ['extends'], ''),
    })),
    callers: (text.callers ?? []).map(({ actor, kind, role, base }) => ({
      actor: actor ?? null,
      kind: kind ?? null,
      role: role ?? null,
      base,
    })),
    commands,
    grants: readVariableGrants(text),
    bounds: boundsOf(text, limits, origin.kind),
    cases: (text.cases ?? []).map(({ command, shell, expect }, at) => {
      const { line, column } = tree.problem(['cases', at], '');
      return { command, shell: shell ?? 'bash', expect, line, column };
    }),
  };
}

function commandsOf(text: PolicyDocument, label: string): CommandRule[] {
  return (text.commands ?? []).map(({ id, decision, match, reason, instead }, at) => ({
    id: `rule.${id ?? `${label}.${at + 1}`}`,
    decision,
    match,
    reason,
    instead: instead ?? null,
  }));
}

function boundsOf(
  text: PolicyDocument,
  limits: readonly GivenLimit[],
  kind: PolicyFileOrigin['kind'],
): PolicyLayerBounds {
  const publication = readPublicationLayer(text.publication, kind);
  const { files, network, environment, approvals } = text;
  return {
    ...(files !== undefined && {
      files: {
        read: files.read === undefined ? [] : [files.read],
        write: files.write === undefined ? [] : [files.write],
        deny: files.deny ?? [],
      },
    }),
    ...(network?.mode !== undefined && { network: network.mode }),
    ...(network !== undefined && { hosts: hostsOf(network, kind) }),
    ...(environment?.withhold !== undefined && { withhold: environment.withhold }),
    ...(limits.length > 0 && {
      limits: Object.fromEntries(limits.map(({ name, value }) => [name, value])),
    }),
    ...(approvals !== undefined && {
      approvals: {
        expiresMs:
          approvals.expires === undefined ? null : parsePolicyDurationMs(approvals.expires),
        sameUid: approvals.same_uid ?? true,
        sessionScope: approvals.session_scope ?? true,
      },
    }),
    ...(publication !== undefined && { publication }),
  };
}

/** A file of the project comes with its code: it can deny hosts, and open none. */
function hostsOf(
  { allow, deny, private: inner }: NonNullable<PolicyDocument['network']>,
  kind: PolicyFileOrigin['kind'],
): PolicyHosts {
  const rules = (words: readonly string[] = []): string[] =>
    words.flatMap(expandPreset).flatMap((word) => parseHostRule(word)?.text ?? []);
  const mayOpen = kind !== 'project';
  return {
    allow: mayOpen ? rules(allow) : [],
    deny: rules(deny),
    private: mayOpen ? rules(inner) : [],
  };
}

interface GivenLimit {
  readonly key: string;
  readonly name: LimitName;
  readonly value: number;
}

/** Keys of the file, and the bounds of `limits.ts` that they are the maxima of. */
const limitNames = {
  timeout: 'timeoutMs',
  detached_timeout: 'detachedTimeoutMs',
  idle_timeout: 'idleTimeoutMs',
  cpu_seconds: 'cpuSeconds',
  processes: 'processes',
  open_files: 'openFiles',
  file_size: 'fileBytes',
  memory: 'memoryBytes',
  address_space: 'addressSpaceBytes',
  journal: 'journalBytes',
} as const satisfies Record<keyof NonNullable<PolicyDocument['limits']>, LimitName>;

function limitsOf({ limits = {} }: PolicyDocument): GivenLimit[] {
  const given = new Map<string, string | number | undefined>(Object.entries(limits));
  return Object.entries(limitNames).flatMap(([key, name]) => {
    const value = given.get(key);
    if (value === undefined) return [];
    if (typeof value === 'number') return [{ key, name, value }];
    const read = limitTable[name].unit === 'ms' ? parsePolicyDurationMs : parsePolicySizeBytes;
    return [{ key, name, value: read(value) }];
  });
}

function limitProblems(limits: readonly GivenLimit[], tree: YamlTree): FileProblem[] {
  return limits.flatMap(({ key, name, value }) => {
    const { max, unit } = limitTable[name];
    const path = ['limits', key];
    if (!Number.isSafeInteger(value) || value < 1) {
      return [tree.problem(path, `"${key}" must be more than nothing and a number that fits`)];
    }
    const shown = unit === 'count' ? value : `${value} ${unit}`;
    return max !== null && value > max
      ? [tree.problem(path, `"${key}" is ${shown}: this runtime takes at most ${max}`)]
      : [];
  });
}

function approvalProblems({ approvals }: PolicyDocument, tree: YamlTree): FileProblem[] {
  if (approvals?.expires === undefined) return [];
  const ms = parsePolicyDurationMs(approvals.expires);
  return ms >= expiresMsMin && ms <= expiresMsMax
    ? []
    : [tree.problem(['approvals', 'expires'], '"expires" must lie between 1s and 7d')];
}

function callerProblems({ callers = [] }: PolicyDocument, tree: YamlTree): FileProblem[] {
  return callers.flatMap(({ actor, kind, role }, at) =>
    actor === undefined && kind === undefined && role === undefined
      ? [tree.problem(['callers', at], 'name who is meant by "actor", "kind" or "role"')]
      : [],
  );
}

/** Why a project's file may not contain this: it may only tighten. */
function looser(text: PolicyDocument, tree: YamlTree): FileProblem[] {
  const keys = notInProjects
    .filter((key) => text[key] !== undefined)
    .map((key) =>
      tree.problemAtKey([key], `a project's file may only tighten: "${key}" is not taken there`),
    );
  const allows = (text.commands ?? []).flatMap(({ decision }, at) =>
    decision === 'allow'
      ? [
          tree.problem(
            ['commands', at, 'decision'],
            "a project's file may only tighten: it may ask or block, not allow",
          ),
        ]
      : [],
  );
  return [...keys, ...allows];
}

/** A managed layer without a base says nothing that an allow rule could widen. */
function uselessAllow(text: PolicyDocument, tree: YamlTree, kind: PolicyLayerKind): FileProblem[] {
  if (kind !== 'managed' || text.base !== undefined || text.extends !== undefined) return [];
  const at = (text.commands ?? []).findIndex(({ decision }) => decision === 'allow');
  return at === -1
    ? []
    : [
        tree.problem(
          ['commands', at, 'decision'],
          'an allow rule has no effect in a managed file without "base"',
        ),
      ];
}

function sameIds({ commands = [] }: PolicyDocument, tree: YamlTree): FileProblem[] {
  return commands.flatMap(({ id }, at) =>
    id !== undefined && commands.findIndex((rule) => rule.id === id) < at
      ? [tree.problem(['commands', at, 'id'], `another rule has the id "${id}"`)]
      : [],
  );
}

type RuleText = NonNullable<PolicyDocument['commands']>[number];

function ruleProblems(
  text: RuleText,
  at: number,
  tree: YamlTree,
  rule: CommandRule | undefined,
): FileProblem[] {
  if (rule === undefined) return [];
  const path = ['commands', at];
  const problems = rule.decision === 'allow' ? allowProblems(rule, at, tree) : [];
  if (rule.match.every((pattern) => pattern === anyArgumentsPattern)) {
    problems.push(tree.problem([...path, 'match'], 'it fits every command: name a program'));
  }
  const { match = [], no_match: noMatch = [] } = text.examples ?? {};
  for (const [key, examples] of Object.entries({ match, no_match: noMatch })) {
    for (const [index, example] of examples.entries()) {
      const place = [...path, 'examples', key, index];
      const words = exampleWords(example);
      if (words === null) {
        const message = 'write the example as a list of words: it holds what a shell would read';
        problems.push(tree.problem(place, message));
      } else if (ruleMatches(rule, words) !== (key === 'match')) {
        const verb = key === 'match' ? 'does not fit' : 'fits';
        problems.push(tree.problem(place, `the rule ${verb} its example ${JSON.stringify(words)}`));
      }
    }
  }
  return problems;
}

/** What an allow rule must contain so that it allows no more than it shows. */
function allowProblems({ match }: CommandRule, at: number, tree: YamlTree): FileProblem[] {
  const [first = ''] = match;
  const path = ['commands', at, 'match'];
  const problem = (index: number, message: string): FileProblem[] => [
    tree.problem([...path, index], `an allow rule ${message}`),
  ];
  if (first === anyArgumentsPattern || (typeof first === 'object' && 'glob' in first)) {
    return problem(0, 'must name its program by a text or {any: […]}');
  }
  const inside = match.findIndex(
    (pattern, index) => pattern === anyArgumentsPattern && index < match.length - 1,
  );
  if (inside !== -1) return problem(inside, 'may end with "...": before other words it may not');
  const programs = typeof first === 'string' ? [first] : first.any;
  const found = programs.find((program) => isOpenEndedProgram(program));
  const open = match
    .slice(1)
    .findIndex((pattern) => typeof pattern === 'object' || pattern === anyArgumentsPattern);
  if (found !== undefined && open !== -1) {
    return problem(open + 1, `may not leave words open for "${found}": it runs what it is given`);
  }
  return [];
}

function failure(origin: PolicyFileOrigin, problems: readonly FileProblem[]): PolicyError {
  const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return new PolicyError(origin.file, ordered.slice(0, fileProblemsMax));
}

/** A word that every shell reads alike: no quotes, no expansion. */
const plainWord = /^[\w@%+:,./=-]+$/;

/**
 * The words of an example: a list unchanged, a text split at its spaces. `null` if a shell would
 * read the text differently.
 */
function exampleWords(example: string | readonly string[]): readonly string[] | null {
  if (typeof example !== 'string') return example;
  const words = example.split(/ +/).filter((word) => word !== '');
  return words.every((word) => plainWord.test(word)) ? words : null;
}

/** Programs that run whatever their arguments name: an open allow rule for one allows all. */
const openEndedPrograms: ReadonlySet<string> = new Set(
  [
    // shells
    'sh bash dash zsh ksh mksh ash fish csh tcsh rbash busybox toybox pwsh powershell cmd',
    // what starts another program
    'env xargs parallel timeout nice nohup setsid stdbuf time taskset ionice chrt flock watch',
    'command builtin exec eval source . find fd script strace ltrace gdb unshare nsenter chroot',
    'sudo doas su runuser pkexec setpriv ssh mosh tmux screen systemd-run at batch crontab',
    'docker podman kubectl nerdctl npx bunx uvx pipx entr ld.so proot fakeroot',
    // interpreters
    'python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh',
    'awk gawk mawk nawk sed ed ex vi vim nvim emacs osascript Rscript R julia jshell groovy',
  ].flatMap((line) => line.split(' ')),
);

/** `program` as written in a rule: a name or a path. */
function isOpenEndedProgram(program: string): boolean {
  const base = program.slice(program.lastIndexOf('/') + 1).toLowerCase();
  return openEndedPrograms.has(base) || openEndedPrograms.has(base.replace(/[\d.]+$/, ''));
}
