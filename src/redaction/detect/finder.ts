/** What the finders of one part of a line share. */
import type { Finding } from '../finding.ts';

/** A line, or the part of one between carriage returns or NULs; without its end. */
export interface Segment {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly spent: Spent;
}

/** Bounds what hostile lines cost: values within values are read over and over. */
export interface Spent {
  /** Long values that were read in vain, headers and programs that were looked at. */
  looks: number;
  /** Nothing is looked for before this offset. */
  until: number;
  /** No `@` stands between the last `://` that was looked at and here. */
  userless: number;
}

/** Looks that one segment is worth. */
export const looksMax = 16;

export function segmentOf(text: string, start: number, end: number): Segment {
  return { text, start, end, spent: { looks: 0, until: 0, userless: 0 } };
}

/** Takes what is found, in any order, overlapping or not. */
export type Report = (finding: Finding) => void;

export function found(
  [start, end]: readonly [number, number],
  rule: string,
  score: number,
  key: string | null,
): Finding {
  return { start, end, kind: 'context', rule, score, key };
}
