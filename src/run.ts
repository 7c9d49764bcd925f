/**
 * The story of one command, from request to receipt:
 * Request → Analysis → Facts → Verdict → Plan → (a person's yes) → ApprovedPlan → Exit → Outcome.
 * Each stage takes what is to its left and answers the next word; none looks back.
 */
import type { Approval } from './approval/approval.ts';
import {
  approve,
  approveAsked,
  approveLasting,
  confirmLasting,
  confirmSame,
  Refused,
} from './approval/approve.ts';
import type { LastingRule } from './approval/lasting.ts';
import type { Asked } from './approval/request.ts';
import type { ExecId, Exit, Plan, Verdict } from './command.ts';
import { checkVariable, isWithheld } from './environment/base.ts';
import { isTrlError, TrlError } from './errors.ts';
import type { Analysis } from './policy/analysis.ts';
import type { RequestedName } from './policy/decide.ts';
import { isNamed, type Facts } from './policy/facts.ts';
import { withoutFilters } from './policy/shell/harden.ts';
import { lookUpNamed, question, type LookedUp } from './question.ts';
import { scriptPlace, scriptsDirectory, workspaceVariable } from './sandbox/script.ts';
import type { Asking, Decided, Ground, Outcome, Question, Standing, World } from './world.ts';
import { isBelow } from './workspace/inspect.ts';
import { givenDirectory } from './workspace/roots.ts';

export type {
  Asking,
  AuditMark,
  ChangeKeeper,
  Decided,
  Ground,
  Outcome,
  Question,
  Recorder,
  Standing,
  ToolCommand,
  VariableSource,
  World,
} from './world.ts';

/**
 * Decides and plans; nothing runs yet.
 *
 * @throws TrlError `INVALID_PARAMS`, `WORKSPACE_ESCAPE`, `POLICY_DENIED`
 */
export async function prepare(
  world: World,
  { ground, standing }: { readonly ground: Ground; readonly standing: Standing },
  request: Asking,
  id: ExecId,
): Promise<Decided | Question> {
  for (const [name, value] of Object.entries(request.env)) checkVariable(name, value);
  const given = await givenDirectory(ground, request);
  const { judge, reach } = standing;
  await world.turn();
  const isScript = request.language === 'python';
  const reading = isScript
    ? await judge.readScript(request.command)
    : judge.read(request.command, ground.shell.dialect);
  const { analysis } = reading;
  const scripts = scriptsDirectory([ground.workspace ?? '', ...ground.files.read.allow]);
  const at = isScript ? scripts : given;
  const lookUp = (): Promise<LookedUp> => lookUpNamed(world, ground, { request, reading, at });
  const variables = Object.keys(request.env);
  const requested = await requestedOf(world, { ground, standing, request });
  // A list rule stands on what was looked up; where the text or the sandbox decides, nothing is.
  let found = judge.needsFacts(reading) ? await lookUp() : null;
  const verdict = judge.decide(reading, {
    facts: found?.facts ?? null,
    reach,
    variables,
    carried: standing.session.given,
    requested,
    reveal: request.reveal ?? [],
  });
  if (verdict.decision === 'block') throw new Refused(verdict);
  // Read only now: what policy blocks makes no source do anything.
  const values = await world.variables.values(requested);
  const full = { ...request, cwd: given, env: { ...values, ...request.env } };
  const workspaceMode = request.workspaceMode ?? null;
  const box = (await ground.changes?.boxFor(workspaceMode, id)) ?? ground.box;
  const ruled = world.revealed(ground.place, standing.requester);
  const reveal = [...new Set([...ruled, ...(request.reveal ?? [])])].toSorted();
  const shows = reveal.length === 0 ? {} : { reveal };
  const command = { ...planCommand(ground, full, id), box, ...shows };
  const plan = isScript ? planScript(ground, command, scripts) : command;
  switch (verdict.decision) {
    case 'allow': {
      const ready = verdict.runs === null ? plan : direct(plan, { verdict, analysis, found });
      const contents = found?.facts.contents ?? [];
      const approved = approve(ready, verdict);
      const { requester, parent } = standing;
      const who = { requester, parent, tool: toolOf(request), approval: null };
      return { approved, verdict, workspaceMode, ...who, contents, reach };
    }
    case 'ask': {
      found ??= await lookUp();
      const { cwd, macs } = found;
      const { tool } = request;
      const starts = { ...plan, cwd };
      const asks = { tool, reveal: request.reveal ?? [] };
      const parts = { ground, standing, ...asks, plan: starts, macs, verdict };
      const look = found.bound;
      const again = async (): Promise<Asked> => question(world, parts, await look());
      // The directory of a script is another one each time it starts: its parent is what is asked.
      const ready = isScript ? plan : starts;
      const { parent } = standing;
      const rest = { parent, tool: toolOf(request), workspaceMode, reach, again };
      return { asked: await again(), verdict, plan: ready, ...rest };
    }
  }
}

/**
 * The variables that a command gets by name. What a tool manages only that tool's process gets.
 *
 * @throws TrlError `INVALID_PARAMS` for a name that is withheld, managed by a tool, or nobody's
 */
async function requestedOf(
  { variables }: World,
  given: { readonly ground: Ground; readonly standing: Standing; readonly request: Asking },
): Promise<readonly RequestedName[]> {
  const { ground, standing, request } = given;
  const { tool } = request;
  if (tool !== undefined) {
    const found = await variables.find(tool.env);
    return found.map((one) => ({ ...one, isManaged: true }));
  }
  const names = namesAskedFor(ground, standing, request);
  for (const name of names) {
    const manager = variables.managedBy(name, ground.workspace);
    if (manager !== null) throw managedError(name, manager);
  }
  return variables.find(names);
}

export function managedError(name: string, tool: string): TrlError {
  const shown = JSON.stringify(name);
  const way = `only the tool "${tool}" gets it; call that tool`;
  return new TrlError('INVALID_PARAMS', `Cannot pass on the variable ${shown}: ${way}`);
}

/**
 * What the call and its session ask for, but what every command has and what the call itself sets.
 *
 * @throws TrlError `INVALID_PARAMS` for a name that is withheld
 */
function namesAskedFor(ground: Ground, { session }: Standing, request: Asking): string[] {
  const names = [...new Set([...session.requested, ...(request.requested ?? [])])];
  const isThere = (name: string): boolean =>
    Object.hasOwn(request.env, name) ||
    (Object.hasOwn(ground.env, name) && !ground.inherited.has(name));
  const held = names.find((name) => isWithheld(name, ground.withhold));
  if (held !== undefined) throw withheldError(held);
  return names.filter((name) => !isThere(name));
}

export function withheldError(name: string): TrlError {
  const shown = JSON.stringify(name);
  const message = `Cannot pass on the variable ${shown}: it is withheld from every command`;
  return new TrlError('INVALID_PARAMS', `${message}; a value of your own goes by "env"`);
}

/**
 * The second half of a command that was asked about.
 *
 * @throws TrlError `APPROVAL_REQUIRED` when the question is not the one that was answered
 */
export function permitted(question: Question, approval: Approval): Decided {
  const { asked, plan, again, ...rest } = question;
  const approved = approveAsked(plan, question.verdict, { asked, approval });
  const confirm = async (): Promise<void> => confirmSame(approval.asked, await again());
  const { requester, contents } = asked;
  return { ...rest, approved, approval, requester, contents, confirm };
}

/**
 * The second half of a command that a rule of the person's answers.
 *
 * @param find the rule by which a question is answered now, or `null`
 * @throws TrlError `APPROVAL_REQUIRED` when the rule is another question's
 */
export function permittedBy(
  question: Question,
  rule: LastingRule,
  find: (asked: Asked) => LastingRule | null,
): Decided {
  const { asked, plan, again, verdict: before, ...rest } = question;
  const { approved, verdict } = approveLasting(plan, before, { asked, rule });
  const confirm = async (): Promise<void> => confirmLasting(rule, find(await again()));
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
  world: World,
  ground: Ground,
  decided: Decided,
  started: () => void,
): Promise<Outcome> {
  const { approved, workspaceMode } = decided;
  const { exec_id: id, command: text } = approved.plan;
  const begun = ground.changes?.begin({ id, text, mode: workspaceMode });
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
    await ground.changes?.abandon(id);
    throw error;
  }
  started();
  return finish(world, ground, id);
}

/** The second half: also for executions that an earlier daemon launched. */
export async function finish(world: World, ground: Ground, id: ExecId): Promise<Outcome> {
  let exit: Exit;
  try {
    exit = await world.exited(id);
  } catch (error) {
    world.recorder.failed(id, error);
    // Lost is not undone: what it left behind is put back all the same.
    await ground.revert();
    await ground.changes?.settle(id, true);
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
async function settle(world: World, ground: Ground, exit: Exit) {
  const { exec_id: id } = exit;
  let reverted: readonly string[] = [];
  try {
    reverted = await ground.revert();
    return { reverted, recorded: (await ground.changes?.settle(id, false)) ?? null };
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

function planCommand(ground: Ground, request: Asking, id: ExecId): Plan {
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
    carry: ground.carry,
    ...(ground.umask === undefined ? {} : { umask: ground.umask }),
    mode: request.mode,
    stdin: request.stdin,
    pty: request.pty,
    bounds: request.bounds,
    box: ground.box,
  };
}

const toolOf = ({ tool }: Asking): Decided['tool'] =>
  tool === undefined ? null : { name: tool.name, sha256: tool.sha256 };

/** A script instead: in a directory of its own, told where the workspace is. */
function planScript(ground: Ground, plan: Plan, scripts: string): Plan {
  const { workspace } = ground;
  const told = workspace === null ? {} : { [workspaceVariable]: workspace };
  const place = scriptPlace(plan.box, plan.exec_id, scripts);
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
  const { unset, set } = withoutFilters(recipe, found?.facts.gitFilters ?? []);
  if (program === undefined) throw new TrlError('INTERNAL_ERROR', 'Cannot plan: nothing to start');
  const kept = Object.entries(plan.env).filter(([name]) => !isNamed(name, unset));
  const cwd = found?.cwd ?? null;
  return { ...plan, argv: [program, ...rest], cwd, env: { ...Object.fromEntries(kept), ...set } };
}
