/**
 * The format of bytes, by their content and never by their name; text in two or four bytes a
 * character, and text within other bytes.
 */
import { isUtf8 } from 'node:buffer';
import { latin1, utf16ToUtf8 } from '../encodings/text.ts';

/** Formats that the gate opens. */
export type ContainerFormat = 'gzip' | 'zlib' | 'zstd' | 'tar' | 'zip' | 'ar';

/** The first bytes of these formats. Tar has none, only the checksum in its header. */
const opened: readonly (readonly [ContainerFormat, string])[] = [
  ['gzip', '\x1f\x8b\x08'],
  ['zstd', '\x28\xb5\x2f\xfd'],
  ['zip', 'PK\x03\x04'],
  ['zip', 'PK\x05\x06'],
  ['ar', '!<arch>\n'],
];

/** Known formats that the gate does not open, with the reason that a person reads. */
const closed: readonly (readonly [string, string])[] = [
  ['\xfd7zXZ\x00', 'xz is not read'],
  ['BZh', 'bzip2 is not read'],
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map(
    (level) => [`BZh${level}1AY&SY`, 'bzip2 is not read'] as const,
  ),
  ['\x04\x22\x4d\x18', 'lz4 is not read'],
  ['7z\xbc\xaf\x27\x1c', '7-Zip is not read'],
  ['Rar!\x1a\x07', 'RAR is not read'],
  ['\x5d\x00\x00', 'LZMA is not read'],
  ['MSCF', 'a cabinet is not read'],
  ['%PDF-', 'a PDF is not read'],
  ['\x89PNG\r\n\x1a\n', 'an image is not read'],
  ['\xff\xd8\xff', 'an image is not read'],
  ['GIF8', 'an image is not read'],
  ['BM', 'an image is not read'],
  ['II*\x00', 'an image is not read'],
  ['MM\x00*', 'an image is not read'],
  ['\x00\x00\x01\x00', 'an image is not read'],
  ['RIFF', 'image, sound or film is not read'],
  ['OggS', 'image, sound or film is not read'],
  ['ID3', 'image, sound or film is not read'],
  ['fLaC', 'image, sound or film is not read'],
  ['\x1aE\xdf\xa3', 'image, sound or film is not read'],
  ['wOF', 'a font is not read'],
  ['\x00\x01\x00\x00', 'a font is not read'],
  ['OTTO', 'a font is not read'],
  ['\x7fELF', 'an executable is not read'],
  ['MZ', 'an executable is not read'],
  ['\x00asm', 'an executable is not read'],
  ['\xca\xfe\xba\xbe', 'an executable is not read'],
  ['\xcf\xfa\xed\xfe', 'an executable is not read'],
  ['SQLite format 3\x00', 'a database is not read'],
  ['PACK\x00', 'a git pack is not read'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'an old Office document is not read'],
  ['age-encryption.org/', 'encrypted'],
  ['-----BEGIN AGE ENCRYPTED', 'encrypted'],
  ['-----BEGIN PGP MESSAGE', 'encrypted'],
  ['Salted__', 'encrypted'],
];

/** Text whose content is encrypted or binary. */
const closedText = /^(?:%PDF-|age-encryption\.org\/|-----BEGIN (?:AGE ENCRYPTED|PGP MESSAGE))/;
const bundle = /^# v[23] git bundle\n/;

const headBytes = 64;
const tarBlock = 512;

/** The format by the first bytes; `null`: none that the gate opens. */
export function detectContainerFormat(bytes: Uint8Array): ContainerFormat | null {
  const head = latin1(bytes.subarray(0, headBytes));
  const found = opened.find(([, magic]) => head.startsWith(magic));
  if (found !== undefined) return found[0];
  if (isZlib(bytes)) return 'zlib';
  return isTar(bytes) ? 'tar' : null;
}

/** Deflate with a window of 32 KiB, without a dictionary, and with a valid check in its header. */
function isZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  return first === 0x78 && (second & 0x20) === 0 && ((first << 8) | second) % 31 === 0;
}

/**
 * Whether the bytes begin with a tar header. The checksum decides, since old archives have no mark.
 */
export function isTar(bytes: Uint8Array): boolean {
  if (bytes.length < tarBlock || bytes[0] === 0) return false;
  return isTarChecksumValid(bytes.subarray(0, tarBlock));
}

/** Whether the checksum in a header is right; its own field counts as blanks. */
export function isTarChecksumValid(header: Uint8Array): boolean {
  const stated = Number.parseInt(latin1(header.subarray(148, 156)).replaceAll('\0', ' '), 8);
  let sum = 8 * 0x20;
  for (const [at, byte] of header.entries()) if (at < 148 || at >= 156) sum += byte;
  return stated === sum;
}

/**
 * Why the content cannot be examined; `null`: the format is not known to be unreadable.
 *
 * @param magicMin the fewest bytes in the mark of the format: short marks occur by chance
 */
export function unreadableReasonOf(bytes: Uint8Array, magicMin = 2): string | null {
  const head = latin1(bytes.subarray(0, headBytes));
  if (bundle.test(head)) return 'a git bundle is not read';
  const found = closed.find(([magic]) => magic.length >= magicMin && head.startsWith(magic));
  return found?.[1] ?? null;
}

/** As {@link unreadableReasonOf}, for text. */
export function unreadableTextReasonOf(bytes: Uint8Array): string | null {
  return closedText.test(latin1(bytes.subarray(0, headBytes))) ? unreadableReasonOf(bytes) : null;
}

/** Control characters that do not occur in text: all but `\a \b \t \n \v \f \r`, escape and NUL. */
// oxlint-disable-next-line no-control-regex -- of bytes, not of texts
const control = /[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]/;
const blockBytes = 256;
/** A block of random bytes has 24 of them, with a deviation of 5. */
const controlsMin = 8;

/** Whether a block of `length` bytes has too many control characters for text. */
const isDense = (controls: number, length: number): boolean =>
  controls >= Math.max(2, (controlsMin * length) / blockBytes);

function isControl(byte: number): boolean {
  return byte < 0x20 ? byte !== 0 && (byte < 7 || (byte > 13 && byte !== 0x1b)) : byte === 0x7f;
}

/**
 * Whether all of it is text: no block has as many control characters as compressed or compiled
 * data. Text in any single-byte charset counts, and so does NUL between texts.
 */
export function isTextContent(bytes: Uint8Array): boolean {
  if (!control.test(latin1(bytes))) return isUtf8(bytes) || bytes.length > headBytes;
  return findBinaryRanges(bytes).length === 0;
}

/** Whether it is certainly text: all UTF-8, without characters that do not occur in text. */
export const isPlainText = (bytes: Uint8Array): boolean =>
  isUtf8(bytes) && !bytes.includes(0) && !control.test(latin1(bytes));

/** The ranges `[from, to)` that are no text, in whole blocks. */
export function findBinaryRanges(bytes: Uint8Array): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (let from = 0; from < bytes.length; from += blockBytes) {
    const to = Math.min(bytes.length, from + blockBytes);
    let controls = 0;
    for (let at = from; at < to; at += 1) if (isControl(bytes[at] ?? 0)) controls += 1;
    // A short last block belongs to the block before it.
    const before = ranges.at(-1);
    const goesOn = before !== undefined && before[1] === from;
    const dense = isDense(controls, to - from) || (goesOn && to - from < 32);
    if (!dense) continue;
    if (goesOn) before[1] = to;
    else ranges.push([from, to]);
  }
  return ranges;
}

/**
 * DER and public keys of ssh: they are not compressed, so their strings are all that they contain.
 */
export function isPlainBinary(bytes: Uint8Array): boolean {
  const [tag, form, high = 0, low = 0] = bytes;
  if (tag === 0x30 && form === 0x82) return bytes.length - 4 === ((high << 8) | low);
  if (tag === 0x30 && form === 0x81) return bytes.length - 3 === high;
  // oxlint-disable-next-line no-control-regex -- the length of a name
  return /^\x00\x00\x00[\x07-\x30](?:ssh-|ecdsa-|sk-|rsa-)/.test(latin1(bytes.subarray(0, 16)));
}

export interface TranscodedText {
  readonly bytes: Uint8Array;
  readonly via: 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';
}

const lookBytes = 4_096;

/**
 * UTF-16 and UTF-32 as UTF-8, recognised by the byte order mark, or by the NULs if most characters
 * are ASCII. `null`: the bytes are neither.
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
  const characters: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = view.getUint32(at, little);
    characters.push(point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd');
  }
  return { bytes: Buffer.from(characters.join(''), 'utf8'), via: little ? 'utf-32le' : 'utf-32be' };
}

const narrow = /[\t\x20-\x7e\x80-\xff]{8,}/g;
// oxlint-disable-next-line no-control-regex -- each second byte
const wide = /(?:[\t\n\r\x20-\x7e]\x00){8,}/g;

/**
 * The text within other bytes: runs of at least 8 characters, one a line, also in two bytes each.
 */
export function extractStrings(bytes: Uint8Array): Uint8Array {
  const text = latin1(bytes);
  const found: string[] = text.match(narrow) ?? [];
  for (const run of text.match(wide) ?? []) found.push(run.replaceAll('\0', ''));
  return Buffer.from(found.join('\n'), 'latin1');
}
