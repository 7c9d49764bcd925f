/**
 * How running commands end when the runtime stops: TERM, ten seconds, KILL; the report names each
 * command.
 */
import { rmSync, writeFileSync } from 'node:fs';
import type { ExecId, SessionId } from '../command.ts';
import type { Executions, TrackedExecution } from './executions/executions.ts';
import type { Runners } from './runners.ts';
import type { Sessions } from './sessions/sessions.ts';

/** How long the runner may take after it has sent KILL, before it counts as hung. */
export const runnerHungMs = 3_000;

export interface StoppedExecution {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  /** The session's name. */
  readonly session: string | null;
  /** The command's first line, without known secrets. */
  readonly command: string;
  /** `left`: the command continues to run. */
  readonly end: 'ended' | 'killed' | 'left';
}

export interface StoppingParts {
  readonly execs: Executions;
  readonly sessions: Sessions;
  readonly runners: Runners;
  /** Hides known secrets. */
  readonly masked: (text: string) => string;
  /** Time from TERM to KILL, in `ms`. */
  readonly graceMs: number;
}

const commandMax = 200;
/** Name of the report file in the state directory. */
export const stoppedFileName = 'stopped.json';

/**
 * Ends all commands, including those that a script starts meanwhile, and then the runner.
 *
 * @param hurry when it is aborted, the remaining commands are killed at once
 */
export async function stopCommands(
  { execs, runners, graceMs, ...parts }: StoppingParts,
  hurry: AbortSignal,
): Promise<readonly StoppedExecution[]> {
  const all = new Set<TrackedExecution>();
  const late = lateAfter(graceMs + runnerHungMs);
  let isLate = false;
  const kill = (): void => {
    void runners.kill([...all].map(({ record }) => record.id));
  };
  hurry.addEventListener('abort', kill, { once: true });
  const still = (): TrackedExecution[] => (isLate ? [] : execs.running(null));
  for (let running = still(); running.length > 0; running = still()) {
    for (const one of running.filter((tracked) => !all.has(tracked))) {
      all.add(one);
      // A command that is still starting is stopped once the runner has it.
      void one.started.then(() => runners.stop([one.record.id], 'shutdown', graceMs));
    }
    if (hurry.aborted) kill();
    const settled = Promise.allSettled(running.map((one) => one.settled)).then(() => false);
    isLate = await Promise.race([settled, late]);
  }
  hurry.removeEventListener('abort', kill);
  await runners.close(true, isLate ? 0 : runnerHungMs);
  return [...all].map((one) => stoppedCommand(one, { ...parts, isLeft: false }));
}

/** The commands that continue in the runner, for the next daemon. */
export const listRemainingCommands = ({
  execs,
  ...parts
}: Pick<StoppingParts, 'execs' | 'sessions' | 'masked'>): readonly StoppedExecution[] =>
  execs.running(null).map((one) => stoppedCommand(one, { ...parts, isLeft: true }));

/** One line for a person. */
export function stoppedLine({ exec_id: id, session_id, session, command, end }: StoppedExecution) {
  const where = session === null ? session_id : JSON.stringify(session);
  const how = end === 'left' ? 'runs on:' : end;
  return `${how} ${id} in session ${where}: ${command}`;
}

/** Writes the report for `trl daemon stop`. */
export function writeStoppedReport(file: string, commands: readonly StoppedExecution[]): void {
  rmSync(file, { force: true });
  if (commands.length === 0) return;
  writeFileSync(file, JSON.stringify({ pid: process.pid, commands }), { mode: 0o600, flag: 'wx' });
}

function stoppedCommand(
  { record }: TrackedExecution,
  by: Pick<StoppingParts, 'sessions' | 'masked'> & { readonly isLeft: boolean },
): StoppedExecution {
  const { id, sessionId, command, outcome } = record;
  // If a command was killed together with its runner, no process reports how it ended.
  const isKilled = outcome === null || outcome.exit.signal === 'SIGKILL';
  const text = by.masked(command);
  const [line = ''] = text.split('\n');
  return {
    exec_id: id,
    session_id: sessionId,
    session: by.sessions.find(sessionId)?.record.name ?? null,
    command: line === text && line.length <= commandMax ? line : `${line.slice(0, commandMax)}…`,
    end: by.isLeft ? 'left' : isKilled ? 'killed' : 'ended',
  };
}

/** Resolves to `true` when the time limit is reached. */
function lateAfter(ms: number): Promise<true> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(true), ms).unref();
  });
}
