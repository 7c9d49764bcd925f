/**
 * Passwords in statements and sentences, where no name with an operator reveals them, and after the
 * words that other languages have for passwords and keys.
 */
import { wordiness } from './bigram.ts';
import { BLANK, isCharacterOf, QUOTE, skipCharactersOf } from './characters.ts';
import { makeFinding, type LineSegment, type ReportFinding } from './line-segment.ts';
import type { NameClass } from './name-class.ts';
import { isVariableReference, valuePlausibility } from './plausibility.ts';
import { readValue } from './values.ts';

/**
 * `IDENTIFIED BY 'x'`, `IDENTIFIED WITH plugin BY 'x'`
 *
 * @param at the end of `identified`
 */
export function findSqlPassword(
  { text, start, end }: LineSegment,
  at: number,
  report: ReportFinding,
): void {
  by.lastIndex = at;
  if (!by.test(text) || by.lastIndex >= end) return;
  const value = readValue(text, by.lastIndex, end, 'field');
  // In backticks it is an identifier.
  if (value === null || text.charAt(by.lastIndex) === '`') return;
  // "It is identified by checking …"
  const before = text.slice(Math.max(start, at - 200), at);
  const single = value.quoted && text.charAt(value.start - 1) === "'";
  if (!single && !before.endsWith('IDENTIFIED') && !account.test(before)) return;
  // `IDENTIFIED BY id-PBES2`, of ASN.1.
  const asn1 = before.includes('{') || /^(?:\{|id-[a-z])/u.test(text.slice(value.start, value.end));
  if (!value.quoted && asn1) return;
  if (valuePlausibility(text, value, 'password', 'shell') === 0) return;
  report(makeFinding([value.start, value.end], 'sql-password', 0.95, 'IDENTIFIED BY'));
}
const by = /[ \t]+(?:with[ \t]+\S{1,64}[ \t]+)?(?:by[ \t]+(?:password[ \t]+)?|as[ \t]+(?='))/iuy;

const account =
  /\b(?:create|alter)[ \t]+(?:user|role)\b|\bgrant\b.{1,150}\bto\b|\bset[ \t]+password\b/iu;

/**
 * `echo x | docker login --password-stdin`
 *
 * @param flag the start of the flag
 */
export function findPasswordPipedToFlag(
  { text, start }: LineSegment,
  flag: number,
  report: ReportFinding,
): void {
  const before = text.slice(Math.max(start, flag - 300), flag);
  const match = piped.exec(before);
  const value = match?.[1];
  if (match === null || value === undefined || isVariableReference(value)) return;
  const from = flag - before.length + match.index + match[0].indexOf(value);
  report(makeFinding([from, from + value.length], 'flag', 0.9, 'password-stdin'));
}
const piped = /(?:echo|printf)[ \t]+(?:-n[ \t]+|%s[ \t]+)?["']?([^\s"'|]{4,200})["']?[ \t]*\|/u;

/**
 * `Logged in with x`, `authenticated using x`
 *
 * @param at the end of the verb
 */
export function findLoginSentence(
  { text, end }: LineSegment,
  at: number,
  report: ReportFinding,
): void {
  using.lastIndex = at;
  if (!using.test(text) || using.lastIndex >= end) return;
  const value = readValue(text, using.lastIndex, end, 'field');
  if (value === null || value.end - value.start < 16) return;
  const score = valuePlausibility(text, value, 'secret', 'code');
  if (score > 0) {
    report(makeFinding([value.start, value.end], 'sentence', Math.min(score, 0.85), null));
  }
}
const using = /(?:[ \t]+in)?[ \t]+(?:with|using|via|by)[ \t]+/iuy;

/**
 * `host:5432:database:user:password`
 *
 * @param at the end of `:5432:`
 */
export function findPgpassLine(
  { text, end }: LineSegment,
  at: number,
  report: ReportFinding,
): void {
  pgpass.lastIndex = at;
  if (!pgpass.test(text)) return;
  const start = pgpass.lastIndex;
  let stop = start;
  while (stop < end && !isCharacterOf(text, stop, BLANK)) stop++;
  if (stop - start >= 4 && skipCharactersOf(text, stop, end, BLANK) === end) {
    report(makeFinding([start, stop], 'pgpass', 0.9, null));
  }
}
const pgpass = /[\w*.-]{1,64}:[\w*.-]{1,64}:/uy;

/**
 * Twelve to twenty-four short words in a row: a recovery phrase.
 *
 * @param at the end of its name
 */
export function findRecoveryPhrase(
  { text, end }: LineSegment,
  at: number,
  report: ReportFinding,
): boolean {
  let p = at;
  while (p < end && '"\': =\t-'.includes(text.charAt(p))) p++;
  const start = p;
  let words = 0;
  let stop = p;
  while (p < end && words < 25) {
    const next = lowerEnd(text, p, end);
    if (next - p < 3 || next - p > 8) break;
    words++;
    stop = next;
    p = skipCharactersOf(text, next, end, BLANK);
    if (p === next) break;
  }
  if (words < 12 || words > 24) return false;
  report(makeFinding([start, stop], 'recovery-phrase', 0.95, null));
  return true;
}

const groups = new RegExp(
  [
    String.raw`[ \t]{0,3}(?:is|are)?[ \t]{0,3}[:=]?[ \t"']{0,4}`,
    String.raw`((?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}|(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4})`,
    String.raw`(?![\w-])`,
  ].join(''),
  'y',
);

/**
 * `secret key is: 4fp3 ufqi i3l2 uaq6`: base32 in groups.
 *
 * @param at the end of the name
 */
export function findBase32Groups(
  { text, end }: LineSegment,
  at: number,
  report: ReportFinding,
): void {
  groups.lastIndex = at;
  const value = groups.exec(text)?.[1];
  const stop = groups.lastIndex;
  if (value === undefined || stop > end) return;
  const digits = value.replaceAll(/\D/gu, '').length;
  if (digits < 2 || digits * 2 > value.length) return;
  report(makeFinding([stop - value.length, stop], 'base32-groups', 0.9, null));
}

function lowerEnd(text: string, at: number, end: number): number {
  let p = at;
  while (p < end && text.charCodeAt(p) >= 97 && text.charCodeAt(p) <= 122) p++;
  return p;
}

const passwordWords = `contraseña CONTRASEÑA palavra-passe hasło HASŁO jelszó lösenord şifre parolă
  salasõna slaptažodis kodeord пароль Пароль ПАРОЛЬ парола Парола лозинка Лозинка
  κωδικός κωδικό Κωδικός συνθηματικό סיסמה סיסמא كلمة_المرور كلمة_السر رمز_عبور گذرواژه
  पासवर्ड পাসওয়ার্ড รหัสผ่าน mật_khẩu Mật_khẩu 密码 密碼 口令 パスワード 暗証番号 비밀번호 패스워드 암호`;
const secretWords = `токен Токен секрет Секрет ключ_api 密钥 密鑰 令牌 トークン 秘密鍵 シークレット apiキー
  토큰 시크릿 clé_api clé_secrète llave_secreta chave_secreta`;

/** Each word as its UTF-8 bytes, with the class of its value. */
export const foreignSecretWords: ReadonlyMap<string, NameClass> = new Map([
  ...wordsOf(passwordWords).map((word) => [word, 'password'] as const),
  ...wordsOf(secretWords).map((word) => [word, 'secret'] as const),
]);

function wordsOf(list: string): string[] {
  const words = list.split(/\s+/u).map((word) => word.replaceAll('_', ' '));
  return words.map((word) => lowerAscii(Buffer.from(word, 'utf8').toString('latin1')));
}

/** Only ASCII: other bytes are parts of characters. */
function lowerAscii(bytes: string): string {
  return bytes.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase());
}

const fullColon = '\u00ef\u00bc\u009a';
/** The rest of the word or the sentence, then `:`, `=`, or "is" in Chinese and Japanese. */
const labelLink = new RegExp(
  [
    String.raw`(?:[\x80-\xff]|[a-z]{1,6}(?=[ :=]))?[\x80-\xff]{0,24}`,
    String.raw`(?: [\x80-\xffA-Za-z_@.-]{1,40}){0,4}`,
    String.raw`["'\])\x60*]{0,4}(?:[ \t]|\xc2\xa0|\xe3\x80\x80){0,4}`,
    String.raw`(?:[:=]>?|\xef\xbc\x9a|\xe6\x98\xaf[:]?|\xe4\xb8\xba[:]?|\xe3\x81\xaf)`,
    String.raw`(?:[ \t]|\xc2\xa0|\xe3\x80\x80|\xef\xbc\x9a){0,8}`,
  ].join(''),
  'y',
);

/** @param at the end of the word, one of {@link foreignSecretWords} */
export function findForeignLabel(
  { text, end }: LineSegment,
  { word, at }: { readonly word: string; readonly at: number },
  report: ReportFinding,
): void {
  labelLink.lastIndex = at;
  if (!labelLink.test(text) || labelLink.lastIndex >= end) return;
  const value = readValue(text, labelLink.lastIndex, end, 'field');
  if (value === null) return;
  // Text that continues in the other script belongs to the sentence.
  let stop = value.start;
  while (stop < value.end && text.charCodeAt(stop) < 128) stop++;
  if (stop === value.start || isPlainWord(text.slice(value.start, stop))) return;
  const last =
    skipCharactersOf(text, value.end, end, BLANK) >= end || isCharacterOf(text, value.end, QUOTE);
  const context = value.quoted ? 'data' : last ? 'shell' : 'code';
  const kind = foreignSecretWords.get(word) ?? 'none';
  const score = valuePlausibility(text, { ...value, end: stop }, kind, context);
  const key = Buffer.from(word, 'latin1').toString('utf8');
  if (score > 0) report(makeFinding([value.start, stop], 'key-value', score, key));
}

/** `(oculta)`, `wymagane`: a word of the language, and no password. */
function isPlainWord(value: string): boolean {
  if (/^\(.*\)$/u.test(value)) return true;
  return /^[A-Z]?[a-z]+[.!]?$/u.test(value) && wordiness(value, 0, value.length) > -1;
}

/** The start of the value after a full-width colon and blanks, or -1. */
export function afterFullWidthColon(text: string, at: number): number {
  return text.startsWith(fullColon, at) ? skipCharactersOf(text, at + 3, text.length, BLANK) : -1;
}
