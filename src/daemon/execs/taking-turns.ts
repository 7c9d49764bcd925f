/** Foreground commands of a session run one at a time; what was approved waits for its turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Executions } from './executions.ts';
import type { Turn } from '../approvals/parking.ts';
import type { Session } from '../sessions/sessions.ts';

/**
 * Waits until no foreground command has the session, and takes it.
 *
 * @throws the reason of `signal` when it comes first
 */
export async function takeTurn(
  session: Session,
  execs: Pick<Executions, 'find'>,
  signal: AbortSignal,
): Promise<Turn> {
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
    leave: () => {
      if (isOurs && session.busy === 'starting') session.busy = null;
      isOurs = false;
      left();
    },
  };
}
