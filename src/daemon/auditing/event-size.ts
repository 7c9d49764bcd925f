/**
 * Fits events into the limits of the log, however long or odd the values of callers and commands
 * are.
 */
import { createHash } from 'node:crypto';
import type { AuditEvent, Json } from '../../audit/event.ts';
import { canonicalJson } from '../../canonical.ts';
import { limits } from '../../limits.ts';

export interface FittedEvent {
  readonly event: AuditEvent;
  /** Size of the event as it is written. */
  readonly bytes: number;
}

/** The most bytes that a field keeps in an event that would be too large. */
const fieldBytesMax = 64 * 1024;

/**
 * Shortens an event that is too large for the log: a failed write would look like a broken log, and
 * leave the event without a record. `left_out` contains the names and SHA-256 of the removed
 * fields.
 */
export function fitEvent(event: AuditEvent): FittedEvent {
  const bytes = bytesOf(event);
  if (bytes !== null && bytes <= limits.auditEventBytes.max) return { event, bytes };
  const data: Record<string, Json> = {};
  const fields: string[] = [];
  for (const [name, value] of Object.entries(event.data)) {
    const size = bytesOf(value);
    if (value !== undefined && size !== null && size <= fieldBytesMax) data[name] = value;
    else fields.push(name.toWellFormed());
  }
  const sha256 = createHash('sha256').update(JSON.stringify(event.data)).digest('hex');
  const cut = { ...event, data: { ...data, left_out: { fields, sha256 } } };
  return { event: cut, bytes: bytesOf(cut) ?? 0 };
}

export const fittedBytes = (all: readonly FittedEvent[]): number =>
  all.reduce((sum, { bytes }) => sum + bytes, 0);

/** How many of the first events fit into `bytesMax`; at least one. */
export function countFitting(all: readonly FittedEvent[], bytesMax: number): number {
  let bytes = 0;
  const end = all.findIndex((one) => {
    bytes += one.bytes;
    return bytes > bytesMax;
  });
  return end < 0 ? all.length : Math.max(1, end);
}

/** `null`: canonical JSON cannot represent the value. */
function bytesOf(value: unknown): number | null {
  try {
    return Buffer.byteLength(canonicalJson(value));
  } catch {
    return null;
  }
}
