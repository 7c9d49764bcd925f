/** Whether what stands in the place of a value is a piece of a program: a type, a name, a call. */
import { isJoinedWords } from '../recognise/technical-names.ts';
import { wordiness } from './bigram.ts';
import { isProgramPath } from './program-name.ts';
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
/** `/[a-z]+$/i`, `qr/\d/`: a pattern, with a sign that base64 has not. */
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

/** Of a value without quotes that is no line of a configuration. */
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
/** A name or a bracket, and an operator somewhere. */
const sum = new RegExp(
  [
    String.raw`^[([!]{0,3}[$\w]{1,40}(?:\.[$\w]{1,40}){0,6}[)\]]{0,3}(?:[+?]|&&|\|\|)`,
    String.raw`[$\w.)(["'\x60+?:&|]{0,160}[^;{}]?$`,
  ].join(''),
  'u',
);
/** `fe?T:void` */
const choice = /^[$\w.]{1,16}\?[$\w.!]{1,16}:(?:void|null|[$\w.]{0,16})$/u;

/** `0x02`, `-0x7f879679`: a number, not the hundreds of bits of a key. */
export function isHexNumber(value: string): boolean {
  return hexNumber.test(value);
}

/**
 * `LSA_UNICODE_STRING`, `confirm_password:`, `AccessTokenV2`: the name of a type, of a constant or
 * of another variable. People make passwords of words, too: of those only what tells of itself.
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

/** What is compared with a secret: another name, or something that is calculated. */
export function isComparison(value: string, name: NameClass): boolean {
  if (name === 'password' || !/^[\w+/=.-]+$/u.test(value)) return true;
  return isJoinedWords(value);
}

/** `accessToken`, `password-field`, `DB_PASS`: the name of a secret rather than one. */
export function isNameOfSecret(value: string): boolean {
  return (
    /pass(?:w|$|[^a-z])|passphrase|passcode|passwd|pwd|secret|token|credential|cred(?:s|$)/iu.test(
      value,
    ) || /(?:^|[_.-])keys?(?:$|[_.-])|Keys?(?![a-z])/u.test(value)
  );
}

const resource = /^[a-z][a-z\d]{0,30}(?:[-.][a-z\d]{1,30}){1,8}$/u;
/** The name says that a secret is named, whatever the name. */
const referring =
  /(?:existing|pull)_?secrets?$|secrets?_?(?:ref|reference|name|key_?ref|object)$|^secret$/u;
/** What a secret of a cluster holds. */
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
 * `existingSecret: edge-postgresql-auth`: an object of a cluster that holds the secret.
 *
 * @param mapped Behind a colon and a blank, without quotes.
 */
export function isResourceName(value: string, name: string, mapped: boolean): boolean {
  if (value.length > 120 || !resource.test(value)) return false;
  const key = name.replaceAll(/(?<=[a-z])(?=[A-Z])|[-.]/gu, '_').toLowerCase();
  const plain = value.split(/[-.]/u).every((part) => /^(?:[a-z]+\d{0,3}|\d{1,4})$/u.test(part));
  if (!plain) return false;
  if (key !== 'secret' && referring.test(key)) return true;
  return mapped && (referring.test(key) || holding.test(key)) && isJoinedWords(value);
}

/** `ABCDEFGHIJ…`, `0123456789abcdef`: mostly steps from one character to the next. */
export function isSequence(text: string, start: number, end: number): boolean {
  let steps = 0;
  for (let at = start + 1; at < end; at++) {
    const step = text.charCodeAt(at) - text.charCodeAt(at - 1);
    if (step === 1 || step === -1) steps++;
  }
  return steps * 2 > end - start && end - start >= 8;
}
