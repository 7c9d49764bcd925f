/**
 * Looks into compressed data: base64 and hexadecimal digits that begin as gzip, zlib or zstd do,
 * and the raw bytes of gzip and zstd. They are held back, unpacked and searched. Bounds: 64 KiB of
 * them, 1 MiB unpacked; anything beyond is not searched. A run with a known value is hidden as a
 * whole, however long it is. So are digits that unpack to more than the budget of the stream: see
 * {@link StreamDecompressor}. A zstd frame, and a gzip member of more than 64 KiB, end with the
 * stream.
 */
import { latin1 } from '../../encodings/text.ts';
import type { MaskedChunk } from '../secret-finding.ts';
import { gzipMemberLength, StreamDecompressor } from './stream-decompressor.ts';

export const compressedBytesMax = 64 * 1024;
const packedBytesMin = 16;
/** Shorter lines are not wrapped. */
const wrappedBytesMin = 32;

/** The encoding; `raw`: bytes without one. */
type Digits = 'base64' | 'hex' | 'raw';

/** Searches text that is not compressed. */
export interface InnerMasker {
  push(bytes: Uint8Array, out: MaskedChunk[]): void;
  end(out: MaskedChunk[]): void;
  /** The first known value in the bytes, as a chunk that hides `length` bytes. */
  find(bytes: Uint8Array, length: number): MaskedChunk | null;
}

/** 1: a digit of base64; 2: also of hexadecimal. */
const digitKinds = new Uint8Array(256);
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-') {
  digitKinds[letter.charCodeAt(0)] = /[0-9a-f]/i.test(letter) ? 2 : 1;
}
const isDigit = (byte: number | undefined, digits: Digits): boolean =>
  digits === 'raw' || (digitKinds[byte ?? 0] ?? 0) >= (digits === 'hex' ? 2 : 1);

const space = 0x20;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const equals = 0x3d;

export class CompressedMasker {
  readonly #inner: InnerMasker;
  readonly #unpacker = new StreamDecompressor();
  /** Bytes of the stream before those that are held back. */
  #read = 0;
  /** Possibly compressed, from its first byte on; or the start of a magic number. */
  #pending: Uint8Array = new Uint8Array(0);
  /** Its encoding; `null`: only the start of a magic number is held back. */
  #digits: Digits | null = null;
  /** Examined bytes of these, and the start of the line that they end in. */
  #examined = 0;
  #line = 0;
  /** Whether its lines have offsets. */
  #isDump = false;
  /** How to treat the rest of a run that was longer than the bound. */
  #restOfRun: { readonly digits: Digits; readonly hidden: MaskedChunk | null } | null = null;
  #before = 0;

  constructor(inner: InnerMasker) {
    this.#inner = inner;
  }

  push(chunk: Uint8Array, out: MaskedChunk[]): void {
    let bytes = this.#pending.length === 0 ? chunk : joined(this.#pending, chunk);
    this.#pending = none;
    while (bytes.length > 0) {
      if (this.#restOfRun !== null) {
        bytes = this.#skipRest(bytes, out);
        continue;
      }
      if (this.#digits === null) {
        const start = this.#startOfRun(bytes, out);
        if (start === null) return;
        bytes = start;
      }
      const end = this.#endOfRun(bytes, this.#digits ?? 'base64');
      if (end === null) {
        this.#pending = Uint8Array.from(bytes);
        return;
      }
      bytes = this.#decide(bytes, end, out);
    }
  }

  /** Releases the pending bytes: they are complete, or nobody waits for the rest. */
  settle(out: MaskedChunk[]): void {
    while (this.#pending.length > 0) {
      const bytes = this.#pending;
      this.#pending = none;
      if (this.#digits === null) this.#pass(bytes, out);
      else this.push(this.#decide(bytes, bytes.length, out), out);
    }
    this.#restOfRun = null;
  }

  /** Bytes that wait for more. */
  get pendingBytes(): Uint8Array {
    return this.#pending;
  }

  /**
   * How many of them count as part of a known value: at least six for gzip or zstd. Raw bytes do
   * not count, since a command that prints them slowly would wait for 64 KiB.
   */
  get pendingSymbols(): number {
    if (this.#digits === 'raw') return 0;
    const strong = this.#digits !== null && strongMagic.test(latin1(this.#pending.subarray(0, 8)));
    return strong ? Math.max(strongHeld, this.#pending.length) : this.#pending.length;
  }

  #pass(bytes: Uint8Array, out: MaskedChunk[]): void {
    if (bytes.length === 0) return;
    this.#before = bytes[bytes.length - 1] ?? 0;
    this.#read += bytes.length;
    this.#inner.push(bytes, out);
  }

  /**
   * Passes on the text before the next run.
   *
   * @returns the run; `null`: there is none yet
   */
  #startOfRun(bytes: Uint8Array, out: MaskedChunk[]): Uint8Array | null {
    const found = findMagic(bytes, this.#before);
    this.#pass(bytes.subarray(0, found.at), out);
    const rest = bytes.subarray(found.at);
    if (found.digits === null) {
      this.#pending = Uint8Array.from(rest);
      return null;
    }
    this.#digits = found.digits;
    this.#examined = 0;
    this.#line = 0;
    this.#isDump = false;
    return rest;
  }

  /** The end of the run of digits at the start of the bytes; `null`: it is not here. */
  #endOfRun(bytes: Uint8Array, digits: Digits): number | null {
    if (digits === 'raw') return bytes.length < compressedBytesMax ? null : compressedBytesMax;
    let at = this.#examined;
    for (; at < bytes.length; at += 1) {
      if (at >= compressedBytesMax) return at;
      const byte = bytes[at] ?? 0;
      if (isDigit(byte, digits)) continue;
      if (digits === 'base64' && byte === equals) {
        if (at + 1 === bytes.length) break;
        return bytes[at + 1] === equals ? at + 2 : at + 1;
      }
      const line = digits === 'hex' ? nextDumpLine(bytes, at) : -1;
      if (line === null) break;
      if (line > 0) {
        this.#isDump = true;
        this.#line = line;
        at = line - 1;
        continue;
      }
      const next = nextDigit(bytes, at, digits);
      if (next === null) break;
      const feed = bytes.subarray(at, next).includes(lineFeed);
      if (next < 0 || (feed && at - this.#line < wrappedBytesMin)) return at;
      if (feed) this.#line = next;
      at = next - 1;
    }
    this.#examined = at;
    return null;
  }

  #decide(bytes: Uint8Array, most: number, out: MaskedChunk[]): Uint8Array {
    const digits = this.#digits ?? 'base64';
    this.#digits = null;
    const end = digits === 'raw' ? gzipMemberLength(bytes.subarray(0, most)) : most;
    const packed = bytes.subarray(0, end);
    const hidden = end < packedBytesMin ? null : this.#search(packed, digits);
    const goesOn = end >= compressedBytesMax && (digits !== 'raw' || hidden !== null);
    if (goesOn) this.#restOfRun = { digits, hidden };
    if (hidden === null) {
      this.#pass(packed, out);
    } else {
      this.#inner.end(out);
      this.#before = bytes[end - 1] ?? 0;
      this.#read += end;
      out.push(hidden);
    }
    return bytes.subarray(end);
  }

  #search(packed: Uint8Array, digits: Digits): MaskedChunk | null {
    const read = this.#read + packed.length;
    if (digits === 'raw') {
      const unpacked = this.#unpacker.decompress(Buffer.from(packed), read);
      // An archive that cannot be examined stays visible.
      const isReadable = unpacked !== null && unpacked !== 'too much';
      return isReadable ? this.#inner.find(unpacked, packed.length) : null;
    }
    const all = latin1(packed);
    const text = (this.#isDump ? dumpDigits(all) : all).replaceAll(/[^A-Za-z0-9+/_-]/g, '');
    const unpacked = this.#unpacker.decompress(Buffer.from(text, digits), read);
    if (unpacked === 'too much') return unseen(packed.length);
    return unpacked === null ? null : this.#inner.find(unpacked, packed.length);
  }

  #skipRest(bytes: Uint8Array, out: MaskedChunk[]): Uint8Array {
    const { digits, hidden } = this.#restOfRun ?? { digits: 'hex', hidden: null };
    let end = 0;
    while (end < bytes.length) {
      const byte = bytes[end];
      if (!isDigit(byte, digits) && byte !== lineFeed && byte !== carriageReturn) break;
      end += 1;
    }
    if (end < bytes.length) this.#restOfRun = null;
    if (hidden === null || hidden.kind === 'text') this.#pass(bytes.subarray(0, end), out);
    else if (end > 0) {
      this.#read += end;
      out.push({ ...hidden, bytes: end });
    }
    return bytes.subarray(end);
  }
}

/** A part that cannot be examined. It is no known value, so its tag is that of none. */
const unseen = (bytes: number): MaskedChunk => ({
  kind: 'hidden',
  tag: '[HIDDEN:000000]',
  bytes,
  finding: { kind: 'known', rule: 'packed', score: 0.5, key: null },
});

const none = new Uint8Array(0);

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/**
 * The offset of the digit after blanks and line ends; -1: something else follows; `null`: it is not
 * here.
 */
function nextDigit(bytes: Uint8Array, at: number, digits: Digits): number | null {
  for (let place = at; place < at + 4; place += 1) {
    if (place >= bytes.length) return null;
    const byte = bytes[place] ?? 0;
    if (place > at && isDigit(byte, digits)) return place;
    const blank = byte === lineFeed || byte === carriageReturn;
    if (!blank && !(byte === space && digits === 'hex')) return -1;
  }
  return -1;
}

const dumpGutter = /^[^\n]{0,40}\n[0-9a-f]{6,8}(?:: |  ?)(?=[0-9a-f]{2})/i;
const dumpGutterStart = /^[^\n]{0,40}(?:\n(?:[0-9a-f]{0,8}|[0-9a-f]{6,8}(?::? {0,2})[0-9a-f]?))?$/i;
const dumpGutterBytesMax = 56;
const dumpLineDigits = 32;

/**
 * The offset of the next line of digits of a dump; -1: there is none; `null`: it can still follow.
 */
function nextDumpLine(bytes: Uint8Array, at: number): number | null {
  const text = latin1(bytes.subarray(at, at + dumpGutterBytesMax));
  const found = dumpGutter.exec(text);
  if (found !== null) return at + found[0].length;
  return text.length < dumpGutterBytesMax && dumpGutterStart.test(text) ? null : -1;
}

/** The digits without offsets and without the column of characters. */
function dumpDigits(text: string): string {
  const lines = text.split('\n').map((line, at) => {
    const data = at === 0 ? line : line.replace(/^[0-9a-f]+:? +/i, '');
    const digits = /^(?:[0-9a-f]{2}){1,8}(?: {1,2}(?:[0-9a-f]{2}){1,8}\b)*/i.exec(data)?.[0] ?? '';
    return digits.replaceAll(' ', '').slice(0, dumpLineDigits);
  });
  return lines.join('');
}

interface Magic {
  readonly text: string;
  readonly digits: Digits;
}

const hexMagics = ['1f8b08', '7801', '785e', '789c', '78da'].flatMap((text) => {
  const spaced = text.replaceAll(/(..)(?=.)/g, '$1 ');
  const words = text.replaceAll(/(....)(?=.)/g, '$1 ');
  return [...new Set([text, text.toUpperCase(), spaced, words])].map((form): Magic => ({
    text: form,
    digits: 'hex',
  }));
});
/** Magic numbers that no other text begins with. */
const strongMagic = /^(?:H4sI|KLUv|1f ?8b ?0?8?)/i;
const strongHeld = 6;
const base64Magics = ['H4sI', 'KLUv', 'eJ', 'eN'].map((text): Magic => ({
  text,
  digits: 'base64',
}));
const rawMagics = ['\x1f\x8b\x08', '\x28\xb5\x2f\xfd'].map((text): Magic => ({
  text,
  digits: 'raw',
}));
const magics: readonly Magic[] = [...hexMagics, ...base64Magics, ...rawMagics];

/** By the first two characters, `(first << 8) | second`: 1 if a magic number begins with them. */
const pairs = new Uint8Array(1 << 16);
for (const { text } of magics) pairs[(text.charCodeAt(0) << 8) | text.charCodeAt(1)] = 1;

interface MagicFound {
  readonly at: number;
  /** `null`: it is incomplete, or there is none and `at` is the end. */
  readonly digits: Digits | null;
}

/** The first magic number without a digit before it; `byteBefore` precedes the bytes. */
function findMagic(bytes: Uint8Array, byteBefore: number): MagicFound {
  const { length } = bytes;
  let first = bytes[0] ?? 0;
  for (let at = 1; at < length; at += 1) {
    const second = bytes[at] ?? 0;
    const known = pairs[(first << 8) | second];
    first = second;
    if (known === 0) continue;
    const found = magicAt(bytes, at - 1, byteBefore);
    if (found !== null) return found;
  }
  const found = length === 0 ? null : magicAt(bytes, length - 1, byteBefore);
  return found ?? { at: length, digits: null };
}

/** The magic number that begins here, or the start of one at the end of the bytes. */
function magicAt(bytes: Uint8Array, start: number, byteBefore: number): MagicFound | null {
  const inside = isDigit(start > 0 ? bytes[start - 1] : byteBefore, 'base64');
  for (const { text, digits } of inside ? rawMagics : magics) {
    const same = matching(bytes, start, text);
    if (same === text.length) return { at: start, digits };
    if (same > 0 && start + same === bytes.length) return { at: start, digits: null };
  }
  return null;
}

function matching(bytes: Uint8Array, start: number, text: string): number {
  let same = 0;
  while (same < text.length && bytes[start + same] === text.charCodeAt(same)) same += 1;
  return same;
}
