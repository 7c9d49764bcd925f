/**
 * Secrets with a name beside them, in the syntax of many formats:
 *
 *     KEY=v   export KEY="v"   key: v   "key": "v"   \"key\":\"v\"   'key' => 'v'   + key = "v"
 *     <key>v</key>   <add key="key" value="v"/>   {"name":"KEY","value":"v"}   set("key", "v")
 *     --key v   | key | v |   key    v   password is v   password for bob: v   PASSWORD 'v'
 */
import { findAssignedValue } from './assigned-values.ts';
import { wordiness } from './bigram.ts';
import {
  ALNUM,
  BLANK,
  LETTER,
  NAME,
  QUOTE,
  isCharacterOf,
  skipCharactersOf,
} from './characters.ts';
import type { ReportFinding, LineSegment } from './line-segment.ts';
import {
  hasMixedCharacters,
  judgeNamedValue,
  judgeFoundValue,
  isAtLineStart,
  readToQuoteEnd,
  type NameInText,
  type NameOutcome,
} from './judge-value.ts';
import { afterFullWidthColon } from './statements.ts';
import { classifyName } from './name-class.ts';
import { mixesLettersAndDigits } from './plausibility.ts';
import { isProgramName, isProgramPath } from './expression.ts';
import { readValue, type ValueSpan } from './values.ts';

const nameMax = 80;
/** `<`, `<ns:`, and `<entry key="`. */
const tagged = /^<(?:[\w-]{1,40}:|[\w:-]{1,40}\s[^<>[\]]{0,100}=["'][\w.:-]{0,80})?$/u;
/** Verbs, commands and variables, which are no labels in prose. */
const notInProse = /^(?:pass|pwd|k?passwd|authori[sz]ation)$/iu;
const assignment = /^[A-Za-z_][\w.-]*=/u;
const numbered = / #?\d{1,2}(?=[:=])/uy;
/** `<Pass encoding="base64">` */
const attributes = /(?:[ \t][\w:-]{1,40}="[^"<>]{0,60}"){1,4}(?=>)/uy;
/** `<AdministratorPassword><Value>` */
const inner = /<(?:value|plaintext|string|text)>[ \t]*/iuy;
const copula = /(?:is|was|are|to|set to|now|reads|equals|->|→)[ \t]*:?[ \t]+/iuy;
/** `for user bob changed to`, `is generated for root@localhost:` */
const event = new RegExp(
  [
    String.raw`(?:(?:for|of)[ \t][^\s:=]{1,40}(?:[ \t][^\s:=]{1,40}){0,3}[ \t]`,
    String.raw`(?:changed|set|reset|updated|rotated)[ \t](?:to|as)[ \t]*:?[ \t]*|`,
    String.raw`(?:is|was|has been)[ \t](?:now[ \t])?`,
    String.raw`(?:generated|created|set|assigned|issued|changed|reset)[ \t]`,
    String.raw`(?:(?:for|to|by|on)[ \t][^\s:=]{1,64}(?:[ \t][^\s:=]{1,40}){0,3}`,
    String.raw`[ \t]*:[ \t]+|to[ \t]*:?[ \t]+))`,
  ].join(''),
  'iuy',
);
const owner =
  /(?:for|of|to|in|on|as)[ \t][^\s:=]{1,40}(?:[ \t][^\s:=]{1,24}){0,3}[ \t]*(?::|[ \t]is)[ \t]+/iuy;
const valueLabel = /[\s,"'\\}{]{1,12}(?:value|val|content|default)[\s"'\\]{0,6}[:=][ \t]{0,8}/iuy;

/** The name that contains a keyword. */
export function readNameAround({ text, start, end }: LineSegment, at: number): NameInText {
  let from = at - 1;
  const low = Math.max(start, at - nameMax);
  while (from > low && isCharacterOf(text, from - 1, NAME)) from--;
  let to = skipCharactersOf(text, at, Math.min(end, at + nameMax), NAME);
  const dashes = from;
  while (from < to && !isCharacterOf(text, from, ALNUM)) from++;
  while (to > from && !isCharacterOf(text, to - 1, ALNUM)) to--;
  const name = text.slice(from, to);
  const words = spaced(text, start, from, name);
  if (words !== null) return { start: from, end: to, text: words, class: 'secret', flag: false };
  const flag =
    from > dashes && text.charAt(dashes) === '-' && !isCharacterOf(text, dashes - 1, ALNUM);
  return { start: from, end: to, text: name, class: classifyName(name), flag };
}

/** `API key`, `Authentication key`: the word before belongs to the name. */
function spaced(text: string, low: number, at: number, name: string): string | null {
  if (name.length > 4 || text.charAt(at - 1) !== ' ' || !isCharacterOf(text, at - 2, LETTER)) {
    return null;
  }
  if (!/^keys?$/iu.test(name)) return null;
  let from = at - 1;
  while (from > low && from > at - 24 && isCharacterOf(text, from - 1, LETTER)) from--;
  const words = `${text.slice(from, at - 1)}_${name}`;
  // `using RSA key 3EA2CAEC…`: the fingerprint of a key pair.
  const paired = /^(?:rsa|ssh|signing|sign|master)_/iu.test(words);
  if (paired && isFingerprint(text, at)) return null;
  return classifyName(words) === 'secret' ? words : null;
}

/** After `key` and a blank: the id or the fingerprint of a key. */
function isFingerprint(text: string, at: number): boolean {
  fingerprint.lastIndex = at;
  return fingerprint.test(text);
}
const fingerprint =
  /keys?:?[ \t]+(?:id[ \t:]+)?(?:0x)?(?:[\dA-F]{8}){1,2}(?:[\dA-F]{24})?(?![\w+/=-])/uy;

export function findNamedSecret(
  segment: LineSegment,
  name: NameInText,
  report: ReportFinding,
): NameOutcome {
  if (name.class === 'none' || name.class === 'mild') {
    return name.class === 'mild' && isParameter(segment, name)
      ? findAssignedValue(segment, { ...name, class: 'likely' }, name.end, report)
      : 'none';
  }
  const { text, end } = segment;
  let p = name.end;
  while (
    p < end &&
    p < name.end + 6 &&
    (isCharacterOf(text, p, QUOTE) || '\\]'.includes(text.charAt(p)))
  ) {
    p++;
  }
  const closed = p > name.end;
  // `Unseal Key 1: …`
  numbered.lastIndex = p;
  if (!closed && numbered.test(text) && numbered.lastIndex < end) p = numbered.lastIndex;
  const after = skipCharactersOf(text, p, end, BLANK);
  if (after >= end) return 'label';
  const sign = text.charAt(after);
  if (sign === ':' && name.text === 'PASS' && isResult(segment, after)) return 'none';
  if (sign === '=' || sign === ':') return findAssignedValue(segment, name, after, report);
  const wide = afterFullWidthColon(text, after);
  if (wide >= 0) {
    return judgeNamedValue(segment, name, { at: wide, context: 'code', rule: 'key-value' }, report);
  }
  const differs = sign === '!' && text.charAt(after + 1) === '=';
  if (differs) return findAssignedValue(segment, name, after + 1, report);
  if (sign === '|' || text.startsWith('\u00e2\u0094\u0082', after)) {
    return cell(segment, name, after, report);
  }
  if (sign === '>' || sign === '<') return element(segment, name, after, report);
  if (text.charAt(name.start - 1) === '<') {
    attributes.lastIndex = name.end;
    if (attributes.test(text)) return element(segment, name, attributes.lastIndex, report);
  }
  const constant = sign === ',' && !/[a-z]/u.test(name.text);
  if (closed || constant) {
    valueLabel.lastIndex = p;
    const label = valueLabel.exec(text);
    if (label !== null && valueLabel.lastIndex < end) {
      const target = { at: valueLabel.lastIndex, context: 'data', rule: 'name-value' } as const;
      return judgeNamedValue(segment, name, target, report);
    }
    if (sign === ',') return argument(segment, name, after, report);
  }
  // The head of a table with commas.
  if (sign === ',') return 'label';
  return after > p ? prose(segment, name, after, report) : 'none';
}

/** In a URL or a form: `?key=`, `&sig=`. */
function isParameter({ text, start }: LineSegment, { start: at, end }: NameInText): boolean {
  return at > start && '?&'.includes(text.charAt(at - 1)) && text.charAt(end) === '=';
}

/** `<key>v</key>`, `<key attr="…">v</key>`, and `<entry key="key">v</entry>`. */
function element(
  segment: LineSegment,
  name: NameInText,
  after: number,
  report: ReportFinding,
): NameOutcome {
  const { text, start, end } = segment;
  if (text.charAt(after) !== '>') return 'none';
  const low = Math.max(start, name.start - 120);
  const open = text.lastIndexOf('<', name.start);
  if (open < low || !tagged.test(text.slice(open, name.start))) return 'none';
  const close = text.indexOf('<', after + 1);
  // `Ref<AsmToken> buf(tok)`, `(?<password>[\w]+)`, `<user>:<password>@host`
  const joined =
    open > start && (isCharacterOf(text, open - 1, NAME) || ':?'.includes(text.charAt(open - 1)));
  if (joined && (close < 0 || close > end || text.charAt(close + 1) !== '/')) return 'none';
  const stop = close < 0 || close > end ? end : close;
  let from = skipCharactersOf(text, after + 1, stop, BLANK);
  let to = stop;
  inner.lastIndex = from;
  if (inner.test(text) && inner.lastIndex < end) {
    from = inner.lastIndex;
    to = text.indexOf('<', from);
    if (to < 0 || to > end) to = end;
  }
  if (text.startsWith('<![CDATA[', from)) {
    from += 9;
    to = Math.max(from, text.indexOf(']]>', from));
  }
  while (to > from && isCharacterOf(text, to - 1, BLANK)) to--;
  if (from >= to) return 'none';
  const value: ValueSpan = { start: from, end: to, quoted: true, closed: close >= 0 };
  return judgeFoundValue(segment, name, { value, context: 'data', rule: 'xml-element' }, report);
}

/** The next cell in a row between bars. */
function cell(
  segment: LineSegment,
  name: NameInText,
  bar: number,
  report: ReportFinding,
): NameOutcome {
  const { text, end } = segment;
  const behind = bar + (text.charAt(bar) === '|' ? 1 : 3);
  const at = skipCharactersOf(text, behind, end, BLANK);
  if (at === behind) return 'label';
  const value = readValue(text, at, end, 'assignment');
  if (value === null || value.quoted) return 'label';
  const after = skipCharactersOf(text, value.end, end, BLANK);
  const last = after >= end || text.charAt(after) === '|' || text.startsWith('\u00e2', after);
  if (!last || isAlternative(segment, name, value)) return 'label';
  return foundOrLabel(segment, name, { value, context: 'shell', rule: 'table' }, report);
}

/** `encodePath | encodePassword | encodeZone`: alternatives with a common prefix. */
function isAlternative(
  { text }: LineSegment,
  name: NameInText,
  { start, end }: ValueSpan,
): boolean {
  const head = /^(?:[a-z]+(?=[A-Z])|[A-Z]+_)/u.exec(name.text)?.[0];
  const value = text.slice(start, end).replace(/[)\]};,]+$/u, '');
  if (head !== undefined && text.startsWith(head, start) && /^\w*$/u.test(value)) return true;
  // `GoogleAuth | OAuth2Client`: types. People make passwords of words, too.
  if (isProgramPath(value) || /^\$?[A-Z][\w.]*</u.test(value)) return true;
  const isType = /^\$?[A-Z]\w*[a-z][A-Z]|^[A-Z]+_[A-Z]/u.test(name.text);
  return name.class !== 'password' && isType && isProgramName(value);
}

/** `("key", "v")`, `['--key', 'v1']`: only strings in quotes count. */
function argument(
  segment: LineSegment,
  name: NameInText,
  comma: number,
  report: ReportFinding,
): NameOutcome {
  const at = skipCharactersOf(segment.text, comma + 1, segment.end, BLANK);
  const value = readValue(segment.text, at, segment.end, 'field');
  if (value === null || !value.quoted) return 'none';
  // A list of words is no call.
  const called =
    isCharacterOf(segment.text, name.start - 1, QUOTE) &&
    segment.text.charAt(name.start - 2) === '(';
  const words = wordiness(segment.text, value.start, value.end) > 0.3;
  if (!called && (words || !hasMixedCharacters(segment.text, value))) return 'none';
  return judgeFoundValue(segment, name, { value, context: 'data', rule: 'argument' }, report);
}

/** @param after the first character after the name and blanks */
function prose(
  segment: LineSegment,
  name: NameInText,
  after: number,
  report: ReportFinding,
): NameOutcome {
  const { text, end } = segment;
  if (name.flag && text.charAt(after) === '-') return 'none';
  if (name.flag) {
    if (isHelp(segment, name, after)) return 'none';
    return judgeNamedValue(segment, name, { at: after, context: 'shell', rule: 'flag' }, report);
  }
  if (isProper(name.text) || declaresPointer.test(text.slice(after, after + 80))) return 'none';
  if (isMacro(segment, name, after)) return 'none';
  if (declares(segment, name)) {
    const target = { at: after, context: 'shell', rule: 'key-value' } as const;
    return judgeNamedValue(segment, name, target, report);
  }
  // `component=auth`, or a verb.
  if (name.class === 'likely' || notInProse.test(name.text)) return 'none';
  if (isCharacterOf(text, after, QUOTE)) {
    return text.charAt(after) !== '`'
      ? judgeNamedValue(segment, name, { at: after, context: 'data', rule: 'quoted' }, report)
      : 'label';
  }
  for (const link of [event, copula, owner]) {
    link.lastIndex = after;
    if (link.test(text) && link.lastIndex < end) {
      return sentence(segment, name, link.lastIndex, report);
    }
  }
  return followingValue(segment, name, after, report);
}

/** A value that only blanks connect with its name. */
function followingValue(
  segment: LineSegment,
  name: NameInText,
  after: number,
  report: ReportFinding,
): NameOutcome {
  const { text, end } = segment;
  const value = readValue(text, after, end, 'field');
  if (text.startsWith('--', after) && isCharacterOf(text, after + 2, LETTER)) return 'label';
  if (value === null || assignment.test(text.slice(value.start, value.start + 40))) return 'label';
  if ('([{<'.includes(text.charAt(value.start))) return 'label';
  const gap = after - name.end;
  const isPair =
    skipCharactersOf(text, value.end, end, BLANK) >= end &&
    isAtLineStart(segment, name) &&
    (gap > 1 ||
      text.charAt(name.end) === '\t' ||
      (name.class === 'password' && hasMixedCharacters(text, value)));
  if (isPair) {
    const target = { value, context: gap > 1 ? 'code' : 'prose', rule: 'pair' } as const;
    const outcome = judgeFoundValue(segment, name, target, report);
    return outcome === 'found' ? 'found' : pairOfWords(segment, name, value, report);
  }
  if (name.text.toLowerCase() === 'bearer') {
    const whole = readToQuoteEnd(segment, after, text.charAt(name.start - 1)) ?? value;
    const target = { value: whole, context: 'code', rule: 'authorization' } as const;
    return judgeFoundValue(segment, name, target, report);
  }
  const isMixed = mixesLettersAndDigits(text, value.start, value.end);
  return isMixed && hasMixedCharacters(text, value)
    ? foundOrLabel(segment, name, { value, context: 'prose', rule: 'prose' }, report)
    : 'label';
}

/** A name whose own value is no secret can still label a later one. */
function foundOrLabel(...judged: Parameters<typeof judgeFoundValue>): NameOutcome {
  return judgeFoundValue(...judged) === 'found' ? 'found' : 'label';
}

/** `PrivateKey *PK11_Find(`: the return type of a function in C. */
const declaresPointer = /^[*&]{1,2}[A-Za-z_]\w*[ \t]*(?:[(;,=[]|$)/u;

/** `#define X_PSK 7L`: no string; `#define SN_kx_psk "kx-psk"`: the name again. */
function isMacro({ text, start, end }: LineSegment, name: NameInText, after: number): boolean {
  if (!defining.test(text.slice(Math.max(start, name.start - 40), name.start))) return false;
  if (!isCharacterOf(text, after, QUOTE)) return true;
  const value = readValue(text, after, end, 'field');
  if (value === null || value.end - value.start > nameMax) return false;
  const bare = (one: string): string => one.replaceAll(/[^A-Za-z0-9]/gu, '').toLowerCase();
  const said = bare(text.slice(value.start, value.end));
  return said.length > 4 && bare(name.text).endsWith(said);
}
const defining = /^[ \t]*#[ \t]*define[ \t]+$/u;

/** `--- PASS: TestLogin2 (0.01s)`, `PASS: gcc/a2.c`: the result of a test. */
function isResult({ text, end }: LineSegment, colon: number): boolean {
  return result.test(text.slice(colon, Math.min(end, colon + 160)));
}
const result = /^: (?:\S*test|\S*[/.]\S|\S+ \()/iu;

/** `ENV KEY v` of an image's build file, `set -gx KEY v`, `setenv KEY v`. */
function declares({ text, start }: LineSegment, name: NameInText): boolean {
  if (text.charAt(name.start - 1) !== ' ' || /[a-z]/u.test(name.text)) return false;
  return declaring.test(text.slice(Math.max(start, name.start - 80), name.start));
}
const declaring = /(?:^|[\]:>$#;+] )\s*(?:ENV|setenv|set(?: --?[\w-]{1,12}){1,4}) +$/u;

/** `password    CoffeeSummerFalcon`: two columns, the second more than a plain word. */
function pairOfWords(
  segment: LineSegment,
  name: NameInText,
  value: ValueSpan,
  report: ReportFinding,
): NameOutcome {
  const plain = /^[a-z]*$/u.test(segment.text.slice(value.start + 1, value.end));
  if (name.class !== 'password' || plain) return 'label';
  return judgeFoundValue(segment, name, { value, context: 'prose', rule: 'pair' }, report);
}

/** `--change-passphrase     change a passphrase`, `--passwd user-id`: help for a flag. */
function isHelp({ text, end }: LineSegment, name: NameInText, after: number): boolean {
  if (isCharacterOf(text, after, QUOTE)) return false;
  const rest = text.slice(after, Math.min(end, after + 120));
  if (/^(?:user|key|file)-?(?:id|name|spec)\b/iu.test(rest)) return true;
  return after - name.end > 1 && /^[A-Za-z][a-z]*[ \t]+[a-z]/u.test(rest);
}

/** `Buypass AS-983163327`: a name that only ends in `pass`. */
function isProper(name: string): boolean {
  return /^[A-Z][a-z]{1,12}pass$/u.test(name);
}

/** `password is v`, `password for bob: v`. */
function sentence(
  segment: LineSegment,
  name: NameInText,
  at: number,
  report: ReportFinding,
): NameOutcome {
  const value = readValue(segment.text, at, segment.end, 'field');
  if (value === null) return 'label';
  const isWord =
    isCharacterOf(segment.text, value.start, LETTER) && !hasMixedCharacters(segment.text, value);
  const context = isWord ? 'prose' : 'code';
  return foundOrLabel(segment, name, { value, context, rule: 'sentence' }, report);
}
