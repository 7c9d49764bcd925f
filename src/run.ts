/**
 * The story of one command, from request to receipt:
 * Request → Facts → Verdict → Plan → ApprovedPlan → Exit → Outcome.
 * Each stage takes what is to its left and answers the next word; none looks back.
 */
import { approve } from './approval/approve.ts';
import type {
  ApprovedPlan,
  Bounds,
  Box,
  ExecId,
  Exit,
  Request,
  SessionId,
  Shell,
  Carry,
  Plan,
  Verdict,
} from './command.ts';
import { checkVariable } from './environment/base.ts';
import { TrlError } from './errors.ts';
import { decide, type PolicyName } from './policy/decide.ts';
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
  /** Variables of the runtime's level. */
  readonly env: Readonly<Record<string, string>>;
  /** Directories that only the sandbox has. */
  readonly privateDirs: readonly string[];
  /** Puts protected paths back that a command created or replaced; answers their names. */
  revert(): Promise<readonly string[]>;
}

/** What the story needs of the outside. */
export interface World {
  readonly policy: PolicyName;
  /** @throws TrlError when the command was not started */
  launch(approved: ApprovedPlan): Promise<void>;
  /** @throws TrlError `BACKEND_UNAVAILABLE` when the execution was lost */
  exited(id: ExecId): Promise<Exit>;
}

export interface Outcome {
  readonly exit: Exit;
  readonly reverted: readonly string[];
}

/** What is known before anything runs. */
export interface Decided {
  readonly approved: ApprovedPlan;
  readonly verdict: Verdict;
}

/**
 * Decides and plans; nothing runs yet.
 *
 * @throws TrlError `INVALID_PARAMS`, `WORKSPACE_ESCAPE`, `POLICY_DENIED`, `APPROVAL_REQUIRED`
 */
export async function prepare(
  world: World,
  ground: Ground,
  request: Request & { readonly bounds: Bounds },
  id: ExecId,
): Promise<Decided> {
  for (const [name, value] of Object.entries(request.env)) checkVariable(name, value);
  const cwd =
    request.cwd === null
      ? null
      : await resolveInside(ground.workspace, request.cwd, ground.privateDirs);
  const verdict = decide(world.policy);
  const plan = planCommand(ground, { ...request, cwd }, id);
  return { approved: approve(plan, verdict), verdict };
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
  { approved }: Decided,
  started: () => void,
): Promise<Outcome> {
  await world.launch(approved);
  started();
  return finish(world, ground, approved.plan.exec_id);
}

/** The second half: also for executions that an earlier daemon launched. */
export async function finish(world: World, ground: Ground, id: ExecId): Promise<Outcome> {
  let exit: Exit;
  try {
    exit = await world.exited(id);
  } catch (error) {
    // Lost is not undone: what it left behind is put back all the same.
    await ground.revert();
    throw error;
  }
  const reverted = await ground.revert();
  if (exit.cwd_missing) {
    throw new TrlError(
      'INVALID_PARAMS',
      'Cannot use the working directory: it does not exist inside the sandbox',
    );
  }
  return { exit, reverted };
}

function planCommand(
  ground: Ground,
  request: Request & { readonly bounds: Bounds },
  id: ExecId,
): Plan {
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
