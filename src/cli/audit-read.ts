/** Events out of this user's logs, without a runtime. */
import { findLogDirectory, readEventAt, readLogId, readEvents } from '../audit/read-events.ts';
import type { EventFilter, AuditLogEntry } from '../audit/read-events.ts';
import { listLogDirectories } from '../audit/open-log.ts';
import { TrlError } from '../errors.ts';
import { auditDirectory, parseEventReference } from './audit-paths.ts';

/** Oldest first. */
export const readAllEvents = (filter: EventFilter): Generator<AuditLogEntry> =>
  readEvents(auditDirectory(), filter, 'oldest');

/** Newest last. */
export const readNewestEvents = (filter: EventFilter, limit: number): readonly AuditLogEntry[] =>
  [...readEvents(auditDirectory(), filter, 'newest').take(limit)].toReversed();

/**
 * The events that a word of the command line names, oldest first: all of a command, or one by its
 * number.
 *
 * @throws TrlError `EXEC_NOT_FOUND`, `INVALID_PARAMS`
 */
export function findNamedEvents(word: string): readonly AuditLogEntry[] {
  if (parseEventReference(word) !== null) return [eventNamed(word)];
  if (!/^x-[0-9a-f]+$/.test(word)) {
    const wanted = 'an x-… id, or the number of an event';
    throw new TrlError('INVALID_PARAMS', `Cannot tell what is meant: "${word}" is not ${wanted}`);
  }
  const found = [...readAllEvents({ exec: word })];
  if (found.length > 0) return found;
  throw new TrlError('EXEC_NOT_FOUND', `Cannot find "${word}": nothing is recorded under it`);
}

function eventNamed(word: string): AuditLogEntry {
  const { log, seq } = parseEventReference(word) ?? { log: '', seq: -1 };
  const logs = listLogDirectories(auditDirectory()).filter((one) =>
    readLogId(one)?.startsWith(log),
  );
  const found = logs.map((one) => readEventAt(one, seq)).filter((one) => one !== null);
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
export function eventLogPath({ log }: AuditLogEntry): string {
  const directory = findLogDirectory(auditDirectory(), log);
  if (directory !== null) return directory;
  throw new TrlError('INTERNAL_ERROR', `Cannot find log ${log}: it went while it was read`);
}
