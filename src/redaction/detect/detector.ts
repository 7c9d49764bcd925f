/**
 * Finds unknown secrets: known formats, values next to a telling name, and tokens that look random.
 */
import {
  mergeFindings,
  type SecretFinding,
  type SecretPrior,
  type RedactionProfile,
} from '../secret-finding.ts';
import type { KeywordHits } from '../rules/keyword-automaton.ts';
import { strengthOf, type LineSpan } from '../recognise/families.ts';
import { recogniseToken } from '../recognise/recognise-token.ts';
import { SecretRuleSet } from '../rules/rule-set.ts';
import { findBareToken, labelDistanceMax, type BareTokenCriteria } from './bare-tokens.ts';
import { wordiness } from './bigram.ts';
import { NAME, isCharacterOf } from './characters.ts';
import {
  isWideLine,
  makeLineSegment,
  narrowLine,
  widenFinding,
  type LineSegment,
  type ReportFinding,
} from './line-segment.ts';
import { lineKeywords, searchSegment, type LineState } from './segment-search.ts';
import { secretPriorOf, readPromptCommand } from './secret-prior.ts';
import { findTokenRuns, isBase64Line, isBase64Tail, type TokenRuns } from './tokens.ts';
import { defaultVetoes, thresholdsOf, type ScoreThresholds, type ScoreVetoes } from './score.ts';
import { isProgramName } from './expression.ts';
import { clearValueCache } from './values.ts';

/** Rules for the forms of keys: those shipped, and the user's. */
export interface SecretRuleFinder {
  find(text: string, bytes: Uint8Array, from: number, to: number): readonly SecretFinding[];
}

export interface DetectorOptions {
  readonly profile: RedactionProfile;
  /** See {@link secretPriorOf}. A first line that is a prompt with a command overrides it. */
  readonly prior: SecretPrior;
  readonly thresholds?: Partial<ScoreThresholds>;
  readonly vetoes?: Partial<ScoreVetoes>;
  /** In addition to the shipped ones. */
  readonly rules?: SecretRuleFinder;
}

/** The occurrences in a block: keywords, and runs of characters that could be a key. */
interface Block {
  readonly text: string;
  /** Whether it has neither carriage returns nor NULs. */
  readonly plain: boolean;
  readonly hits: KeywordHits;
  readonly runs: TokenRuns;
  /** Findings of the rules, sorted. */
  readonly covered: readonly SecretFinding[];
  /** Indices of the next ones. */
  hit: number;
  run: number;
  cover: number;
}

/**
 * Searches the text of one stream in order. The findings do not depend on how whole lines are
 * grouped into calls.
 */
export class Detector {
  readonly #shipped = SecretRuleSet.shipped();
  readonly #rules: SecretRuleFinder | null;
  readonly #carried: LineState = {
    armour: null,
    codes: null,
    published: 0,
    expected: null,
    column: null,
  };
  readonly #hits: KeywordHits = { pairs: new Int32Array(1024), count: 0 };
  #judge: BareTokenCriteria;
  #first = true;
  /** The start of the line after a full line of base64. */
  #behindBody = -1;

  constructor({ profile, prior, thresholds, vetoes, rules }: DetectorOptions) {
    this.#rules = rules ?? null;
    this.#judge = {
      thresholds: { ...thresholdsOf(profile), ...thresholds },
      vetoes: { ...defaultVetoes, ...vetoes },
      prior,
    };
  }

  /**
   * @param text whole lines, or one slice of a line that continues in the next call; one character
   *   is one byte
   * @param bytes the same text
   * @returns findings in order, not overlapping
   */
  scan(text: string, bytes: Uint8Array): SecretFinding[] {
    if (this.#first) this.#prompt(text);
    const findings: SecretFinding[] = [];
    const report: ReportFinding = (finding) => {
      findings.push(finding);
    };
    // One search for a NUL separates binary and UTF-16 output from text.
    if (bytes.includes(0)) this.#wideLines(text, bytes, report);
    else this.#block(text, bytes, report);
    clearValueCache();
    return mergeFindings(findings);
  }

  #prompt(text: string): void {
    this.#first = false;
    const command = readPromptCommand(text.slice(0, 1024).split('\n', 1)[0] ?? '');
    const prior = command === null ? 'none' : secretPriorOf(command);
    if (prior !== 'none') this.#judge = { ...this.#judge, prior };
  }

  #wideLines(text: string, bytes: Uint8Array, report: ReportFinding): void {
    for (let line = 0; line < text.length;) {
      const feed = text.indexOf('\n', line);
      const end = feed < 0 ? text.length : feed + 1;
      if (isWideLine(text, line, end)) {
        const thin = narrowLine(bytes, line, end);
        this.#block(thin.text, thin.bytes, (finding) => report(widenFinding(finding, thin)));
      } else {
        const from = line;
        this.#block(text.slice(line, end), bytes.subarray(line, end), (finding) => {
          report({ ...finding, start: finding.start + from, end: finding.end + from });
        });
      }
      line = end;
    }
  }

  #block(text: string, bytes: Uint8Array, report: ReportFinding): void {
    const { format } = this.#judge.thresholds;
    const covered: SecretFinding[] = [];
    const other = { automaton: lineKeywords, hits: this.#hits };
    for (const findings of [
      this.#shipped.findBeside(text, bytes, other),
      this.#rules?.find(text, bytes, 0, text.length) ?? [],
    ]) {
      for (const finding of findings) {
        if (finding.score >= format && !isChance(text, finding)) covered.push(finding);
      }
    }
    covered.sort((a, b) => a.start - b.start);
    covered.forEach(report);
    const runs = findTokenRuns(bytes);
    const plain = !bytes.includes(13) && !bytes.includes(0);
    const block: Block = { text, plain, hits: this.#hits, runs, covered, hit: 0, run: 0, cover: 0 };
    let line = 0;
    while (line < text.length) {
      if (!this.#waits) {
        const next = Math.min(hitEnd(block) - 2, runStart(block));
        if (next === Infinity) break;
        line = Math.max(line, text.lastIndexOf('\n', next) + 1);
      }
      const feed = text.indexOf('\n', line);
      const end = feed < 0 ? text.length : feed;
      this.#line(block, line, end, report);
      line = end + 1;
    }
    this.#behindBody = this.#behindBody === text.length ? 0 : -1;
  }

  /** Whether the next line is examined whatever it contains. */
  get #waits(): boolean {
    const { armour, codes, expected, column } = this.#carried;
    return armour !== null || codes !== null || expected !== null || column !== null;
  }

  /** Splits a line at carriage returns and NULs. */
  #line(block: Block, start: number, end: number, report: ReportFinding): void {
    const { text } = block;
    let from = start;
    if (block.plain) {
      this.#segment(block, makeLineSegment(text, start, end), report);
      return;
    }
    while (from <= end) {
      let to = from;
      while (to < end && text.charCodeAt(to) !== 13 && text.charCodeAt(to) !== 0) to++;
      if (to > from || start === end) {
        this.#segment(block, makeLineSegment(text, from, to), report);
      }
      from = to + 1;
    }
    skipHits(block, end);
    while (runStart(block) < end) block.run++;
  }

  #segment(block: Block, segment: LineSegment, report: ReportFinding): void {
    const { context } = this.#judge.thresholds;
    const from = block.hit;
    skipHits(block, segment.end);
    const found: SecretFinding[] = [];
    const tail = segment.start === this.#behindBody && isBase64Tail(segment.text, segment);
    const silent = tail || this.#carried.armour !== null || this.#carried.published > 0;
    if (isBase64Line(segment.text, segment)) this.#behindBody = nextLine(segment);
    if (this.#carried.published > 0) this.#carried.published--;
    const label = searchSegment(
      { segment, hits: block.hits, from, to: block.hit },
      this.#carried,
      (finding) => {
        if (finding.score < context) return;
        found.push(finding);
        report(finding);
      },
    );
    for (let start = runStart(block); start < segment.end; start = runStart(block)) {
      const end = block.runs.pairs[block.run * 2 + 1] ?? 0;
      block.run++;
      if (silent || touches(found, start, end) || isCovered(block, start, end)) continue;
      findBareToken(
        segment,
        { start, end, label: label < 0 ? -labelDistanceMax : label },
        this.#judge,
        report,
      );
    }
  }
}

function nextLine({ text, end }: LineSegment): number {
  return text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10 ? end + 2 : end + 1;
}

/**
 * Whether a form occurs by chance: it consists of words, or is in the middle of a symbol or a line
 * of base64.
 */
function isChance(text: string, { start, end, score }: SecretFinding): boolean {
  const shown = text.slice(start, end);
  // Random letters hardly ever look like words, and never without a digit among them.
  if ((score < 0.9 || !/\d/u.test(shown)) && isProgramName(shown)) return true;
  if (score < 0.9) {
    let from = start;
    while (isCharacterOf(text, from - 1, NAME)) from--;
    if (text.startsWith('_Z', from) || wordiness(text, start, end) > 0.9) return true;
    const family = recogniseToken(text, start, end, lineAround(text, start, end));
    if (family !== null && strengthOf(family) === 'certain') return true;
  }
  if (inDigest.test(text.slice(Math.max(0, start - 100), start))) return true;
  const line = lineAround(text, start, end);
  // Alone on its line it is a key, however long.
  if (start === line.start && end === line.end) return false;
  return start - line.start <= 76 && isBase64Line(text, line);
}

/** Characters of the line that are examined on either side. */
const aroundMax = 256;

function lineAround(text: string, start: number, end: number): LineSpan {
  const low = Math.max(0, start - aroundMax);
  const head = start > low ? text.slice(low, start).lastIndexOf('\n') : -1;
  const tail = text.slice(end, end + aroundMax).indexOf('\n');
  return {
    start: low + head + 1,
    end: tail < 0 ? Math.min(text.length, end + aroundMax) : end + tail,
  };
}

/** `"integrity": "sha512-…`, `,sha256=…`: a form within a hash is there by chance. */
const inDigest = /(?:sha-?(?:1|224|256|384|512)|md5)[-:=][\w+/-]*$/iu;

/** Infinity: there is no other hit. */
function hitEnd({ hits, hit }: Block): number {
  return hit < hits.count ? (hits.pairs[hit * 2 + 1] ?? 0) : Infinity;
}

function runStart({ runs, run }: Block): number {
  return run < runs.count ? (runs.pairs[run * 2] ?? 0) : Infinity;
}

function skipHits(block: Block, end: number): void {
  while (hitEnd(block) <= end) block.hit++;
}

/** Must be called in the order of the runs. */
function isCovered(block: Block, start: number, end: number): boolean {
  const { covered } = block;
  while ((covered[block.cover]?.end ?? Infinity) <= start) block.cover++;
  return (covered[block.cover]?.start ?? Infinity) < end;
}

function touches(findings: readonly SecretFinding[], start: number, end: number): boolean {
  return findings.some((finding) => finding.start < end && start < finding.end);
}
