// What a command may do to a secret before it prints it: every form says which of its characters
// come from the secret.
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/**
 * `secret`: must be hidden; `public`: must stay; `either`: holds some bits of the secret, or
 * stands between its characters.
 */
export type Share = 'secret' | 'public' | 'either';
export type Part = readonly [text: string, share: Share];

export interface Transform {
  readonly name: string;
  /** Characters are bytes. `bytes` is the secret in UTF-8. */
  readonly apply: (bytes: Buffer) => Part[];
  /** Letters, digits and punctuation of the secret are written as they are. */
  readonly plain?: true;
  /** Below this many bytes of the secret it is not known to be found. */
  readonly bytesMin?: number;
}

const text = (bytes: Buffer): string => bytes.toString('latin1');
const reversed = (bytes: Buffer): Buffer => Buffer.from(bytes.toReversed());
const chars = (bytes: Buffer): string[] => Array.from(bytes, (byte) => String.fromCharCode(byte));
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
const one = (name: string, write: (bytes: Buffer) => string): Transform => ({
  name,
  apply: (bytes) => [[write(bytes), 'secret']],
});
const plain = (name: string, apply: (bytes: Buffer) => Part[]): Transform => ({
  name,
  apply,
  plain: true,
});
/** Every byte as an escape; what starts the first one is not of the secret. */
const each = (name: string, write: (byte: number) => string, by = ''): Transform => ({
  name,
  apply: (bytes) => {
    const written = Array.from(bytes, write).join(by);
    const [one, other] = [write(0x1f), write(0xe1)];
    let lead = 0;
    while (one[lead] === other[lead]) lead += 1;
    return [
      [written.slice(0, lead), 'either'],
      [written.slice(lead), 'secret'],
    ];
  },
});

function rotated(from: string, by: number): string {
  return from.replaceAll(/[a-z]/gi, (letter) => {
    const base = letter <= 'Z' ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + by) % 26) + base);
  });
}

/** Base64 of the secret between other bytes: the characters that come from it alone are secret. */
function base64Within(before: string, bytes: Buffer, after: string, line = 0): Part[] {
  const all = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]).toString('base64');
  const from = before.length * 8;
  const to = from + bytes.length * 8;
  const parts: Part[] = [];
  for (let at = 0; at < all.length; at += 1) {
    const bits = at * 6;
    const inside = bits >= from && bits + 6 <= to;
    // A character on either side may go, too.
    const outside = bits + 12 <= from || bits >= to + 6;
    if (line > 0 && at > 0 && at % line === 0) parts.push(['\n', 'either']);
    parts.push([
      all[at] ?? '',
      inside ? 'secret' : outside && all[at] !== '=' ? 'public' : 'either',
    ]);
  }
  return parts;
}

interface DumpOf {
  readonly width: number;
  readonly offset: (at: number) => string;
  readonly group: (bytes: Buffer) => string;
  readonly size: number;
  readonly by?: string;
  readonly side?: (line: Buffer) => string;
}

/** A dump of the secret between two other texts; lines without any of it stay. */
function dump(bytes: Buffer, between: readonly [string, string], of: DumpOf): Part[] {
  const [before, after] = between.map((around) => Buffer.from(around));
  const all = Buffer.concat([before ?? Buffer.of(), bytes, after ?? Buffer.of()]);
  const from = before?.length ?? 0;
  const to = from + bytes.length;
  const parts: Part[] = [];
  for (let at = 0; at < all.length; at += of.width) {
    const line = all.subarray(at, at + of.width);
    parts.push([of.offset(at), 'either']);
    let column = '';
    for (let place = 0; place < line.length; place += of.size) {
      const known = at + place >= from && at + place + of.size <= to;
      const share = known ? 'secret' : 'either';
      const written = of.group(line.subarray(place, place + of.size));
      parts.push([(place === 0 ? '' : (of.by ?? ' ')) + written, share]);
      column += written;
    }
    const near = at < to + 16 && at + of.width > from - 16;
    if (of.side !== undefined) {
      const full = of.width / of.size;
      const here = Math.ceil(line.length / of.size);
      const blanks = ' '.repeat(Math.max(0, full - here) * (column.length / here + 1));
      parts.push([`${blanks}  ${of.side(line)}`, near ? 'either' : 'public']);
    }
    parts.push(['\n', 'either']);
  }
  return parts;
}

const ascii = (line: Buffer): string => text(line).replaceAll(/[^ -~]/g, '.');
const little = (bytes: Buffer): string => reversed(bytes).toString('hex');
const zeros =
  (width: number, base: number, end: string) =>
  (at: number): string =>
    at.toString(base).padStart(width, '0') + end;
const between = ['some text before it, ', ' and some more text after it'] as const;
const asHex = (bytes: Buffer): string => bytes.toString('hex');
const first = (bytes: Buffer): number => bytes[0] ?? 0;
const based =
  (base: number, width: number, blank = '0') =>
  (bytes: Buffer): string =>
    first(bytes).toString(base).padStart(width, blank);
const word = (bytes: Buffer): string =>
  (bytes.length === 2 ? bytes.readUInt16LE(0) : first(bytes)).toString(8).padStart(6, '0');
const xxd = zeros(8, 16, ': ');
const od = zeros(7, 8, ' ');
const noOffset = (): string => ' ';
const bars = (line: Buffer): string => `|${ascii(line)}|`;

const dumpShapes: Record<string, DumpOf> = {
  xxd: { width: 16, offset: xxd, group: asHex, size: 2, side: ascii },
  'xxd -e': { width: 16, offset: xxd, group: little, size: 4, side: ascii },
  'xxd -c 8': { width: 8, offset: xxd, group: asHex, size: 2, side: ascii },
  'xxd -g1': { width: 16, offset: xxd, group: asHex, size: 1, side: ascii },
  'xxd -b': { width: 6, offset: xxd, group: based(2, 8), size: 1, side: ascii },
  'hexdump -C': { width: 16, offset: zeros(8, 16, '  '), group: asHex, size: 1, side: bars },
  hexdump: { width: 16, offset: zeros(7, 16, ' '), group: little, size: 2 },
  od: { width: 16, offset: od, group: word, size: 2 },
  'od -tx1': { width: 16, offset: od, group: asHex, size: 1 },
  'od -tx1z': { width: 16, offset: od, group: asHex, size: 1, side: (l) => `>${ascii(l)}<` },
  'od -tx4': { width: 16, offset: od, group: little, size: 4 },
  'od -tx8': { width: 16, offset: od, group: little, size: 8 },
  'od -b': { width: 16, offset: od, group: based(8, 3), size: 1 },
  'od -tu1': { width: 16, offset: od, group: based(10, 3, ' '), size: 1 },
  'od -c': { width: 16, offset: od, group: (b) => cell(first(b)).padStart(3, ' '), size: 1 },
  'od -An -tx1': { width: 16, offset: noOffset, group: asHex, size: 1 },
  'od -An -tx2': { width: 16, offset: noOffset, group: little, size: 2 },
  'od -An -tu1': { width: 16, offset: noOffset, group: based(10, 3, ' '), size: 1 },
  'objdump -s': {
    width: 16,
    offset: (at) => ` ${zeros(4, 16, ' ')(at)}`,
    group: asHex,
    size: 4,
    side: ascii,
  },
};
const dumps = Object.entries(dumpShapes).map(([name, shape]): Transform => ({
  name,
  apply: (bytes) => dump(bytes, between, shape),
  // Words that hold other bytes, too, leave too few of the secret's in a row.
  bytesMin: shape.group === little && shape.size > 2 ? 12 : 0,
}));

function cell(byte: number): string {
  const names: Record<number, string> = { 0: '\\0', 9: '\\t', 10: '\\n', 13: '\\r' };
  if (names[byte] !== undefined) return names[byte];
  return byte >= 32 && byte < 127 ? String.fromCharCode(byte) : byte.toString(8).padStart(3, '0');
}

/** Characters of the secret with others between them. */
const spread = (name: string, by: (at: number) => string): Transform =>
  plain(name, (bytes) =>
    chars(bytes).flatMap((char, at): Part[] => [
      [at === 0 ? '' : by(at), 'either'],
      [char, 'secret'],
    ]),
  );

const fold = (bytes: Buffer, width: number): string =>
  text(bytes).replaceAll(new RegExp(`([^]{${width}})(?=[^])`, 'g'), '$1\n');

function numbered(bytes: Buffer): Part[] {
  return fold(bytes, 3)
    .split('\n')
    .flatMap((line, at): Part[] => [
      [`${String(at + 1).padStart(6, ' ')}\t`, 'either'],
      [`${line}\n`, 'secret'],
    ]);
}

const around = (name: string, before: string, write: (t: string) => string, after: string) =>
  plain(name, (bytes) => [
    [before, 'public'],
    [write(text(bytes)), 'secret'],
    [after, 'public'],
  ]);

const jsonEscaped = (t: string): string =>
  t.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t');

export const transforms: readonly Transform[] = [
  around('exact', '', (t) => t, ''),
  around('in a sentence', 'The token is ', (t) => t, '.\n'),
  around('twice on a line', 'a=', (t) => t, ';\n'),
  around('JSON', '{"k":"', jsonEscaped, '"}\n'),
  around('JSON in JSON', '{"k":"{\\"v\\":\\"', (t) => jsonEscaped(jsonEscaped(t)), '\\"}"}\n'),
  around('printf %q', 'K=', (t) => t.replaceAll(/[^A-Za-z0-9_\n\x80-\xff]/g, '\\$&'), '\n'),
  around('set -x', "+ curl -H '", (t) => t.replaceAll("'", "'\\''"), "'\n"),
  around('XML', '<k>', (t) => t.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), '</k>\n'),
  around('upper case', '> ', (t) => t.toUpperCase(), ' <'),
  around('lower case', '> ', (t) => t.toLowerCase(), ' <'),
  around(
    'URL',
    'https://h/?q=',
    (t) => t.replaceAll(/[^\w.~-]/g, (c) => `%${hex(c.charCodeAt(0))}`),
    '&',
  ),
  around('NUL', 'A=1\0KEY=', (t) => t, '\0B=2\0'),
  plain('reversed', (bytes) => [[text(reversed(bytes)), 'secret']]),
  plain('rot13', (bytes) => [[rotated(text(bytes), 13), 'secret']]),
  {
    name: 'tr a-y b-z',
    apply: (bytes) => [[rotated(text(bytes), 1), 'secret']],
    plain: true,
    bytesMin: 11,
  },
  plain('fold -w8', (bytes) => [[fold(bytes, 8), 'secret']]),
  plain('fold -w1', (bytes) => [[fold(bytes, 1), 'secret']]),
  { name: 'fold -w3, numbered', apply: numbered },
  spread('spaced', () => ' '),
  spread('comma list', () => '","'),
  spread('coloured letters', (at) => `\x1b[${30 + (at % 8)}m`),
  spread('zero width', () => '\xe2\x80\x8b'),
  spread('UTF-16', () => '\0'),
  spread('backspaces', (at) => (at % 3 === 0 ? '_\b' : '')),
  plain('coloured middle', (bytes) => {
    const half = bytes.length >> 1;
    return [
      [text(bytes.subarray(0, half)), 'secret'],
      ['\x1b[01;31m\x1b[K', 'either'],
      [text(bytes.subarray(half)), 'secret'],
      ['\x1b[m\x1b[K', 'either'],
    ];
  }),
  each('\\x', (byte) => `\\x${hex(byte)}`),
  each('\\ooo', (byte) => `\\${byte.toString(8).padStart(3, '0')}`),
  each('%XX', (byte) => `%${hex(byte)}`),
  each('%25XX', (byte) => `%25${hex(byte)}`),
  each('\\u', (byte) => `\\u00${hex(byte)}`),
  each('\\U', (byte) => `\\U000000${hex(byte)}`),
  each('\\u{}', (byte) => `\\u{${byte.toString(16)}}`),
  each('\\\\x', (byte) => `\\\\x${hex(byte)}`),
  each('&#', (byte) => `&#${byte};`),
  each('&#x', (byte) => `&#x${byte.toString(16)};`),
  each('0x', (byte) => `0x${hex(byte)}`, ', '),
  each('=XX', (byte) => `=${hex(byte).toUpperCase()}`),
  each('byte list', (byte) => String(byte), ', '),
  each('hex with colons', (byte) => hex(byte), ':'),
  one('hex', (bytes) => bytes.toString('hex')),
  one('HEX', (bytes) => bytes.toString('hex').toUpperCase()),
  one('xxd -p', (bytes) => bytes.toString('hex').replaceAll(/(.{60})(?=.)/g, '$1\n')),
  one('hex of base64', (bytes) => Buffer.from(bytes.toString('base64url')).toString('hex')),
  one('hex of hex', (bytes) => Buffer.from(bytes.toString('hex')).toString('hex')),
  { name: 'base64', apply: (bytes) => base64Within('', bytes, '') },
  { name: 'base64, echo', apply: (bytes) => base64Within('', bytes, '\n') },
  { name: 'base64 of user:', apply: (bytes) => base64Within('user:', bytes, '') },
  { name: 'base64 of JSON', apply: (bytes) => base64Within('{"key": "', bytes, '", "n": 1}') },
  {
    name: 'base64 of a file',
    apply: (bytes) => base64Within('first line\n'.repeat(9), bytes, '\nlast line', 76),
  },
  one('base64url', (bytes) => bytes.toString('base64url')),
  one('base64 twice', (bytes) => Buffer.from(bytes.toString('base64url')).toString('base64url')),
  one('base64 of hex', (bytes) => Buffer.from(bytes.toString('hex')).toString('base64')),
  one('base64 of reversed', (bytes) => reversed(bytes).toString('base64')),
  one('base64 of UTF-16', (bytes) =>
    Buffer.from(bytes.toString('utf8'), 'utf16le')
      .toString('base64')
      .replaceAll('=', '')
      .slice(0, -1),
  ),
  one('base64 reversed', (bytes) => text(reversed(Buffer.from(bytes.toString('base64'))))),
  one('base32', (bytes) => base32(bytes)),
  one('gzip, base64', (bytes) => gzipSync(bytes).toString('base64')),
  one('gzip of a file, base64', (bytes) =>
    gzipSync(Buffer.concat([Buffer.from('a line\n'.repeat(50)), bytes]))
      .toString('base64')
      .replaceAll(/(.{76})(?=.)/g, '$1\n'),
  ),
  one('zlib, base64', (bytes) => deflateSync(bytes).toString('base64')),
  one('zlib best, base64', (bytes) => deflateSync(bytes, { level: 9 }).toString('base64')),
  one('zstd, base64', (bytes) => zstdCompressSync(bytes).toString('base64')),
  one('gzip, xxd -p', (bytes) =>
    gzipSync(bytes)
      .toString('hex')
      .replaceAll(/(.{60})(?=.)/g, '$1\n'),
  ),
  packedDump('gzip, xxd', 'xxd'),
  packedDump('gzip, hexdump -C', 'hexdump -C'),
  packedDump('gzip, od -tx1', 'od -tx1'),
  one('zlib, hex', (bytes) => deflateSync(bytes).toString('hex')),
  ...dumps,
];

/** A dump of what gzip makes of the secret: nothing of it can be unpacked. */
function packedDump(name: string, shape: string): Transform {
  const of = dumpShapes[shape];
  return {
    name,
    apply: (bytes) => {
      if (of === undefined) return [];
      const parts = dump(gzipSync(bytes), ['', ''], of);
      return parts.map(([part, share]) => [part, share === 'public' ? 'either' : share]);
    },
  };
}

function base32(bytes: Buffer): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return Array.from(
    bits.match(/.{5}/g) ?? [],
    (five) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five, 2)],
  ).join('');
}

/** The output of a transform, and which of its bytes are whose. */
export function applied(transform: Transform, secret: string): { bytes: Buffer; shares: Share[] } {
  const parts = transform.apply(Buffer.from(secret, 'utf8'));
  const shares = parts.flatMap(([part, share]) => Array.from(part, () => share));
  return { bytes: Buffer.from(parts.map(([part]) => part).join(''), 'latin1'), shares };
}
