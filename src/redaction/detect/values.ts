/** The start and end of the value of a name, in any syntax. */
import { ALNUM, BLANK, NAME, QUOTE, isCharacterOf, skipCharactersOf } from './characters.ts';

export interface ValueSpan {
  readonly start: number;
  readonly end: number;
  readonly quoted: boolean;
  /** False: the text ended before the closing quote, or the value reaches the end of the text. */
  readonly closed: boolean;
}

/**
 * `assignment`: a whole word of a shell or a line of a `.env` file. `field`: ends where a list, an
 * object or a call continues. `parameter`: ends where a URL does.
 */
export type ValueStyle = 'assignment' | 'field' | 'parameter';

const BACKSLASH = 92;
const valueMax = 16 * 1024;

/** @param at after the operator and the blanks that follow it */
export function readValue(
  text: string,
  at: number,
  end: number,
  style: ValueStyle,
): ValueSpan | null {
  const limit = Math.min(end, at + valueMax);
  let p = at;
  // String prefixes: b"", u'', r"", f"", @"".
  if (isCharacterOf(text, p + 1, QUOTE) && /[bBuUrRfF@]/u.test(text.charAt(p))) p++;
  let slashes = 0;
  while (text.charCodeAt(p) === BACKSLASH && slashes < 8) {
    p++;
    slashes++;
  }
  if (p < limit && isCharacterOf(text, p, QUOTE)) return readQuoted(text, p, limit, slashes > 0);
  if (text.startsWith('&quot;', at)) {
    const close = text.indexOf('&quot;', at + 6);
    if (close > 0 && close < limit) {
      return { start: at + 6, end: close, quoted: true, closed: true };
    }
  }
  const stop = bareEnd(text, at, limit, style);
  return stop <= at ? null : { start: at, end: stop, quoted: false, closed: stop < end };
}

/**
 * A value whose quote began before its name, as in `"KEY=v"` and `-H 'Key: v'`: up to the closing
 * quote, if no blank precedes it.
 */
export function readValueToQuote(
  text: string,
  at: number,
  end: number,
  quote: string,
): ValueSpan | null {
  const close = text.indexOf(quote, at);
  if (close <= at || close >= end || text.charCodeAt(close - 1) === BACKSLASH) return null;
  for (let p = at; p < close; p++) if (isCharacterOf(text, p, BLANK)) return null;
  return { start: at, end: close, quoted: false, closed: true };
}

function readQuoted(text: string, open: number, end: number, escaped: boolean): ValueSpan | null {
  const quote = text.charCodeAt(open);
  const start = open + 1;
  for (let p = start; p < end; p++) {
    const code = text.charCodeAt(p);
    if (code === BACKSLASH && !escaped) {
      p++;
    } else if (code === quote) {
      let close = p;
      if (escaped) while (close > start && text.charCodeAt(close - 1) === BACKSLASH) close--;
      // Within an escaped string, an unescaped quote ends the whole text around it.
      return { start, end: close, quoted: true, closed: true };
    }
  }
  const stop = bareEnd(text, start, end, 'assignment');
  return stop <= start ? null : { start, end: stop, quoted: false, closed: false };
}

/** 1: the byte can end a value without quotes, or affects where a later one ends. */
const telling = new Uint8Array(256);
for (let code = 0; code <= 32; code++) telling[code] = 1;
for (const sign of '\x7f([{"\'`&;,)]}<\\') telling[sign.charCodeAt(0)] = 1;

/** The last long value without quotes: a value that begins within it ends where it does. */
interface LongValue {
  text: string;
  end: number;
  style: ValueStyle;
  stop: number;
  /** The offset up to which brackets are counted, and how many are open there. */
  counted: number;
  opened: number;
}

const long: LongValue = { text: '', end: 0, style: 'field', stop: 0, counted: 0, opened: 0 };
const longMin = 64;

/** Must be called after each text, so that the cache does not keep it in memory. */
export function clearValueCache(): void {
  long.text = '';
}

/** A value without quotes ends at a blank, or at a separator that begins something else. */
function bareEnd(text: string, at: number, end: number, style: ValueStyle): number {
  const same = at >= long.counted && at < long.stop && end === long.end;
  if (same && style === long.style && text === long.text && isLevel(at)) {
    return trimEnd(text, at, long.stop);
  }
  const stop = bareStop(text, at, end, style);
  if (stop - at >= longMin) {
    long.text = text;
    long.end = end;
    long.style = style;
    long.stop = stop;
    long.counted = at;
    long.opened = 0;
  }
  return trimEnd(text, at, stop);
}

/** Whether all brackets since the start of the long value are closed. */
function isLevel(at: number): boolean {
  // In an assignment, brackets do not count.
  if (long.style === 'assignment') return true;
  let { opened } = long;
  for (let p = long.counted; p < at; p++) {
    const code = long.text.charCodeAt(p);
    if (telling[code] !== 1) continue;
    if (code === 40 || code === 91 || code === 123) opened++;
    else if (code === 41 || code === 93 || code === 125) opened--;
  }
  long.counted = at;
  long.opened = opened;
  return opened === 0;
}

function bareStop(text: string, at: number, end: number, style: ValueStyle): number {
  let opened = 0;
  for (let p = at; p < end; p++) {
    const code = text.charCodeAt(p);
    if (telling[code] !== 1) continue;
    if (code <= 32 || code === 127) return p;
    if (code === 40 || code === 91 || code === 123) {
      opened++;
    } else if (code === 38) {
      if (entity(text, p) || (style === 'parameter' && separates(text, p, end))) return p;
    } else if (code === 59 || code === 44) {
      if (separates(text, p, end)) return p;
    } else if (code === 41 || code === 93 || code === 125) {
      if (style !== 'assignment' && opened === 0 && closes(text, p, end)) return p;
      opened--;
    } else if (code === 60) {
      if (text.startsWith('</', p) || text.startsWith('<br', p)) return p;
    } else if (style !== 'assignment') {
      // `"`, `'`, `` ` `` end a quote that began before the name.
      if (
        code === BACKSLASH ? escapes(text, p) : code !== 96 || !isCharacterOf(text, p + 1, ALNUM)
      ) {
        return p;
      }
    }
  }
  return end;
}

/** `\n`, `\"`, `\t`, `\u0026`: the text is itself within a string. */
function escapes(text: string, at: number): boolean {
  return `"'ntr`.includes(text.charAt(at + 1) || ' ') || text.startsWith('u0026', at + 1);
}

/** `&lt;`, `&amp;`, `&#39;`: the text is within HTML. */
function entity(text: string, at: number): boolean {
  if (!'lgqa#'.includes(text.charAt(at + 1))) return false;
  entityName.lastIndex = at + 1;
  return entityName.test(text);
}
const entityName = /lt;|gt;|quot;|amp;|#\d/uy;

/** Whether `,`, `;` or `&` ends a value: nothing, a blank, a quote or another name follows. */
function separates(text: string, at: number, end: number): boolean {
  const next = at + 1;
  if (next >= end || text.charCodeAt(next) <= 32 || isCharacterOf(text, next, QUOTE)) return true;
  const name = skipCharactersOf(text, next, Math.min(end, next + 48), NAME | BLANK);
  if (name === next || name >= end) return false;
  const code = text.charCodeAt(name);
  return code === 61 || (code === 58 && text.charCodeAt(at) === 44);
}

/** Whether a bracket ends the value: only brackets, separators and quotes follow up to a blank. */
function closes(text: string, at: number, end: number): boolean {
  let p = at + 1;
  while (p < end && ')]};,.'.includes(text.charAt(p))) p++;
  return (
    p >= end ||
    text.charCodeAt(p) <= 32 ||
    isCharacterOf(text, p, QUOTE) ||
    text.charCodeAt(p) === 58
  );
}

/** Removes punctuation of the sentence or the code, but not the padding of base64. */
function trimEnd(text: string, start: number, end: number): number {
  let p = end;
  while (p > start && ',;'.includes(text.charAt(p - 1))) p--;
  // The full stop of a sentence; `...` is part of a shortened value.
  if (p > start + 1 && text.charAt(p - 1) === '.' && isCharacterOf(text, p - 2, ALNUM)) p--;
  return p;
}
