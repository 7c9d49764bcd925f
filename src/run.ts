/**
 * The story of one command, from request to receipt:
 * Request → Analysis → Facts → Verdict → Plan → (a person's yes) → ApprovedPlan → Exit → Outcome.
 * Each stage takes what is to its left and answers the next word; none looks back.
 */
import type { Approval } from './approval/approval.ts';
import {
  approveByPolicy,
  approveByAnswer,
  approveByRule,
  confirmRuleUnchanged,
  confirmSubjectUnchanged,
  PolicyRefusal,
} from './approval/approve.ts';
import type { LastingRule } from './approval/lasting-rules.ts';
import type { ApprovalSubject } from './approval/subject.ts';
import type { ExecId, Exit, Plan, Verdict } from './command.ts';
import { checkVariable, isWithheldVariable } from './environment/base.ts';
import { isTrlError, TrlError } from './errors.ts';
import type { Analysis } from './policy/analysis.ts';
import type { RequestedVariable } from './policy/decide.ts';
import { isNameListed, type Facts } from './policy/facts.ts';
import { withoutGitFilters } from './policy/shell/harden.ts';
import {
  lookUpCommandFacts,
  createApprovalSubject,
  type CommandLookup,
} from './approval-subject.ts';
import { scriptLocation, scriptsDirectory, workspaceVariable } from './sandbox/script.ts';
import type {
  ExecutionRequest,
  AuthorizedExecution,
  ExecutionContext,
  ExecutionOutcome,
  PendingApproval,
  Authorization,
  RunDependencies,
} from './execution.ts';
import { isBelow } from './workspace/inspect-path.ts';
import { resolveGivenDirectory } from './workspace/roots.ts';

export type {
  ExecutionRequest,
  AuditMark,
  ChangeTracker,
  AuthorizedExecution,
  ExecutionContext,
  ExecutionOutcome,
  PendingApproval,
  Recorder,
  Authorization,
  ToolCommand,
  VariableSource,
  RunDependencies,
} from './execution.ts';

/**
 * Decides and plans; nothing runs yet.
 *
 * @throws TrlError `INVALID_PARAMS`, `WORKSPACE_ESCAPE`, `POLICY_DENIED`
 */
export async function authorize(
  world: RunDependencies,
  { ground, standing }: { readonly ground: ExecutionContext; readonly standing: Authorization },
  request: ExecutionRequest,
  id: ExecId,
): Promise<AuthorizedExecution | PendingApproval> {
  for (const [name, value] of Object.entries(request.env)) checkVariable(name, value);
  const given = await resolveGivenDirectory(ground, request);
  const { judge, exposure: reach } = standing;
  await world.yieldToEventLoop();
  const isScript = request.language === 'python';
  const reading = isScript
    ? await judge.parsePython(request.command)
    : judge.parse(request.command, ground.shell.dialect);
  const { analysis } = reading;
  const scripts = scriptsDirectory([ground.workspace ?? '', ...ground.files.read.allow]);
  const at = isScript ? scripts : given;
  const lookUp = (): Promise<CommandLookup> =>
    lookUpCommandFacts(world, ground, { request, reading, at });
  const variables = Object.keys(request.env);
  const requested = await requestedOf(world, { ground, standing, request });
  // A list rule stands on what was looked up; where the text or the sandbox decides, nothing is.
  let found = judge.needsFacts(reading) ? await lookUp() : null;
  const verdict = judge.decide(reading, {
    facts: found?.facts ?? null,
    exposure: reach,
    variables,
    carried: standing.session.given,
    requested,
    reveal: request.reveal ?? [],
  });
  if (verdict.decision === 'block') throw new PolicyRefusal(verdict);
  // Read only now: what policy blocks makes no source do anything.
  const values = await world.variables.values(requested);
  const full = { ...request, cwd: given, env: { ...values, ...request.env } };
  const workspaceMode = request.workspaceMode ?? null;
  const box = (await ground.changeTracker?.boxFor(workspaceMode, id)) ?? ground.box;
  const ruled = world.revealed(ground.workspaceIdentity, standing.requester);
  const reveal = [...new Set([...ruled, ...(request.reveal ?? [])])].toSorted();
  const shows = reveal.length === 0 ? {} : { reveal };
  const command = { ...planCommand(ground, full, id), box, ...shows };
  const plan = isScript ? planScript(ground, command, scripts) : command;
  switch (verdict.decision) {
    case 'allow': {
      const ready = verdict.runs === null ? plan : direct(plan, { verdict, analysis, found });
      const contents = found?.facts.contents ?? [];
      const approved = approveByPolicy(ready, verdict);
      const { requester, parent } = standing;
      const who = { requester, parent, tool: toolOf(request), approval: null };
      return { approved, verdict, workspaceMode, ...who, contents, exposure: reach };
    }
    case 'ask': {
      found ??= await lookUp();
      const { cwd, macs } = found;
      const { tool } = request;
      const starts = { ...plan, cwd };
      const asks = { tool, reveal: request.reveal ?? [] };
      const parts = { ground, standing, ...asks, plan: starts, macs, verdict };
      const look = found.bindFiles;
      const again = async (): Promise<ApprovalSubject> =>
        createApprovalSubject(world, parts, await look());
      // The directory of a script is another one each time it starts: its parent is what is asked.
      const ready = isScript ? plan : starts;
      const { parent } = standing;
      const rest = {
        parent,
        tool: toolOf(request),
        workspaceMode,
        exposure: reach,
        refreshSubject: again,
      };
      return { subject: await again(), verdict, plan: ready, ...rest };
    }
  }
}

/**
 * The variables that a command gets by name. What a tool manages only that tool's process gets.
 *
 * @throws TrlError `INVALID_PARAMS` for a name that is withheld, managed by a tool, or nobody's
 */
async function requestedOf(
  { variables }: RunDependencies,
  given: {
    readonly ground: ExecutionContext;
    readonly standing: Authorization;
    readonly request: ExecutionRequest;
  },
): Promise<readonly RequestedVariable[]> {
  const { ground, standing, request } = given;
  const { tool } = request;
  if (tool !== undefined) {
    const found = await variables.find(tool.env);
    return found.map((one) => ({ ...one, isManaged: true }));
  }
  const names = namesAskedFor(ground, standing, request);
  for (const name of names) {
    const manager = variables.managedBy(name, ground.workspace);
    if (manager !== null) throw managedVariableError(name, manager);
  }
  return variables.find(names);
}

export function managedVariableError(name: string, tool: string): TrlError {
  const shown = JSON.stringify(name);
  const way = `only the tool "${tool}" gets it; call that tool`;
  return new TrlError('INVALID_PARAMS', `Cannot pass on the variable ${shown}: ${way}`);
}

/**
 * What the call and its session ask for, but what every command has and what the call itself sets.
 *
 * @throws TrlError `INVALID_PARAMS` for a name that is withheld
 */
function namesAskedFor(
  ground: ExecutionContext,
  { session }: Authorization,
  request: ExecutionRequest,
): string[] {
  const names = [...new Set([...session.requested, ...(request.requested ?? [])])];
  const isThere = (name: string): boolean =>
    Object.hasOwn(request.env, name) ||
    (Object.hasOwn(ground.env, name) && !ground.inherited.has(name));
  const held = names.find((name) => isWithheldVariable(name, ground.withhold));
  if (held !== undefined) throw withheldVariableError(held);
  return names.filter((name) => !isThere(name));
}

export function withheldVariableError(name: string): TrlError {
  const shown = JSON.stringify(name);
  const message = `Cannot pass on the variable ${shown}: it is withheld from every command`;
  return new TrlError('INVALID_PARAMS', `${message}; a value of your own goes by "env"`);
}

/**
 * The second half of a command that was asked about.
 *
 * @throws TrlError `APPROVAL_REQUIRED` when the question is not the one that was answered
 */
export function authorizeByApproval(
  question: PendingApproval,
  approval: Approval,
): AuthorizedExecution {
  const { subject: asked, plan, refreshSubject: again, ...rest } = question;
  const approved = approveByAnswer(plan, question.verdict, { asked, approval });
  const confirm = async (): Promise<void> => confirmSubjectUnchanged(approval.asked, await again());
  const { requester, contents } = asked;
  return { ...rest, approved, approval, requester, contents, confirm };
}

/**
 * The second half of a command that a rule of the person's answers.
 *
 * @param find the rule by which a question is answered now, or `null`
 * @throws TrlError `APPROVAL_REQUIRED` when the rule is another question's
 */
export function authorizeByRule(
  question: PendingApproval,
  rule: LastingRule,
  find: (asked: ApprovalSubject) => LastingRule | null,
): AuthorizedExecution {
  const { subject: asked, plan, refreshSubject: again, verdict: before, ...rest } = question;
  const { approved, verdict } = approveByRule(plan, before, { asked, rule });
  const confirm = async (): Promise<void> => confirmRuleUnchanged(rule, find(await again()));
  const { requester, contents } = asked;
  return { ...rest, verdict, approved, approval: null, requester, contents, confirm };
}

/**
 * Runs what was decided, to its end, whoever listens.
 *
 * @param started called once when the command runs; must not throw
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`,
 *   `AUDIT_UNAVAILABLE`, and `INVALID_PARAMS` when the working directory does not exist inside
 */
export async function run(
  world: RunDependencies,
  ground: ExecutionContext,
  decided: AuthorizedExecution,
  started: () => void,
): Promise<ExecutionOutcome> {
  const { approved, workspaceMode } = decided;
  const { exec_id: id, command: text } = approved.plan;
  const begun = ground.changeTracker?.begin({ id, text, mode: workspaceMode });
  const recorded = world.recorder.starting(decided);
  // Whoever waits hears of it; until then it is no unhandled rejection.
  recorded.catch(() => {});
  try {
    await begun;
    // The runner makes it ready meanwhile; it starts when the log has it on disk.
    const { confirm } = decided;
    const ready = confirm === undefined ? recorded : recorded.then(confirm);
    ready.catch(() => {});
    await world.launch(approved, ready);
  } catch (error) {
    await Promise.allSettled([recorded]);
    world.recorder.failed(id, error);
    await ground.changeTracker?.abandon(id);
    throw error;
  }
  started();
  return finishRun(world, ground, id);
}

/** The second half: also for executions that an earlier daemon launched. */
export async function finishRun(
  world: RunDependencies,
  ground: ExecutionContext,
  id: ExecId,
): Promise<ExecutionOutcome> {
  let exit: Exit;
  try {
    exit = await world.exited(id);
  } catch (error) {
    world.recorder.failed(id, error);
    // Lost is not undone: what it left behind is put back all the same.
    await ground.revert();
    await ground.changeTracker?.settle(id, true);
    throw error;
  }
  const { reverted, recorded } = await settle(world, ground, exit);
  const audit = await world.recorder.ended(id, { exit, reverted, recorded }).catch((error) => {
    throw afterwards(error, exit);
  });
  if (exit.cwd_missing) {
    throw new TrlError(
      'INVALID_PARAMS',
      'Cannot use the working directory: it does not exist inside the sandbox, or by a link alone',
    );
  }
  return { exit, reverted, recorded, audit };
}

/** How it ended is recorded also where what it left behind could not be looked at. */
async function settle(world: RunDependencies, ground: ExecutionContext, exit: Exit) {
  const { exec_id: id } = exit;
  let reverted: readonly string[] = [];
  try {
    reverted = await ground.revert();
    return { reverted, recorded: (await ground.changeTracker?.settle(id, false)) ?? null };
  } catch (error) {
    await world.recorder.ended(id, { exit, reverted, recorded: null }).catch((lost: unknown) => {
      throw afterwards(lost, exit);
    });
    world.recorder.failed(id, error);
    throw afterwards(error, exit);
  }
}

/** Whoever gets no receipt must know all the same that the command ran. */
function afterwards(error: unknown, { exec_id, exit_code, signal }: Exit): unknown {
  if (!isTrlError(error)) return error;
  const how = signal === null ? `with exit code ${exit_code}` : `by ${signal}`;
  const ran = `The command ran and ended ${how}: look before you run it again`;
  const data = { ...error.data, exec_id, exit_code, signal };
  return new TrlError(error.code, `${error.message}. ${ran}`, { cause: error, data });
}

function planCommand(ground: ExecutionContext, request: ExecutionRequest, id: ExecId): Plan {
  const { workspace } = ground;
  const isInWorkspace =
    workspace !== null && request.cwd !== null && isBelow(request.cwd, workspace);
  return {
    exec_id: id,
    session_id: ground.sessionId,
    command: request.command,
    argv: request.tool?.argv ?? null,
    shell: ground.shell,
    cwd: request.cwd,
    ...(isInWorkspace ? { cwd_is_real: true } : {}),
    cwd_fallback: ground.home,
    env: ground.env,
    command_env: request.env,
    carry: ground.statePersistence,
    ...(ground.umask === undefined ? {} : { umask: ground.umask }),
    mode: request.mode,
    stdin: request.stdin,
    pty: request.pty,
    bounds: request.bounds,
    box: ground.box,
  };
}

const toolOf = ({ tool }: ExecutionRequest): AuthorizedExecution['tool'] =>
  tool === undefined ? null : { name: tool.name, sha256: tool.sha256 };

/** A script instead: in a directory of its own, told where the workspace is. */
function planScript(ground: ExecutionContext, plan: Plan, scripts: string): Plan {
  const { workspace } = ground;
  const told = workspace === null ? {} : { [workspaceVariable]: workspace };
  const place = scriptLocation(plan.box, plan.exec_id, scripts);
  return { ...plan, ...place, language: 'python', env: { ...plan.env, ...told } };
}

/** What was analysed is what starts: no shell, no variable that could change the program. */
function direct(
  plan: Plan,
  given: {
    readonly verdict: Verdict;
    readonly analysis: Analysis;
    readonly found: { readonly facts: Facts; readonly cwd: string } | null;
  },
): Plan {
  const { verdict, analysis, found } = given;
  const [program, ...rest] = verdict.runs ?? [];
  const recipe = analysis.allowed?.run ?? { argv: [], unset: [], set: {} };
  const { unset, set } = withoutGitFilters(recipe, found?.facts.gitFilters ?? []);
  if (program === undefined) throw new TrlError('INTERNAL_ERROR', 'Cannot plan: nothing to start');
  const kept = Object.entries(plan.env).filter(([name]) => !isNameListed(name, unset));
  const cwd = found?.cwd ?? null;
  return { ...plan, argv: [program, ...rest], cwd, env: { ...Object.fromEntries(kept), ...set } };
}
