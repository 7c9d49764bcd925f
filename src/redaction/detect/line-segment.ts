/** Parts of lines in the form that all finders take, and lines of UTF-16 as lines of bytes. */
import type { SecretFinding } from '../secret-finding.ts';

/** A line without its end, or the part between carriage returns or NULs. */
export interface LineSegment {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly spent: SearchEffort;
}

/** Bounds the cost of hostile lines, where values within values are read again and again. */
export interface SearchEffort {
  /** Long values that were read in vain, headers and programs that were examined. */
  looks: number;
  /** The search continues from this offset on. */
  until: number;
  /** No `@` is between the last examined `://` and this offset. */
  userless: number;
}

/** Examinations of one segment, at most. */
export const segmentLooksMax = 16;

export function makeLineSegment(text: string, start: number, end: number): LineSegment {
  return { text, start, end, spent: { looks: 0, until: 0, userless: 0 } };
}

/** Receives findings, in any order, overlapping or not. */
export type ReportFinding = (finding: SecretFinding) => void;

export function makeFinding(
  [start, end]: readonly [number, number],
  rule: string,
  score: number,
  key: string | null,
): SecretFinding {
  return { start, end, kind: 'context', rule, score, key };
}

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
  /** For each offset in the narrow text, the offset in the wide one. */
  readonly offsets: Int32Array;
}

/** A line without its NULs. */
export function narrowLine(bytes: Uint8Array, start: number, end: number): NarrowedLine {
  const kept = new Uint8Array(end - start);
  const offsets = new Int32Array(end - start + 1);
  let count = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === 0) continue;
    kept[count] = byte;
    offsets[count] = at;
    count++;
  }
  offsets[count] = end;
  const some = kept.subarray(0, count);
  return { text: Buffer.from(some).toString('latin1'), bytes: some, offsets };
}

/** A finding in the narrow text as one in the wide text, including the NULs in between. */
export function widenFinding(finding: SecretFinding, { offsets }: NarrowedLine): SecretFinding {
  const start = offsets[finding.start] ?? 0;
  const end = (offsets[finding.end - 1] ?? start) + 1;
  return { ...finding, start, end };
}
