/**
 * The subject of an approval: what the text of a command names, as it is now, and everything else
 * that an approval binds.
 */
import path from 'node:path';
import type { HostsRule, NetworkRule, RevealRule } from './approval/lasting-rules.ts';
import type { ApprovalSubject } from './approval/subject.ts';
import type { Plan, Verdict } from './command.ts';
import type { BrokeredCredential } from './network-access.ts';
import type { BindingResult } from './policy/binding/bind.ts';
import type { Facts } from './policy/facts.ts';
import { isPathInside } from './policy/path-containment.ts';
import type { ParsedCommand } from './policy/judge.ts';
import { pythonInterpreterName } from './policy/python/check.ts';
import { deriveCommandShape } from './policy/shapes/shape.ts';
import {
  unanalysedTextMentions,
  readsInputReason,
  withSessionVariables,
} from './policy/shell/mentions.ts';
import type {
  ExecutionRequest,
  ExecutionContext,
  Authorization,
  AuthorizedExecution,
  RunDependencies,
} from './execution.ts';

export interface CommandLookup {
  readonly facts: Facts;
  /** Where the command starts. */
  readonly cwd: string;
  readonly macs: ApprovalSubject['env'];
  /** The files that an approval would bind, as they are now. */
  readonly bindFiles: () => Promise<BindingResult>;
}

/** @param at where the call starts the command; `null`: in the session's directory */
export async function lookUpCommandFacts(
  dependencies: RunDependencies,
  context: ExecutionContext,
  { request, parsed, at }: { request: ExecutionRequest; parsed: ParsedCommand; at: string | null },
): Promise<CommandLookup> {
  const { cwd: there, path: own, macs } = await dependencies.sessionState(context.sessionId);
  const { analysis, invocations: seen } = parsed;
  const cwd = at ?? there ?? context.home;
  const path = context.env['PATH'] ?? '';
  const isElsewhere = (file: string): boolean => context.changeTracker?.isWaiting(file) === true;
  const place = { workspace: context.workspace, cwd, path, isElsewhere };
  const searched = request.env['PATH'] ?? own ?? path;
  // The interpreter of a script is the runtime's, whatever PATH the session has.
  const isFixed = (name: string): boolean =>
    name.includes('/') || (request.language === 'python' && name === pythonInterpreterName);
  const named = analysis.named.map((one) =>
    one.role === 'executable' && !isFixed(one.name) && searched !== path
      ? { ...one, name: context.findProgram(one.name, searched, cwd) ?? one.name }
      : one,
  );
  const look = (): Promise<Facts> =>
    dependencies.files.gatherFacts({ ...analysis, named }, seen.plain, place);
  const bound = async (): Promise<BindingResult> => {
    const { contents: found } = await look();
    const { workspace, layer } = context;
    const isPrivate = (file: string): boolean => context.isPrivate(file);
    const contents = found.map((content) => context.bindContent(content, cwd));
    const { env, command } = request;
    const isHidden = (file: string): boolean => context.isHidden(file);
    // A script has a directory of its own, and reaches the files of the workspace.
    const from = request.language === 'python' ? (workspace ?? cwd) : cwd;
    const where = {
      workspace,
      cwd: from,
      path: searched,
      env,
      layer,
      isPrivate,
      isHidden,
      contents,
    };
    const mentions = analysis.mentions ?? unanalysedTextMentions(command);
    return dependencies.files.bindMentionedFiles(
      withSessionVariables(mentions, Object.keys(macs)),
      where,
    );
  };
  const facts = await look();
  return {
    facts,
    cwd,
    macs: Object.entries(macs).map(([name, mac]) => ({ name, mac })),
    bindFiles: bound,
  };
}

/** Variables that differ in each call, and that no program of a known shape reads. */
const harmless: ReadonlySet<string> = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', 'TRACEPARENT']);

/** A question about what is shown and nothing else: the values are those of any command. */
function revealRuleOf({
  context,
  authorization,
  reveal,
  verdict,
}: Parameters<typeof createApprovalSubject>[1]): RevealRule | null {
  const asks = verdict.rules.filter(({ decision }) => decision === 'ask');
  const isOfReveal = asks.length > 0 && asks.every(({ id }) => id === 'reach.reveal');
  if (!isOfReveal || context.workspace === null || context.workspaceIdentity === null) return null;
  return { reveal, workspace: context.workspaceIdentity, requester: authorization.requester };
}

/** A question about hosts and nothing else: they are those of any command. */
function hostsRuleOf({
  context: { workspaceIdentity: workspace },
  authorization: { requester },
  hosts,
  verdict,
}: Parameters<typeof createApprovalSubject>[1]): HostsRule | null {
  const asks = verdict.rules.filter(({ decision }) => decision === 'ask');
  const isOfHosts = hosts.length > 0 && asks.every(({ id }) => id === 'reach.hosts');
  return isOfHosts && workspace !== null ? { hosts, workspace, requester } : null;
}

/**
 * What an answer for the project would be about: a command of a known shape that asks for the
 * network and nothing else, as it starts where nothing of the session or the project leads it
 * elsewhere. `null`: no such answer is taken.
 */
function networkRuleOf(
  dependencies: RunDependencies,
  {
    context,
    authorization,
    tool,
    plan,
    macs,
    verdict,
  }: Parameters<typeof createApprovalSubject>[1],
  { contents }: BindingResult,
): NetworkRule | null {
  const { exposure: reach, session } = authorization;
  const { workspace, workspaceIdentity: place } = context;
  const asks = verdict.rules.filter(({ decision }) => decision === 'ask');
  const isOfNetwork = asks.length > 0 && asks.every(({ id }) => id === 'reach.network');
  const isHeld =
    reach.level === 'full' && context.network === 'host' && reach.extraGrants.length === 0;
  if (!isOfNetwork || !isHeld || workspace === null || place === null) return null;
  if (tool !== undefined || plan.language !== undefined || plan.argv !== null) return null;
  // Functions and aliases of the shell go by any name.
  if (plan.carry === 'shell') return null;
  const own = [...Object.keys(plan.command_env), ...session.requested, ...session.given];
  const led = macs.filter(({ name, mac }) => mac !== dependencies.mac(name, plan.env[name] ?? ''));
  if (![...own, ...led.map(({ name }) => name)].every((name) => harmless.has(name))) return null;
  const shape = deriveCommandShape(plan.command);
  if (shape === null) return null;
  const program = contents.find((one) => one.role === 'executable' && one.name === shape.program);
  if (program === undefined || program.path === null || program.sha256 === null) return null;
  if (!isFirst(plan.env['PATH'] ?? '', path.dirname(program.path), context)) return null;
  const isElsewhere = (file: string): boolean => context.changeTracker?.isWaiting(file) === true;
  const project = dependencies.files.fingerprintProject(shape.project, {
    root: workspace,
    cwd: plan.cwd,
    isElsewhere,
  });
  if (project === null) return null;
  const { requester } = authorization;
  const { words } = shape;
  return { words, program: program.path, network: true, workspace: place, requester, project };
}

/** Whether commands can put nothing before it, nor beside what it starts by name. */
function isFirst(search: string, directory: string, context: ExecutionContext): boolean {
  const { workspace } = context;
  const isOurs = (one: string): boolean =>
    !path.isAbsolute(one) ||
    context.isPrivate(one) ||
    (workspace !== null && isPathInside(path.normalize(one), workspace));
  return !isOurs(directory) && !search.split(':').some(isOurs);
}

/** A question about a host that a running command is held at; it starts nothing. */
export function createHostSubject(
  context: ExecutionContext,
  { approved: { plan }, requester, exposure, verdict }: AuthorizedExecution,
  host: string,
): ApprovalSubject {
  const { workspaceIdentity: workspace } = context;
  const hosts = [host];
  return {
    v: 1,
    command: plan.command,
    ...(plan.language === undefined ? {} : { language: plan.language }),
    argv: plan.argv,
    shell: plan.shell,
    mode: plan.mode,
    cwd: plan.cwd ?? context.home,
    cwdPlace: null,
    workspace,
    env: [],
    stdin: { kind: 'closed', mac: null },
    pty: null,
    sandbox: { kind: plan.box.kind, level: exposure.level, box: context.scope },
    network: context.network,
    hosts,
    files: context.files,
    bounds: plan.bounds,
    policy: verdict.policy,
    session: plan.session_id,
    requester,
    ...(workspace === null ? {} : { rule: { hosts, workspace, requester } }),
    contents: [],
  };
}

const hostsOf = ({ name, hosts }: BrokeredCredential) => ({ name, hosts });

/** Everything that a person's answer binds. */
export function createApprovalSubject(
  dependencies: RunDependencies,
  parts: {
    readonly context: ExecutionContext;
    readonly authorization: Authorization;
    readonly tool: ExecutionRequest['tool'];
    readonly reveal: readonly string[];
    /** Hosts that nobody has permitted yet. */
    readonly hosts: readonly string[];
    readonly plan: Plan & { readonly cwd: string };
    readonly macs: ApprovalSubject['env'];
    readonly verdict: Verdict;
  },
  bound: BindingResult,
): ApprovalSubject {
  const { context, authorization, tool, reveal, hosts, plan, macs } = parts;
  const { exposure: reach, judge, requester } = authorization;
  const own = (all: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(all).map(([name, value]) => [name, dependencies.mac(name, value)]);
  const carried = macs.map(({ name, mac }): [string, string] => [name, mac]);
  const env = new Map([...own(plan.env), ...carried, ...own(plan.command_env)]);
  const { stdin, egress: { credentials = [] } = {} } = plan;
  const rule =
    revealRuleOf(parts) ?? hostsRuleOf(parts) ?? networkRuleOf(dependencies, parts, bound);
  return {
    v: 1,
    command: plan.command,
    ...(plan.language === undefined ? {} : { language: plan.language }),
    ...(tool === undefined ? {} : { tool: { name: tool.name, sha256: tool.sha256 } }),
    argv: plan.argv,
    shell: plan.shell,
    mode: plan.mode,
    cwd: plan.cwd,
    cwdPlace: context.directoryIdentity(plan.cwd),
    workspace: context.workspaceIdentity,
    env: [...env].map(([name, mac]) => ({ name, mac })),
    stdin: {
      kind: stdin.kind,
      mac: stdin.kind === 'bytes' ? dependencies.mac('stdin', stdin.base64) : null,
    },
    pty: plan.pty,
    sandbox: { kind: plan.box.kind, level: reach.level, box: context.scope },
    network: context.network,
    files: context.files,
    ...(hosts.length === 0 ? {} : { hosts }),
    ...(credentials.length === 0 ? {} : { brokered: credentials.map(hostsOf) }),
    ...(reveal.length === 0 ? {} : { reveal }),
    bounds: plan.bounds,
    policy: { name: judge.name, version: judge.version },
    session: plan.session_id,
    requester,
    ...(rule === null ? {} : { rule }),
    ...bound,
    binding: typed(bound.binding, plan),
  };
}

/** Of a script that is typed while it runs nobody knows the text beforehand. */
function typed(binding: BindingResult['binding'], { stdin, pty }: Plan): BindingResult['binding'] {
  const isTyped = stdin.kind === 'open' || pty !== null;
  if (!isTyped || binding.kind !== 'workspace') return binding;
  return binding.why.includes(readsInputReason) ? { kind: 'unbound', why: binding.why } : binding;
}
