/** What the finders of one part of a line share. */
import type { Finding } from '../finding.ts';

/** A line, or the part of one between carriage returns or NULs; without its end. */
export interface Segment {
  readonly text: string;
  readonly start: number;
  readonly end: number;
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
