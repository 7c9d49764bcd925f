/** Foreground commands of a session run one at a time; an approved one waits for its turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Executions } from './executions.ts';
import { TrlError } from '../../errors.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** The session is reserved for a command that starts. */
interface SessionLock {
  /** It has started, or never will. May be called again. */
  release(): void;
}

/** @throws TrlError `SESSION_BUSY` while a foreground command has the session */
export function takeForeground(session: LiveSession): void {
  if (session.busy !== null) {
    const message = `Cannot run in ${session.record.id}: a command is running in it`;
    throw new TrlError('SESSION_BUSY', message);
  }
  session.busy = 'starting';
}

/**
 * Waits until no foreground command has the session, and takes it.
 *
 * @throws the reason of `signal` when it comes first
 */
export async function acquireSessionLock(
  session: LiveSession,
  execs: Pick<Executions, 'find'>,
  signal: AbortSignal,
): Promise<SessionLock> {
  const gone = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  while (session.busy !== null) {
    const { busy, starting } = session;
    const over = busy === 'starting' ? starting : execs.find(busy)?.settled;
    await Promise.race([Promise.resolve(over).catch(() => {}), gone]);
    await sleep(0);
    signal.throwIfAborted();
  }
  session.busy = 'starting';
  let left = (): void => {};
  session.starting = new Promise<void>((resolve) => {
    left = resolve;
  });
  let isOurs = true;
  return {
    release: () => {
      if (isOurs && session.busy === 'starting') session.busy = null;
      isOurs = false;
      left();
    },
  };
}
