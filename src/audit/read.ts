/**
 * Reads events out of the files of logs, while a runtime may be writing them. What no head covers
 * was not answered for, and is not given. Nothing is checked here: `verify.ts` does that.
 */
import { closeSync } from 'node:fs';
import { limits } from '../limits.ts';
import { linesBackward } from './backward.ts';
import type { AuditEvent } from './event.ts';
import { eventOfLine, headBegin, noteOfLine } from './line.ts';
import { bytesOf, linesOf } from './lines.ts';
import { logDirectories } from './logs.ts';
import { leafHash } from './merkle.ts';
import { readNote } from './note.ts';
import { openRead, segmentsOf, type Segment } from './segments.ts';
import { withFile } from './tail.ts';

export interface FoundEvent {
  /** 32 lower-case hex digits. */
  readonly log: string;
  readonly seq: number;
  /** Of its leaf, hex. */
  readonly leaf: string;
  /** As it lies in the log, without its newline. */
  readonly line: string;
  readonly event: AuditEvent;
}

/** What is asked for; what is absent is not asked about. */
export interface EventFilter {
  /** `exec.*` stands for all that begin so. */
  readonly kinds?: readonly string[] | undefined;
  readonly exec?: string | undefined;
  readonly session?: string | undefined;
  readonly actor?: string | undefined;
  /** Unix milliseconds, both inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Somewhere in the line as it is written: a part of a JSON text. */
  readonly text?: string | undefined;
}

export type Order = 'newest' | 'oldest';

const lineBytesMax = limits.auditEventBytes.max + 1024;
/** At once, in the search for a segment. */
const searchedBytes = 1024 * 1024;

/**
 * Events of every log of an `audit` directory, merged by their time, one by one as they are asked
 * for.
 */
export function* readEvents(
  directory: string,
  filter: EventFilter = {},
  order: Order = 'newest',
): Generator<FoundEvent> {
  const sources = logDirectories(directory).map((log) => readLog(log, filter, order));
  try {
    yield* merged(sources, order);
  } finally {
    for (const source of sources) source.return(undefined);
  }
}

/** Events of the log in this directory. */
export function* readLog(
  directory: string,
  filter: EventFilter = {},
  order: Order = 'newest',
): Generator<FoundEvent> {
  const segments = segmentsOf(directory);
  const log = logOf(segments);
  if (log === null) return;
  const needles = [filter.exec, filter.session, filter.actor, filter.text]
    .filter((one) => one !== undefined)
    .map((one) => Buffer.from(one));
  const inOrder = order === 'newest' ? segments.toReversed() : segments;
  for (const { file } of inOrder) {
    // Most segments have nothing of one command: that is seen without looking at their lines.
    if (!needles.every((one) => holds(file, one))) continue;
    for (const bytes of order === 'newest' ? backward(file) : forward(file)) {
      if (!needles.every((one) => bytes.includes(one))) continue;
      const found = foundOf(log, bytes.toString());
      if (found !== null && passes(found.event, filter)) yield found;
    }
  }
}

/** The event of a log by its number; `null`: there is none. */
export function eventAt(directory: string, seq: number): FoundEvent | null {
  const segments = segmentsOf(directory);
  const log = logOf(segments);
  const segment = segments.findLast(({ first }) => first <= seq);
  if (log === null || segment === undefined) return null;
  const end = Buffer.from(`","seq":${seq}}`);
  for (const bytes of forward(segment.file)) {
    if (bytes.subarray(-end.length).equals(end)) return foundOf(log, bytes.toString());
  }
  return null;
}

/** The directory of a log; `null`: it is not here. */
export function directoryOfLog(directory: string, log: string): string | null {
  return logDirectories(directory).find((one) => logOf(segmentsOf(one)) === log) ?? null;
}

/** 32 lower-case hex digits; `null`: it has no head. */
export const logIdOf = (directory: string): string | null => logOf(segmentsOf(directory));

function logOf([first]: readonly Segment[]): string | null {
  if (first === undefined) return null;
  const bytes = withFile(first.file, (fd) => bytesOf(fd, 0, 1024));
  const note = noteOfLine(bytes.toString('utf8', 0, Math.max(0, bytes.indexOf(10))));
  return (note === null ? null : readNote(note))?.checkpoint.log ?? null;
}

const head = Buffer.from(headBegin);
const isHead = (bytes: Buffer): boolean => bytes.subarray(0, head.length).equals(head);

function* backward(file: string): Generator<Buffer> {
  const fd = openRead(file);
  try {
    let isCovered = false;
    for (const bytes of linesBackward(
      fd,
      withFile(file, (_, size) => size),
    )) {
      if (isHead(bytes)) isCovered = true;
      else if (isCovered) yield bytes;
    }
  } finally {
    closeSync(fd);
  }
}

function* forward(file: string): Generator<Buffer> {
  for (const bytes of coveredLines(file)) if (!isHead(bytes)) yield bytes;
}

/** Lines up to the last head, heads among them; each is only good until the next is asked for. */
export function* coveredLines(file: string): Generator<Buffer> {
  const fd = openRead(file);
  try {
    const end = coveredBytes(
      fd,
      withFile(file, (_, size) => size),
    );
    for (const { buffer, start, end: stop } of linesOf(fd, 0, end, lineBytesMax)) {
      yield buffer.subarray(start, stop);
    }
  } finally {
    closeSync(fd);
  }
}

/** Up to its last head. */
function coveredBytes(fd: number, length: number): number {
  let end = length;
  for (const bytes of linesBackward(fd, length)) {
    if (isHead(bytes)) return end;
    end -= bytes.length + 1;
  }
  return 0;
}

/** Whether the bytes are anywhere in the file. */
function holds(file: string, needle: Buffer): boolean {
  return withFile(file, (fd, length) => {
    for (let begin = 0; begin < length; begin += searchedBytes) {
      const end = Math.min(length, begin + searchedBytes + needle.length - 1);
      if (bytesOf(fd, begin, end).includes(needle)) return true;
    }
    return false;
  });
}

function foundOf(log: string, line: string): FoundEvent | null {
  const stored = eventOfLine(line);
  if (stored === null) return null;
  const { event, seq } = stored;
  return { log, seq, leaf: leafHash(line).toString('hex'), line, event };
}

function passes(event: AuditEvent, filter: EventFilter): boolean {
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

/** Each source keeps its own order, whatever its clock did. */
function* merged(sources: readonly Generator<FoundEvent>[], order: Order): Generator<FoundEvent> {
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

function comesBefore(one: FoundEvent, other: FoundEvent, order: Order): boolean {
  return order === 'newest' ? one.event.at > other.event.at : one.event.at < other.event.at;
}
