/**
 * Base64 and hexadecimal within text: runs of their letters, also wrapped over lines with other
 * text before or after them (a diff, a quote, a comment, a list of strings).
 */
import { latin1 } from '../encodings/text.ts';

export interface EncodedRun {
  readonly bytes: Uint8Array;
  readonly via: 'base64' | 'hex' | 'decimal' | 'git-patch';
  /** Bytes `[from, to)` of the text that contain it. */
  readonly span: readonly [number, number];
  /** Whether its letters are as mixed as those of packed bytes; words and paths are not. */
  readonly mixed: boolean;
  /** Whether it is certainly one encoding: joined lines may be unrelated. */
  readonly isCertain: boolean;
}

interface JoinedRun {
  readonly letters: string;
  readonly span: readonly [number, number];
  readonly lines: number;
}

const runLettersMin = 16;
/** By character code: whether it is a letter of base64. */
const isLetter = Uint8Array.from({ length: 256 }, (_, code) =>
  /[A-Za-z0-9+/_-]/.test(String.fromCharCode(code)) ? 1 : 0,
);
const hexOnly = /^[0-9a-fA-F]+$/;
const innerHex = /[0-9a-fA-F]{24,}/g;
/** From this width on, the last line of a wrapped run can be shorter. */
const wrappedMin = 32;
const phaseLettersMin = 64;

/** Runs of base64 and hexadecimal in a text. What they decode to may be meaningless. */
export function* findEncodedRuns(text: string): Generator<EncodedRun> {
  for (const joined of joinedRuns(text)) {
    const { letters, span, lines } = joined;
    const isCertain = lines === 1 || isWrapped(joined);
    const mixed = isMixed(letters);
    if (hexOnly.test(letters)) {
      if (letters.length < 24) continue;
      yield { bytes: hex(letters), via: 'hex', span, mixed, isCertain };
      if (letters.length % 2 === 1) {
        yield { bytes: hex(letters.slice(1)), via: 'hex', span, mixed, isCertain };
      }
      // Base64 with hexadecimal digits only is rare and short.
      if (letters.length > 200) continue;
    } else {
      // A name or `0x` precedes it.
      for (const [inner] of letters.matchAll(innerHex)) {
        const mixed = isMixed(inner);
        yield { bytes: hex(inner), via: 'hex', span, mixed, isCertain };
        if (inner.length % 2 === 1) {
          yield { bytes: hex(inner.slice(1)), via: 'hex', span, mixed, isCertain };
        }
      }
    }
    if (letters.length < phaseLettersMin) {
      if (mixed || mayMean(letters)) {
        yield { bytes: base64(letters), via: 'base64', span, mixed, isCertain };
      }
      continue;
    }
    yield { bytes: base64(letters), via: 'base64', span, mixed, isCertain };
    for (const at of otherStarts(letters)) {
      yield { bytes: base64(letters.slice(at)), via: 'base64', span, mixed, isCertain: false };
    }
  }
}

const scratch = Buffer.alloc(phaseLettersMin);
const packedHead = /^(?:H4sI|UEsDB|KLUv|e[AFJN])/;

/**
 * Whether few letters can be encoded text or a packed format. Most are a word or a path, which
 * their first bytes show.
 */
function mayMean(letters: string): boolean {
  if (packedHead.test(letters)) return true;
  const length = scratch.write(letters, 'base64');
  const [a, b, c, d] = scratch;
  // Text in two or four bytes a character.
  if ((a === 0 && c === 0) || (b === 0 && d === 0)) return true;
  for (let at = 0; at < length; at += 1) {
    const byte = scratch[at] ?? 0;
    if (byte >= 0x80) {
      if (byte < 0xc2 || byte > 0xf4) return false;
      const more = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      for (let next = 1; next <= more && at + next < length; next += 1) {
        if (((scratch[at + next] ?? 0) & 0xc0) !== 0x80) return false;
      }
      at += more;
    } else if (byte < 0x20 && (byte < 7 || (byte > 13 && byte !== 0x1b))) return false;
  }
  return true;
}

const digestLetters: ReadonlySet<number> = new Set([32, 40, 56, 64, 96, 128]);

/**
 * Whether the lines are certainly one encoding: the lines of a list of digests are equally long,
 * too.
 */
function isWrapped({ letters, lines }: JoinedRun): boolean {
  const width = Math.floor(letters.length / lines);
  return lines >= 16 && width >= 56 && !(hexOnly.test(letters) && digestLetters.has(width));
}

const mixedLettersMin = 54;

/** Of random letters of base64, two in five are upper-case and two in five lower-case. */
function isMixed(letters: string): boolean {
  if (letters.length < mixedLettersMin) return false;
  if (hexOnly.test(letters)) return true;
  const sample = letters.length > 1_024 ? letters.slice(64, 1_024) : letters;
  const share = (kind: RegExp): number => (sample.match(kind) ?? []).length / sample.length;
  return share(/[A-Z]/g) > 0.12 && share(/[a-z]/g) > 0.12 && share(/\d/g) > 0.03;
}

/** Runs of letters. Equally long runs at the ends of consecutive lines are joined. */
function* joinedRuns(text: string): Generator<JoinedRun> {
  let parts: string[] = [];
  let [from, to] = [0, 0];
  function* done(next: string, at: number): Generator<JoinedRun> {
    if (parts.length === 0) return;
    yield joined(parts, [from, to]);
    const [first = ''] = parts;
    // Lines of such a length can also be separate encodings. All of them get the span of the whole.
    if (parts.length > 1 && first.length % 4 > 1) {
      for (const part of parts) yield joined([part], [from, to]);
    }
    const before = parts.at(-1) ?? '';
    if (before.length < wrappedMin || before.endsWith('=')) return;
    const isTail = next !== '' && next.length < before.length && endsLine(text.slice(to, at));
    const tail = isTail ? { letters: next, to: at + next.length } : lastLine(text, to);
    if (tail !== null) yield joined([...parts, tail.letters], [from, tail.to]);
  }
  for (const [at, end] of letterRuns(text)) {
    const run = text.slice(at, end);
    const before = parts.at(-1);
    const goesOn =
      before !== undefined &&
      before.length === run.length &&
      !before.endsWith('=') &&
      endsLine(text.slice(to, at));
    if (!goesOn) {
      yield* done(run, at);
      parts = [];
      from = at;
    }
    parts.push(run);
    to = at + run.length;
  }
  yield* done('', text.length);
}

/** Ranges of at least 16 letters, with up to two `=`. */
function* letterRuns(text: string): Generator<readonly [number, number]> {
  const { length } = text;
  for (let at = runLettersMin - 1; at < length; at += runLettersMin) {
    // Each run of so many letters has one at every such step.
    if (isLetter[text.charCodeAt(at)] !== 1) continue;
    let from = at;
    const least = at - runLettersMin;
    while (from > 0 && from > least && isLetter[text.charCodeAt(from - 1)] === 1) from -= 1;
    let to = at + 1;
    while (to < length && isLetter[text.charCodeAt(to)] === 1) to += 1;
    if (to - from >= runLettersMin) {
      let end = to;
      while (end < to + 2 && text.charCodeAt(end) === 0x3d) end += 1;
      yield [from, end];
    }
    at = to - 1;
  }
}

const joined = (parts: readonly string[], span: readonly [number, number]): JoinedRun => ({
  letters: joinLines(parts),
  span,
  lines: parts.length,
});

/** Whether this is the text between two lines of a wrapped run: only little of it on each line. */
function endsLine(between: string): boolean {
  const line = between.indexOf('\n');
  if (line === -1 || line > 8 || between.length > 80) return false;
  return !between.includes('\n', line + 1);
}

/** Either only signs precede it on its line, or it ends the line. */
const tailForms = [
  /^[^\n]{0,8}\n([^A-Za-z0-9+/_\n-]{0,63})([A-Za-z0-9+/_-]{1,15}={0,2})/,
  /^[^\n]{0,8}\n([^\n]{0,63}?)([A-Za-z0-9+/_-]{1,15}={0,2})[^A-Za-z0-9+/_=\n-]{0,8}(?:\n|$)/,
];

/** The rest of a wrapped run, too short to be a run itself. It may be an unrelated word. */
function lastLine(
  text: string,
  to: number,
): { readonly letters: string; readonly to: number } | null {
  const window = text.slice(to, to + 128);
  const found = tailForms.map((form) => form.exec(window)).find((one) => one !== null);
  if (found === undefined) return null;
  const [, prefix = '', letters = ''] = found;
  return { letters, to: to + window.indexOf('\n') + 1 + prefix.length + letters.length };
}

/** In a diff, the sign before each line is also a letter of base64. */
function joinLines(parts: readonly string[]): string {
  const isDiff = parts.length > 1 && parts.every((part) => /^[+-]/.test(part));
  const [first = ''] = parts;
  return isDiff && first.length % 4 === 1
    ? parts.map((one) => one.slice(1)).join('')
    : parts.join('');
}

/** The first letters of packed formats in base64. */
const heads = /H4sI|UEsDB|KLUv|eJ[wxyz0-9A-Za-d+/_-]|eNq|e[FA]/g;
const sampleLetters = 48;

/** Other positions where the encoding may begin: a name or a sign before it is not part of it. */
function otherStarts(letters: string): number[] {
  const starts = new Set<number>();
  const middle = Math.floor(letters.length / 8) * 4;
  const base = Math.min(middle, letters.length - sampleLetters) & ~3;
  if (!isReadable(base64(letters.slice(base, base + sampleLetters)))) {
    for (const phase of [1, 2, 3]) {
      const sample = base64(letters.slice(base + phase, base + phase + sampleLetters));
      if (isReadable(sample)) starts.add(phase);
    }
  }
  for (const found of letters.slice(0, 128).matchAll(heads)) {
    if (found.index > 0 && starts.size < 8) starts.add(found.index);
  }
  // Without a mark, it begins at once or after a sign.
  for (const found of letters.slice(0, 32).matchAll(/[-_+/]/g)) {
    if (starts.size < 6) starts.add(found.index + 1);
  }
  return [...starts];
}

/** Whether decoded bytes are text, apart from characters that are cut off at both ends. */
function isReadable(bytes: Uint8Array): boolean {
  const text = latin1(bytes.subarray(2, -2));
  return text.length > 0 && !/[^\t\n\r\x20-\x7e\x80-\xff]/.test(text);
}

const base64 = (letters: string): Uint8Array => Buffer.from(letters, 'base64');
const hex = (letters: string): Uint8Array => Buffer.from(letters, 'hex');

const spacedHex =
  /\b[0-9a-fA-F]{2}(?:[ :,+-]{1,2}[0-9a-fA-F]{2}){6}|\b[0-9a-fA-F]{4}(?: [0-9a-fA-F]{4}){3}/;
const markedHex = /(?:(?:0[xX]|\\x)[0-9a-fA-F]{2}[, "']{0,4}){4}/;
const offset = /^[ \t+>*#/-]{0,8}(?:(?:0[xX])?[0-9a-fA-F]{4,16}(?::|[ \t])[ \t]*)?/;
/** The offset of a dump that begins in the middle of a line. */
const innerOffset = /\b[0-9a-fA-F]{7,16}(?::[ \t]|[ \t]{1,2})(?=[0-9a-fA-F]{2})/;
const pairs =
  /^(?:(?:0[xX]|\\x)?[0-9a-fA-F]{2}){1,8}(?:[ \t]{1,2}|[:,+-][ \t]?|(?=[^0-9A-Za-z]|$))/;

/** Separated bytes: `64 65`, `64:65`, `0x64, 0x65`, `\x64\x65`, and dumps. */
export function* findSpacedRuns(text: string): Generator<EncodedRun | null> {
  const isMarked = /0[xX]|\\x/.test(text) && markedHex.test(text);
  if (!isMarked && !spacedHex.test(text)) return;
  let found: string[] = [];
  let span: [number, number] = [0, 0];
  let at = 0;
  // Tables of numbers look like bytes; only offsets show that it is a dump.
  let isDump = false;
  let next = pauseCharacters;
  for (const line of text.split('\n')) {
    if (at >= next) {
      next = at + pauseCharacters;
      yield null;
    }
    const letters = yield* lineLetters(line, found.length === 0 ? rowLettersMin : 2);
    if (letters === '' && line.trim() === '') {
      at += line.length + 1;
      continue;
    }
    if (letters !== '') {
      if (found.length === 0) {
        span = [at, at];
        isDump = innerOffset.test(line);
      }
      found.push(letters);
      span = [span[0], at + line.length];
    } else if (found.length > 0) {
      yield* dumped(found, span, isDump);
      found = [];
    }
    at += line.length + 1;
  }
  if (found.length > 0) yield* dumped(found, span, isDump);
}

/** Some dumps print two bytes as one number, on this machine with the low byte first. */
function* dumped(
  rows: readonly string[],
  span: EncodedRun['span'],
  isCertain: boolean,
): Generator<EncodedRun> {
  const bytes = hex(rows.join(''));
  yield { bytes, via: 'hex', span, mixed: true, isCertain };
  const [first = '', ...more] = rows;
  const isEven = bytes.length % 2 === 0 && rows.every((row) => row.length % 4 === 0);
  if (!isEven || more.length === 0 || first.length < 16) return;
  yield { bytes: Buffer.from(bytes).swap16(), via: 'hex', span, mixed: true, isCertain: false };
}

/** The digits of a line's row of pairs, after an offset; `''`: it has no row. */
function* lineLetters(line: string, least: number): Generator<null, string> {
  const after = yield* rowFrom(line, offset.exec(line)?.[0].length ?? 0, least);
  if (after !== '') return after;
  const found = innerOffset.exec(line);
  const from = found === null ? -1 : found.index + found[0].length;
  const inside = yield* rowFrom(line, from, rowLettersMin);
  return inside === '' ? yield* rowFrom(line, firstPair(line), rowLettersMin) : inside;
}

const rowLettersMin = 8;
/** Characters between two pauses, in about ten milliseconds. */
const pauseCharacters = 128 * 1_024;

function* rowFrom(line: string, start: number, least: number): Generator<null, string> {
  if (start < 0) return '';
  let letters = '';
  let pause = start + pauseCharacters;
  for (let at = start; ;) {
    const [next] = pairs.exec(line.slice(at, at + 40)) ?? [''];
    if (next === '') break;
    letters += next.replaceAll(/0[xX]|\\x|[^0-9a-fA-F]/g, '');
    at += next.length;
    // Two blanks are in the middle of a row of 16 bytes, or before the text column.
    if (/[ \t]{2}$/.test(next) && letters.length !== 16) break;
    if (at >= pause) {
      pause = at + pauseCharacters;
      yield null;
    }
  }
  return letters.length >= least ? letters : '';
}

const firstPair = (line: string): number =>
  line.search(/(?:0[xX]|\\x)?[0-9a-fA-F]{2}[ :,+-]|(?:0[xX]|\\x)[0-9a-fA-F]{2}/);

const decimals = /(?:\b\d{1,3}\b[,\s]{1,3}){23,}\d{1,3}\b/g;

/** Lists of bytes as numbers: `[104, 101, 108]`. */
export function* findDecimalRuns(text: string): Generator<EncodedRun> {
  for (const found of text.matchAll(decimals)) {
    const bytes = numbersOf(found[0]);
    if (bytes === null) continue;
    const span = [found.index, found.index + found[0].length] as const;
    yield { bytes, via: 'decimal', span, mixed: true, isCertain: false };
  }
}

/** The numbers in a text; `null`: one of them is larger than a byte. */
function numbersOf(text: string): Uint8Array | null {
  const bytes = new Uint8Array((text.length + 1) >> 1);
  let [length, number] = [0, -1];
  for (let at = 0; at <= text.length; at += 1) {
    const digit = at === text.length ? -1 : text.charCodeAt(at) - 0x30;
    if (digit >= 0 && digit <= 9) number = Math.max(number, 0) * 10 + digit;
    else if (number >= 0) {
      if (number > 255) return null;
      bytes[length] = number;
      length += 1;
      number = -1;
    }
  }
  return bytes.slice(0, length);
}
