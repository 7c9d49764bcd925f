/** Runs an authorized command: start, exit, changes, record. */
import type { ExecId, Exit } from './command.ts';
import { isTrlError, TrlError } from './errors.ts';
import type {
  AuthorizedExecution,
  ExecutionContext,
  ExecutionOutcome,
  RunDependencies,
} from './execution.ts';

/**
 * Runs a command to its end, even if nobody listens.
 *
 * @param started called once when the command runs; must not throw
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`,
 *   `AUDIT_UNAVAILABLE`, and `INVALID_PARAMS` when the working directory does not exist inside
 */
export async function run(
  dependencies: RunDependencies,
  context: ExecutionContext,
  authorized: AuthorizedExecution,
  started: () => void,
): Promise<ExecutionOutcome> {
  const { approved, workspaceMode } = authorized;
  const { exec_id: id, command: text } = approved.plan;
  const begun = context.changeTracker?.begin({ id, text, mode: workspaceMode });
  const recorded = dependencies.recorder.starting(authorized);
  // Handled below; without this, a failure before then would count as unhandled.
  recorded.catch(() => {});
  try {
    await begun;
    // The runner prepares the command meanwhile, and starts it once the log has it on disk.
    const { confirm } = authorized;
    const committed = confirm === undefined ? recorded : recorded.then(confirm);
    committed.catch(() => {});
    await dependencies.launch(approved, committed);
  } catch (error) {
    await Promise.allSettled([recorded]);
    dependencies.recorder.failed(id, error);
    await context.changeTracker?.abandon(id);
    throw error;
  }
  started();
  return finishRun(dependencies, context, id);
}

/** Waits for the exit and records what changed; also for commands of an earlier daemon. */
export async function finishRun(
  dependencies: RunDependencies,
  context: ExecutionContext,
  id: ExecId,
): Promise<ExecutionOutcome> {
  let exit: Exit;
  try {
    exit = await dependencies.exited(id);
  } catch (error) {
    dependencies.recorder.failed(id, error);
    // A lost command may have left protected paths changed: they are restored all the same.
    await context.revert();
    await context.changeTracker?.settle(id, true);
    throw error;
  }
  const { reverted, recorded } = await settle(dependencies, context, exit);
  const audit = await dependencies.recorder
    .ended(id, { exit, reverted, recorded })
    .catch((error) => {
      throw withRanNote(error, exit);
    });
  if (exit.cwd_missing) {
    throw new TrlError(
      'INVALID_PARAMS',
      'Cannot use the working directory: it does not exist inside the sandbox, or by a link alone',
    );
  }
  return { exit, reverted, recorded, audit };
}

/** Records the end even if the changes could not be examined. */
async function settle(dependencies: RunDependencies, context: ExecutionContext, exit: Exit) {
  const { exec_id: id } = exit;
  let reverted: readonly string[] = [];
  try {
    reverted = await context.revert();
    return { reverted, recorded: (await context.changeTracker?.settle(id, false)) ?? null };
  } catch (error) {
    await dependencies.recorder
      .ended(id, { exit, reverted, recorded: null })
      .catch((lost: unknown) => {
        throw withRanNote(lost, exit);
      });
    dependencies.recorder.failed(id, error);
    throw withRanNote(error, exit);
  }
}

/** A caller that gets no receipt must still learn that the command ran. */
function withRanNote(error: unknown, { exec_id, exit_code, signal }: Exit): unknown {
  if (!isTrlError(error)) return error;
  const how = signal === null ? `with exit code ${exit_code}` : `by ${signal}`;
  const ran = `The command ran and ended ${how}: look before you run it again`;
  const data = { ...error.data, exec_id, exit_code, signal };
  return new TrlError(error.code, `${error.message}. ${ran}`, { cause: error, data });
}
