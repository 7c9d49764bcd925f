/** Private keys between `-----BEGIN … PRIVATE KEY-----` and `-----END`, over lines. */
import { BLANK, isCharacterOf, skipCharactersOf } from './characters.ts';
import type { SecretFinding } from '../secret-finding.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';

const header = new RegExp(
  [
    String.raw`-{4,5} ?BEGIN (?:(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?|`,
    String.raw`OpenVPN (?:Static key V\d|tls-crypt[\w-]{0,4} (?:client|server) key)) ?-{4,5}`,
  ].join(''),
  'iy',
);
const field = /^[A-Za-z][\w-]{1,24}: /u;
const base64Run = /[\w+/]{16}/u;

/** The lines of a key that can follow. */
export interface KeyArmour {
  /** `hex`, `base64`: only such lines. `pem`: all lines up to the written end. */
  readonly form: 'pem' | 'base64' | 'hex';
  readonly lines: number;
}

export const pemArmour: KeyArmour = { form: 'pem', lines: Infinity };

/**
 * @param at the start of the dashes
 * @returns whether lines of the key follow
 */
export function findKeyHeader(
  { text, end, spent }: LineSegment,
  at: number,
  report: ReportFinding,
): boolean {
  header.lastIndex = at;
  if (!header.test(text) || header.lastIndex > end) return false;
  const body = header.lastIndex;
  const close = endOf(text, body, end);
  if (close !== null) {
    // In a sentence about keys, nothing is between the two.
    if (!base64Run.test(text.slice(body, close))) return false;
    spent.until = close;
    report(armour(at, close));
    return false;
  }
  // A constant in a program that reads keys ends here. A key can still follow it.
  const quote = text.charAt(body);
  const constant =
    /["'`]/u.test(quote) && /^["'`][;)\s]*$/u.test(text.slice(body, Math.min(end, body + 16)));
  if (constant && at > 0 && text.charAt(at - 1) === quote) {
    spent.until = end;
    return true;
  }
  const rest = text
    .slice(body, Math.min(end, body + 4096))
    .replaceAll(/\\+[nr]|["'`\\+,;\s]/gu, '');
  if (rest !== '' && !base64Run.test(rest)) return false;
  spent.until = end;
  report(armour(at, end));
  return true;
}

/**
 * Searches one line of a key.
 *
 * @returns what can follow; `null`: the key has ended
 */
export function findKeyBody(
  segment: LineSegment,
  { form, lines }: KeyArmour,
  report: ReportFinding,
): KeyArmour | null {
  if (form === 'pem') return findPemBody(segment, report) ? pemArmour : null;
  const { text, start, end } = segment;
  const from = skipCharactersOf(text, start, end, BLANK);
  let to = end;
  while (to > from && isCharacterOf(text, to - 1, BLANK)) to--;
  const line = text.slice(from, Math.min(to, from + 512));
  if (!(form === 'hex' ? hexLine : base64Line).test(line)) return null;
  report(armour(from, to));
  return lines > 1 ? { form, lines: lines - 1 } : null;
}
const hexLine = /^[\da-f]{2,}$/u;
const base64Line = /^[\w+/]{4,}={0,2}$/u;

const vault = /\$ANSIBLE_VAULT;[\d.]{1,8};AES\d*(?:;[\w.-]{1,64})?/iuy;
const vaultBody = /(?:\\+[rn]|[\da-f]|[ \t]){20,16384}/uy;
const puttyBody = /Private-Lines: ?(\d{1,3})[ \t]*$/iuy;

/** `$ANSIBLE_VAULT;1.1;AES256`: hexadecimal digits follow, on later lines or in the same text. */
export function findAnsibleVault(
  { text, end }: LineSegment,
  at: number,
  report: ReportFinding,
): KeyArmour | null {
  vault.lastIndex = at;
  if (!vault.test(text) || vault.lastIndex > end) return null;
  vaultBody.lastIndex = vault.lastIndex;
  if (vaultBody.test(text) && vaultBody.lastIndex <= end) {
    report(armour(vault.lastIndex, vaultBody.lastIndex));
    return null;
  }
  return skipCharactersOf(text, vault.lastIndex, end, BLANK) >= end
    ? { form: 'hex', lines: 4096 }
    : null;
}

/** `Private-Lines: 8`: PuTTY announces the number of lines. */
export function findPuttyKey({ text, end }: LineSegment, at: number): KeyArmour | null {
  const count = puttyBody.exec(text.slice(at, Math.min(end, at + 32)))?.[1];
  puttyBody.lastIndex = 0;
  return count === undefined || count === '0' ? null : { form: 'base64', lines: Number(count) };
}

function findPemBody({ text, start, end }: LineSegment, report: ReportFinding): boolean {
  const close = endOf(text, start, end);
  const from = skipCharactersOf(text, start, end, BLANK);
  if (close !== null) {
    // `END = b"-----END …"`: a word precedes it, and no key.
    const before = text.slice(from, text.indexOf('-----END', from));
    if (!/^[\w]+\s*[:=]/u.test(before) || base64Run.test(before)) report(armour(from, close));
    return false;
  }
  if (from >= end) return true;
  if (!isBody(text.slice(from, Math.min(end, from + 512)))) return false;
  report(armour(from, end));
  return true;
}

/**
 * Whether the line is base64, perhaps after a gutter, or a header field. A sentence ends the key.
 */
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

function armour(start: number, end: number): SecretFinding {
  return makeFinding([start, end], 'private-key', 0.99, null);
}
