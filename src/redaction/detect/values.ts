/** Where the value beside a name begins and ends, in whatever syntax. */
import { ALNUM, BLANK, NAME, QUOTE, is, skip } from './characters.ts';

export interface Value {
  readonly start: number;
  readonly end: number;
  readonly quoted: boolean;
  /** False: the text ended before its closing quote, or the value reaches the end of the text. */
  readonly closed: boolean;
}

/**
 * `assignment`: a whole word of a shell or a line of a `.env` file. `field`: ends where a list, an
 * object or a call goes on; `parameter`: where a URL does.
 */
export type ValueStyle = 'assignment' | 'field' | 'parameter';

const BACKSLASH = 92;
const valueMax = 16 * 1024;

/** @param at Behind the operator and the blanks after it. */
export function readValue(text: string, at: number, end: number, style: ValueStyle): Value | null {
  const limit = Math.min(end, at + valueMax);
  let p = at;
  // String prefixes: b"", u'', r"", f"", @"".
  if (is(text, p + 1, QUOTE) && /[bBuUrRfF@]/u.test(text.charAt(p))) p++;
  let slashes = 0;
  while (text.charCodeAt(p) === BACKSLASH && slashes < 8) {
    p++;
    slashes++;
  }
  if (p < limit && is(text, p, QUOTE)) return readQuoted(text, p, limit, slashes > 0);
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
 * A value in quotes that began before its name, as in `"KEY=v"` and `-H 'Key: v'`: to the quote, if
 * no blank stands before it.
 */
export function readUntil(text: string, at: number, end: number, quote: string): Value | null {
  const close = text.indexOf(quote, at);
  if (close <= at || close >= end || text.charCodeAt(close - 1) === BACKSLASH) return null;
  for (let p = at; p < close; p++) if (is(text, p, BLANK)) return null;
  return { start: at, end: close, quoted: false, closed: true };
}

function readQuoted(text: string, open: number, end: number, escaped: boolean): Value | null {
  const quote = text.charCodeAt(open);
  const start = open + 1;
  for (let p = start; p < end; p++) {
    const code = text.charCodeAt(p);
    if (code === BACKSLASH && !escaped) {
      p++;
    } else if (code === quote) {
      let close = p;
      if (escaped) while (close > start && text.charCodeAt(close - 1) === BACKSLASH) close--;
      // Inside an escaped string a bare quote ends the whole text around it.
      return { start, end: close, quoted: true, closed: true };
    }
  }
  const stop = bareEnd(text, start, end, 'assignment');
  return stop <= start ? null : { start, end: stop, quoted: false, closed: false };
}

/** A value without quotes ends at a blank, or at a separator after which something else goes on. */
function bareEnd(text: string, at: number, end: number, style: ValueStyle): number {
  let p = at;
  let opened = 0;
  for (; p < end; p++) {
    const code = text.charCodeAt(p);
    if (code <= 32 || code === 127) break;
    if (code === 40 || code === 91 || code === 123) opened++;
    // `"`, `'`, `` ` `` end what began before the name.
    if (style !== 'assignment' && is(text, p, QUOTE)) {
      if (code !== 96 || !is(text, p + 1, ALNUM)) break;
    }
    if (code === 38) {
      if (entity(text, p) || (style === 'parameter' && separates(text, p, end))) break;
    } else if (code === 59 || code === 44) {
      if (separates(text, p, end)) break;
    } else if (code === 41 || code === 93 || code === 125) {
      if (style !== 'assignment' && opened === 0 && closes(text, p, end)) break;
      opened--;
    } else if (code === 60 && (text.charCodeAt(p + 1) === 47 || text.startsWith('<br', p))) {
      break;
    } else if (code === BACKSLASH && style !== 'assignment' && escapes(text, p)) {
      break;
    }
  }
  return trimEnd(text, at, p);
}

/** `\n`, `\"`, `\t`, `\u0026` in a text that is itself inside a string. */
function escapes(text: string, at: number): boolean {
  return /["'ntr]/u.test(text.charAt(at + 1)) || text.startsWith('u0026', at + 1);
}

/** `&lt;`, `&amp;`, `&#39;`: the text is inside of HTML. */
function entity(text: string, at: number): boolean {
  const next = text.slice(at + 1, at + 6);
  return /^(?:lt;|gt;|quot;|amp;|#\d)/u.test(next);
}

/** Whether `,`, `;` or `&` ends a value: nothing, a blank, a quote or another name comes next. */
function separates(text: string, at: number, end: number): boolean {
  const next = at + 1;
  if (next >= end || text.charCodeAt(next) <= 32 || is(text, next, QUOTE)) return true;
  const name = skip(text, next, Math.min(end, next + 48), NAME | BLANK);
  if (name === next || name >= end) return false;
  const code = text.charCodeAt(name);
  return code === 61 || (code === 58 && text.charCodeAt(at) === 44);
}

/** Whether a bracket ends the value: only brackets, separators and quotes follow up to a blank. */
function closes(text: string, at: number, end: number): boolean {
  let p = at + 1;
  while (p < end && ')]};,.'.includes(text.charAt(p))) p++;
  return p >= end || text.charCodeAt(p) <= 32 || is(text, p, QUOTE) || text.charCodeAt(p) === 58;
}

/** Punctuation of the sentence or the code around, but not the padding of base64. */
function trimEnd(text: string, start: number, end: number): number {
  let p = end;
  while (p > start && ',;'.includes(text.charAt(p - 1))) p--;
  // A full stop at the end of a sentence; `...` is a value that was cut.
  if (p > start + 1 && text.charAt(p - 1) === '.' && is(text, p - 2, ALNUM)) p--;
  return p;
}
