/**
 * Escapes in text: URL-encoding, HTML entities, quoted-printable, escapes of strings in JSON and
 * programs. Each view has the decoded parts of a text that contain escapes, with the text around
 * them.
 */
import { namedEntities } from '../encodings/text.ts';

export interface EscapedText {
  readonly bytes: Uint8Array;
  readonly via: 'url' | 'html' | 'quoted-printable' | 'json';
  readonly span: readonly [number, number];
}

interface Escapes {
  readonly via: Exclude<EscapedText['via'], 'json'> | 'json';
  readonly pattern: RegExp;
  /** The most characters between two escapes of one part, and around it. */
  readonly gap: number;
  readonly least: number;
  /** The bytes of an escape, one character each. */
  readonly decode: (escape: string) => string;
}

const url: Escapes = {
  via: 'url',
  pattern: /%[0-9a-fA-F]{2}/g,
  gap: 16,
  least: 1,
  decode: (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
};

const quoted: Escapes = {
  via: 'quoted-printable',
  pattern: /=(?:[0-9a-fA-F]{2}|[ \t]{0,4}\r?\n)/g,
  gap: 1_024,
  least: 2,
  decode: (escape) =>
    /^=[0-9a-fA-F]/.test(escape) ? String.fromCharCode(Number.parseInt(escape.slice(1), 16)) : '',
};

/**
 * Every quoted-printable text has one of these: the escaped `=`, a blank, a line end, or a broken
 * line.
 */
const quotedSign = /=(?:3[dD]|20|0[aA]|\r?\n)/;

const html: Escapes = {
  via: 'html',
  pattern: /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});/g,
  gap: 512,
  least: 1,
  decode: (escape) => {
    const name = escape.slice(1, -1);
    if (!name.startsWith('#')) return namedEntities.get(name) ?? escape;
    const hex = /^#[xX]/.test(name);
    return utf8(Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10));
  },
};

const simple = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
  ['a', ' '],
  ['e', '\x1b'],
  ['\n', ''],
  ['\r', ''],
]);

const hexDigit = '[0-9a-fA-F]';
/** Longest first: a surrogate pair, one code unit, a byte, a broken line, any character. */
const escapeForms = [
  String.raw`u[dD][89abAB]${hexDigit}{2}\\u[dD][c-fC-F]${hexDigit}{2}`,
  `u${hexDigit}{4}`,
  String.raw`u\{${hexDigit}{1,6}\}`,
  `x${hexDigit}{2}`,
  '[0-3][0-7]{2}',
  String.raw`\r\n`,
  '[^]',
];

const escaped: Escapes = {
  via: 'json',
  pattern: new RegExp(String.raw`\\(?:${escapeForms.join('|')})`, 'g'),
  gap: 512,
  least: 1,
  decode: unescape,
};

/** The character of one escape; for an unknown escape, the character after the backslash. */
function unescape(escape: string): string {
  const kind = escape.charAt(1);
  if (kind === 'u' && escape.length > 2) {
    const [high = 0, low] = (escape.match(/[0-9a-fA-F]{2,}/g) ?? []).map((one) =>
      Number.parseInt(one, 16),
    );
    return utf8(low === undefined ? high : 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00));
  }
  if (kind === 'x' && escape.length === 4) {
    return String.fromCharCode(Number.parseInt(escape.slice(2), 16));
  }
  if (escape.length === 4) return String.fromCharCode(Number.parseInt(escape.slice(1), 8));
  return simple.get(kind) ?? escape.slice(1);
}

/** The UTF-8 bytes of a code point, one character each. */
function utf8(point: number): string {
  if (!(point >= 0 && point <= 0x10ffff)) return '';
  if (point < 0x80) return String.fromCharCode(point);
  return Buffer.from(String.fromCodePoint(point), 'utf8').toString('latin1');
}

/** Escapes that are decoded in one go, in about ten milliseconds. */
const escapesAtOnce = 32 * 1_024;

/**
 * @param text one character for each byte
 * @returns `null` between views: the search for the next one takes longer
 */
export function* findEscapedTexts(text: string): Generator<EscapedText | null> {
  if (text.includes('%')) yield* viewOf(text, url);
  if (text.includes('&')) yield* viewOf(text, html);
  if (quotedSign.test(text)) yield* viewOf(text, quoted);
  if (looksLikeJson(text)) yield yield* literals(text);
  if (text.includes('\\')) yield* viewOf(text, escaped);
}

function* viewOf(text: string, escapes: Escapes): Generator<EscapedText | null> {
  const { pattern, gap, least, decode, via } = escapes;
  const parts = new ViewText(via === 'url');
  let [start, last, count, end] = [0, 0, 0, -1];
  // Encoded text has no blanks. The end of each word is searched for once.
  const wordEnd = (from: number): number => {
    if (end < from) end = blankFrom(text, from);
    return end;
  };
  const view = (): EscapedText => {
    const to = Math.max(wordEnd(last), Math.min(text.length, last + gap));
    return {
      bytes: Buffer.from(parts.text(text.slice(last, to)), 'latin1'),
      via,
      span: [start, to],
    };
  };
  for (const found of text.matchAll(pattern)) {
    const at = found.index;
    if (count > 0 && at - last > gap && wordEnd(last) < at) {
      if (count >= least) yield view();
      parts.clear();
      count = 0;
    }
    if (count === 0) {
      start = Math.min(wordStart(text, at, last), Math.max(0, at - gap));
      last = start;
    }
    parts.add(text.slice(last, at), decode(found[0]));
    last = at + found[0].length;
    count += 1;
    if (count % escapesAtOnce === 0) {
      parts.join();
      yield null;
    }
  }
  if (count >= least && count > 0) yield view();
}

/** A plus sign that can still turn out to be a blank. It is no byte. */
const openPlus = '\u0100';

/** Collects plain and decoded text in turns. */
class ViewText {
  readonly #isUrl: boolean;
  #text = '';
  #last: string[] = [];
  #hasBlank = false;

  constructor(isUrl: boolean) {
    this.#isUrl = isUrl;
  }

  add(plain: string, decoded: string): void {
    this.#last.push(this.#isUrl ? plain.replaceAll('+', openPlus) : plain, decoded);
    this.#hasBlank ||= plain === ' ' || decoded === ' ';
  }

  join(): void {
    this.#text += this.#last.join('');
    this.#last = [];
  }

  clear(): void {
    [this.#text, this.#last, this.#hasBlank] = ['', [], false];
  }

  /** @param tail the text after the last escape */
  text(tail: string): string {
    this.join();
    if (!this.#isUrl) return this.#text + tail;
    const plus = this.#hasBlank ? '+' : ' ';
    return this.#text.replaceAll(openPlus, plus) + tail.replaceAll('+', plus);
  }
}

/** URL-encoding leaves single quotes as they are. */
const blank = /[\s"<>`]/g;
const isBlank = Uint8Array.from({ length: 256 }, (_, code) =>
  /[\s"<>`]/.test(String.fromCharCode(code)) ? 1 : 0,
);

function blankFrom(text: string, from: number): number {
  blank.lastIndex = from;
  return blank.exec(text)?.index ?? text.length;
}

/** The start of the word before `to`, at least `least`. */
function wordStart(text: string, to: number, least: number): number {
  let at = to;
  while (at > least && isBlank[text.charCodeAt(at - 1)] !== 1) at -= 1;
  return at;
}

/** Whether the text or one of its lines begins like a JSON value that has content. */
const looksLikeJson = (text: string): boolean =>
  text.includes('"') && /(?:^|\n)[ \t]{0,16}[[{]\s{0,64}["{[]/.test(text);

/** All strings of a JSON text, one after another, so that a list of lines becomes a text again. */
function* literals(text: string): Generator<null, EscapedText> {
  let strings: string[] = [];
  let all = '';
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1;) {
    const end = endOfString(text, at + 1);
    const inner = text.slice(at + 1, end);
    const string = inner.includes('\\') ? yield* unescaped(inner) : inner;
    strings.push(string.endsWith('\n') ? string : `${string}\n`);
    at = text.indexOf('"', end + 1);
    count += 1;
    if (count % escapesAtOnce === 0) {
      all += strings.join('');
      strings = [];
      yield null;
    }
  }
  all += strings.join('');
  return { bytes: Buffer.from(all, 'latin1'), via: 'json', span: [0, text.length] };
}

function* unescaped(string: string): Generator<null, string> {
  const parts = new ViewText(false);
  let [last, count] = [0, 0];
  for (const { index, 0: escape } of string.matchAll(escaped.pattern)) {
    parts.add(string.slice(last, index), unescape(escape));
    last = index + escape.length;
    count += 1;
    if (count % escapesAtOnce === 0) {
      parts.join();
      yield null;
    }
  }
  return parts.text(string.slice(last));
}

/** The end of a string: its closing quote, or the end of its line. */
function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22 || code === 0x0a) return at;
  }
  return text.length;
}
