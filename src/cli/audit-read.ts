/** Events out of this user's logs, without a runtime. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { AuditEvent } from '../audit/event.ts';
import { listLogDirectories, openAuditLog } from '../audit/open-log.ts';
import { findLogDirectory, readEventAt, readEvents, readLogId } from '../audit/read-events.ts';
import type { AuditLogEntry, EventFilter } from '../audit/read-events.ts';
import { TrlError } from '../errors.ts';
import { version } from '../protocol/version.ts';
import { parseDuration } from './units.ts';

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

// Where the audit log of this user lies, and what names things in it.

type Env = Readonly<Record<string, string | undefined>>;

/** `$XDG_STATE_HOME/trl/audit`: key, logs and raw logs. */
export function auditDirectory(env: Env = process.env): string {
  return path.join(
    env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state'),
    'trl',
    'audit',
  );
}

/** Sealed output: `EXEC.key` and `EXEC.log` below it. */
export const rawOutputDirectory = (): string => path.join(auditDirectory(), 'raw');

/** Heads that `trl audit verify` saw; not beside the log, so that both are not lost at once. */
export function seenHeadsFile(env: Env = process.env): string {
  const config = env['XDG_CONFIG_HOME'] || path.join(homedir(), '.config');
  return path.join(config, 'trl', 'audit-heads.json');
}

/** Which event: of one log by the first digits of its id, or of the only one that has it. */
interface EventReference {
  /** Hex digits; `''`: any. */
  readonly log: string;
  readonly seq: number;
}

/** `12`, `3fa9:12`; `null` for anything else. */
function parseEventReference(word: string): EventReference | null {
  const [, log = '', seq = ''] = /^(?:([0-9a-f]{1,32}):)?(\d{1,15})$/.exec(word) ?? [];
  return seq === '' ? null : { log, seq: Number(seq) };
}

export const timeFlagHint = 'a time such as 2026-11-22T09:30, 2026-11-22, or 30m for so long ago';

/** Unix ms; a duration counts back from `now`. `null` when it is none. */
export function parseTimeFlag(text: string, now: number = Date.now()): number | null {
  const ago = /[a-z]$/i.test(text) && !text.endsWith('Z') ? parseDuration(text) : null;
  if (ago !== null) return now - ago;
  if (
    !/^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/.test(
      text,
    )
  ) {
    return null;
  }
  // A day alone is the day here, not in Greenwich.
  const at = Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T'));
  return Number.isNaN(at) ? null : at;
}

// What the command line does without a runtime, in the audit log.

/**
 * Resolves when the event is on disk.
 *
 * @param verb the words of the command line, as `audit reveal`
 * @throws TrlError `AUDIT_UNAVAILABLE`: then it must not happen
 */
export async function recordCliAction(
  verb: string,
  event: Pick<AuditEvent, 'kind' | 'exec' | 'data'>,
): Promise<void> {
  const about = { version: version(), pid: process.pid, verb: `trl ${verb}` };
  const log = await openAuditLog({ directory: auditDirectory(), about });
  try {
    const actor = `uid:${process.getuid?.() ?? 'unknown'}`;
    await log.append([{ ...event, at: Date.now(), actor }]);
  } finally {
    await log.close();
  }
}
