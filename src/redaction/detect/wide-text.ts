/** UTF-16 among bytes: every other byte of a line is NUL. */
import type { SecretFinding } from '../secret-finding.ts';

/** Whether most of a line is UTF-16 of ASCII. */
export function isWideLine(text: string, start: number, end: number): boolean {
  const stop = Math.min(end, start + 256);
  if (stop - start < 4) return false;
  let nuls = 0;
  let pairs = 0;
  for (let at = start; at < stop; at++) {
    if (text.charCodeAt(at) !== 0) continue;
    nuls++;
    if (text.charCodeAt(at + 1) === 0) pairs++;
  }
  return nuls * 5 >= (stop - start) * 2 && pairs * 8 <= nuls;
}

export interface NarrowedLine {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** By offset in the narrow text: the offset in the wide one. */
  readonly offsets: Int32Array;
}

/** A line without its NULs. */
export function narrowLine(bytes: Uint8Array, start: number, end: number): NarrowedLine {
  const kept = new Uint8Array(end - start);
  const places = new Int32Array(end - start + 1);
  let count = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === 0) continue;
    kept[count] = byte;
    places[count] = at;
    count++;
  }
  places[count] = end;
  const some = kept.subarray(0, count);
  return { text: Buffer.from(some).toString('latin1'), bytes: some, offsets: places };
}

/** The finding of the narrow text where it stands in the wide one, NULs between included. */
export function widenFinding(
  finding: SecretFinding,
  { offsets: places }: NarrowedLine,
): SecretFinding {
  const start = places[finding.start] ?? 0;
  const end = (places[finding.end - 1] ?? start) + 1;
  return { ...finding, start, end };
}
