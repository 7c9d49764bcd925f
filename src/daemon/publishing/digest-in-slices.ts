/** SHA-256 of bytes that may be long: other work can run meanwhile. */
import { createHash, hash } from 'node:crypto';
import type { TimeSlices } from '../../workspace/time-slices.ts';

const stepBytes = 1024 * 1024;

/** Lower-case hex. */
export async function digestInSlices(bytes: Uint8Array, slices: TimeSlices): Promise<string> {
  if (slices.isOver) await slices.yieldTurn();
  if (bytes.length <= stepBytes) return hash('sha256', bytes, 'hex');
  const whole = createHash('sha256');
  for (let at = 0; at < bytes.length; at += stepBytes) {
    if (slices.isOver) await slices.yieldTurn();
    whole.update(bytes.subarray(at, at + stepBytes));
  }
  return whole.digest('hex');
}
