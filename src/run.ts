/**
 * The story of one command, from request to receipt:
 * Request → Analysis → Facts → Verdict → Plan → (a person's yes) → ApprovedPlan → Exit → Outcome.
 * Each stage takes what is to its left and answers the next word; none looks back.
 */
import type { Approval } from './approval/approval.ts';
import { approve, approveAsked, Refused } from './approval/approve.ts';
import type { Asked } from './approval/request.ts';
import type {
  ApprovedPlan,
  Bounds,
  Box,
  Carry,
  ExecId,
  Exit,
  FileGrants,
  Plan,
  Request,
  SessionId,
  Shell,
  Verdict,
} from './command.ts';
import { checkVariable, isWithheld } from './environment/base.ts';
import type { RecordedChanges, WorkspaceMode } from './change.ts';
import { TrlError } from './errors.ts';
import type { Analysis } from './policy/analysis.ts';
import type { Reach, RequestedName } from './policy/decide.ts';
import { gatherFacts, isNamed, type Facts } from './policy/facts.ts';
import type { Judge } from './policy/judge.ts';
import { withoutFilters } from './policy/shell/harden.ts';
import { parseGitConfig } from './workspace/git-config.ts';
import { resolveInside } from './workspace/roots.ts';

/** What stands when a command is asked for: the session, and what was found out about its place. */
export interface Ground {
  readonly sessionId: SessionId;
  readonly shell: Shell;
  readonly carry: Carry;
  readonly workspace: string | null;
  readonly network: 'off' | 'on';
  /** Where the session starts, and goes back to when its directory is gone. */
  readonly home: string;
  readonly box: Box;
  /** SHA-256 (hex) of what the box shows and lets be written: equal for equal sandboxes. */
  readonly scope: string;
  /** The workspace as a directory of the host. */
  readonly place: Asked['workspace'];
  /** Which directory of the host a path of the session is just now. */
  directory(path: string): Asked['cwdPlace'];
  /** What a shell starts for a name, by a `PATH` that is not the runtime's; `null`: nothing. */
  find(name: string, path: string, cwd: string): string | null;
  /** A content as far as a yes can bind it: what the host cannot see, or is no file, it cannot. */
  bound(content: Asked['contents'][number], cwd: string): Asked['contents'][number];
  readonly files: FileGrants;
  /** What the sandbox was granted besides the workspace, one clause each. */
  readonly beyond: readonly string[];
  /** Variables of the runtime's level. */
  readonly env: Readonly<Record<string, string>>;
  /** Those of `env` that are there in `legacy` mode alone. */
  readonly inherited: ReadonlySet<string>;
  /** Patterns of names that no command gets from the runtime, besides what never passes. */
  readonly withhold: readonly string[];
  /** Directories that only the sandbox has. */
  readonly privateDirs: readonly string[];
  /** Puts protected paths back that a command created or replaced; answers their names. */
  revert(): Promise<readonly string[]>;
  /** What becomes of what a command changes in the workspace; `null`: nothing is recorded. */
  readonly changes: ChangeKeeper | null;
}

/** Tells what each command changed, keeps it, and lets it into the real tree as far as it may. */
export interface ChangeKeeper {
  /** Whether what commands see at a path of the host waits to be put there. */
  isWaiting(path: string): boolean;
  /** Where the command is to run; `null`: in the session's own box. */
  boxFor(mode: WorkspaceMode | null, id: ExecId): Promise<Box | null>;
  /** Notes how things stand before a command; `startedAt` (Unix ms) of one that runs already. */
  begin(command: {
    readonly id: ExecId;
    readonly text: string;
    readonly mode: WorkspaceMode | null;
    readonly startedAt?: number;
  }): Promise<void>;
  /** The command never ran. */
  abandon(id: ExecId): Promise<void>;
  /** `isLost`: nobody saw how it ended. */
  settle(id: ExecId, isLost: boolean): Promise<RecordedChanges | null>;
}

/** Values of variables that were asked for by name. */
export interface VariableSource {
  /**
   * Where each would come from; no value is read for it.
   *
   * @throws TrlError `INVALID_PARAMS` for a name that nobody has
   */
  find(names: readonly string[]): Promise<readonly RequestedName[]>;
  /** @throws TrlError when a value cannot be read, or could not be masked */
  values(requested: readonly RequestedName[]): Promise<Readonly<Record<string, string>>>;
}

/** What the story needs of the outside. */
export interface World {
  /** Where a session stands: its directory, and a MAC of every variable that it carries. */
  state(id: SessionId): Promise<{
    cwd: string | null;
    /** The session's own `PATH`, which a command exported; `null`: the runtime's. */
    path: string | null;
    macs: Readonly<Record<string, string>>;
  }>;
  readonly variables: VariableSource;
  /** Settles when a text may be analysed: one in each turn of the event loop. */
  turn(): Promise<void>;
  /** Stands for a value where the value may not be; equal values of a name have equal MACs. */
  mac(name: string, value: string): string;
  /** @throws TrlError when the command was not started */
  launch(approved: ApprovedPlan): Promise<void>;
  /** @throws TrlError `BACKEND_UNAVAILABLE` when the execution was lost */
  exited(id: ExecId): Promise<Exit>;
}

/** By what a command is judged. */
export interface Standing {
  readonly judge: Judge;
  readonly reach: Reach;
  /** The actor that asks. */
  readonly requester: string;
  readonly session: {
    /** Names that each command of the session gets. */
    readonly requested: readonly string[];
    /** Names of the session's own variables, which its caller set. */
    readonly given: readonly string[];
  };
}

export type Asking = Request & {
  readonly bounds: Bounds;
  /** Names that this command asks for; absent in records of before. */
  readonly requested?: readonly string[];
  /** What becomes of what this command changes; default: the session's mode. */
  readonly workspaceMode?: WorkspaceMode;
};

export interface Outcome {
  readonly exit: Exit;
  readonly reverted: readonly string[];
  /** `null`: nothing was recorded. */
  readonly recorded: RecordedChanges | null;
}

/** What is known before anything runs. */
export interface Decided {
  readonly approved: ApprovedPlan;
  readonly verdict: Verdict;
  /** What becomes of what it changes; `null`: as the session has it. */
  readonly workspaceMode: WorkspaceMode | null;
}

/** A command that waits for a person: the question, and the plan as it would be. */
export interface Question {
  readonly asked: Asked;
  readonly verdict: Verdict;
  readonly plan: Plan;
  readonly workspaceMode: WorkspaceMode | null;
}

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
  const given =
    request.cwd === null
      ? null
      : await resolveInside(ground.workspace, request.cwd, ground.privateDirs);
  const { judge, reach } = standing;
  await world.turn();
  const reading = judge.read(request.command, ground.shell.dialect);
  const { analysis, seen } = reading;
  const lookUp = async (): Promise<{ facts: Facts; cwd: string; macs: Asked['env'] }> => {
    const { cwd, path: own, macs } = await world.state(ground.sessionId);
    const at = given ?? cwd ?? ground.home;
    const path = ground.env['PATH'] ?? '';
    const isElsewhere = (file: string): boolean => ground.changes?.isWaiting(file) === true;
    const place = { workspace: ground.workspace, cwd: at, path, parseGitConfig, isElsewhere };
    const searched = request.env['PATH'] ?? own ?? path;
    const named = analysis.named.map((one) =>
      one.role === 'executable' && !one.name.includes('/') && searched !== path
        ? { ...one, name: ground.find(one.name, searched, at) ?? one.name }
        : one,
    );
    const facts = await gatherFacts({ ...analysis, named }, seen.plain, place);
    return { facts, cwd: at, macs: Object.entries(macs).map(([name, mac]) => ({ name, mac })) };
  };
  const variables = Object.keys(request.env);
  const requested = await world.variables.find(namesAskedFor(ground, standing, request));
  // A list rule stands on what was looked up; where the text or the sandbox decides, nothing is.
  let found = judge.needsFacts(reading) ? await lookUp() : null;
  const verdict = judge.decide(reading, {
    facts: found?.facts ?? null,
    reach,
    variables,
    carried: standing.session.given,
    requested,
  });
  if (verdict.decision === 'block') throw new Refused(verdict);
  // Read only now: what policy blocks makes no source do anything.
  const values = await world.variables.values(requested);
  const full = { ...request, cwd: given, env: { ...values, ...request.env } };
  const workspaceMode = request.workspaceMode ?? null;
  const box = (await ground.changes?.boxFor(workspaceMode, id)) ?? ground.box;
  const plan = { ...planCommand(ground, full, id), box };
  switch (verdict.decision) {
    case 'allow': {
      const ready = verdict.runs === null ? plan : direct(plan, { verdict, analysis, found });
      return { approved: approve(ready, verdict), verdict, workspaceMode };
    }
    case 'ask': {
      found ??= await lookUp();
      const { cwd } = found;
      const asked = question(world, { ground, standing, plan: { ...plan, cwd }, found });
      return { asked, verdict, plan: { ...plan, cwd }, workspaceMode };
    }
  }
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
  const { asked, verdict, plan, workspaceMode } = question;
  return { approved: approveAsked(plan, verdict, { asked, approval }), verdict, workspaceMode };
}

/**
 * Runs what was decided, to its end, whoever listens.
 *
 * @param started called once when the command runs; must not throw
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`, and
 *   `INVALID_PARAMS` when the working directory does not exist inside
 */
export async function run(
  world: World,
  ground: Ground,
  { approved, workspaceMode }: Decided,
  started: () => void,
): Promise<Outcome> {
  const { exec_id: id, command: text } = approved.plan;
  await ground.changes?.begin({ id, text, mode: workspaceMode });
  try {
    await world.launch(approved);
  } catch (error) {
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
    // Lost is not undone: what it left behind is put back all the same.
    await ground.revert();
    await ground.changes?.settle(id, true);
    throw error;
  }
  const reverted = await ground.revert();
  const recorded = (await ground.changes?.settle(id, false)) ?? null;
  if (exit.cwd_missing) {
    throw new TrlError(
      'INVALID_PARAMS',
      'Cannot use the working directory: it does not exist inside the sandbox',
    );
  }
  return { exit, reverted, recorded };
}

function planCommand(ground: Ground, request: Asking, id: ExecId): Plan {
  return {
    exec_id: id,
    session_id: ground.sessionId,
    command: request.command,
    argv: null,
    shell: ground.shell,
    cwd: request.cwd,
    cwd_fallback: ground.home,
    env: ground.env,
    command_env: request.env,
    carry: ground.carry,
    mode: request.mode,
    stdin: request.stdin,
    pty: request.pty,
    bounds: request.bounds,
    box: ground.box,
  };
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

/** Everything that a person's answer binds. */
function question(
  world: World,
  parts: {
    readonly ground: Ground;
    readonly standing: Standing;
    readonly plan: Plan & { readonly cwd: string };
    readonly found: { readonly facts: Facts; readonly macs: Asked['env'] };
  },
): Asked {
  const { ground, standing, plan, found } = parts;
  const { reach, judge, requester } = standing;
  const own = (all: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(all).map(([name, value]) => [name, world.mac(name, value)]);
  const carried = found.macs.map(({ name, mac }): [string, string] => [name, mac]);
  const env = new Map([...own(plan.env), ...carried, ...own(plan.command_env)]);
  const { stdin } = plan;
  return {
    v: 1,
    command: plan.command,
    argv: plan.argv,
    shell: plan.shell,
    mode: plan.mode,
    cwd: plan.cwd,
    cwdPlace: ground.directory(plan.cwd),
    workspace: ground.place,
    env: [...env].map(([name, mac]) => ({ name, mac })),
    stdin: {
      kind: stdin.kind,
      mac: stdin.kind === 'bytes' ? world.mac('stdin', stdin.base64) : null,
    },
    pty: plan.pty,
    sandbox: { kind: plan.box.kind, level: reach.level, box: ground.scope },
    network: ground.network,
    files: ground.files,
    bounds: plan.bounds,
    policy: { name: judge.name, version: judge.version },
    session: plan.session_id,
    requester,
    contents: found.facts.contents.map((content) => ground.bound(content, plan.cwd)),
  };
}
