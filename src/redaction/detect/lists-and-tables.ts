/**
 * Tables whose head names a secret:
 *
 *     NAME      TOKEN                     CREATED         | id | api_key | owner |
 *     ci-bot    q7Wm2xLp9RtZ4vNc5KdY      2026-11-22      |----|---------|-------|
 *
 * Lists of one-time codes that replace a second factor:
 *
 *     Recovery codes:          Backup codes: 8f2k-91mz, 77ab-c3d9
 *     adb98-f4133
 *     1. ac250-675da   2. 6195e-aa630
 */
import { wordiness } from './bigram.ts';
import { BLANK, skipCharactersOf } from './characters.ts';
import { makeFinding, type LineSegment, type ReportFinding } from './line-segment.ts';
import { classifyName, type NameClass } from './name-class.ts';
import { valuePlausibility } from './plausibility.ts';

export interface SecretColumn {
  /** Index of the cell, from 0, and the number of cells. */
  readonly cell: number;
  readonly cells: number;
  readonly name: string;
  readonly class: NameClass;
  /** The separator of cells. */
  readonly separator: 'gap' | ',';
  /** Rows that can still follow. */
  readonly rows: number;
}

const rowsMax = 200;
const lineMax = 1024;
const headCell = /^[A-Za-z][\w .()/-]{0,40}$/u;
const headCsv = /^[A-Za-z][\w .()-]{0,40}$/u;
const gap = /\t|[ \t]{2,}|[ \t]*\|[ \t]*/gu;

/** The secret column of a head, or `null`: the line is no head or names no secret. */
export function findSecretColumn({ text, start, end }: LineSegment): SecretColumn | null {
  if (end - start > lineMax) return null;
  let separator: SecretColumn['separator'] = 'gap';
  let cells = cellsOf(text, start, end);
  if (cells.length < 2) {
    // A sentence has blanks after its commas.
    if (text.slice(start, end).includes(', ')) return null;
    separator = ',';
    cells = commaCells(text, start, end);
    if (cells.length < 2) return null;
  }
  const form = separator === ',' ? headCsv : headCell;
  let column: SecretColumn | null = null;
  for (const [cell, [from, to]] of cells.entries()) {
    const name = text.slice(from, to);
    if (!form.test(name)) return null;
    const found = classifyName(name.replaceAll(/[ .]+/gu, '_'));
    if (found !== 'secret' && found !== 'password') continue;
    column = { cell, cells: cells.length, name, class: found, separator, rows: rowsMax };
  }
  return column;
}

/** @returns the column for the next rows; `null`: the table has ended */
export function findInTableRow(
  column: SecretColumn,
  segment: LineSegment,
  report: ReportFinding,
): SecretColumn | null {
  const { text, start, end } = segment;
  const rest = column.rows > 1 ? { ...column, rows: column.rows - 1 } : null;
  if (end - start > lineMax || /^\s*$/u.test(text.slice(start, end))) return null;
  if (/^[\s|+=-]*$/u.test(text.slice(start, end))) return rest;
  const comma = column.separator === ',';
  const cells = comma ? commaCells(text, start, end) : cellsOf(text, start, end);
  const [from, to] = cells[column.cell] ?? [0, 0];
  if (cells.length !== column.cells) return null;
  const value = { start: from, end: to, quoted: comma, closed: true };
  const score = valuePlausibility(text, value, column.class, comma ? 'data' : 'code');
  if (score > 0) report(makeFinding([from, to], 'column', score, column.name));
  return rest;
}

/** The ranges of the cells, without those outside of the outer bars. */
function cellsOf(text: string, start: number, end: number): [number, number][] {
  const cells: [number, number][] = [];
  const line = text.slice(start, end);
  let from = 0;
  for (const match of [...line.matchAll(gap), null]) {
    const to = match?.index ?? line.length;
    if (to > from) cells.push([start + from, start + to]);
    from = to + (match?.[0].length ?? 0);
  }
  return cells;
}

const commaCell = /"((?:[^"]|"")*)"(?=,|\s*$)|([^",]*)(?=,|$)/uy;

/** The cells of a line of comma-separated values, without their quotes. */
function commaCells(text: string, start: number, end: number): [number, number][] {
  const cells: [number, number][] = [];
  const line = text.slice(start, end);
  if (!line.includes(',')) return cells;
  for (let p = 0; p <= line.length;) {
    commaCell.lastIndex = p;
    const match = commaCell.exec(line);
    if (match === null) return [];
    const quoted = match[1] !== undefined ? 1 : 0;
    const length = (match[1] ?? match[2] ?? '').trimEnd().length;
    cells.push([start + p + quoted, start + p + quoted + length]);
    if (line.charAt(commaCell.lastIndex) !== ',') break;
    p = commaCell.lastIndex + 1;
  }
  return cells;
}

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
