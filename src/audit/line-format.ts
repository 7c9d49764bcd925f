/**
 * The lines of a log: canonical JSON (RFC 8785), each with a newline:
 *
 *   {"event":{…},"prev":"<leaf hash of the event before, hex>","seq":N}
 *   {"head":"<signed note>"}
 *
 * The first event has a `prev` of zeros. A leaf is the hash of its line, so each byte counts.
 */
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
  const note: unknown = isObject(value) ? Reflect.get(value, 'head') : null;
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
  const event: unknown = Reflect.get(value, 'event');
  return (
    typeof Reflect.get(value, 'prev') === 'string' &&
    typeof Reflect.get(value, 'seq') === 'number' &&
    isObject(event) &&
    typeof Reflect.get(event, 'kind') === 'string' &&
    typeof Reflect.get(event, 'at') === 'number' &&
    isObject(Reflect.get(event, 'data'))
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
