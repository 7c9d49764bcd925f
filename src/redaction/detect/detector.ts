/**
 * Finds secrets that nobody named beforehand: known formats, what stands beside a telling name, and
 * tokens that look drawn at random.
 */
import type { Finding, Prior, RedactionProfile } from '../finding.ts';
import type { Hits } from '../rules/automaton.ts';
import type { Span } from '../recognise/line.ts';
import { recognise, strengthOf } from '../recognise/recognise.ts';
import { RuleSet } from '../rules/ruleset.ts';
import { findBare, labelMax, type Judge } from './bare.ts';
import { wordiness } from './bigram.ts';
import { NAME, is } from './characters.ts';
import { segmentOf, type Report, type Segment } from './finder.ts';
import { words, searchSegment, type Carried } from './line.ts';
import { merge } from './merge.ts';
import { priorOf, promptOf } from './prior.ts';
import { isBody, isTail } from './screen.ts';
import { defaultVetoes, thresholdsOf, type Thresholds, type Vetoes } from './thresholds.ts';
import { isProgramName } from './program-name.ts';
import { findRuns, type Runs } from './tokens.ts';
import { forgetValues } from './values.ts';
import { isWide, narrow, widen } from './wide.ts';

/** Rules by the form of a key: those shipped, and those that people write. */
export interface Rules {
  find(text: string, bytes: Uint8Array, from: number, to: number): readonly Finding[];
}

export interface DetectorOptions {
  readonly profile: RedactionProfile;
  /** See `priorOf`. A first line that is a prompt with a command has its own. */
  readonly prior: Prior;
  readonly thresholds?: Partial<Thresholds>;
  readonly vetoes?: Partial<Vetoes>;
  /** Besides the shipped ones. */
  readonly rules?: Rules;
}

/** Occurrences in a block: words, and runs of characters that could be a key. */
interface Block {
  readonly text: string;
  /** Without carriage returns and NULs. */
  readonly plain: boolean;
  readonly hits: Hits;
  readonly runs: Runs;
  /** What rules found, sorted. */
  readonly covered: readonly Finding[];
  /** The next ones. */
  hit: number;
  run: number;
  cover: number;
}

/**
 * Takes the text of one stream in order. Findings are the same however whole lines are grouped into
 * calls.
 */
export class Detector {
  readonly #shipped = RuleSet.shipped();
  readonly #rules: Rules | null;
  readonly #carried: Carried = {
    armour: null,
    codes: null,
    published: 0,
    expected: null,
    column: null,
  };
  readonly #hits: Hits = { pairs: new Int32Array(1024), count: 0 };
  #judge: Judge;
  #first = true;
  /** Where the line begins that follows a full line of base64. */
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
   * @param text Whole lines, or one piece of a line that goes on in the next call. One character is
   *   one byte.
   * @param bytes The same.
   * @returns In order, not overlapping.
   */
  scan(text: string, bytes: Uint8Array): Finding[] {
    if (this.#first) this.#prompt(text);
    const findings: Finding[] = [];
    const report: Report = (finding) => {
      findings.push(finding);
    };
    // One look for a NUL tells binary and UTF-16 output apart.
    if (bytes.includes(0)) this.#wideLines(text, bytes, report);
    else this.#block(text, bytes, report);
    forgetValues();
    return merge(findings);
  }

  #prompt(text: string): void {
    this.#first = false;
    const command = promptOf(text.slice(0, 1024).split('\n', 1)[0] ?? '');
    const prior = command === null ? 'none' : priorOf(command);
    if (prior !== 'none') this.#judge = { ...this.#judge, prior };
  }

  #wideLines(text: string, bytes: Uint8Array, report: Report): void {
    for (let line = 0; line < text.length;) {
      const feed = text.indexOf('\n', line);
      const end = feed < 0 ? text.length : feed + 1;
      if (isWide(text, line, end)) {
        const thin = narrow(bytes, line, end);
        this.#block(thin.text, thin.bytes, (finding) => report(widen(finding, thin)));
      } else {
        const from = line;
        this.#block(text.slice(line, end), bytes.subarray(line, end), (finding) => {
          report({ ...finding, start: finding.start + from, end: finding.end + from });
        });
      }
      line = end;
    }
  }

  #block(text: string, bytes: Uint8Array, report: Report): void {
    const { format } = this.#judge.thresholds;
    const covered: Finding[] = [];
    const other = { automaton: words, hits: this.#hits };
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
    const runs = findRuns(bytes);
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

  /** Whether the next line is looked at whatever stands in it. */
  get #waits(): boolean {
    const { armour, codes, expected, column } = this.#carried;
    return armour !== null || codes !== null || expected !== null || column !== null;
  }

  /** A line, in the parts that carriage returns and NULs make of it. */
  #line(block: Block, start: number, end: number, report: Report): void {
    const { text } = block;
    let from = start;
    if (block.plain) {
      this.#segment(block, segmentOf(text, start, end), report);
      return;
    }
    while (from <= end) {
      let to = from;
      while (to < end && text.charCodeAt(to) !== 13 && text.charCodeAt(to) !== 0) to++;
      if (to > from || start === end) {
        this.#segment(block, segmentOf(text, from, to), report);
      }
      from = to + 1;
    }
    skipHits(block, end);
    while (runStart(block) < end) block.run++;
  }

  #segment(block: Block, segment: Segment, report: Report): void {
    const { context } = this.#judge.thresholds;
    const from = block.hit;
    skipHits(block, segment.end);
    const found: Finding[] = [];
    const tail = segment.start === this.#behindBody && isTail(segment.text, segment);
    const silent = tail || this.#carried.armour !== null || this.#carried.published > 0;
    if (isBody(segment.text, segment)) this.#behindBody = nextLine(segment);
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
      findBare(segment, { start, end, label: label < 0 ? -labelMax : label }, this.#judge, report);
    }
  }
}

function nextLine({ text, end }: Segment): number {
  return text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10 ? end + 2 : end + 1;
}

/** A form that arose by chance: of words, or in the middle of a symbol or a line of base64. */
function isChance(text: string, { start, end, score }: Finding): boolean {
  const shown = text.slice(start, end);
  // Drawn letters hardly ever read like words, and never without a digit among them.
  if ((score < 0.9 || !/\d/u.test(shown)) && isProgramName(shown)) return true;
  if (score < 0.9) {
    let from = start;
    while (is(text, from - 1, NAME)) from--;
    if (text.startsWith('_Z', from) || wordiness(text, start, end) > 0.9) return true;
    const family = recognise(text, start, end, lineAround(text, start, end));
    if (family !== null && strengthOf(family) === 'certain') return true;
  }
  if (inDigest.test(text.slice(Math.max(0, start - 100), start))) return true;
  const line = lineAround(text, start, end);
  // Alone on its line it is a key, however long.
  if (start === line.start && end === line.end) return false;
  return start - line.start <= 76 && isBody(text, line);
}

/** As far as its form is looked at. */
const aroundMax = 256;

function lineAround(text: string, start: number, end: number): Span {
  const low = Math.max(0, start - aroundMax);
  const head = start > low ? text.slice(low, start).lastIndexOf('\n') : -1;
  const tail = text.slice(end, end + aroundMax).indexOf('\n');
  return {
    start: low + head + 1,
    end: tail < 0 ? Math.min(text.length, end + aroundMax) : end + tail,
  };
}

/** `"integrity": "sha512-…`, `,sha256=…`: a form in the middle of a hash arose by chance. */
const inDigest = /(?:sha-?(?:1|224|256|384|512)|md5)[-:=][\w+/-]*$/iu;

/** Infinity: there are no more. */
function hitEnd({ hits, hit }: Block): number {
  return hit < hits.count ? (hits.pairs[hit * 2 + 1] ?? 0) : Infinity;
}

function runStart({ runs, run }: Block): number {
  return run < runs.count ? (runs.pairs[run * 2] ?? 0) : Infinity;
}

function skipHits(block: Block, end: number): void {
  while (hitEnd(block) <= end) block.hit++;
}

/** Runs are asked about in their order. */
function isCovered(block: Block, start: number, end: number): boolean {
  const { covered } = block;
  while ((covered[block.cover]?.end ?? Infinity) <= start) block.cover++;
  return (covered[block.cover]?.start ?? Infinity) < end;
}

function touches(findings: readonly Finding[], start: number, end: number): boolean {
  return findings.some((finding) => finding.start < end && start < finding.end);
}
