/** Secrets in formats of their own, without a name and an operator before them. */
import { wordiness } from './bigram.ts';
import { ALNUM, BLANK, isCharacterOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import { classifyName } from './name-class.ts';
import {
  isPlaceholderValue,
  isVariableReference,
  mixesLettersAndDigits,
  valuePlausibility,
} from './plausibility.ts';

type Find = (segment: LineSegment, at: number, report: ReportFinding) => void;

/** The finder for each keyword; `at` is the start of the keyword. */
export const formatFinders: ReadonlyMap<string, Find> = new Map<string, Find>([
  ['"kty', findJwk],
  ['"d"', findJwkNumber],
  ['"k"', findJwkNumber],
  ['"dp"', findJwkNumber],
  ['"dq"', findJwkNumber],
  ['"qi"', findJwkNumber],
  ['@tcp(', findDsn],
  ['@unix(', findDsn],
  ['on >', findAcl],
  ['setuser', findAcl],
  ['{sha', findLdapHash],
  ['{ssha', findLdapHash],
  ['{md5', findLdapHash],
  ['{smd5', findLdapHash],
  ['{crypt', findLdapHash],
  ['{pbkdf2', findLdapHash],
  ['{argon2', findLdapHash],
  ['insert into', findInsert],
]);

const jwkPrivate = /["'](?:d|p|q|dp|dq|qi|k)\\*["']\s*:\s*\\*["']([\w-]{11,2048})/gu;

/** The private numbers of a key on one line: `{"kty":"EC","x":"…","d":"…"}`. */
function findJwk({ text, start, end }: LineSegment, at: number, report: ReportFinding): void {
  const low = Math.max(start, at - 8192);
  for (const match of text.slice(low, Math.min(end, at + 8192)).matchAll(jwkPrivate)) {
    const value = match[1] ?? '';
    const from = low + match.index + match[0].length - value.length;
    report(makeFinding([from, from + value.length], 'jwk', 0.95, 'jwk'));
  }
}

const jwkNumber = /"\w+"\s*:\s*"([\w-]{43,2048})"/uy;

/** A private number on a line of its own; the kind of the key is on another line. */
function findJwkNumber({ text, end }: LineSegment, at: number, report: ReportFinding): void {
  jwkNumber.lastIndex = at;
  const value = jwkNumber.exec(text)?.[1];
  const stop = jwkNumber.lastIndex - 1;
  if (value === undefined || stop > end || !mixesLettersAndDigits(value, 0, value.length)) return;
  if (wordiness(value, 0, value.length) > 0 || /^[\da-f]+$/u.test(value)) return;
  report(makeFinding([stop - value.length, stop], 'jwk', 0.85, 'jwk'));
}

/** `user:password@tcp(host:3306)/db`, for drivers of Go. */
function findDsn({ text, start }: LineSegment, at: number, report: ReportFinding): void {
  const low = Math.max(start, at - 160);
  const match = /(?:^|[\s"'`=(])[\w.-]{1,64}:([^\s"'`/]\S{2,127})$/u.exec(text.slice(low, at));
  const value = match?.[1];
  if (value === undefined || isVariableReference(value) || isPlaceholderValue(value)) return;
  if (/^(?:pass(?:word|wd)?|pwd|secret)$|^%\w$/iu.test(value)) return;
  report(makeFinding([at - value.length, at], 'url-userinfo', 0.9, null));
}

const acl = /(?:^|[\s"'])(?:acl\s+setuser|user)\s+[\w.@-]{1,64}\s/iu;

/** `user default on >password ~* +@all` */
function findAcl({ text, start, end }: LineSegment, at: number, report: ReportFinding): void {
  const low = Math.max(start, at - 100);
  const line = text.slice(low, Math.min(end, at + 400));
  if (!acl.test(line)) return;
  for (const match of line.matchAll(/\s["']?>([^\s"'>]{3,128})/gu)) {
    const value = match[1] ?? '';
    const from = low + match.index + match[0].length - value.length;
    if (!isVariableReference(value)) {
      report(makeFinding([from, from + value.length], 'acl', 0.9, null));
    }
  }
}

const ldapHash = new RegExp(
  [
    String.raw`\{(?:s?sha(?:-?\d{3})?|s?md5|(?:\w{1,12}-)?crypt|pbkdf2[\w-]{0,16}|argon2\w{0,2})\}`,
    String.raw`[./\w$=+,-]{20,300}`,
  ].join(''),
  'iuy',
);

/** `{SSHA}…`: the hash of a password, with its scheme. */
function findLdapHash({ text, end }: LineSegment, at: number, report: ReportFinding): void {
  ldapHash.lastIndex = at;
  if (!ldapHash.test(text) || ldapHash.lastIndex > end) return;
  report(makeFinding([at, ldapHash.lastIndex], 'ldap-hash', 0.9, null));
}

const insert = /insert\s+into\s+[\w.`"[\]]{1,80}\s*\(([^()]{1,800})\)\s*values\s*(?=\()/iuy;
const tuplesMax = 64;

/** `INSERT INTO t (name, password) VALUES ('a', 'x'), ('b', 'y')` */
function findInsert({ text, end }: LineSegment, at: number, report: ReportFinding): void {
  insert.lastIndex = at;
  const names = insert.exec(text)?.[1]?.split(',');
  if (names === undefined || insert.lastIndex >= end) return;
  const columns = names.map((name) => name.replaceAll(/[\s`"[\]]/gu, ''));
  const classes = columns.map((name) => classifyName(name));
  if (!classes.some((one) => one === 'password' || one === 'secret')) return;
  let p = insert.lastIndex;
  for (let tuple = 0; tuple < tuplesMax && text.charAt(p) === '('; tuple++) {
    const values = tupleAt(text, p, end);
    for (const [index, [from, to]] of values.spans.entries()) {
      const kind = classes[index];
      if (kind !== 'password' && kind !== 'secret') continue;
      const value = { start: from, end: to, quoted: true, closed: true };
      const score = from < to ? valuePlausibility(text, value, kind, 'data') : 0;
      if (score > 0) report(makeFinding([from, to], 'sql-password', score, columns[index] ?? null));
    }
    p = values.end;
    while (p < end && (isCharacterOf(text, p, BLANK) || text.charAt(p) === ',')) p++;
  }
}

/** The spans of a tuple's values, empty for those without quotes, and the end of the tuple. */
function tupleAt(
  text: string,
  open: number,
  end: number,
): { readonly spans: readonly [number, number][]; readonly end: number } {
  const spans: [number, number][] = [];
  let p = open + 1;
  let span: [number, number] = [0, 0];
  while (p < end && p < open + 8192) {
    const sign = text.charAt(p);
    if (sign === "'" && !isCharacterOf(text, p - 1, ALNUM)) {
      const close = quoteEnd(text, p, end);
      span = [p + 1, close];
      p = close;
    } else if (sign === ',' || sign === ')') {
      spans.push(span);
      span = [0, 0];
      if (sign === ')') return { spans, end: p + 1 };
    }
    p++;
  }
  return { spans, end: p };
}

/** A doubled quote, or one after a backslash, is part of the text. */
function quoteEnd(text: string, open: number, end: number): number {
  let p = open + 1;
  while (p < end) {
    if (text.charAt(p) === '\\') p++;
    else if (text.charAt(p) === "'") {
      if (text.charAt(p + 1) !== "'") return p;
      p++;
    }
    p++;
  }
  return end;
}
