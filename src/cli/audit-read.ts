/** Events out of this user's logs, without a runtime. */
import { directoryOfLog, eventAt, logIdOf, readEvents } from '../audit/read.ts';
import type { EventFilter, FoundEvent } from '../audit/read.ts';
import { logDirectories } from '../audit/logs.ts';
import { TrlError } from '../errors.ts';
import { auditDirectory, parseEventName } from './audit-place.ts';

/** Oldest first. */
export const allEvents = (filter: EventFilter): Generator<FoundEvent> =>
  readEvents(auditDirectory(), filter, 'oldest');

/** Newest last. */
export const newestEvents = (filter: EventFilter, limit: number): readonly FoundEvent[] =>
  [...readEvents(auditDirectory(), filter, 'newest').take(limit)].toReversed();

/**
 * The events that a word of the command line names, oldest first: all of a command, or one by its
 * number.
 *
 * @throws TrlError `EXEC_NOT_FOUND`, `INVALID_PARAMS`
 */
export function eventsOf(word: string): readonly FoundEvent[] {
  if (parseEventName(word) !== null) return [eventNamed(word)];
  if (!/^x-[0-9a-f]+$/.test(word)) {
    const wanted = 'an x-… id, or the number of an event';
    throw new TrlError('INVALID_PARAMS', `Cannot tell what is meant: "${word}" is not ${wanted}`);
  }
  const found = [...allEvents({ exec: word })];
  if (found.length > 0) return found;
  throw new TrlError('EXEC_NOT_FOUND', `Cannot find "${word}": nothing is recorded under it`);
}

function eventNamed(word: string): FoundEvent {
  const { log, seq } = parseEventName(word) ?? { log: '', seq: -1 };
  const logs = logDirectories(auditDirectory()).filter((one) => logIdOf(one)?.startsWith(log));
  const found = logs.map((one) => eventAt(one, seq)).filter((one) => one !== null);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find event ${word}: no log has it`);
  }
  if (others.length === 0) return only;
  const names = found.map((one) => `${one.log.slice(0, 8)}:${seq}`).join(', ');
  const message = `Cannot tell the event: ${found.length} logs have one; name it as ${names}`;
  throw new TrlError('INVALID_PARAMS', message);
}

/** Where the log of an event lies. */
export function placeOf({ log }: FoundEvent): string {
  const directory = directoryOfLog(auditDirectory(), log);
  if (directory !== null) return directory;
  throw new TrlError('INTERNAL_ERROR', `Cannot find log ${log}: it went while it was read`);
}
