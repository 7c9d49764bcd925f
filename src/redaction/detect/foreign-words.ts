/** Passwords and keys behind the words that other languages have for them. */
import { wordiness } from './bigram.ts';
import { BLANK, QUOTE, isCharacterOf, skipCharactersOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import type { NameClass } from './name-class.ts';
import { valuePlausibility } from './plausibility.ts';
import { readValue } from './values.ts';

const passwords = `contraseña CONTRASEÑA palavra-passe hasło HASŁO jelszó lösenord şifre parolă
  salasõna slaptažodis kodeord пароль Пароль ПАРОЛЬ парола Парола лозинка Лозинка
  κωδικός κωδικό Κωδικός συνθηματικό סיסמה סיסמא كلمة_المرور كلمة_السر رمز_عبور گذرواژه
  पासवर्ड পাসওয়ার্ড รหัสผ่าน mật_khẩu Mật_khẩu 密码 密碼 口令 パスワード 暗証番号 비밀번호 패스워드 암호`;
const secrets = `токен Токен секрет Секрет ключ_api 密钥 密鑰 令牌 トークン 秘密鍵 シークレット apiキー
  토큰 시크릿 clé_api clé_secrète llave_secreta chave_secreta`;

/** Each as the bytes that it has in UTF-8, with what it says of its value. */
export const foreignSecretWords: ReadonlyMap<string, NameClass> = new Map([
  ...wordsOf(passwords).map((word) => [word, 'password'] as const),
  ...wordsOf(secrets).map((word) => [word, 'secret'] as const),
]);

function wordsOf(list: string): string[] {
  const words = list.split(/\s+/u).map((word) => word.replaceAll('_', ' '));
  return words.map((word) => lowerAscii(Buffer.from(word, 'utf8').toString('latin1')));
}

/** Only ASCII: the other bytes are halves of characters. */
function lowerAscii(bytes: string): string {
  return bytes.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase());
}

const fullColon = '\u00ef\u00bc\u009a';
/** The rest of the word or of its sentence, then `:`, `=`, or "is" in Chinese and Japanese. */
const link = new RegExp(
  [
    String.raw`(?:[\x80-\xff]|[a-z]{1,6}(?=[ :=]))?[\x80-\xff]{0,24}`,
    String.raw`(?: [\x80-\xffA-Za-z_@.-]{1,40}){0,4}`,
    String.raw`["'\])\x60*]{0,4}(?:[ \t]|\xc2\xa0|\xe3\x80\x80){0,4}`,
    String.raw`(?:[:=]>?|\xef\xbc\x9a|\xe6\x98\xaf[:]?|\xe4\xb8\xba[:]?|\xe3\x81\xaf)`,
    String.raw`(?:[ \t]|\xc2\xa0|\xe3\x80\x80|\xef\xbc\x9a){0,8}`,
  ].join(''),
  'y',
);

/** @param at Behind the word, one of {@link foreignSecretWords}. */
export function findForeignLabel(
  { text, end }: LineSegment,
  { word, at }: { readonly word: string; readonly at: number },
  report: ReportFinding,
): void {
  link.lastIndex = at;
  if (!link.test(text) || link.lastIndex >= end) return;
  const value = readValue(text, link.lastIndex, end, 'field');
  if (value === null) return;
  // What goes on in the other script is the sentence.
  let stop = value.start;
  while (stop < value.end && text.charCodeAt(stop) < 128) stop++;
  if (stop === value.start || saysSo(text.slice(value.start, stop))) return;
  const last =
    skipCharactersOf(text, value.end, end, BLANK) >= end || isCharacterOf(text, value.end, QUOTE);
  const place = value.quoted ? 'data' : last ? 'shell' : 'code';
  const kind = foreignSecretWords.get(word) ?? 'none';
  const score = valuePlausibility(text, { ...value, end: stop }, kind, place);
  const key = Buffer.from(word, 'latin1').toString('utf8');
  if (score > 0) report(makeFinding([value.start, stop], 'key-value', score, key));
}

/** `(oculta)`, `wymagane`: a word of the language rather than a password. */
function saysSo(value: string): boolean {
  if (/^\(.*\)$/u.test(value)) return true;
  return /^[A-Z]?[a-z]+[.!]?$/u.test(value) && wordiness(value, 0, value.length) > -1;
}

/** Where the value begins behind a colon of full width and the blanks around it, or -1. */
export function afterFullWidthColon(text: string, at: number): number {
  return text.startsWith(fullColon, at) ? skipCharactersOf(text, at + 3, text.length, BLANK) : -1;
}
