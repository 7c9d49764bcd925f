/**
 * Lists of one-time codes that replace a second factor:
 *
 *     Recovery codes:          Backup codes: 8f2k-91mz, 77ab-c3d9
 *     adb98-f4133
 *     1. ac250-675da   2. 6195e-aa630
 */
import { wordiness } from './bigram.ts';
import { BLANK, skipCharactersOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';

export const recoveryCodeWords: readonly string[] = [
  'recovery',
  'backup',
  'scratch',
  'rescue',
  'emergency',
]
  .flatMap((owner) => ['', ' ', '_', '-'].map((joint) => `${owner}${joint}code`))
  .concat(['one-time codes', 'codes de secours']);

/** Lines of a list, and lines of text before its first code, at most. */
const listMax = 32;
const textMax = 4;

export interface RecoveryCodeList {
  readonly begun: boolean;
  /** Lines that can still follow. */
  readonly lines: number;
}

const code = /[A-Za-z0-9]{3,16}(?:-[A-Za-z0-9]{3,16}){0,5}/uy;
/** Bullets, numbers, boxes and quotes around codes. */
const filler = /(?:[\s,;|"'*\u2022\][]|\u00e2[\x80-\xbf]{2}|- |\d{1,2}[.):] ?|\[[ x]\])*/uy;

/**
 * @param at the end of one of {@link recoveryCodeWords}
 * @returns what the next lines can have
 */
export function findRecoveryCodes(
  { text, end }: LineSegment,
  at: number,
  report: ReportFinding,
): RecoveryCodeList | null {
  let p = at;
  const many = /[sS]/u.test(text.charAt(p));
  if (many) p++;
  while (p < end && '"\'\\'.includes(text.charAt(p))) p++;
  const sign = skipCharactersOf(text, p, end, BLANK);
  const isAssigned = text.charAt(sign) === ':' || text.charAt(sign) === '=';
  if (isAssigned && !findIn(text, [sign + 1, listEnd(text, sign + 1, end)], report)) return null;
  return many || isAssigned ? { begun: false, lines: textMax } : null;
}

/** After the `]` of a list that begins here, or `end`. */
function listEnd(text: string, at: number, end: number): number {
  if (text.charAt(skipCharactersOf(text, at, end, BLANK)) !== '[') return end;
  const close = text.indexOf(']', at);
  return close < 0 || close > end ? end : close + 1;
}

/** @returns what the next lines can have */
export function findRecoveryCodeLine(
  { text, start, end }: LineSegment,
  list: RecoveryCodeList,
  report: ReportFinding,
): RecoveryCodeList | null {
  const rest = list.lines > 1 ? { begun: list.begun, lines: list.lines - 1 } : null;
  if (skipCharactersOf(text, start, end, BLANK) >= end) return rest;
  let any = false;
  const whole = findIn(text, [start, end], (finding) => {
    any = true;
    report(finding);
  });
  if (any && whole) return list.begun ? rest : { begun: true, lines: listMax };
  return list.begun ? null : rest;
}

/**
 * Reports the codes in a range if it has nothing else.
 *
 * @returns whether it has nothing else
 */
function findIn(
  text: string,
  [start, end]: readonly [number, number],
  report: ReportFinding,
): boolean {
  if (end - start > 1024) return false;
  const spans: [number, number][] = [];
  let p = pass(text, start, end);
  while (p < end) {
    code.lastIndex = p;
    if (!code.test(text) || code.lastIndex > end || !isCode(text, p, code.lastIndex)) return false;
    spans.push([p, code.lastIndex]);
    const next = pass(text, code.lastIndex, end);
    if (next === code.lastIndex && next < end) return false;
    p = next;
  }
  for (const span of spans) report(makeFinding(span, 'recovery-code', 0.9, null));
  return true;
}

function pass(text: string, at: number, end: number): number {
  filler.lastIndex = at;
  filler.test(text);
  return Math.min(end, Math.max(at, filler.lastIndex));
}

function isCode(text: string, start: number, end: number): boolean {
  const value = text.slice(start, end);
  if (value.length < 4) return false;
  if (/^\d{4}-\d\d/u.test(value) && value.length === 10) return false;
  if (/\d/u.test(value)) return value.length >= 6 || /^\d{4,5}$/u.test(value);
  return value.length >= 8 && wordiness(text, start, end) < 0;
}
