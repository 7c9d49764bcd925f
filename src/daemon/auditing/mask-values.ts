/**
 * Hides known secrets in audit records. Callers choose some of the hidden values, so the runtime's
 * own words and digests stay as they are: otherwise a caller could hide them, or break a signature,
 * by giving a session a "secret" of that text.
 */
import type { Masking } from '../secrets/masking.ts';

/** Fields that contain no text from a caller or a command. */
const ownFields: ReadonlySet<string> = new Set([
  'after',
  'before',
  'box_digest',
  'code',
  'decision',
  'digest',
  // The envelope was masked before it was signed.
  'envelope',
  'exec',
  'exec_id',
  'key',
  'kind',
  'level',
  'mask',
  'method',
  'mode',
  'network',
  'plan_digest',
  'proof',
  'rules',
  'sandbox',
  'scope',
  'session',
  'session_id',
  'sha256',
  'signal',
  'state',
  'stderr_sha256',
  'stdin',
  'stdout_sha256',
  'stopped',
  'version',
  'workspace_mode',
]);

/** Replaces only texts, each with a text, so the type stays the same. */
export function maskValues<Value>(value: Value, masking: Pick<Masking, 'deep'>): Value;
export function maskValues(value: unknown, masking: Pick<Masking, 'deep'>): unknown {
  if (typeof value !== 'object' || value === null) return masking.deep(value);
  if (Array.isArray(value)) return value.map((one) => maskValues<unknown>(one, masking));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => [
      name,
      isOwn(name, one) ? one : maskValues(one, masking),
    ]),
  );
}

function isOwn(name: string, value: unknown): boolean {
  if (!ownFields.has(name)) return false;
  if (name === 'envelope' || typeof value === 'string') return true;
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
