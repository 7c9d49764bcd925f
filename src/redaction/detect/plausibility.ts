/**
 * Whether the text next to a telling name is a value at all, and not a reference, a placeholder, a
 * type, a path, a number or part of a program.
 */
import {
  ALNUM,
  DIGIT,
  JOINER,
  LETTER,
  LOWER,
  QUOTE,
  UPPER,
  characterClasses,
  isCharacterOf,
} from './characters.ts';
import {
  isExpression,
  isHexNumber,
  isIdentifier,
  isNameOfSecret,
  isProgramName,
  isSequence,
} from './expression.ts';
import type { NameClass } from './name-class.ts';
import type { ValueSpan } from './values.ts';
import { isUuid } from '../recognise/encoded.ts';
import { wordiness } from './bigram.ts';

/**
 * Where a value is. `shell`: a line of `env`, a `.env` file or a configuration; `data`: a string in
 * quotes; `code`: elsewhere after an operator; `prose`: only after blanks.
 */
export type ValueContext = 'shell' | 'data' | 'code' | 'prose';

/** Mean bits from which a text looks like words. */
const wordy = 0.6;

const words = new Set(
  `true false null none nil undefined yes no on off string str text int integer long number
  float double bool boolean object array list dict any void unknown never bytes byte char
  required optional requisite sufficient include files compat systemd changeme change_me
  changeit change-me placeholder example sample dummy fake secret password passwd pass token key
  apikey default empty unset set not hidden masked redacted filtered encrypted protected secure
  invalid missing expired failed passed success incorrect wrong correct accepted denied must may
  should
  can is was are be been will has have for from with and the this that your my our an to in of
  or if as at by use using used new old prompt login auth bearer basic digest xxx abc foo bar
  baz test todo tbd n/a na self this const let var function return import export static final
  private public type interface class struct optional[str] string? str? ask interactive stdin
  option options flag flags argument arguments parameter command env file vault obligatoire
  requis oublie incorrecte obligatorio requerida
  incorrecta oculta obbligatorio richiesta errata erforderlich falsch verborgen verplicht onjuist
  ok error warn info debug value values name user username admin root host`
    .split(/\s+/u)
    .filter((word) => word !== ''),
);

const identifier = /^[A-Za-z_$][\w$]*$/u;
const reference = new RegExp(
  [
    String.raw`^(?:\$[A-Za-z_][\w.:-]*$|\$\{|\$\(|%\(|%[A-Za-z_]\w*%$|`,
    String.raw`%[A-Z][A-Z\d]+(?:_[A-Z\d]+)+[.,;]?$|\{\{|\{%|#\{|<%|`,
    String.raw`<[A-Za-z][\w .:/-]*>?$|\$ENV\b|ENV\[|env\.|process\.env|os\.|System\.|config\.|`,
    String.raw`var\.|local\.|data\.|module\.|secrets?\.|!Ref|!Sub|!GetAtt|vault:|op:\/\/|ssm:|`,
    String.raw`arn:|file:|env:|secretKeyRef|valueFrom|github\.|steps\.|inputs\.|params\.)`,
  ].join(''),
  'iu',
);
const placeholder = new RegExp(
  [
    String.raw`^(?:[x*.#_?-]{3,}|x{3,}[\w-]*|your[\w .-]*|`,
    String.raw`(?:enter|insert|replace|put|add|paste)[_ -].*|`,
    String.raw`change[_-]?(?:me|it)\S*|redacted|(?:my|the|some)[_-]?(?:api)?[_-]?(?:secret|token|`,
    String.raw`password|key)\S{0,4})$`,
  ].join(''),
  'iu',
);
/** A placeholder in brackets. */
const bracketed = /^[<[{(].{0,80}[>\]})]$/u;
const belonging =
  /token|key|secret|password|hidden|redacted|filtered|masked|sensitive|removed|value/iu;
const elided = /\*{4}|x{6}|\.{3}$/iu;
const digest = /^(?:sha(?:1|256|384|512)|md5)[-:=]/iu;
const date = /^\d{4}-\d\d-\d\d(?:[T ]|$)/u;
/** In a regular expression, or the `\&` of a manual's source. */
const expression = /\\&|\(\?[:=!<]|\[\^|\\[SsdDwWbB](?:[*+)]|$)/u;
const version = /^[\^~<>=v]*\d+(?:\.\d+){1,12}(?:[-+~][\w.+~-]{0,24})?$/u;
const fileName = new RegExp(
  [
    String.raw`^[\w./~-]+\.(?:pem|key|crt|cer|json|ya?ml|txt|env|ini|conf|toml|xml|py|js|ts|go|`,
    String.raw`rb|rs|java|md|sh|html?|log|db|p12|jks|so|c|h|cpp|gpg|pub)$`,
  ].join(''),
  'iu',
);

/** A bit for each group of signs: most values have few of the signs that patterns need. */
const signBits = new Int32Array(256);
for (const [bit, group] of ['([{<', '\\', '*xX', '.', '/', ':>', '=&|', '?', '^'].entries()) {
  for (const sign of group) signBits[sign.charCodeAt(0)] = 1 << bit;
}
const OPENER = 1;
const SLASH_BACK = 2;
const FILLER = 4;
const DOT = 8;
const SLASH = 16;
const COLON = 32;
const OPERATOR = 64;
const QUESTION = 128;
const CARET = 256;

/** The groups of signs in a value, as bits. */
function signsOf(value: string): number {
  let bits = 0;
  for (let at = 0; at < value.length; at++) bits |= signBits[value.charCodeAt(at)] ?? 0;
  return bits;
}

const wordMax = Math.max(...[...words].map((word) => word.length));

/** Shorter text is never a secret. */
export function secretLengthMin(name: NameClass): number {
  return name === 'password' ? 4 : 8;
}

/** Confidence; 0: it is no value. */
export function valuePlausibility(
  text: string,
  value: ValueSpan,
  name: NameClass,
  context: ValueContext,
): number {
  const length = value.end - value.start;
  if (length < secretLengthMin(name)) return 0;
  const shown = text.slice(value.start, Math.min(value.end, value.start + 200));
  const signs = signsOf(shown);
  if (refers(shown, signs) || holdsPlace(shown, signs)) return 0;
  if (shown.length <= wordMax && words.has(shown.toLowerCase())) return 0;
  if (digest.test(shown) || date.test(shown)) return 0;
  if (value.quoted && isTemplate(shown, text.charAt(value.start - 1), name)) return 0;
  if (!value.quoted && context !== 'shell' && isCode(shown, signs, name)) return 0;
  if (!value.quoted && isHexNumber(shown)) return 0;
  const shellWord = context === 'shell' && name === 'password' && !shown.startsWith('/');
  if (!shellWord && isPath(shown, signs)) return 0;
  if (version.test(shown)) return 0;
  return name === 'password'
    ? passwordLike(shown, value, context)
    : keyLike(shown, value, name, context);
}

const filled = /^(?:%[-.\d]{0,4}[sdrxv]|%\(\w+\)s|[^A-Za-z\d%])+$/u;

/** `%s:%s`, and in backticks `$throttle$${key}`: a template with words between its variables. */
function isTemplate(value: string, quote: string, name: NameClass): boolean {
  if (value.includes('%') && filled.test(value)) return true;
  if (quote !== '`' || !value.includes('${')) return false;
  const fixed = value.replaceAll(/\$\{[^{}]*\}/gu, '').split(/[^A-Za-z\d]+/u);
  if (name === 'password') return fixed.every((part) => part === '');
  return fixed.every((part) => part.length < 4 || isProgramName(part));
}

export function isVariableReference(value: string): boolean {
  return refers(value, signsOf(value));
}

function refers(value: string, signs: number): boolean {
  if ((signs & (SLASH_BACK | QUESTION | CARET)) !== 0 && expression.test(value)) return true;
  if (!reference.test(value)) return false;
  // `$aact_prod_sJXQMwvM…` is a key that begins with a dollar sign.
  return !/^\$[\w-]{24,}$/u.test(value) || wordiness(value, 0, value.length) > 0;
}

/** `****`, `xxxxxxxx`, `<your-token>`, `changeme`, `[HIDDEN:8f2a1b]`. */
export function isPlaceholderValue(value: string): boolean {
  return holdsPlace(value, signsOf(value));
}

function holdsPlace(value: string, signs: number): boolean {
  if (placeholder.test(value)) return true;
  if ((signs & (FILLER | DOT)) !== 0 && elided.test(value)) return true;
  if (bracketed.test(value) && belonging.test(value)) return true;
  const first = value.charCodeAt(0);
  for (let at = 1; at < value.length; at++) {
    if (value.charCodeAt(at) !== first && !':-_. '.includes(value.charAt(at))) return false;
  }
  return true;
}

function isCode(value: string, signs: number, name: NameClass): boolean {
  const bare = (signs & (OPENER | OPERATOR | DOT | COLON | FILLER)) === 0;
  return (!bare && isExpression(value)) || isIdentifier(value, name);
}

function isPath(value: string, signs: number): boolean {
  if ((signs & (SLASH | SLASH_BACK | DOT)) === 0) return false;
  if (/^(?:~?\/|\.{1,2}\/|[A-Za-z]:\\)/u.test(value)) {
    return wordiness(value, 0, value.length) > 0 || value.split('/').length > 4;
  }
  if ((signs & DOT) !== 0 && fileName.test(value)) return true;
  if ((signs & SLASH) === 0) return false;
  if (/^[a-z][a-z0-9+.-]*:\/\//iu.test(value)) return true;
  return !/[+=]/u.test(value) && wordiness(value, 0, value.length) > wordy;
}

function passwordLike(value: string, { quoted }: ValueSpan, context: ValueContext): number {
  const traits = traitsOf(value);
  if (traits.letters === 0 && traits.signs === 0) return value.length >= 6 ? 0.8 : 0;
  if (traits.blanks > 0) return quoted && traits.blanks < 3 && traits.digits > 0 ? 0.8 : 0;
  if (traits.digits > 0 || traits.signs > 1) {
    // `password_v2`, `user.password1`, `--password-stdin`.
    return context === 'prose' && isNameOfSecret(value) ? 0 : 0.95;
  }
  // Only letters, perhaps with one sign: a word, the name of a variable or a password.
  if (value.length < 6 || isNameOfSecret(value)) return 0;
  if (context === 'shell') return 0.9;
  if (context === 'data') return traits.signs > 0 || value.length >= 6 ? 0.85 : 0;
  if (context === 'prose') return traits.turns > 1 ? 0.75 : 0;
  return 0;
}

function keyLike(
  value: string,
  { quoted }: ValueSpan,
  name: NameClass,
  context: ValueContext,
): number {
  const traits = traitsOf(value);
  const length = value.length;
  // Words in a script other than Latin, in UTF-8.
  if (isForeign(value)) return 0;
  if (traits.letters === 0) {
    if (traits.signs > 2 && length >= 16) return 0.85;
    return name === 'secret' && length >= 16 && traits.signs < 2 ? 0.8 : 0;
  }
  if (traits.blanks > 0 || isSequence(value, 0, length)) return 0;
  if (name === 'likely' && isNumbered(value, context)) return 0;
  if (name === 'likely' && (length < 12 || (isUuid(value) && context !== 'shell'))) return 0;
  if (context === 'prose' && (length < 12 || traits.digits === 0)) return 0;
  const bits = wordiness(value, 0, length);
  if (traits.digits === 0 && traits.odd < 3) {
    if (traits.turns > 0 && isProgramName(value)) return 0;
    if (identifier.test(value) && length < 16 && !quoted && context !== 'shell') return 0;
    return bits < (length >= 16 ? 0.2 : -0.4) ? 0.85 : chosenWord(value, name, context);
  }
  if (context !== 'shell' && !quoted && isProgramName(value)) return 0;
  if (bits < wordy || traits.digits * 3 >= length) return name === 'secret' ? 0.95 : 0.9;
  if (context === 'prose' || context === 'code') return 0;
  return longestWord(value) * 2 < length ? 0.85 : chosenWord(value, name, context);
}

function isForeign(value: string): boolean {
  let high = 0;
  for (let at = 0; at < value.length; at++) if (value.charCodeAt(at) > 127) high++;
  return high * 2 > value.length;
}

/** `PAYMENTS-PLAN-138`, or the id of an OpenPGP key. */
function isNumbered(value: string, context: ValueContext): boolean {
  if (/^[A-Z][A-Z\d]*(?:-[A-Z][A-Z\d]*){0,4}-\d{1,6}$/u.test(value)) return true;
  return context !== 'shell' && /^[\da-f]{16}$/iu.test(value);
}

/** `SESSION_SECRET=keyboard-cat`: people choose these too. */
function chosenWord(value: string, name: NameClass, context: ValueContext): number {
  if (/^[A-Za-z]*$/u.test(value)) return 0;
  return name === 'secret' && context === 'shell' && value.length >= 10 && !isNameOfSecret(value)
    ? 0.75
    : 0;
}

interface Traits {
  readonly letters: number;
  readonly digits: number;
  readonly signs: number;
  /** Of the signs, those that do not occur in names. */
  readonly odd: number;
  readonly blanks: number;
  /** Capitals after lower-case letters. */
  readonly turns: number;
}

function traitsOf(value: string): Traits {
  let [letters, digits, signs, odd, blanks, turns] = [0, 0, 0, 0, 0, 0];
  let before = LOWER;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    const bits = characterClasses[code] ?? 0;
    if ((bits & LETTER) !== 0) {
      letters++;
      if ((bits & UPPER) !== 0 && (before & LOWER) !== 0) turns++;
    } else if ((bits & DIGIT) !== 0) digits++;
    else if (code <= 32) blanks++;
    else if ((bits & QUOTE) === 0) {
      signs++;
      if ((bits & JOINER) === 0) odd++;
    }
    before = bits;
  }
  return { letters, digits, signs, odd, blanks, turns };
}

function longestWord(value: string): number {
  let longest = 0;
  let from = 0;
  for (let at = 0; at <= value.length; at++) {
    if (at < value.length && isCharacterOf(value, at, LETTER)) continue;
    longest = Math.max(longest, at - from);
    from = at + 1;
  }
  return longest;
}

/** Whether a text has letters and digits, as most keys do. */
export function mixesLettersAndDigits(text: string, start: number, end: number): boolean {
  let seen = 0;
  for (let at = start; at < end; at++) {
    if (isCharacterOf(text, at, DIGIT)) seen |= 1;
    else if (isCharacterOf(text, at, ALNUM)) seen |= 2;
  }
  return seen === 3;
}
