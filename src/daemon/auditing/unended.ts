/**
 * Commands that the log says were started, and not how they ended. The runtime keeps its own
 * records without waiting for the disk, so after a power cut the log may know of more than they do.
 */
import { readLogEvents } from '../../audit/read-events.ts';
import type { ExecId, SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { failureOf, type Auditing } from './auditing.ts';

export interface UnendedExecution {
  readonly exec: ExecId;
  readonly session: SessionId | undefined;
  readonly actor: string | null;
}

/**
 * Looked at, from the newest on: about a busy minute. A system keeps to itself what it was given
 * for half of one. More would be felt when the runtime starts.
 */
const eventsMax = 8_000;

/**
 * @param log directory of one log, which no other process writes
 * @param others of the user's: a runtime that took a command over may have told its end there
 */
export function findUnended(log: string, others: readonly string[]): UnendedExecution[] {
  const ended = new Set<ExecId>();
  const found: UnendedExecution[] = [];
  for (const { event } of readLogEvents(log, {}, 'newest').take(eventsMax)) {
    const { kind, exec, session, actor } = event;
    if (exec === undefined) continue;
    if (isEnd(kind)) ended.add(exec);
    if (kind === 'exec.started' && !ended.has(exec)) found.push({ exec, session, actor });
  }
  for (const other of found.length === 0 ? [] : others) {
    for (const { event } of readLogEvents(other, {}, 'newest').take(eventsMax)) {
      if (event.exec !== undefined && isEnd(event.kind)) ended.add(event.exec);
    }
  }
  return found.filter(({ exec }) => !ended.has(exec)).toReversed();
}

const isEnd = (kind: string): boolean => kind === 'exec.ended' || kind === 'exec.failed';

/**
 * Says of each that it was lost, so that no start is without an end.
 *
 * @param known what is being followed, or was told of just now
 */
export async function recordUnended(auditing: Auditing, known: ReadonlySet<string>): Promise<void> {
  const lost = new TrlError(
    'BACKEND_UNAVAILABLE',
    'The execution was lost with the records of an earlier runtime',
  );
  for (const { exec, session, actor } of await auditing.unended()) {
    if (known.has(exec)) continue;
    const of = { exec, ...(session && { session }), ...(actor !== null && { actor }) };
    auditing.note({ kind: 'exec.failed', ...of, data: failureOf(lost) });
  }
}
