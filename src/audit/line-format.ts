/**
 * The lines of a log: canonical JSON (RFC 8785), each with a newline:
 *
 *   {"event":{…},"prev":"<leaf hash of the event before, hex>","seq":N}
 *   {"head":"<signed note>"}
 *
 * The first event has a `prev` of zeros. A leaf is the hash of its line, so each byte counts.
 */
import { fieldOf, isObject } from '../json-shape.ts';
import { canonicalJson } from '../canonical.ts';
import type { AuditEvent } from './event.ts';

export const firstPrevHash = '0'.repeat(64);
export const headLinePrefix = '{"head":"';
export const eventLinePrefix = '{"event":{';

/** @param event canonical text of an event */
export const serializeEventLine = (event: string, prev: string, seq: number): string =>
  `{"event":${event},"prev":"${prev}","seq":${seq}}`;

export const serializeHeadLine = (note: string): string => canonicalJson({ head: note });

/** The note of a head line; `null`: the line is not exactly one. */
export function parseHeadLine(line: string): string | null {
  if (!line.startsWith(headLinePrefix)) return null;
  const value = parseJson(line);
  const note = fieldOf(value, 'head');
  return typeof note === 'string' && serializeHeadLine(note) === line ? note : null;
}

export interface StoredEvent {
  readonly event: AuditEvent;
  readonly prev: string;
  readonly seq: number;
}

/** The event of a line; `null`: the line has none. Its position in the chain is not checked. */
export function parseEventLine(line: string): StoredEvent | null {
  const value = line.startsWith(eventLinePrefix) ? parseJson(line) : null;
  return isStoredEvent(value) ? value : null;
}

function isStoredEvent(value: unknown): value is StoredEvent {
  if (!isObject(value)) return false;
  const event = fieldOf(value, 'event');
  return (
    typeof fieldOf(value, 'prev') === 'string' &&
    typeof fieldOf(value, 'seq') === 'number' &&
    isObject(event) &&
    typeof fieldOf(event, 'kind') === 'string' &&
    typeof fieldOf(event, 'at') === 'number' &&
    isObject(fieldOf(event, 'data'))
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
