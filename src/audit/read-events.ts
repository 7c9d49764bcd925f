/**
 * Reads events from the files of logs while a runtime may be writing them. What no head covers was
 * not acknowledged and is skipped. Nothing is checked here: `verify.ts` does that.
 */
import { closeSync, fstatSync } from 'node:fs';
import type { AuditEvent } from './event.ts';
import {
  eventLinePrefix,
  parseEventLine,
  headLinePrefix,
  parseHeadLine,
  type StoredEvent,
} from './line-format.ts';
import {
  findLinesWith,
  openForReading,
  readByteRange,
  readLogLines,
  withOpenFile,
  type EventOrder,
  type RequiredBytes,
} from './line-reader.ts';
import { listSegments, type LogSegment } from './log-files.ts';
import { listLogDirectories } from './open-log.ts';
import { leafHash } from './merkle.ts';
import { parseNote } from './signed-note.ts';

export interface AuditLogEntry {
  /** 32 lower-case hex digits. */
  readonly log: string;
  readonly seq: number;
  /** Of its leaf, hex. */
  readonly leaf: string;
  /** As it is in the log, without its newline. */
  readonly line: string;
  readonly event: AuditEvent;
}

/** An absent field accepts everything. */
export interface EventFilter {
  /** `exec.*` matches all kinds that begin so. */
  readonly kinds?: readonly string[] | undefined;
  readonly exec?: string | undefined;
  readonly session?: string | undefined;
  readonly actor?: string | undefined;
  /** Unix milliseconds, both inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** One of them must be somewhere in the line as it is written: parts of JSON strings. */
  readonly texts?: readonly string[] | undefined;
}

/** From the end of a segment, in the search for its last head. */
const firstSearchBytes = 64 * 1024;

/** Events of every log of an `audit` directory, merged by time, read as they are needed. */
export function* readEvents(
  directory: string,
  filter: EventFilter = {},
  order: EventOrder = 'newest',
): Generator<AuditLogEntry> {
  const sources = listLogDirectories(directory).map((log) => readLogEvents(log, filter, order));
  try {
    yield* merged(sources, order);
  } finally {
    for (const source of sources) source.return(undefined);
  }
}

/** Events of the log in this directory. */
export function* readLogEvents(
  directory: string,
  filter: EventFilter = {},
  order: EventOrder = 'newest',
): Generator<AuditLogEntry> {
  const segments = listSegments(directory);
  const log = logOf(segments);
  if (log === null) return;
  const marks = marksOf(filter);
  const inOrder = order === 'newest' ? segments.toReversed() : segments;
  for (const { file } of inOrder) {
    for (const found of eventsIn(file, marks, order)) {
      if (matchesFilter(found.stored.event, filter)) yield entryOf(log, found);
    }
  }
}

/** The event of a log by its number; `null`: there is none. */
export function readEventAt(directory: string, seq: number): AuditLogEntry | null {
  const segments = listSegments(directory);
  const log = logOf(segments);
  const segment = segments.findLast(({ first }) => first <= seq);
  if (log === null || segment === undefined) return null;
  const end = Buffer.from(`","seq":${seq}}`);
  for (const found of eventsIn(segment.file, [[end]], 'oldest')) {
    if (found.stored.seq === seq) return entryOf(log, found);
  }
  return null;
}

/** The directory of a log; `null`: there is none. */
export function findLogDirectory(directory: string, log: string): string | null {
  return listLogDirectories(directory).find((one) => logOf(listSegments(one)) === log) ?? null;
}

/** 32 lower-case hex digits; `null`: it has no head. */
export const readLogId = (directory: string): string | null => logOf(listSegments(directory));

function logOf([first]: readonly LogSegment[]): string | null {
  if (first === undefined) return null;
  const bytes = withOpenFile(first.file, (fd) => readByteRange(fd, 0, 1024));
  const note = parseHeadLine(bytes.toString('utf8', 0, Math.max(0, bytes.indexOf(10))));
  return (note === null ? null : parseNote(note))?.checkpoint.log ?? null;
}

const head = Buffer.from(headLinePrefix);
const headMark = Buffer.from(`\n${headLinePrefix}`);
const isHead = (bytes: Buffer): boolean => bytes.subarray(0, head.length).equals(head);

interface EventLine {
  readonly line: string;
  readonly stored: StoredEvent;
}

/** Events of a segment whose lines contain the marks, up to its last head. */
function* eventsIn(file: string, marks: RequiredBytes, order: EventOrder): Generator<EventLine> {
  const fd = openForReading(file);
  try {
    const length = coveredBytes(fd, fstatSync(fd).size);
    for (const bytes of findLinesWith(fd, length, marks, order)) {
      const line = bytes.toString();
      const stored = parseEventLine(line);
      if (stored !== null) yield { line, stored };
    }
  } finally {
    closeSync(fd);
  }
}

/** Lines up to the last head, heads among them; each is valid until the next one is read. */
export function* readCoveredLines(file: string): Generator<Buffer> {
  const fd = openForReading(file);
  try {
    const end = coveredBytes(fd, fstatSync(fd).size);
    for (const { buffer, start, end: stop } of readLogLines(fd, 0, end)) {
      yield buffer.subarray(start, stop);
    }
  } finally {
    closeSync(fd);
  }
}

/** Up to the end of its last head; later lines, whole or not, are not covered. */
function coveredBytes(fd: number, length: number): number {
  for (let search = firstSearchBytes; ; search *= 4) {
    const begin = Math.max(0, length - search);
    const bytes = readByteRange(fd, begin, length);
    const lines = bytes.subarray(0, bytes.lastIndexOf(10) + 1);
    // The first line has no newline before it.
    const at = lines.lastIndexOf(headMark);
    if (at >= 0) return begin + lines.indexOf(10, at + 1) + 1;
    if (begin > 0) continue;
    return isHead(lines) ? lines.indexOf(10) + 1 : 0;
  }
}

function entryOf(log: string, { line, stored: { event, seq } }: EventLine): AuditLogEntry {
  return { log, seq, leaf: leafHash(line).toString('hex'), line, event };
}

/**
 * Bytes in every line that matches the filter, as canonical JSON writes them: quotes in strings
 * have a backslash, so that no string looks like a member.
 */
function marksOf({ exec, session, actor, kinds, texts }: EventFilter): RequiredBytes {
  const marks: (readonly string[])[] = [];
  if (exec !== undefined) marks.push([member('exec', exec)]);
  if (texts !== undefined) marks.push(texts);
  if (session !== undefined) marks.push([member('session', session)]);
  if (kinds !== undefined) marks.push(kinds.map(kindMark));
  if (actor !== undefined) marks.push([member('actor', actor)]);
  marks.push([eventLinePrefix]);
  // Each entry of the first list is a search of its own, so the shortest list comes first.
  return marks
    .toSorted((one, other) => one.length - other.length)
    .map((any) => any.map((one) => Buffer.from(one)));
}

const member = (name: string, value: string): string => `"${name}":${JSON.stringify(value)}`;

const kindMark = (wanted: string): string =>
  wanted.endsWith('.*') ? member('kind', wanted.slice(0, -1)).slice(0, -1) : member('kind', wanted);

function matchesFilter(event: AuditEvent, filter: EventFilter): boolean {
  const { kinds, exec, session, actor, since = -Infinity, until = Infinity } = filter;
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

/** Each source keeps its own order, even if its clock was set back. */
function* merged(
  sources: readonly Generator<AuditLogEntry>[],
  order: EventOrder,
): Generator<AuditLogEntry> {
  const next = sources.map((source) => source.next());
  for (;;) {
    let best = -1;
    for (const [at, { done, value }] of next.entries()) {
      if (done === true) continue;
      const other = next[best];
      if (other?.done === false && !comesBefore(value, other.value, order)) continue;
      best = at;
    }
    const chosen = next[best];
    if (chosen === undefined || chosen.done === true) return;
    yield chosen.value;
    next[best] = sources[best]?.next() ?? { done: true, value: undefined };
  }
}

function comesBefore(one: AuditLogEntry, other: AuditLogEntry, order: EventOrder): boolean {
  return order === 'newest' ? one.event.at > other.event.at : one.event.at < other.event.at;
}
