/**
 * Finds what a text has in common with denied contents. Fingerprints lead to candidates; a
 * comparison with the content decides, and finds the whole extent.
 */
import { GramHashes } from './fingerprint.ts';
import type { FingerprintTable, IndexedContent, IndexedContents } from './index-table.ts';
import type { LineCounts } from './index-lines.ts';
import {
  countNovelChars,
  findRunThrough,
  joinMatchRuns,
  lineNumberAt,
  type MatchChain,
  type MatchRun,
} from './match-run.ts';
import type { ShortContents } from './match-short.ts';
import { NormalText, toPlainText, type PlainText } from './view-normal.ts';
import { makeTextViews, type TextView, type TextViewName } from './text-views.ts';

/** A passage of a text that equals one of a denied file, apart from white space and quotes. */
export interface PassageMatch {
  /** The denied file, with the path of `put`. */
  readonly path: string;
  /** Lines `[from, to]` of the denied file, from 1. */
  readonly lines: readonly [number, number];
  /** Bytes `[from, to)` of the original text. */
  readonly span: readonly [number, number];
  /** Equal characters (bytes that are no white space). */
  readonly length: number;
  /** The score: how many of these the audience does not know yet. */
  readonly novel: number;
  /** The view of the text that has the passage. */
  readonly via: TextViewName;
  /** At most 200 characters of the text. */
  readonly text: string;
}

export interface MatchSources {
  readonly table: FingerprintTable;
  readonly contents: IndexedContents;
  readonly visible: LineCounts;
  readonly short: ShortContents;
}

interface Candidate {
  readonly chain: MatchChain;
  readonly novel: number;
  readonly span: readonly [number, number];
  readonly via: TextViewName;
}

/** Matches below this are ignored: idioms that independent authors write alike. */
const novelMin = 48;
/** Contents to compare for one gram. A gram that more contents have points to none of them. */
const placesMax = 16;
/** Compared characters for each one of the text; beyond, only one content a gram is compared. */
const comparedMax = 64;
const textCharsMax = 200;
/** A match is not reported if a better one covers this share of it. */
const coveredMax = 0.6;

export class PassageMatcher {
  readonly #sources: MatchSources;
  readonly #normal = new NormalText();
  readonly #grams = new GramHashes();
  #possible = new Uint32Array(0);
  readonly #places = new Uint32Array(placesMax);

  constructor(sources: MatchSources) {
    this.#sources = sources;
  }

  match(text: Uint8Array): readonly PassageMatch[] {
    const plain = toPlainText(text);
    const found: Candidate[] = [];
    for (const view of makeTextViews(plain.bytes)) this.#inView(plain, view, found);
    return this.#report(text, found);
  }

  /** Adds the matches of one view to `found`. */
  #inView(plain: PlainText, view: TextView, found: Candidate[]): void {
    const normal = this.#normal;
    normal.clear(plain.bytes.length);
    for (let i = 0; i < view.ranges.length; i += 2) {
      normal.add(plain.bytes, view.ranges[i] ?? 0, view.ranges[i + 1] ?? 0);
    }
    const runs = [...this.#runs(normal), ...this.#sources.short.runs(normal)];
    const chains = joinMatchRuns(runs).toSorted((a, b) => b.length - a.length);
    for (const chain of chains) {
      if (chain.length < novelMin && !this.#sources.short.has(chain.content)) continue;
      const from = normal.at[chain.textFrom] ?? 0;
      const to = normal.at[chain.textTo - 1] ?? 0;
      const at = plain.at;
      const span = at === null ? ([from, to + 1] as const) : spanOf(at, from, to);
      // It cannot score more than a match that is already reported.
      if (found.some((one) => one.novel >= chain.length && isWithin(span, one.span))) continue;
      const novel = this.#novel(chain);
      if (novel >= novelMin) found.push({ chain, novel, span, via: view.name });
    }
  }

  #novel(chain: MatchChain): number {
    const { visible, short } = this.#sources;
    const least = chain.runs.length > 1 ? 1 : novelMin;
    let novel = 0;
    for (const { content, from, to } of chain.runs) {
      novel += countNovelChars(content, visible, [from, to], least);
    }
    return short.weigh(chain, novel);
  }

  /** All runs of at least one gram. */
  #runs(text: NormalText): MatchRun[] {
    const { table, contents } = this.#sources;
    const grams = this.#grams;
    grams.compute(text.chars, text.length);
    const runs: MatchRun[] = [];
    let open: MatchRun[] = [];
    let budget = comparedMax * text.length + 65_536;
    if (this.#possible.length < grams.count) this.#possible = new Uint32Array(grams.count);
    const possible = table.possible(grams.hashes, grams.count, this.#possible);
    for (let i = 0; i < possible; i += 1) {
      const gram = this.#possible[i] ?? 0;
      const count = table.find(grams.hashes[gram] ?? 0, this.#places);
      if (count === 0) continue;
      const start = grams.starts[gram] ?? 0;
      open = open.filter((run) => run.textTo > start);
      for (let n = 0; n < (budget > 0 ? count : 1); n += 1) {
        const place = this.#places[n] ?? 0;
        const content = contents.at(place);
        if (content === null || isIn(open, content, place - content.base)) continue;
        const run = findRunThrough(text, start, content, place - content.base);
        budget -= run.length;
        // Another text with the same hash.
        if (run.textTo <= start || !isLongEnough(run)) continue;
        runs.push(run);
        open.push(run);
      }
    }
    return runs;
  }

  #report(text: Uint8Array, found: Candidate[]): PassageMatch[] {
    found.sort((a, b) => b.novel - a.novel || a.span[0] - b.span[0]);
    const kept: Candidate[] = [];
    for (const one of found) {
      if (!kept.some((other) => covers(other, one))) kept.push(one);
    }
    return kept.map(({ chain, novel, span, via }) => {
      const { content, from, to, length } = chain;
      const [path = ''] = content.paths;
      const first = lineNumberAt(content.chars, from);
      const last = lineNumberAt(content.chars, to - 1);
      const shown = text.subarray(span[0], Math.min(span[1], span[0] + textCharsMax));
      const shownText = Buffer.from(shown).toString('utf8').slice(0, textCharsMax);
      return { path, lines: [first, last], span, length, novel, via, text: shownText };
    });
  }
}

function isLongEnough(run: MatchRun): boolean {
  return run.length >= 24;
}

/** Whether an open run already contains this character of the content. */
function isIn(open: readonly MatchRun[], content: IndexedContent, at: number): boolean {
  return open.some((run) => run.content === content && run.from <= at && at < run.to);
}

function spanOf(at: Uint32Array, from: number, to: number): readonly [number, number] {
  return [at[from] ?? 0, (at[to] ?? 0) + 1];
}

function isWithin(inner: readonly [number, number], outer: readonly [number, number]): boolean {
  return outer[0] <= inner[0] && inner[1] <= outer[1];
}

/** Whether `one` is mostly within `other`, from whatever content. */
function covers(other: Candidate, one: Candidate): boolean {
  const from = Math.max(other.span[0], one.span[0]);
  const to = Math.min(other.span[1], one.span[1]);
  return to - from >= (one.span[1] - one.span[0]) * coveredMax;
}
