/** Sums up the passages of each denied file in an item. */
import type { PassageMatch } from './match.ts';
import type { GateDecision, GateEvidence, UntracedFinding } from './publication.ts';
import type { DecodedPart } from './decode-part.ts';

/** Novel characters from which a person must review an item, and from which it is blocked. */
export const gateReviewScore = 60;
export const gateBlockScore = 120;

/** A match reports at most this many characters of its text. */
const textCharsMax = 200;

interface Passage {
  readonly match: PassageMatch;
  readonly part: DecodedPart;
  /** The text of the match without white space. */
  readonly unspaced: string;
}

export class PassageCollector {
  readonly #bySource = new Map<string, Passage[]>();

  /** A passage of a file counts once, even if it is found several times or in several ways. */
  add(match: PassageMatch, part: DecodedPart): void {
    const before = this.#bySource.get(match.path) ?? [];
    const passage = { match, part, unspaced: match.text.replaceAll(/\s/g, '') };
    const same = before.filter((one) => isSame(one, passage));
    if (same.some((one) => one.match.novel >= match.novel)) return;
    const others = before.filter((one) => !same.includes(one));
    this.#bySource.set(match.path, [...others, passage]);
  }

  /** One finding for each file with enough passages; the best passage is the evidence. */
  findings(): readonly UntracedFinding[] {
    return [...this.#bySource].flatMap(([source, passages]) => {
      const score = passages.reduce((sum, { match }) => sum + match.novel, 0);
      const decision = decisionOf(score);
      const [largest] = passages.toSorted((a, b) => b.match.novel - a.match.novel);
      if (decision === 'pass' || largest === undefined) return [];
      const { match, part } = largest;
      const evidence: GateEvidence = {
        source,
        span: spanInItem(part, match.span),
        lines: match.lines,
        via: match.via === 'text' ? part.via : [...part.via, match.via],
        text: match.text,
      };
      return [{ rule: 'denied.content', decision, name: part.name, score, evidence } as const];
    });
  }
}

const overlap = (a: readonly [number, number], b: readonly [number, number]): boolean =>
  a[0] <= b[1] && b[0] <= a[1];

/** Within one part, two separate matches can be two passages of one long line. */
function isSame(a: Passage, b: Passage): boolean {
  if (isPartOf(a, b) || isPartOf(b, a)) return true;
  if (!overlap(a.match.lines, b.match.lines)) return false;
  return a.part !== b.part || overlap(a.match.span, b.match.span) || a.match.text === b.match.text;
}

/**
 * Whether a completely reported passage is part of another: a repetition in the file counts once.
 */
function isPartOf(one: Passage, other: Passage): boolean {
  return one.match.text.length < textCharsMax && other.unspaced.includes(one.unspaced);
}

const decisionOf = (score: number): GateDecision =>
  score >= gateBlockScore ? 'block' : score >= gateReviewScore ? 'review' : 'pass';

/** The span in the item itself, or that of the text that it was decoded from. */
export function spanInItem(
  part: DecodedPart,
  span: readonly [number, number],
): readonly [number, number] | null {
  return part.via.length === 0 ? span : part.span;
}
