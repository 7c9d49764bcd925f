/** Values after `=`, `:` and `=>`. */
import {
  ALNUM,
  BLANK,
  LETTER,
  LOWER,
  QUOTE,
  isCharacterOf,
  skipCharactersOf,
} from './characters.ts';
import {
  isComparison as comparesNames,
  isExpression,
  isNameOfSecret,
  isProgramName,
} from './expression.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import {
  judgeNamedValue,
  judgeFoundValue,
  isAtLineStart,
  readToQuoteEnd,
  type NameInText,
  type NameOutcome,
} from './judge-value.ts';
import { secretLengthMin } from './plausibility.ts';
import { readValue, type ValueSpan } from './values.ts';

/** The longest name that can have a value. */
const nameMax = 100;
const yamlTag = /!{1,2}(?:str|binary)[ \t]+/uy;
/** `val password: String = "…"` */
const typed = /[A-Za-z_&][\w.<>[\]?| ]{0,40}?[ \t]?=[ \t]*(?=["'])/uy;
/** `password: Secret<String> = …`: the type of an assigned variable. */
const annotated = /[A-Za-z_&*:][\w.<>[\]?|:&*]{0,60}[ \t]=[ \t]/uy;
const scheme = /[A-Za-z][\w-]{1,24}[ \t]+(?=[^\s=,;]{8})/uy;

/** @param sign the position of `=` or `:` */
export function findAssignedValue(
  segment: LineSegment,
  name: NameInText,
  sign: number,
  report: ReportFinding,
): NameOutcome {
  const { text, end } = segment;
  let p = sign + 1;
  const next = text.charAt(p);
  if (next === '>') p++;
  else if (next === '=' && text.charAt(sign) === ':') p++;
  else if (next === ':' || next === '~') return 'none';
  else if (next === '=') {
    p = skipCharactersOf(text, p, end, BLANK) + 1;
    if (text.charAt(p) === '=') p++;
  }
  const at = behindTag(text, skipCharactersOf(text, p, end, BLANK));
  if (text.charAt(sign) === ':') {
    typed.lastIndex = at;
    if (typed.test(text) && typed.lastIndex < end) {
      return assignedValue(segment, name, { sign, at: typed.lastIndex }, report);
    }
    annotated.lastIndex = at;
    if (annotated.test(text) && annotated.lastIndex < end) return 'none';
  }
  if (isCompared(segment, name, { sign, at })) return 'none';
  // `KEY=` is empty; after `key:` the value can follow on the next line.
  if (at >= end) return text.charAt(sign) === ':' ? 'open' : 'none';
  if (isCoordinate(segment, name, { sign, at })) return 'none';
  if (isDirectory(segment, name, at)) return 'none';
  if (isAuthorization(name.text)) {
    scheme.lastIndex = isCharacterOf(text, at, QUOTE) ? at + 1 : at;
    if (scheme.test(text) && scheme.lastIndex < end) {
      const quote = isCharacterOf(text, at, QUOTE) ? text.charAt(at) : text.charAt(name.start - 1);
      const value = readToQuoteEnd(segment, scheme.lastIndex, quote);
      if (value === null) return 'none';
      if (isBasic(text, value)) {
        report(makeFinding([value.start, value.end], 'authorization', 0.95, name.text));
        return 'found';
      }
      return judgeFoundValue(
        segment,
        name,
        { value, context: 'code', rule: 'authorization' },
        report,
      );
    }
  }
  return assignedValue(segment, name, { sign, at }, report);
}

/** `password != confirmed`, `key === other`: only another name is on the other side. */
function isCompared(
  { text, end }: LineSegment,
  name: NameInText,
  { sign, at }: { readonly sign: number; readonly at: number },
): boolean {
  if (text.charAt(sign) !== '=' || at >= end || isCharacterOf(text, at, QUOTE)) return false;
  if (text.charAt(sign + 1) !== '=' && text.charAt(sign - 1) !== '!') return false;
  const value = readValue(text, at, end, 'field');
  if (value === null || value.quoted) return false;
  return comparesNames(text.slice(value.start, Math.min(value.end, value.start + 200)), name.class);
}

function behindTag(text: string, at: number): number {
  if (text.charAt(at) !== '!') return at;
  yamlTag.lastIndex = at;
  return yamlTag.test(text) ? yamlTag.lastIndex : at;
}

function isAuthorization(name: string): boolean {
  const last = name.charCodeAt(name.length - 1) | 32;
  // Cheap: most names end in other letters.
  if (last !== 104 && last !== 110) return false;
  return /^authori[sz]ation$|-authorization$|^auth$/iu.test(name) || name.endsWith('uth');
}

/** Base64 of `user:password`. */
function isBasic(text: string, { start, end }: ValueSpan): boolean {
  const value = text.slice(start, Math.min(end, start + 512));
  if (!/^[A-Za-z0-9+/]{8,}={0,2}$/u.test(value)) return false;
  return /^[\x20-\x7e]+:[\x20-\x7e]*$/u.test(Buffer.from(value, 'base64').toString('latin1'));
}

/** `arn:aws:…:secret:name`, `io.group.token:artifact:1.2`: names joined by colons. */
function isCoordinate(
  { text, start }: LineSegment,
  name: NameInText,
  { sign, at }: { readonly sign: number; readonly at: number },
): boolean {
  if (text.charAt(sign) !== ':') return false;
  // `auth:<commit>` is an image, `Auth: <digest>` is in a lock file.
  if (name.text.toLowerCase() === 'auth' && isRevision(text, at)) return true;
  if (at !== sign + 1 || sign !== name.end) return false;
  // `key=auth:17:5f3a`, `/auth:…`: the name is itself part of a value.
  const before = text.charAt(name.start - 1);
  const inside = before === '=' || before === '/';
  if (name.text.includes('.') || (inside && name.class !== 'password')) return true;
  const low = Math.max(start, name.start - 120);
  if (image.test(text.slice(low, name.start)) && isRevision(text, at)) return true;
  // A list of ciphers: `HIGH:!PSK:!SRP`.
  if (before === '!') return true;
  if (before !== ':') return false;
  return /(?:^|[\s"'=(,])arn:\S*$/u.test(text.slice(low, name.start));
}
const image = /image["']?[ \t]*[:=]?[ \t]*["'`]?$/iu;

/** `PWD=/srv`: the shell's own variable. `UID=sa;PWD=/x` and `pwd=/x` are logins. */
function isDirectory(
  { text }: LineSegment,
  { text: name, start }: NameInText,
  at: number,
): boolean {
  if (name !== 'PWD' || text.charAt(start + name.length) !== '=') return false;
  return text.charAt(start - 1) !== ';' && /^["']?\//u.test(text.slice(at, at + 2));
}

/** The hash of a commit or of a content, and nothing after it. */
function isRevision(text: string, at: number): boolean {
  revision.lastIndex = at;
  return revision.test(text);
}
const revision = /(?:[\da-f]{40}|[\da-f]{64})(?![\w+/=-])/uy;

function assignedValue(
  segment: LineSegment,
  name: NameInText,
  { sign, at }: { readonly sign: number; readonly at: number },
  report: ReportFinding,
): NameOutcome {
  const { text, end } = segment;
  const leads = isAtLineStart(segment, name);
  const tight = text.charAt(sign) === '=' && at === sign + 1 && sign === name.end;
  const shouts = holdsNone(name.text, LOWER);
  const opener = text.charAt(name.start - 1);
  // `"KEY=value"`: the quote before the name also ends the value.
  const around = isCharacterOf(text, name.start - 1, QUOTE) && sign === name.end;
  const parameter = opener === '?' || opener === '&';
  const line = (leads || name.flag || (tight && shouts)) && !around && !parameter;
  if (at + 3 > end && /[|>][-+]?$/u.test(text.slice(at, Math.min(end, at + 4)))) return 'open';
  const style = parameter ? 'parameter' : 'field';
  const whole =
    line && (tight || name.flag)
      ? readValue(text, at, end, 'assignment')
      : ((around ? readToQuoteEnd(segment, at, opener) : null) ?? readValue(text, at, end, style));
  if (whole === null) return 'none';
  const value = tight && line && !isProgram(text, whole, end) ? whole : headOf(text, whole);
  if (!tight && !value.quoted && namesAnother(text, value, name)) {
    return 'none';
  }
  // `f(token=token)`: the bracket was opened before the name.
  if (!shouts && value.end < end + 1 && closesMore(text, value)) {
    return judgeNamedValue(segment, name, { at, context: 'code', rule: 'key-value' }, report);
  }
  // The rest examines more than the value, and most values are short.
  if (value.end - value.start < secretLengthMin(name.class)) return 'none';
  const last = endsLine(text, value.end, end);
  const linked = tight && inConnection(segment, name);
  const config = linked || (line && last && (tight || !isProgram(text, value, end)));
  const location = config || (around && tight) || name.flag ? 'shell' : 'code';
  const strict =
    location === 'shell' && !linked && !shouts && !name.flag && isProgram(text, value, end);
  const isSentence =
    !line && last && text.charAt(sign) === ':' && at > sign + 1 && followsWords(segment, name);
  return judgeFoundValue(
    segment,
    name,
    { value, context: isSentence ? 'prose' : strict ? 'code' : location, rule: 'key-value' },
    report,
  );
}

/** `key:!0}),f(a`: up to where minified code continues after the value. */
function headOf(text: string, value: ValueSpan): ValueSpan {
  if (value.quoted) return value;
  if (!holdsAny(text, value)) return value;
  const { start, end } = value;
  const shown = text.slice(start, Math.min(end, start + headMax));
  const at = shown.search(goesOn);
  // Code has none of these signs here; most random passwords have one.
  if (at < 0 || /[@#%^~*]/u.test(shown)) return value;
  const head = shown.slice(0, at);
  const isHead = heads.test(head) || isProgramName(head) || isExpression(head);
  return isHead ? { ...value, end: start + at } : value;
}
/** The end of a value is searched within so many characters. */
const headMax = 200;
/** `!0`, `null`, a name of few letters, or anything as long as a key. */
const heads = /^(?:!?[01]|[$A-Za-z_][$\w]{0,2}|null|void|true|false|this|[\w+/=-]{12,})$/u;
/** The first characters of `goesOn`. */
const ends = new Uint8Array(256);
for (const sign of ')]},;') ends[sign.charCodeAt(0)] = 1;
function holdsAny(text: string, { start, end }: ValueSpan): boolean {
  for (let at = start; at < end; at++) if (ends[text.charCodeAt(at)] === 1) return true;
  return false;
}

const goesOn = new RegExp(
  [
    String.raw`(?<=[\w$!"'\x60)\]])(?:[)\]}]{2,8}$|`,
    String.raw`[)\]}]{1,8}(?:[,;?:|&.({=]|[A-Za-z_$][\w$]*[.=(]|`,
    String.raw`(?:return|else|break|case|while|function|catch|finally|throw)(?![\w$]))|`,
    String.raw`[,;](?:[A-Za-z_$][\w$.]*[=([{?]|`,
    String.raw`(?:break|return|case|else|let|var|const|throw)(?![\w$])))`,
  ].join(''),
  'u',
);

/** `private_key: PKCS7PrivateKeyTypes`, `password = MY_DEFAULT_PASSWORD`: a type, another name. */
function namesAnother(text: string, { start, end }: ValueSpan, name: NameInText): boolean {
  if (end - start > nameMax || !isCharacterOf(text, start, LETTER)) return false;
  const bare = text.slice(start, end).replace(/[)\]};,:?!]+$/u, '');
  // People make passwords of small words: `password: my_secret_password` can be one.
  const isConstant = /^[A-Z]+(?:_[A-Z]+)+$/u.test(bare);
  if (isConstant || (name.text.includes('.') && /^[a-z]+(?:_[a-z]+)+$/u.test(bare))) {
    return isNameOfSecret(bare) && isProgramName(bare);
  }
  if (name.class === 'password' || !/[a-z]/u.test(name.text)) return false;
  if (/[a-z]\d{2}/u.test(bare)) return false;
  return /^[A-Z]\w*[a-z]\d?[A-Z]\w*[A-Za-z]$/u.test(bare) && isProgramName(bare);
}

function holdsNone(text: string, bits: number): boolean {
  for (let at = 0; at < text.length; at++) if (isCharacterOf(text, at, bits)) return false;
  return true;
}

/** Whether it ends in a bracket that it did not open. */
function closesMore(text: string, { start, end }: ValueSpan): boolean {
  if (!')]}'.includes(text.charAt(end - 1)) || '([{'.includes(text.charAt(end - 2))) return false;
  for (let at = start; at < end; at++) if ('([{'.includes(text.charAt(at))) return false;
  return true;
}

/** `Server=db;User ID=app;Password=…` */
function inConnection({ text, start }: LineSegment, name: NameInText): boolean {
  const low = Math.max(start, name.start - 200);
  let p = name.start;
  while (p > low && isCharacterOf(text, p - 1, BLANK)) p--;
  return p > low && text.charAt(p - 1) === ';' && connection.test(text.slice(low, name.start));
}
const connection =
  /(?:server|data source|database|initial catalog|host|user id|uid|dsn|driver|user)[ \t]*=/iu;

/** Whether only a comment follows. */
function endsLine(text: string, at: number, end: number): boolean {
  const after = skipCharactersOf(text, at, end, BLANK);
  return (
    after >= end || (after > at && (text.charAt(after) === '#' || text.startsWith('//', after)))
  );
}

/** Whether only words of a sentence precede the name: `Generated admin password: …`. */
function followsWords({ text, start }: LineSegment, name: NameInText): boolean {
  if (name.class !== 'password' || name.start - start > 120) return false;
  return /^[\w .'-]*[a-z] $/iu.test(text.slice(start, name.start));
}

/** Whether a value without quotes reads like an expression of a program. */
function isProgram(text: string, { start, end, quoted }: ValueSpan, lineEnd: number): boolean {
  if (quoted) return false;
  const next = text.charAt(end);
  if (next !== '' && end < lineEnd && '(;,{'.includes(next)) return true;
  if (!isCharacterOf(text, start, LETTER) && !'_$'.includes(text.charAt(start))) return false;
  const stop = Math.min(end, start + 64);
  let p = start + 1;
  while (p < stop && (isCharacterOf(text, p, ALNUM) || '_$'.includes(text.charAt(p)))) p++;
  if (p >= stop) return false;
  return '.?!:[('.includes(text.charAt(p)) || (p + 1 < stop && text.startsWith('->', p));
}
