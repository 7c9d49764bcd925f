/** Adds up what an item has of each denied file. */
import type { PassageMatch } from './denied-index.ts';
import type { GateDecision, GateEvidence, UntracedFinding } from './publication.ts';
import type { DecodedPart } from './decode.ts';

/** Novel characters from which a person must see it, and from which it does not leave. */
export const gateReviewScore = 60;
export const gateBlockScore = 120;

/** A match tells at most so many characters of its text. */
const textCharsMax = 200;

interface Passage {
  readonly match: PassageMatch;
  readonly part: DecodedPart;
  /** The text of the match without white space. */
  readonly bare: string;
}

export class PassageCollector {
  readonly #bySource = new Map<string, Passage[]>();

  /** A passage of a file counts once, in whatever ways and places it was found. */
  add(match: PassageMatch, part: DecodedPart): void {
    const before = this.#bySource.get(match.path) ?? [];
    const passage = { match, part, bare: match.text.replaceAll(/\s/g, '') };
    const same = before.filter((one) => isSame(one, passage));
    if (same.some((one) => one.match.novel >= match.novel)) return;
    const others = before.filter((one) => !same.includes(one));
    this.#bySource.set(match.path, [...others, passage]);
  }

  /** One finding for each source of which there is enough; the largest passage is its evidence. */
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

/** In one part, what stands apart may be two passages of one long line. */
function isSame(a: Passage, b: Passage): boolean {
  if (saysNoMore(a, b) || saysNoMore(b, a)) return true;
  if (!overlap(a.match.lines, b.match.lines)) return false;
  return a.part !== b.part || overlap(a.match.span, b.match.span) || a.match.text === b.match.text;
}

/** Whether a passage that is told whole is part of another: what a file says twice is one thing. */
function saysNoMore(one: Passage, other: Passage): boolean {
  return one.match.text.length < textCharsMax && other.bare.includes(one.bare);
}

const decisionOf = (score: number): GateDecision =>
  score >= gateBlockScore ? 'block' : score >= gateReviewScore ? 'review' : 'pass';

/** Where it stands in the item: itself, or what it was decoded from. */
export function spanInItem(
  part: DecodedPart,
  span: readonly [number, number],
): readonly [number, number] | null {
  return part.via.length === 0 ? span : part.span;
}
