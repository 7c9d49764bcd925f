/** Events as the log can take them, whatever callers and commands made long or odd. */
import { createHash } from 'node:crypto';
import type { AuditEvent, Json } from '../../audit/event.ts';
import { canonicalJson } from '../../canonical.ts';
import { limits } from '../../limits.ts';

export interface FittedEvent {
  readonly event: AuditEvent;
  /** As it is written. */
  readonly bytes: number;
}

/** Bytes of one field that stays in an event which would be too large. */
const fieldBytesMax = 64 * 1024;

/**
 * An event that could not be written would look like a log that cannot be, and what it tells of
 * would stay untold. Of what does not fit, `left_out` tells names and SHA-256.
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

/** How many of them, from the first on, are at most so many bytes; at least one. */
export function countFitting(all: readonly FittedEvent[], bytesMax: number): number {
  let bytes = 0;
  const end = all.findIndex((one) => {
    bytes += one.bytes;
    return bytes > bytesMax;
  });
  return end < 0 ? all.length : Math.max(1, end);
}

/** `null`: it is nothing that canonical JSON can hold. */
function bytesOf(value: unknown): number | null {
  try {
    return Buffer.byteLength(canonicalJson(value));
  } catch {
    return null;
  }
}
