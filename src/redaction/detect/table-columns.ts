/**
 * Tables with a secret column:
 *
 *     NAME      TOKEN                     CREATED         | id | api_key | owner |
 *     ci-bot    q7Wm2xLp9RtZ4vNc5KdY      2026-11-22      |----|---------|-------|
 */
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
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
