/**
 * Commands with a recorded start but no recorded end. The runtime writes its own records without
 * waiting for the disk, so after a power cut the log may know more commands than they do.
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
 * How many of the newest events are read: about a busy minute. The system writes its buffers to
 * disk in half of that time. More events would noticeably delay the start of the runtime.
 */
const eventsMax = 8_000;

/**
 * @param log directory of one log, which no other process writes
 * @param others the user's other logs: a runtime that took a command over may have recorded its end
 *   there
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
 * Records each such command as lost, so that every start has an end.
 *
 * @param known commands that are being followed, or were recorded just now
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
