/** Ids by which an auditor finds the evidence of a finding, and nobody else anything. */
import { createHmac } from 'node:crypto';
import { canonicalJson } from '../canonical.ts';

/**
 * The same finding in the same bytes has the same id, so that what a person let pass is known
 * again; without the key it cannot be told from chance.
 *
 * @param key at least 16 bytes, known to the daemon alone
 */
export function findingTraceId(key: Uint8Array, finding: object): string {
  const id = createHmac('sha256', key).update(canonicalJson(finding)).digest('hex');
  return `t-${id.slice(0, 16)}`;
}
