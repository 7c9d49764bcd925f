/** Events out of the files of all logs, by no runtime; what no head covers is there too. */
import { closeSync } from 'node:fs';
import type { AuditEvent } from '../audit/event.ts';
import { eventOfLine, noteOfLine } from '../audit/line.ts';
import { linesOf } from '../audit/lines.ts';
import { logDirectories } from '../audit/logs.ts';
import { leafHash } from '../audit/merkle.ts';
import { readNote } from '../audit/note.ts';
import { openRead, segmentsOf } from '../audit/segments.ts';
import { withFile } from '../audit/tail.ts';
import { limits } from '../limits.ts';
import { auditDirectory, type EventName } from './audit-place.ts';

export interface Found {
  /** 32 hex digits. */
  readonly log: string;
  readonly seq: number;
  /** Of its leaf, hex. */
  readonly leaf: string;
  /** As it lies in the log, without its newline. */
  readonly line: string;
  readonly event: AuditEvent;
}

/** What of the log is asked for; absent: all. */
export interface Filter {
  readonly exec?: string | undefined;
  readonly session?: string | undefined;
  /** `exec.*` stands for all that begin so. */
  readonly kinds?: readonly string[] | undefined;
  readonly actor?: string | undefined;
  /** Unix ms, both inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

const lineBytesMax = limits.auditEventBytes.max + 1024;

/** Of each log in its order; one log after the other. */
export function* allEvents(filter: Filter = {}): Generator<Found> {
  for (const directory of logDirectories(auditDirectory())) {
    for (const { file } of segmentsOf(directory)) yield* inFile(file, filter);
  }
}

function* inFile(file: string, filter: Filter): Generator<Found> {
  const length = withFile(file, (_, size) => size);
  const fd = openRead(file);
  // A line that does not have it needs no reading.
  const sign = Buffer.from(filter.exec ?? filter.session ?? '');
  let log = '';
  try {
    for (const { buffer, start, end, isWhole } of linesOf(fd, 0, length, lineBytesMax)) {
      if (!isWhole) continue;
      const bytes = buffer.subarray(start, end);
      const isHead = bytes.subarray(0, 8).equals(headSign);
      if (isHead && log !== '') continue;
      if (!isHead && sign.length > 0 && !bytes.includes(sign)) continue;
      const line = bytes.toString();
      if (isHead) {
        log = readNote(noteOfLine(line) ?? '')?.checkpoint.log ?? '';
        continue;
      }
      const stored = eventOfLine(line);
      if (stored === null || !passes(stored.event, filter)) continue;
      const { event, seq } = stored;
      yield { log, seq, leaf: leafHash(line).toString('hex'), line, event };
    }
  } finally {
    closeSync(fd);
  }
}

const headSign = Buffer.from('{"head":');

function passes(event: AuditEvent, filter: Filter): boolean {
  const { exec, session, kinds, actor, since = -Infinity, until = Infinity } = filter;
  return (
    (exec === undefined || event.exec === exec) &&
    (session === undefined || event.session === session) &&
    (actor === undefined || event.actor === actor) &&
    event.at >= since &&
    event.at <= until &&
    (kinds === undefined || kinds.some((kind) => isOfKind(event.kind, kind)))
  );
}

const isOfKind = (kind: string, wanted: string): boolean =>
  wanted.endsWith('.*') ? kind.startsWith(wanted.slice(0, -1)) : kind === wanted;

/** The newest of all logs, newest last. */
export function newestEvents(filter: Filter, limit: number): Found[] {
  let kept: Found[] = [];
  for (const found of allEvents(filter)) {
    kept.push(found);
    if (kept.length >= limit * 2) kept = kept.toSorted(byTime).slice(-limit);
  }
  return kept.toSorted(byTime).slice(-limit);
}

/** Everything that was recorded of a command, oldest first. */
export const eventsOfExec = (exec: string): Found[] => [...allEvents({ exec })].toSorted(byTime);

/** Every event that is called so: of several logs there may be several. */
export function eventsNamed({ log, seq }: EventName): Found[] {
  const found: Found[] = [];
  for (const one of allEvents()) if (one.seq === seq && one.log.startsWith(log)) found.push(one);
  return found;
}

function byTime(one: Found, other: Found): number {
  if (one.event.at !== other.event.at) return one.event.at - other.event.at;
  if (one.log === other.log) return one.seq - other.seq;
  return one.log < other.log ? -1 : 1;
}
