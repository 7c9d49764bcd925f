/** A command split at line ends and at the spans of the rules that decided on it. */
import type { DecidingRule } from '../../command.ts';
import { splitTextFragments } from './visible.ts';
import type { TextFragment } from './visible.ts';

/** Segments that the same rules match. */
export interface RuleSegment {
  /** Indices into the verdict's rules, ascending; empty: no rule matches this part. */
  readonly rules: readonly number[];
  readonly fragments: readonly TextFragment[];
}

/** A command of more lines is split into blocks of this many, which a page can hold. */
const linesAlone = 2_000;
const blockLines = 200;

/** Lines one after the other, without the last one's end. */
export interface LineBlock {
  /** Of its first line, from 1. */
  readonly number: number;
  readonly segments: readonly RuleSegment[];
}

/**
 * The whole of `command`, each line a block, or of a long one each 200 lines. A span outside of the
 * text, or a reversed one, marks nothing.
 */
export function splitLineBlocks(
  command: string,
  rules: readonly Pick<DecidingRule, 'span'>[],
): LineBlock[] {
  const lines = command.split('\n');
  const each = lines.length > linesAlone ? blockLines : 1;
  const blocks: LineBlock[] = [];
  let from = 0;
  for (let at = 0; at < lines.length; at += each) {
    const { length } = lines.slice(at, at + each).join('\n');
    blocks.push({ number: at + 1, segments: segmentsOf(command, rules, [from, from + length]) });
    from += length + 1;
  }
  return blocks;
}

function segmentsOf(
  command: string,
  rules: readonly Pick<DecidingRule, 'span'>[],
  [from, to]: readonly [number, number],
): RuleSegment[] {
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
    return {
      rules: meant,
      fragments: mergeLineEnds(splitTextFragments(command.slice(start, end)), start),
    };
  });
}

/** Line ends as text, in one segment with the plain text around them; offsets from `start`. */
export function mergeLineEnds(fragments: readonly TextFragment[], start: number): TextFragment[] {
  const made: TextFragment[] = [];
  let run: TextFragment[] = [];
  const flush = (): void => {
    const [first] = run;
    if (first === undefined) return;
    const text = run.map((fragment) => fragment.text).join('');
    made.push({ kind: 'plain', text, at: first.at, length: text.length });
    run = [];
  };
  for (const found of fragments) {
    const isEnd = found.kind === 'escape' && found.text === '\\n';
    const fragment = { ...found, at: found.at + start };
    if (isEnd) run.push({ ...fragment, kind: 'plain', text: '\n' });
    else if (found.kind === 'plain') run.push(fragment);
    else {
      flush();
      made.push(fragment);
    }
  }
  flush();
  return made;
}

/** No split between the two halves of one character: each half alone would look different. */
function whole(command: string, cut: number): number {
  const unit = command.charCodeAt(cut);
  return unit >= 0xdc00 && unit <= 0xdfff ? cut - 1 : cut;
}
