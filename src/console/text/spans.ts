/** A command cut at line ends and at the spans of the rules that decided about it. */
import type { DecidingRule } from '../../command.ts';
import { piecesOf } from './visible.ts';
import type { Piece } from './visible.ts';

/** Pieces that the same rules mean. */
export interface Segment {
  /** Indices into the verdict's rules, ascending; empty: no rule means this part. */
  readonly rules: readonly number[];
  readonly pieces: readonly Piece[];
}

/**
 * The lines of `command`, each cut into segments. Line ends are not in them. A span that is
 * outside of the text, or turned round, marks nothing.
 */
export function linesOf(
  command: string,
  rules: readonly Pick<DecidingRule, 'span'>[],
): Segment[][] {
  const lines: Segment[][] = [];
  let from = 0;
  for (const line of command.split('\n')) {
    lines.push(segmentsOf(command, rules, [from, from + line.length]));
    from += line.length + 1;
  }
  return lines;
}

function segmentsOf(
  command: string,
  rules: readonly Pick<DecidingRule, 'span'>[],
  [from, to]: readonly [number, number],
): Segment[] {
  const cuts = new Set([from, to]);
  for (const { span } of rules) {
    for (const cut of span ?? []) {
      if (cut > from && cut < to) cuts.add(whole(command, cut));
    }
  }
  const ordered = [...cuts].toSorted((a, b) => a - b);
  return ordered.slice(0, -1).map((start, index) => {
    const end = ordered[index + 1] ?? to;
    const meant = rules.flatMap(({ span }, rule) =>
      span !== null && span[0] < end && span[1] > start ? [rule] : [],
    );
    const pieces = piecesOf(command.slice(start, end));
    return { rules: meant, pieces: pieces.map((piece) => ({ ...piece, at: piece.at + start })) };
  });
}

/** No cut between the two halves of one character: each half alone would show as another. */
function whole(command: string, cut: number): number {
  const unit = command.charCodeAt(cut);
  return unit >= 0xdc00 && unit <= 0xdfff ? cut - 1 : cut;
}
