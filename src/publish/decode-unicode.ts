/** Text of two or four bytes a character, and text within bytes that are none. */
import { latin1, utf16ToUtf8 } from '../encodings/text.ts';

export interface TranscodedText {
  readonly bytes: Uint8Array;
  readonly via: 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';
}

const lookBytes = 4_096;

/**
 * As UTF-8 what is UTF-16 or UTF-32, by its mark or by its look: text of which most characters
 * are ASCII. `null`: it is neither.
 */
export function transcodeWideText(bytes: Uint8Array): TranscodedText | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return utf32(bytes, true);
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return utf32(bytes, false);
  if (a === 0xff && b === 0xfe) return utf16(bytes, true);
  if (a === 0xfe && b === 0xff) return utf16(bytes, false);
  if (bytes.length < 8) return null;
  const zeros = [0, 0, 0, 0];
  const looked = Math.min(bytes.length, lookBytes) & ~3;
  for (let at = 0; at < looked; at += 1) {
    if (bytes[at] === 0) zeros[at & 3] = (zeros[at & 3] ?? 0) + 1;
  }
  const [z0 = 0, z1 = 0, z2 = 0, z3 = 0] = zeros.map((count) => count / (looked / 4));
  const [most, few] = [0.7, 0.1];
  if (z1 > most && z2 > most && z3 > most && z0 < few) return utf32(bytes, true);
  if (z0 > most && z1 > most && z2 > most && z3 < few) return utf32(bytes, false);
  if (z1 > most && z3 > most && z0 < few && z2 < few) return utf16(bytes, true);
  if (z0 > most && z2 > most && z1 < few && z3 < few) return utf16(bytes, false);
  return null;
}

function utf16(bytes: Uint8Array, little: boolean): TranscodedText {
  const text = utf16ToUtf8(bytes, little ? 'little' : 'big');
  return { bytes: text, via: little ? 'utf-16le' : 'utf-16be' };
}

function utf32(bytes: Uint8Array, little: boolean): TranscodedText {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = view.getUint32(at, little);
    pieces.push(point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd');
  }
  return { bytes: Buffer.from(pieces.join(''), 'utf8'), via: little ? 'utf-32le' : 'utf-32be' };
}

const narrow = /[\t\x20-\x7e\x80-\xff]{8,}/g;
// oxlint-disable-next-line no-control-regex -- each second byte
const wide = /(?:[\t\n\r\x20-\x7e]\x00){8,}/g;

/** What bytes hold of text: runs of 8 characters and more, one a line; also of two bytes each. */
export function extractStrings(bytes: Uint8Array): Uint8Array {
  const text = latin1(bytes);
  const found: string[] = text.match(narrow) ?? [];
  for (const run of text.match(wide) ?? []) found.push(run.replaceAll('\0', ''));
  return Buffer.from(found.join('\n'), 'latin1');
}
