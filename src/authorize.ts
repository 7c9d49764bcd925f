/**
 * Decides whether a command may run: its text is parsed, policy decides, and what would run becomes
 * a plan. The answer is an approved plan, or a pending approval for a person. Nothing runs here.
 */
import type { Approval } from './approval/approval.ts';
import {
  approveByAnswer,
  approveByPolicy,
  approveByRule,
  confirmRuleUnchanged,
  confirmSubjectUnchanged,
  PolicyRefusal,
} from './approval/approve.ts';
import type { LastingRule } from './approval/lasting-rules.ts';
import type { ApprovalSubject } from './approval/subject.ts';
import { createApprovalSubject, lookUpCommandFacts } from './approval-subject.ts';
import type { CommandLookup } from './approval-subject.ts';
import type { ExecId, Plan, Verdict } from './command.ts';
import { checkVariable, isWithheldVariable } from './environment/base.ts';
import { TrlError } from './errors.ts';
import { isBridged, type BrokeredCredential } from './network-access.ts';
import type {
  Authorization,
  AuthorizedExecution,
  ExecutionContext,
  ExecutionRequest,
  PendingApproval,
  RunDependencies,
} from './execution.ts';
import type { RequestedVariable } from './policy/decide.ts';
import type { ParsedCommand } from './policy/judge.ts';
import { withoutGitFilters } from './policy/shell/harden.ts';
import { impliedHosts } from './policy/implied-hosts.ts';
import { listInvocations } from './policy/invocations.ts';
import { seesRequests, trustVariables } from './network/trusted-certificates.ts';
import { planCommandNetwork, type CommandNetwork } from './network/command-network.ts';
import { scriptLocation, scriptsDirectory, workspaceVariable } from './sandbox/script.ts';
import { isBelow } from './workspace/inspect-path.ts';
import { isNameListed } from './variable-names.ts';

/** A session as a command finds it, and by what the command is judged. */
export interface Circumstances {
  readonly context: ExecutionContext;
  readonly authorization: Authorization;
}

/** @throws TrlError `INVALID_PARAMS`, `WORKSPACE_ESCAPE`, `POLICY_DENIED` */
export async function authorize(
  dependencies: RunDependencies,
  circumstances: Circumstances,
  request: ExecutionRequest,
  id: ExecId,
): Promise<AuthorizedExecution | PendingApproval> {
  const { context, authorization } = circumstances;
  const { judge, requester, parent } = authorization;
  for (const [name, value] of Object.entries(request.env)) checkVariable(name, value);
  const cwd = await dependencies.files.resolveDirectory(context, request);
  await dependencies.yieldToEventLoop();
  const isScript = request.language === 'python';
  const parsed = isScript
    ? await judge.parsePython(request.command)
    : judge.parse(request.command, context.shell.dialect);
  const requested = await findRequestedVariables(dependencies, circumstances, request);
  const network = networkOf(dependencies, circumstances, { request, parsed, requested, id });
  const exposure = { ...authorization.exposure, askedHosts: network.asked };
  const scripts = scriptsDirectory([context.workspace ?? '', ...context.files.read.allow]);
  const lookUp = (): Promise<CommandLookup> =>
    lookUpCommandFacts(dependencies, context, { request, parsed, at: isScript ? scripts : cwd });
  // Only list rules need facts; the text alone or the sandbox decides everything else.
  const found = judge.needsFacts(parsed) ? await lookUp() : null;
  const verdict = judge.decide(parsed, {
    facts: found?.facts ?? null,
    exposure,
    variables: Object.keys(request.env),
    carried: authorization.session.given,
    requested,
    reveal: request.reveal ?? [],
  });
  if (verdict.decision === 'block') throw new PolicyRefusal(verdict);
  // Values are read only after the verdict: a blocked command makes no source do anything.
  const values = await dependencies.variables.values(requested);
  const withValues = { ...request, cwd, env: { ...values.env, ...request.env } };
  const planned = await planCommand(dependencies, circumstances, withValues, id);
  const ofFiles = network.egress === null ? [] : await dependencies.variables.fileCredentials();
  const command = withEgress(planned, network, [...values.credentials, ...ofFiles]);
  const plan = isScript ? planScript(context, command, scripts) : command;
  const workspaceMode = request.workspaceMode ?? null;
  const shared = { verdict, workspaceMode, parent, tool: toolOf(request), exposure };
  if (verdict.decision === 'allow') {
    const ready = verdict.runs === null ? plan : planDirectStart(plan, verdict, { parsed, found });
    const contents = found?.facts.contents ?? [];
    return {
      ...shared,
      approved: approveByPolicy(ready, verdict),
      requester,
      approval: null,
      contents,
    };
  }
  const { cwd: startsIn, macs, bindFiles } = found ?? (await lookUp());
  const started = { ...plan, cwd: startsIn };
  const asks = { tool: request.tool, reveal: request.reveal ?? [], hosts: network.asked };
  const parts = { context, authorization, ...asks, plan: started, macs, verdict };
  const refreshSubject = async (): Promise<ApprovalSubject> =>
    createApprovalSubject(dependencies, parts, await bindFiles());
  // A script gets a fresh directory at each start, so the approval is for the parent directory.
  return {
    ...shared,
    subject: await refreshSubject(),
    plan: isScript ? plan : started,
    refreshSubject,
  };
}

/** Where requests are seen, programs must trust who sees them. */
function withEgress(
  plan: Plan,
  { egress: rules }: CommandNetwork,
  credentials: readonly BrokeredCredential[],
): Plan {
  if (rules === null) return plan;
  const egress = { ...rules, ...(credentials.length === 0 ? {} : { credentials }) };
  const env = seesRequests(egress) ? { ...plan.env, ...trustVariables } : plan.env;
  return { ...plan, env, egress };
}

/** What the command may reach, and what of it must be asked. */
function networkOf(
  dependencies: RunDependencies,
  { context, authorization }: Circumstances,
  {
    id,
    requested,
    ...text
  }: {
    readonly request: ExecutionRequest;
    readonly parsed: ParsedCommand;
    readonly requested: readonly RequestedVariable[];
    readonly id: ExecId;
  },
): CommandNetwork {
  const { judge, requester, hosts: policy, session } = authorization;
  const by = { requester, session: context.sessionId, exec: id };
  return planCommandNetwork({
    network: context.network,
    requested: session.hosts,
    implied: [...impliedBy(context, text), ...brokeredAt(context, requested)],
    policy: { ...policy, deny: [...policy.deny, ...session.blocked] },
    asks: judge.asks,
    answered: dependencies.allowedHosts(context.workspaceIdentity, by),
    connect: dependencies.connectHosts,
    proxy: dependencies.upstreamProxy,
  });
}

/**
 * Hosts at which its secrets are used.
 *
 * @throws TrlError `INVALID_PARAMS` where nothing could put them into requests
 */
function brokeredAt(
  { network }: ExecutionContext,
  requested: readonly RequestedVariable[],
): readonly string[] {
  const [first] = requested.filter(({ broker }) => broker !== undefined);
  if (first === undefined || network === 'off') return [];
  if (!isBridged(network)) {
    const why = 'its session has the network of the host, and a secret is brokered on a bridge';
    const help = 'use a session with --net and the names of hosts';
    throw new TrlError('INVALID_PARAMS', `Cannot broker the secret ${first.name}: ${why}; ${help}`);
  }
  return network === 'open' ? [] : requested.flatMap(({ broker }) => broker?.hosts ?? []);
}

/** Host rules that the text of a command implies, where rules for hosts decide. */
function impliedBy(
  { network, shell }: ExecutionContext,
  { request, parsed }: { request: ExecutionRequest; parsed: ParsedCommand },
): readonly string[] {
  if (network !== 'hosts' || request.language === 'python') return [];
  const { analysis, invocations } = parsed;
  const { items } =
    invocations.items.length > 0
      ? invocations
      : listInvocations(request.command, shell.dialect, analysis);
  return impliedHosts(items);
}

/**
 * Authorizes a pending command by a person's answer.
 *
 * @throws TrlError `APPROVAL_REQUIRED` when the answer is for another subject
 */
export function authorizeByApproval(
  pending: PendingApproval,
  approval: Approval,
): AuthorizedExecution {
  const { subject, plan, refreshSubject, ...rest } = pending;
  const approved = approveByAnswer(plan, pending.verdict, { asked: subject, approval });
  const confirm = async (): Promise<void> =>
    confirmSubjectUnchanged(approval.asked, await refreshSubject());
  const { requester, contents } = subject;
  return { ...rest, approved, approval, requester, contents, confirm };
}

/**
 * Authorizes a pending command by a lasting rule of the person's.
 *
 * @param find the rule that covers a subject now, or `null`
 * @throws TrlError `APPROVAL_REQUIRED` when the rule is for another subject
 */
export function authorizeByRule(
  pending: PendingApproval,
  rule: LastingRule,
  find: (subject: ApprovalSubject) => LastingRule | null,
): AuthorizedExecution {
  const { subject, plan, refreshSubject, verdict: before, ...rest } = pending;
  const { approved, verdict } = approveByRule(plan, before, { asked: subject, rule });
  const confirm = async (): Promise<void> =>
    confirmRuleUnchanged(rule, find(await refreshSubject()));
  const { requester, contents } = subject;
  return { ...rest, verdict, approved, approval: null, requester, contents, confirm };
}

/**
 * The variables that a command gets by name. Only a tool's own process gets what the tool manages.
 *
 * @throws TrlError `INVALID_PARAMS` for a name that is withheld, managed by a tool, or unknown
 */
async function findRequestedVariables(
  { variables }: RunDependencies,
  { context, authorization }: Circumstances,
  request: ExecutionRequest,
): Promise<readonly RequestedVariable[]> {
  const { tool } = request;
  if (tool !== undefined) {
    const found = await variables.find(tool.env);
    return found.map((one) => ({ ...one, isManaged: true }));
  }
  const { brokered = [] } = request;
  const names = new Set([
    ...authorization.session.requested,
    ...(request.requested ?? []),
    ...brokered.map(({ name }) => name),
  ]);
  const withheld = [...names].find((name) => isWithheldVariable(name, context.withhold));
  if (withheld !== undefined) throw withheldVariableError(withheld);
  const isSet = (name: string): boolean =>
    Object.hasOwn(request.env, name) ||
    (Object.hasOwn(context.env, name) && !context.inherited.has(name));
  const missing = [...names].filter((name) => !isSet(name));
  for (const name of missing) {
    const manager = variables.managedBy(name, context.workspace);
    if (manager !== null) throw managedVariableError(name, manager);
  }
  return variables.find(missing, brokered);
}

export function managedVariableError(name: string, tool: string): TrlError {
  const shown = JSON.stringify(name);
  const way = `only the tool "${tool}" gets it; call that tool`;
  return new TrlError('INVALID_PARAMS', `Cannot pass on the variable ${shown}: ${way}`);
}

export function withheldVariableError(name: string): TrlError {
  const shown = JSON.stringify(name);
  const message = `Cannot pass on the variable ${shown}: it is withheld from every command`;
  return new TrlError('INVALID_PARAMS', `${message}; a value of your own goes by "env"`);
}

async function planCommand(
  dependencies: RunDependencies,
  { context, authorization }: Circumstances,
  request: ExecutionRequest,
  id: ExecId,
): Promise<Plan> {
  const { workspace } = context;
  const box = await context.changeTracker?.boxFor(request.workspaceMode ?? null, id);
  const byRules = dependencies.revealed(context.workspaceIdentity, authorization.requester);
  const reveal = [...new Set([...byRules, ...(request.reveal ?? [])])].toSorted();
  const isInWorkspace =
    workspace !== null && request.cwd !== null && isBelow(request.cwd, workspace);
  return {
    exec_id: id,
    session_id: context.sessionId,
    command: request.command,
    argv: request.tool?.argv ?? null,
    shell: context.shell,
    cwd: request.cwd,
    ...(isInWorkspace ? { cwd_is_real: true } : {}),
    cwd_fallback: context.home,
    env: context.env,
    command_env: request.env,
    carry: context.statePersistence,
    ...(context.umask === undefined ? {} : { umask: context.umask }),
    mode: request.mode,
    stdin: request.stdin,
    pty: request.pty,
    bounds: request.bounds,
    box: box ?? context.box,
    ...(reveal.length === 0 ? {} : { reveal }),
  };
}

const toolOf = ({ tool }: ExecutionRequest): AuthorizedExecution['tool'] =>
  tool === undefined ? null : { name: tool.name, sha256: tool.sha256 };

/** A script starts in its own directory; a variable names the workspace. */
function planScript(context: ExecutionContext, plan: Plan, scripts: string): Plan {
  const { workspace } = context;
  const own = workspace === null ? {} : { [workspaceVariable]: workspace };
  const location = scriptLocation(plan.box, plan.exec_id, scripts);
  return { ...plan, ...location, language: 'python', env: { ...plan.env, ...own } };
}

/** Starts exactly the program that was analysed: no shell, no variable that could change it. */
function planDirectStart(
  plan: Plan,
  verdict: Verdict,
  { parsed, found }: { readonly parsed: ParsedCommand; readonly found: CommandLookup | null },
): Plan {
  const [program, ...rest] = verdict.runs ?? [];
  const recipe = parsed.analysis.allowed?.run ?? { argv: [], unset: [], set: {} };
  const { unset, set } = withoutGitFilters(recipe, found?.facts.gitFilters ?? []);
  if (program === undefined) throw new TrlError('INTERNAL_ERROR', 'Cannot plan: nothing to start');
  const inherited = Object.entries(plan.env).filter(([name]) => !isNameListed(name, unset));
  const env = { ...Object.fromEntries(inherited), ...set };
  return { ...plan, argv: [program, ...rest], cwd: found?.cwd ?? null, env };
}
