/**
 * Whether the text after a name is part of a program and no value: a type, a call, another name.
 *
 * Names in programs (`xmlSecKeyDataGetKlass`, `PKCS7PrivateKeyTypes`, `MAX_RETRY_COUNT`) are made
 * of words; in a random token the case changes at every other character.
 */
import { isJoinedWords } from '../recognise/technical-names.ts';
import { wordiness } from './bigram.ts';
import type { NameClass } from './name-class.ts';

const pathOfNames = /^(?:::)?[A-Za-z_$@][\w$-]*(?:(?:\.|::|->|\?\.)#?[A-Za-z_$][\w$-]*)+[!?;]*$/u;
/** Also `Token![;]`, a macro of Rust. */
const call = /^[A-Za-z_$][\w$.:]*!?[([]/u;
/** `Option<Zeroizing<[u8`, `Map<string`. */
const generic = /^(?:[A-Z][\w.:]*|[A-Za-z]\w*(?:\.[$\w]+)+)<[A-Za-z$[({&*]/u;
/** `*const`, `*uint16`, `&str`, `*mut`. */
const pointer = new RegExp(
  [
    String.raw`^[*&]{1,2}(?:const|mut|char|byte|void|str|string|bool|rune|w?char_t|uintptr|`,
    String.raw`u?int(?:8|16|32|64)?(?:_t)?|[iuf](?:8|16|32|64|128|size)|`,
    String.raw`[A-Z][a-z]+(?:[A-Z][a-z]+)*)$`,
  ].join(''),
  'u',
);
/** `1<<8` */
const shift = /^\w+<<\w+$/u;
/** `/[a-z]+$/i`, `qr/\d/`: a pattern, with a character that base64 does not have. */
const pattern = /^(?:\/(?=.*[[({^$|\\]).+\/[dgimsuvxy]{0,6}(?:\.\w.*)?|(?:qr|m|tr|s)[/{|!].+)$/u;
/** `$self->{x}`, `$arg{Domain}`, `$ftp->pwd`, of Perl and PHP. */
const field = /^\$[A-Za-z_][\w:]*(?:->|\{|\[)/u;
/** `:py:data:`, of documentation. */
const role = /^:\w+:/u;
const forms = [pattern, field, role];
const firstOfForms = new Set(Buffer.from('/qmts$:'));
const hexNumber = /^-?0x[\da-f]{1,16}[ul]{0,3}$/iu;
const comparison = /\w(?:===?|!==?|&&|\|\|)[\w(]/u;
/** `SYSTEMD-CREDS(1)`, of a manual. */
const page = /^[\w.:+-]+\(\d[A-Za-z]{0,3}\)$/u;
/** `HTTP` of `HTTPHandler`. */
const acronym = /^[A-Z]{2,6}(?=[A-Z][a-z])/u;
const constant = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/u;
const snake = /^_{0,2}[a-z][a-z\d]*(?:_[a-z\d]+)+$/u;
const identifier = /^[A-Za-z_$][\w$]*$/u;

/** For a value without quotes outside of configurations. */
export function isExpression(value: string): boolean {
  if (/^[([{<]/u.test(value) || generic.test(value) || pointer.test(value)) return true;
  if (comparison.test(value) || page.test(value) || shift.test(value)) return true;
  if (firstOfForms.has(value.charCodeAt(0)) && forms.some((form) => form.test(value))) return true;
  if (isProgramPath(value) || isSum(value)) return true;
  if (pathOfNames.test(value) && wordiness(value, 0, value.length) > 0.2) return true;
  return call.test(value) || /\($|\(\)/u.test(value);
}

/** `s.C0.ESC+i`, `b.ESC+r.key`, `t?r.C0.ESC`: names with dots, joined by operators. */
function isSum(value: string): boolean {
  if (!sum.test(value)) return false;
  if (choice.test(value)) return true;
  const terms = value.replaceAll(/[()[\]{}]/gu, '').split(/[+?:]|&&|\|\|/u);
  if (terms.length < 2 || !terms.some((term) => isProgramPath(term))) return false;
  return terms.every((term) => isProgramPath(term) || /^(?:[\w$]{1,4}|["'`].*)$/u.test(term));
}
/** A name or a bracket, and an operator. */
const sum = new RegExp(
  [
    String.raw`^[([!]{0,3}[$\w]{1,40}(?:\.[$\w]{1,40}){0,6}[)\]]{0,3}(?:[+?]|&&|\|\|)`,
    String.raw`[$\w.)(["'\x60+?:&|]{0,160}[^;{}]?$`,
  ].join(''),
  'u',
);
/** `fe?T:void` */
const choice = /^[$\w.]{1,16}\?[$\w.!]{1,16}:(?:void|null|[$\w.]{0,16})$/u;

/** `0x02`, `-0x7f879679`: a number, too short for a key. */
export function isHexNumber(value: string): boolean {
  return hexNumber.test(value);
}

/**
 * `LSA_UNICODE_STRING`, `confirm_password:`, `AccessTokenV2`: the name of a type, a constant or
 * another variable. People make passwords of words, too, so a password counts as a name only if it
 * names a secret.
 */
export function isIdentifier(value: string, name: NameClass): boolean {
  let end = value.length;
  while (end > 0 && '])};,:?!'.includes(value.charAt(end - 1))) end--;
  const bare = value.slice(0, end);
  if (end > 80 || !identifier.test(bare)) return false;
  if (constant.test(bare)) return isJoinedWords(bare);
  if (name === 'password') return snake.test(bare) && isNameOfSecret(bare) && isJoinedWords(bare);
  return /[A-Z_]/u.test(bare.slice(1)) && isJoinedWords(bare.replace(acronym, ''));
}

/** The other side of a comparison with a secret: another name, or a calculated value. */
export function isComparison(value: string, name: NameClass): boolean {
  if (name === 'password' || !/^[\w+/=.-]+$/u.test(value)) return true;
  return isJoinedWords(value);
}

/** `accessToken`, `password-field`, `DB_PASS`: the name of a secret and not a secret. */
export function isNameOfSecret(value: string): boolean {
  return (
    /pass(?:w|$|[^a-z])|passphrase|passcode|passwd|pwd|secret|token|credential|cred(?:s|$)/iu.test(
      value,
    ) || /(?:^|[_.-])keys?(?:$|[_.-])|Keys?(?![a-z])/u.test(value)
  );
}

const resource = /^[a-z][a-z\d]{0,30}(?:[-.][a-z\d]{1,30}){1,8}$/u;
/** Keys whose value names a secret, whatever the value. */
const referring =
  /(?:existing|pull)_?secrets?$|secrets?_?(?:ref|reference|name|key_?ref|object)$|^secret$/u;
/** Keys whose value can name an object of a cluster that contains secrets. */
const holding = new RegExp(
  [
    '(?:passw(?:or)?d|credentials?|creds?|token|auth|tls|ssl|cert|certificate|image|registry|',
    'docker|user|database|db|config|env|external|sealed|target|source|from)_?secrets?$',
    '|^credentials?$|',
    '^creds$|^auth$|^tls$|^secrets$',
  ].join(''),
  'u',
);

/**
 * `existingSecret: edge-postgresql-auth`: a cluster object that contains the secret.
 *
 * @param mapped whether it follows a colon and a blank, without quotes
 */
export function isResourceName(value: string, name: string, mapped: boolean): boolean {
  if (value.length > 120 || !resource.test(value)) return false;
  const key = name.replaceAll(/(?<=[a-z])(?=[A-Z])|[-.]/gu, '_').toLowerCase();
  const plain = value.split(/[-.]/u).every((part) => /^(?:[a-z]+\d{0,3}|\d{1,4})$/u.test(part));
  if (!plain) return false;
  if (key !== 'secret' && referring.test(key)) return true;
  return mapped && (referring.test(key) || holding.test(key)) && isJoinedWords(value);
}

/** `ABCDEFGHIJ…`, `0123456789abcdef`: mostly consecutive characters. */
export function isSequence(text: string, start: number, end: number): boolean {
  let steps = 0;
  for (let at = start + 1; at < end; at++) {
    const step = text.charCodeAt(at) - text.charCodeAt(at - 1);
    if (step === 1 || step === -1) steps++;
  }
  return steps * 2 > end - start && end - start >= 8;
}

const programNameMax = 80;
const programName = /^[$_]{0,3}[A-Za-z]\w*$/u;
const programPath =
  /^(?:::)?[$_]{0,3}[A-Za-z]\w*(?:(?:\.|::|->|\?\.)#?[$_]{0,3}[A-Za-z]\w*)+[!?;]{0,2}$/u;
const between = /\?\.|\.|::|->/u;
const nameParts = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/gu;
/** `win32api`, `py3k` */
const moduleName = /^[a-z]{2,8}\d{0,2}[a-z]{0,4}$/u;
const vowel = /[aeiouy]/iu;
/** Mean letters of a name between changes of case; random base 62 has about two. */
const lettersMin = 3.2;
/** 999 of 1,000 random tokens in base 62 have a lower mean. */
const drawnBits = -1;
/** Shorter text after `_` is no key. */
const partMin = 10;
/** For one word alone, or for a longer word than most. */
const wordBits = 1;
const wordMax = 14;
/** The same for text in one case, where no change of case separates words. */
const drawnBitsOfOneCase = 0;

/** Whether a text is one name that consists of words. */
export function isProgramName(value: string): boolean {
  if (value.length > programNameMax || !programName.test(value)) return false;
  if (wordiness(value, 0, value.length) <= drawnBits) return false;
  // A key after words with `_`: `acme_prod_…`.
  const last = value.slice(value.lastIndexOf('_') + 1);
  return isWordy(value) && (last.length < partMin || last === value || isWordy(last));
}

function isWordy(value: string): boolean {
  const parts = value.match(nameParts) ?? [];
  const words = parts.filter((part) => !isDigit(part));
  const digits = parts.filter(isDigit);
  const letters = lengthOf(words);
  if (digits.some((part) => part.length > 4) || lengthOf(digits) * 4 > letters) return false;
  if (digits.length > 1 + value.length / 12 || letters < lettersMin * words.length) return false;
  if (words.some((word) => word.length > wordMax && wordiness(word, 0, word.length) <= wordBits)) {
    return false;
  }
  const long = words.filter((word) => word.length > 2);
  const spoken = long.filter((word) => vowel.test(word));
  if (lengthOf(long) * 4 < letters * 3 || spoken.length * 2 < long.length) return false;
  const bits = wordiness(value, 0, value.length);
  if (words.length === 1 && bits <= wordBits) return false;
  return bits > (new Set(words.map(caseOf)).size > 1 ? drawnBits : drawnBitsOfOneCase);
}

/** `OSSL.Kind.AtToken`, `r.C0.ESC`, `self->passwd`: names joined by dots or arrows. */
export function isProgramPath(value: string): boolean {
  if (value.length > 160 || !programPath.test(value)) return false;
  const names = value
    .replace(/[!?;]+$/u, '')
    .split(between)
    .filter((one) => one !== '');
  return names.every(
    (one) => one.length <= 4 || moduleName.test(one) || isTitled(one) || isProgramName(one),
  );
}

const isTitled = (one: string): boolean =>
  /^(?:[A-Z][a-z]+){2,6}$/u.test(one) && wordiness(one, 0, one.length) > 0;

const isDigit = (part: string): boolean => /^\d/u.test(part);

const lengthOf = (parts: readonly string[]): number =>
  parts.reduce((sum, part) => sum + part.length, 0);

function caseOf(word: string): 'upper' | 'lower' | 'title' {
  if (/^[a-z]/u.test(word)) return 'lower';
  return word.length > 1 && /[a-z]$/u.test(word) ? 'title' : 'upper';
}
