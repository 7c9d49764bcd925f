/**
 * What a line announces for the next ones: a value under its name, the `value:` of a `name:`, a
 * key.
 */
import { BLANK, QUOTE, isCharacterOf, skipCharactersOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import { findPassCommand } from './logins.ts';
import type { NameClass } from './name-class.ts';
import { valuePlausibility } from './plausibility.ts';
import { findRecoveryPhrase } from './statements.ts';
import { readValue } from './values.ts';

export interface ValueExpectation {
  /**
   * `value`: the next line is the value. `pair`: one of the next lines is `value: x`. `announced`:
   * the next line that is not empty is only the value. `asked`: a server asks for `PASS x`.
   */
  readonly kind: 'value' | 'pair' | 'announced' | 'phrase' | 'asked';
  readonly name: string;
  readonly class: NameClass;
  /** Lines, blank ones included, that can still follow. */
  readonly lines: number;
}

const announcing = new RegExp(
  [
    String.raw`creat|generat|copy|sav(?:e|ing)|stor(?:e|ing)|shown|again|\bnew\b|\byour\b|here|`,
    String.raw`below|following|issued|reveal|keep|retriev|one[- ]time`,
  ].join(''),
  'iu',
);
/** The answer of FTP servers to `USER x`. */
const asking = /^\W{0,8}331[ -]/u;
const pairName =
  /(?:^|[\s{,"'-])["'\\]*(?:name|key|variable|envvar)["'\\]*[ \t]*[:=][ \t]*["'\\]*$/iu;
const pairValue = /[ \t]*[-+]?[ \t]*["'\\]*(?:value|val|default|content)["'\\]*[ \t]*[:=][ \t]*/iuy;

/** What can follow a name whose line does not have its value. */
export function expectAfterName(
  { text, start, end }: LineSegment,
  name: {
    readonly text: string;
    readonly class: NameClass;
    readonly start: number;
    readonly end: number;
  },
  open: boolean,
): ValueExpectation | null {
  if (asking.test(text.slice(start, start + 16))) {
    return { name: 'PASS', class: 'password', kind: 'asked', lines: 3 };
  }
  const base = { name: name.text, class: name.class };
  if (open) return { ...base, kind: 'value', lines: 1 };
  const before = text.slice(Math.max(start, name.start - 32), name.start);
  if (pairName.test(before) && end - name.end < 8) return { ...base, kind: 'pair', lines: 2 };
  const line = text.slice(Math.max(start, end - 240), end);
  if (name.class !== 'mild' && /[:.!)]\s*$/u.test(line) && announcing.test(line)) {
    return { ...base, kind: 'announced', lines: 4 };
  }
  return null;
}

/** @returns what is still expected after this line */
export function meetExpectation(
  expected: ValueExpectation,
  segment: LineSegment,
  report: ReportFinding,
): ValueExpectation | null {
  const { text, start, end } = segment;
  const at = skipCharactersOf(text, start, end, BLANK);
  const rest = expected.lines > 1 ? { ...expected, lines: expected.lines - 1 } : null;
  if (at >= end) return rest;
  if (expected.kind === 'asked') {
    findPassCommand(segment, true, report);
    return null;
  }
  if (expected.kind === 'phrase') {
    findRecoveryPhrase(segment, start, report);
    return null;
  }
  if (expected.kind === 'pair') {
    pairValue.lastIndex = start;
    if (!pairValue.test(text) || pairValue.lastIndex >= end) return rest;
    judge(segment, expected, pairValue.lastIndex, report);
    return null;
  }
  alone(segment, expected, at, report);
  return null;
}

function judge(
  segment: LineSegment,
  expected: ValueExpectation,
  at: number,
  report: ReportFinding,
): void {
  const { text, end } = segment;
  const value = readValue(text, at, end, 'assignment');
  if (value === null) return;
  const score = valuePlausibility(text, value, expected.class, value.quoted ? 'data' : 'shell');
  if (score > 0) report(makeFinding([value.start, value.end], 'name-value', score, expected.name));
}

/** Only if nothing else is on the line. */
function alone(
  segment: LineSegment,
  expected: ValueExpectation,
  at: number,
  report: ReportFinding,
): void {
  const { text, end } = segment;
  let from = at;
  if (/[-+>|#$*]/u.test(text.charAt(from)) && isCharacterOf(text, from + 1, BLANK)) {
    from = skipCharactersOf(text, from + 1, end, BLANK);
  }
  const value = readValue(text, from, end, 'assignment');
  if (value === null) return;
  let after = value.end;
  while (
    after < end &&
    (isCharacterOf(text, after, BLANK | QUOTE) || ',;.'.includes(text.charAt(after)))
  ) {
    after++;
  }
  if (after < end || text.charAt(value.end - 1) === ':') return;
  const score = valuePlausibility(text, value, expected.class, value.quoted ? 'data' : 'code');
  if (score > 0) report(makeFinding([value.start, value.end], expected.kind, score, expected.name));
}
