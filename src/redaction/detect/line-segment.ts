/** What the finders of one part of a line share. */
import type { SecretFinding } from '../secret-finding.ts';

/** A line, or the part of one between carriage returns or NULs; without its end. */
export interface LineSegment {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly spent: SearchEffort;
}

/** Bounds what hostile lines cost: values within values are read over and over. */
export interface SearchEffort {
  /** Long values that were read in vain, headers and programs that were looked at. */
  looks: number;
  /** Nothing is looked for before this offset. */
  until: number;
  /** No `@` stands between the last `://` that was looked at and here. */
  userless: number;
}

/** Looks that one segment is worth. */
export const segmentLooksMax = 16;

export function makeLineSegment(text: string, start: number, end: number): LineSegment {
  return { text, start, end, spent: { looks: 0, until: 0, userless: 0 } };
}

/** Takes what is found, in any order, overlapping or not. */
export type ReportFinding = (finding: SecretFinding) => void;

export function makeFinding(
  [start, end]: readonly [number, number],
  rule: string,
  score: number,
  key: string | null,
): SecretFinding {
  return { start, end, kind: 'context', rule, score, key };
}
