/** Private keys between `-----BEGIN … PRIVATE KEY-----` and `-----END`, over lines. */
import { BLANK, skip } from './characters.ts';
import type { Finding } from '../finding.ts';
import { found, type Report, type Segment } from './finder.ts';

const header = /-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/iy;
const field = /^[A-Za-z][\w-]{1,24}: /u;
const base64Run = /[\w+/]{16}/u;

/** @param at Where the dashes begin. @returns Whether lines of the key follow. */
export function findHeader({ text, end, spent }: Segment, at: number, report: Report): boolean {
  header.lastIndex = at;
  if (!header.test(text) || header.lastIndex > end) return false;
  const body = header.lastIndex;
  const close = endOf(text, body, end);
  if (close !== null) {
    // A sentence about keys has nothing between the two.
    if (!base64Run.test(text.slice(body, close))) return false;
    spent.until = close;
    report(armour(at, close));
    return false;
  }
  const rest = text
    .slice(body, Math.min(end, body + 4096))
    .replaceAll(/\\+[nr]|["'`\\+,;\s]/gu, '');
  if (rest !== '' && !base64Run.test(rest)) return false;
  spent.until = end;
  report(armour(at, end));
  return true;
}

/** One line under a header. @returns Whether the key goes on. */
export function findBody({ text, start, end }: Segment, report: Report): boolean {
  const close = endOf(text, start, end);
  const from = skip(text, start, end, BLANK);
  if (close !== null) {
    report(armour(from, close));
    return false;
  }
  if (from >= end) return true;
  if (!isBody(text.slice(from, Math.min(end, from + 512)))) return false;
  report(armour(from, end));
  return true;
}

/** Base64, perhaps behind a gutter, or a header field. Words of a sentence end a key. */
function isBody(line: string): boolean {
  if (field.test(line)) return true;
  const words = line.split(/\s+/u);
  const last = words.at(-1) ?? '';
  return (
    words.length <= 3 &&
    /^["'`]?[\w+/=-]+(?:\\[nr])*["'`]?[,;+\\]*$/u.test(last === '+' ? 'a' : last)
  );
}

function endOf(text: string, at: number, end: number): number | null {
  const rest = text.slice(at, end);
  const close = rest.indexOf('-----END');
  if (close < 0) return null;
  const dashes = rest.indexOf('-----', close + 8);
  let stop = dashes < 0 ? end : at + dashes + 5;
  while (stop < end && text.charAt(stop) === '-') stop++;
  return stop;
}

function armour(start: number, end: number): Finding {
  return found([start, end], 'private-key', 0.99, null);
}
