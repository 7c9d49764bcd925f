/**
 * Secrets by the name beside them, in every syntax of assignments:
 *
 *     KEY=v   export KEY="v"   key: v   "key": "v"   \"key\":\"v\"   'key' => 'v'   + key = "v"
 *     <key>v</key>   <add key="key" value="v"/>   {"name":"KEY","value":"v"}   set("key", "v")
 *     --key v   | key | v |   key    v   password is v   password for bob: v   PASSWORD 'v'
 */
import { ALNUM, BLANK, LETTER, NAME, QUOTE, is, skip } from './characters.ts';
import { found, looksMax, type Report, type Segment } from './finder.ts';
import { classifyName, type NameClass } from './names.ts';
import { mixes, plausible, type Place } from './plausible.ts';
import { readUntil, readValue, type Value } from './values.ts';
import { wordiness } from './bigram.ts';

export interface Name {
  /** Without dashes before it. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly class: NameClass;
  /** It is a flag: `--name`, `-name`. */
  readonly flag: boolean;
}

/** What came of a name: `open`: the value is expected on the lines after. */
export type Outcome = 'found' | 'none' | 'open' | 'label';

const nameMax = 80;
const scheme = /[A-Za-z][\w-]{1,24}[ \t]+(?=[^\s=,;]{8})/uy;
/** `<`, `<ns:`, and `<entry key="`. */
const tagged = /^<(?:[\w-]{1,40}:|[\w:-]{1,40}\s[^<>[\]]{0,100}=["'][\w.:-]{0,80})?$/u;
/** Verbs, commands and variables rather than labels. */
const notInProse = /^(?:pass|pwd|k?passwd|authori[sz]ation)$/iu;
const assignment = /^[A-Za-z_][\w.-]*=/u;
const copula = /(?:is|was|are|to|set to|now|reads|equals|->|→)[ \t]*:?[ \t]+/iuy;
const owner =
  /(?:for|of|to|in|on|as)[ \t][^\s:=]{1,40}(?:[ \t][^\s:=]{1,24}){0,3}[ \t]*(?::|[ \t]is)[ \t]+/iuy;
const valueLabel = /[\s,"'\\}{]{1,12}(?:value|val|content|default)[\s"'\\]{0,6}[:=][ \t]{0,8}/iuy;

/** The name that a keyword is part of. */
export function nameAround({ text, start, end }: Segment, at: number): Name {
  let from = at - 1;
  const low = Math.max(start, at - nameMax);
  while (from > low && is(text, from - 1, NAME)) from--;
  let to = skip(text, at, Math.min(end, at + nameMax), NAME);
  const dashes = from;
  while (from < to && !is(text, from, ALNUM)) from++;
  while (to > from && !is(text, to - 1, ALNUM)) to--;
  const name = text.slice(from, to);
  const flag = from > dashes && text.charAt(dashes) === '-' && !is(text, dashes - 1, ALNUM);
  return { start: from, end: to, text: name, class: classifyName(name), flag };
}

export function findNamed(segment: Segment, name: Name, report: Report): Outcome {
  if (name.class === 'none' || name.class === 'mild') {
    return name.class === 'mild' && isParameter(segment, name)
      ? assigned(segment, { ...name, class: 'likely' }, name.end, report)
      : 'none';
  }
  const { text, end } = segment;
  let p = name.end;
  while (p < end && p < name.end + 6 && (is(text, p, QUOTE) || '\\]'.includes(text.charAt(p)))) p++;
  const closed = p > name.end;
  const after = skip(text, p, end, BLANK);
  if (after >= end) return 'label';
  const sign = text.charAt(after);
  if (sign === '=' || sign === ':') return assigned(segment, name, after, report);
  if (sign === '|' || text.startsWith('\u00e2\u0094\u0082', after)) {
    return cell(segment, name, after, report);
  }
  if (sign === '>' || sign === '<') return element(segment, name, after, report);
  if (closed) {
    valueLabel.lastIndex = p;
    const label = valueLabel.exec(text);
    if (label !== null && valueLabel.lastIndex < end) {
      return judge(
        segment,
        name,
        { at: valueLabel.lastIndex, place: 'data', rule: 'name-value' },
        report,
      );
    }
    if (sign === ',') return argument(segment, name, after, report);
  }
  return after > p ? prose(segment, name, after, report) : 'none';
}

/** In a URL or a form: `?key=`, `&sig=`. */
function isParameter({ text, start }: Segment, { start: at, end }: Name): boolean {
  return at > start && '?&'.includes(text.charAt(at - 1)) && text.charAt(end) === '=';
}

interface Aim {
  readonly at: number;
  readonly place: Place;
  readonly rule: string;
}

function judge(segment: Segment, name: Name, aim: Aim, report: Report): Outcome {
  const value = readValue(
    segment.text,
    aim.at,
    segment.end,
    aim.place === 'shell' ? 'assignment' : 'field',
  );
  if (value === null) return 'none';
  return judgeValue(segment, name, { ...aim, value }, report);
}

function judgeValue(
  { text, spent }: Segment,
  name: Name,
  { value, place, rule }: Omit<Aim, 'at'> & { readonly value: Value },
  report: Report,
): Outcome {
  const score = plausible(text, value, name.class, value.quoted ? 'data' : place);
  if (score === 0) {
    if (value.end - value.start > 200 && ++spent.looks > looksMax) spent.until = value.end;
    return 'none';
  }
  spent.until = value.end;
  report(found([value.start, value.end], rule, score, name.text));
  return 'found';
}

/** @param sign Where `=` or `:` stands. */
function assigned(segment: Segment, name: Name, sign: number, report: Report): Outcome {
  const { text, end } = segment;
  let p = sign + 1;
  const next = text.charAt(p);
  if (next === '>') p++;
  else if (next === '=' && text.charAt(sign) === ':') p++;
  else if (next === ':' || next === '~') return 'none';
  else if (next === '=') {
    p = skip(text, p, end, BLANK) + 1;
    if (text.charAt(p) === '=') p++;
  }
  const at = skip(text, p, end, BLANK);
  // `KEY=` is empty; `key:` goes on below.
  if (at >= end) return text.charAt(sign) === ':' ? 'open' : 'none';
  if (isCoordinate(segment, name, { sign, at })) return 'none';
  if (/^authori[sz]ation$|-authorization$|^auth$/iu.test(name.text) || name.text.endsWith('uth')) {
    scheme.lastIndex = is(text, at, QUOTE) ? at + 1 : at;
    if (scheme.test(text) && scheme.lastIndex < end) {
      const quote = is(text, at, QUOTE) ? text.charAt(at) : text.charAt(name.start - 1);
      const value = quoteEnd(segment, scheme.lastIndex, quote);
      if (value === null) return 'none';
      return judgeValue(segment, name, { value, place: 'code', rule: 'authorization' }, report);
    }
  }
  return assignedValue(segment, name, { sign, at }, report);
}

/** To the quote that began around or before, or as far as a field goes. */
function quoteEnd({ text, end }: Segment, at: number, quote: string): Value | null {
  const inside = /["'`]/u.test(quote) ? readUntil(text, at, end, quote) : null;
  return inside ?? readValue(text, at, end, 'field');
}

/** `arn:aws:…:secret:name`, `io.group.token:artifact:1.2`: names joined by colons. */
function isCoordinate(
  { text, start }: Segment,
  name: Name,
  { sign, at }: { readonly sign: number; readonly at: number },
): boolean {
  if (text.charAt(sign) !== ':' || at !== sign + 1 || sign !== name.end) return false;
  // `key=auth:17:5f3a`, `/auth:…`: the name is itself part of a value.
  if (name.text.includes('.') || '=/'.includes(text.charAt(name.start - 1) || ' ')) return true;
  // A list of ciphers: `HIGH:!PSK:!SRP`.
  if (text.charAt(name.start - 1) === '!') return true;
  if (text.charAt(name.start - 1) !== ':') return false;
  const before = text.slice(Math.max(start, name.start - 120), name.start);
  return /(?:^|[\s"'=(,])arn:\S*$/u.test(before);
}

function assignedValue(
  segment: Segment,
  name: Name,
  { sign, at }: { readonly sign: number; readonly at: number },
  report: Report,
): Outcome {
  const { text, end } = segment;
  const leads = leadsLine(segment, name);
  const tight = text.charAt(sign) === '=' && at === sign + 1 && sign === name.end;
  const shouts = !/[a-z]/u.test(name.text);
  const opener = text.charAt(name.start - 1);
  // `"KEY=value"`: the quote around both ends the value.
  const around = is(text, name.start - 1, QUOTE) && sign === name.end;
  const line = (leads || name.flag || (tight && shouts)) && !around && !'?&'.includes(opener);
  if (/[|>][-+]?$/u.test(text.slice(at, Math.min(end, at + 4))) && at + 3 > end) return 'open';
  const style = '?&'.includes(opener) && opener !== '' ? 'parameter' : 'field';
  const value =
    line && (tight || name.flag)
      ? readValue(text, at, end, 'assignment')
      : ((around ? quoteEnd(segment, at, opener) : null) ?? readValue(text, at, end, style));
  if (value === null) return 'none';
  if (
    !shouts &&
    value.end < end + 1 &&
    /[^([{][)\]}]$/u.test(text.slice(value.end - 2, value.end))
  ) {
    // `f(token=token)`: a bracket that was opened before the name.
    if (!/[([{]/u.test(text.slice(value.start, value.end))) {
      return judge(segment, name, { at, place: 'code', rule: 'key-value' }, report);
    }
  }
  const last = endsLine(text, value.end, end);
  const config = line && last && (tight || !isProgram(text, value, end));
  const place = config || (around && tight) || name.flag ? 'shell' : 'code';
  const strict = place === 'shell' && !shouts && !name.flag && isProgram(text, value, end);
  const told =
    !line && last && text.charAt(sign) === ':' && at > sign + 1 && followsWords(segment, name);
  return judgeValue(
    segment,
    name,
    { value, place: told ? 'prose' : strict ? 'code' : place, rule: 'key-value' },
    report,
  );
}

/** Nothing but a comment follows. */
function endsLine(text: string, at: number, end: number): boolean {
  const after = skip(text, at, end, BLANK);
  return (
    after >= end || (after > at && (text.charAt(after) === '#' || text.startsWith('//', after)))
  );
}

/** Nothing but words of a sentence before the name: `Generated admin password: …`. */
function followsWords({ text, start }: Segment, name: Name): boolean {
  return /^[\w .'-]*[a-z] $/iu.test(text.slice(start, name.start)) && name.class === 'password';
}

/** Whether a value without quotes reads like an expression of a program. */
function isProgram(text: string, { start, end, quoted }: Value, lineEnd: number): boolean {
  if (quoted) return false;
  const next = text.charAt(end);
  if (next !== '' && end < lineEnd && '(;,{'.includes(next)) return true;
  return /^[A-Za-z_$][\w$]*(?:[.?!:]|->|\[|\()/u.test(text.slice(start, Math.min(end, start + 64)));
}

/** Whether only blanks, a gutter, a mark of a diff or a word like `export` stand before it. */
function leadsLine({ text, start }: Segment, { start: at }: Name): boolean {
  let p = at;
  while (p > start && (is(text, p - 1, BLANK | QUOTE) || '+-></#*'.includes(text.charAt(p - 1)))) {
    p--;
  }
  if (p === start) return true;
  if (text.charAt(p - 1) === ':') return at - start < 200 && !/[=,{]/u.test(text.slice(start, p));
  let from = p;
  while (from > start && is(text, from - 1, ALNUM)) from--;
  const word = text.slice(from, p).toLowerCase();
  return /^(?:export|set|setenv|declare|x|env|arg|local|readonly|typeset|add|e|\d+)$/u.test(word);
}

/** `<key>v</key>`, `<key attr="…">v</key>`, and `<entry key="key">v</entry>`. */
function element(segment: Segment, name: Name, after: number, report: Report): Outcome {
  const { text, start, end } = segment;
  if (text.charAt(after) !== '>') return 'none';
  const low = Math.max(start, name.start - 120);
  const open = text.lastIndexOf('<', name.start);
  if (open < low || !tagged.test(text.slice(open, name.start))) return 'none';
  const close = text.indexOf('<', after + 1);
  const stop = close < 0 || close > end ? end : close;
  let from = skip(text, after + 1, stop, BLANK);
  let to = stop;
  if (text.startsWith('<![CDATA[', from)) {
    from += 9;
    to = Math.max(from, text.indexOf(']]>', from));
  }
  while (to > from && is(text, to - 1, BLANK)) to--;
  if (from >= to) return 'none';
  const value: Value = { start: from, end: to, quoted: true, closed: close >= 0 };
  return judgeValue(segment, name, { value, place: 'data', rule: 'xml-element' }, report);
}

/** The next cell of a row between bars. */
function cell(segment: Segment, name: Name, bar: number, report: Report): Outcome {
  const { text, end } = segment;
  const behind = bar + (text.charAt(bar) === '|' ? 1 : 3);
  const at = skip(text, behind, end, BLANK);
  if (at === behind) return 'none';
  const value = readValue(text, at, end, 'assignment');
  if (value === null || value.quoted) return 'none';
  const after = skip(text, value.end, end, BLANK);
  const last = after >= end || text.charAt(after) === '|' || text.startsWith('\u00e2', after);
  return last
    ? judgeValue(segment, name, { value, place: 'shell', rule: 'table' }, report)
    : 'none';
}

/** `("key", "v")`, `['--key', 'v1']`: only a text in quotes. */
function argument(segment: Segment, name: Name, comma: number, report: Report): Outcome {
  const at = skip(segment.text, comma + 1, segment.end, BLANK);
  const value = readValue(segment.text, at, segment.end, 'field');
  if (value === null || !value.quoted) return 'none';
  // A list of words is no call.
  const called =
    is(segment.text, name.start - 1, QUOTE) && segment.text.charAt(name.start - 2) === '(';
  const words = wordiness(segment.text, value.start, value.end) > 0.3;
  if (!called && (words || !isMixed(segment.text, value))) return 'none';
  return judgeValue(segment, name, { value, place: 'data', rule: 'argument' }, report);
}

/** @param after The first character behind the name and blanks. */
function prose(segment: Segment, name: Name, after: number, report: Report): Outcome {
  const { text, end } = segment;
  if (name.flag && text.charAt(after) === '-') return 'none';
  if (name.flag) return judge(segment, name, { at: after, place: 'shell', rule: 'flag' }, report);
  // `component=auth`, and the verb.
  if (name.class === 'likely' || notInProse.test(name.text)) return 'none';
  if (is(text, after, QUOTE)) {
    return text.charAt(after) !== '`'
      ? judge(segment, name, { at: after, place: 'data', rule: 'quoted' }, report)
      : 'label';
  }
  for (const link of [copula, owner]) {
    link.lastIndex = after;
    if (link.test(text) && link.lastIndex < end) return told(segment, name, link.lastIndex, report);
  }
  const value = readValue(text, after, end, 'field');
  if (value === null || assignment.test(text.slice(value.start, value.start + 40))) return 'label';
  if ('([{<'.includes(text.charAt(value.start))) return 'label';
  const gap = after - name.end;
  const last = skip(text, value.end, end, BLANK) >= end;
  const pair = last && (gap > 1 || text.charAt(name.end) === '\t') && leadsLine(segment, name);
  if (
    pair ||
    (last && name.class === 'password' && leadsLine(segment, name) && isMixed(text, value))
  ) {
    return judgeValue(
      segment,
      name,
      { value, place: gap > 1 ? 'code' : 'prose', rule: 'pair' },
      report,
    ) === 'found'
      ? 'found'
      : pairOfWords(segment, name, value, report);
  }
  if (name.text.toLowerCase() === 'bearer') {
    const whole = quoteEnd(segment, after, text.charAt(name.start - 1)) ?? value;
    return judgeValue(
      segment,
      name,
      { value: whole, place: 'code', rule: 'authorization' },
      report,
    );
  }
  if (!mixes(text, value.start, value.end) || !isMixed(text, value)) return 'label';
  const outcome = judgeValue(segment, name, { value, place: 'prose', rule: 'prose' }, report);
  return outcome === 'found' ? 'found' : 'label';
}

/** `password    CoffeeSummerFalcon`: two columns, the second more than a plain word. */
function pairOfWords(segment: Segment, name: Name, value: Value, report: Report): Outcome {
  const plain = /^[a-z]*$/u.test(segment.text.slice(value.start + 1, value.end));
  if (name.class !== 'password' || plain) return 'label';
  return judgeValue(segment, name, { value, place: 'prose', rule: 'pair' }, report);
}

/** `password is v`, `password for bob: v`. */
function told(segment: Segment, name: Name, at: number, report: Report): Outcome {
  const value = readValue(segment.text, at, segment.end, 'field');
  if (value === null) return 'label';
  const place =
    is(segment.text, value.start, LETTER) && !isMixed(segment.text, value) ? 'prose' : 'code';
  const outcome = judgeValue(segment, name, { value, place, rule: 'sentence' }, report);
  return outcome === 'found' ? 'found' : 'label';
}

/** Letters and digits or signs, and not the look of words. */
function isMixed(text: string, { start, end }: Value): boolean {
  if (mixes(text, start, end)) return end - start > 5 && wordiness(text, start, end) < 1;
  for (let at = start + 1; at < end - 1; at++) {
    if (text.charCodeAt(at) < 128 && !is(text, at, NAME)) return true;
  }
  return false;
}
