/** SHA-256 of what may be long: others have a turn meanwhile. */
import { createHash, hash } from 'node:crypto';
import type { Slices } from '../../workspace/slices.ts';

const stepBytes = 1024 * 1024;

/** Lower-case hex. */
export async function digestOf(bytes: Uint8Array, slices: Slices): Promise<string> {
  if (slices.over) await slices.turn();
  if (bytes.length <= stepBytes) return hash('sha256', bytes, 'hex');
  const whole = createHash('sha256');
  for (let at = 0; at < bytes.length; at += stepBytes) {
    if (slices.over) await slices.turn();
    whole.update(bytes.subarray(at, at + stepBytes));
  }
  return whole.digest('hex');
}
