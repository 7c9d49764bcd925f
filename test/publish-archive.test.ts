// Archives by people who want a reader to see something else than what is in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import * as fc from 'fast-check';
import './support/seed.ts';
import { decodeItem } from '../src/publish/decode.ts';
import type { DecodedPart, Unscannable } from '../src/publish/decode-part.ts';
import { tarEntry, tarOf, zipOf } from './support/archives.ts';

const text = 'the board of Halvorsen meets on the ninth\n';
const MiB = 2 ** 20;

const open = (bytes: Uint8Array, bounds?: { bytes: number; parts: number }) => [
  ...decodeItem({ name: 'a', bytes }, bounds),
];

/** Names of the texts in which it is, and reasons why something could not be looked into. */
function told(parts: readonly (DecodedPart | Unscannable)[]): string[] {
  const all = parts.flatMap((one) => {
    if (one.kind === 'unscannable') return [`${one.name}: ${one.reason}`];
    const isIn = one.text && Buffer.from(one.bytes).includes('Halvorsen');
    return isIn ? [one.name] : [];
  });
  return [...new Set(all)];
}

const noise = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  let state = 0x2545_f491;
  for (let at = 0; at < length; at += 1) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223;
    bytes[at] = state >>> 24;
  }
  return bytes;
};

const pax = (records: Readonly<Record<string, string>>): Uint8Array => {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    const bytes = Buffer.byteLength(rest);
    const length = bytes + String(bytes + 2).length;
    return `${length}${rest}`;
  });
  return tarEntry('pax', lines.join(''), { type: 'x' });
};

const ar = (members: readonly (readonly [string, Uint8Array])[]): Uint8Array =>
  Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...members.flatMap(([name, bytes]) => [
      Buffer.from(`${name.padEnd(16)}${'0'.padEnd(32)}${String(bytes.length).padEnd(10)}\`\n`),
      bytes,
      Buffer.alloc(bytes.length % 2, '\n'),
    ]),
  ]);

const xz = Buffer.concat([Buffer.from('fd377a585a00', 'hex'), noise(200)]);
const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), noise(300)]);
const publicKey = Buffer.concat([Buffer.from('\0\0\0\x07ssh-rsa'), noise(2_000)]);
const end = Buffer.alloc(1_024);
const long = `${'deep/'.repeat(40)}file.txt`;

const attacks: readonly (readonly [string, Uint8Array, readonly string[]])[] = [
  ['a tar', tarOf([['x.txt', text]]), ['a!/x.txt']],
  ['an npm package', zlib.gzipSync(tarOf([['package/x.js', text]])), ['a!/package/x.js']],
  ['a name with ..', tarOf([['../../etc/x', text]]), ['a!/../../etc/x']],
  [
    'a link in a tar',
    Buffer.concat([tarEntry('l', '', { type: '2', link: 'Halvorsen' }), end]),
    ['a!/l'],
  ],
  [
    'a long name of GNU',
    Buffer.concat([tarEntry('x', `${long}\0`, { type: 'L' }), tarOf([['short', text]])]),
    [`a!/${long}`],
  ],
  [
    'a name in a pax record',
    Buffer.concat([pax({ path: 'päth/x' }), tarOf([['short', text]])]),
    ['a!/päth/x'],
  ],
  [
    'a comment in a pax record',
    Buffer.concat([pax({ comment: text.trim() }), tarOf([['x', 'y']])]),
    ['a!/(pax)'],
  ],
  [
    'a size in a pax record',
    Buffer.concat([pax({ size: String(text.length) }), tarEntry('x', text, { size: 0 }), end]),
    ['a!/x'],
  ],
  [
    'a tar that was cut off',
    tarOf([['x', text.repeat(100)]]).subarray(0, 1_000),
    ['a!/x: damaged: it ends before its content does', 'a!/x'],
  ],
  [
    'a size of a tar that is too small',
    Buffer.concat([tarEntry('x', text, { size: 0 }), end]),
    ['a'],
  ],
  ['what follows a tar', Buffer.concat([tarOf([['x', 'y']]), Buffer.from(text)]), ['a']],
  ['a tar within a tar', tarOf([['b.tar', tarOf([['x', text]])]]), ['a!/b.tar!/x']],
  ['a zip', zipOf([['x.txt', text]]), ['a!/x.txt']],
  ['a stored zip', zipOf([['x.txt', text, { method: 0 }]]), ['a!/x.txt']],
  ['a zip that lies about sizes', zipOf([['x.txt', text, { size: 1 }]]), ['a!/x.txt']],
  ['a zip within a zip', zipOf([['b.jar', zipOf([['x', text]])]]), ['a!/b.jar!/x']],
  [
    'a zip behind a program',
    zipOf([['x', text]], noise(3_000)),
    ['a!/x', 'a: bytes of an unknown kind'],
  ],
  [
    'a member that the directory does not name',
    zipOf([
      ['x', 'y'],
      ['h', text, { hidden: true }],
    ]),
    ['a!/h'],
  ],
  ['two names of one member', zipOf([['x', 'y', { localName: 'Halvorsen.txt' }]]), []],
  ['an encrypted member', zipOf([['x', 'y'.repeat(50), { flags: 1 }]]), ['a!/x: encrypted']],
  [
    'a member packed in another way',
    zipOf([['x', noise(50), { method: 12 }]]),
    ['a!/x: packed in a way that is not read'],
  ],
  [
    'a damaged member',
    zipOf([['x', noise(50), { method: 8 }]]).map((byte, at) => (at > 31 && at < 60 ? 0xff : byte)),
    ['a!/x: damaged'],
  ],
  ['a comment of a zip', Buffer.concat([zipOf([['x', 'y']]), Buffer.from(text)]), ['a']],
  [
    'a Debian package',
    ar([
      ['control.tar.gz', zlib.gzipSync(tarOf([['control', text]]))],
      ['data.tar.xz', xz],
    ]),
    ['a!/control.tar.gz!/control', 'a!/data.tar.xz: xz is not read'],
  ],
  ['two streams of gzip', Buffer.concat([zlib.gzipSync('a\n'), zlib.gzipSync(text)]), ['a']],
  ['what follows gzip', Buffer.concat([zlib.gzipSync('a\n'), Buffer.from(text)]), ['a']],
  [
    'a gzip that was cut off',
    zlib.gzipSync(text + noise(5_000).toString('hex')).subarray(0, 2_000),
    ['a'],
  ],
  [
    'a gzip that is none',
    Buffer.concat([Buffer.from('1f8b0800', 'hex'), Buffer.from(text)]),
    ['a: gzip: damaged', 'a'],
  ],
  [
    'a gzip within an output',
    Buffer.concat([Buffer.from('$ cat x.gz\n'), zlib.gzipSync(text)]),
    ['a'],
  ],
  [
    'text in front of what is none',
    Buffer.concat([Buffer.from('All is well.\n'.repeat(500)), noise(4_000)]),
    ['a: bytes of an unknown kind'],
  ],
  [
    'text within a program',
    Buffer.concat([Buffer.from('\x7fELF'), noise(500), Buffer.from(text), noise(500)]),
    ['a', 'a: an executable is not read'],
  ],
  [
    'UTF-16 within a program',
    Buffer.concat([Buffer.from('\x7fELF'), noise(500), Buffer.from(text, 'utf16le'), noise(500)]),
    ['a', 'a: an executable is not read'],
  ],
  ['random bytes', noise(100), ['a: bytes of an unknown kind']],
  ['xz', xz, ['a: xz is not read']],
  ['a PDF that is text', Buffer.from('%PDF-1.7\n1 0 obj <<>> endobj\n'), ['a: a PDF is not read']],
  [
    'a bundle of git',
    Buffer.concat([
      Buffer.from('# v2 git bundle\n1234 refs/heads/main\n\nPACK\0\0\0\x02'),
      noise(300),
    ]),
    ['a: a git bundle is not read'],
  ],
  ['an encrypted text', Buffer.from('-----BEGIN PGP MESSAGE-----\n\nhQEMA\n'), ['a: encrypted']],
  [
    'an image in a page',
    Buffer.from(`<img src="data:image/png;base64,${image.toString('base64')}">`),
    ['a: an image is not read'],
  ],
  [
    'unknown bytes in base64',
    Buffer.from(`x = "${noise(3_000).toString('base64')}"\n`),
    ['a: bytes of an unknown kind'],
  ],
];

for (const [what, bytes, wanted] of attacks) {
  test(`${what} is read, or told`, () => {
    const found = told(open(bytes));
    const missing = wanted.filter((one) => !found.includes(one));
    assert.deepEqual(missing, [], found.join(', '));
    if (wanted.length === 0) assert.ok(open(bytes).some(({ name }) => name.includes('Halvorsen')));
  });
}

const harmless: readonly (readonly [string, string | Uint8Array])[] = [
  ['digests', `${noise(32).toString('hex')}  x\n`.repeat(40)],
  ['lines of go.sum', `x v1 h1:${noise(32).toString('base64')}\n`.repeat(40)],
  ['a lock file', `"integrity": "sha512-${noise(64).toString('base64')}"\n`.repeat(40)],
  ['a public key', `ssh-rsa ${publicKey.toString('base64')} me\n`],
  ['paths', '/usr/lib/node_modules/some/long/path/to/a/file/without/any/dot\n'.repeat(100)],
  ['a progress bar', '\x1b[2K\r[=====>    ] 40%\b\b\b\x07\n'.repeat(30)],
  ['names between zeros', 'src/a.ts\0src/b.ts\0'.repeat(50)],
  ['Latin-1', Buffer.from('Größe: ändern\n'.repeat(20), 'latin1')],
  ['nothing', ''],
];

for (const [what, bytes] of harmless) {
  test(`${what}: nothing that could not be looked into`, () => {
    assert.deepEqual(told(open(Buffer.from(bytes))), []);
  });
}

test('archives and encodings too deep are told', () => {
  let zip: Uint8Array = Buffer.from(text);
  for (let depth = 0; depth < 5; depth += 1) zip = zipOf([['z', zip]]);
  assert.deepEqual(told(open(zip)), ['a!/z!/z!/z: archives more than 3 times over']);
  let gzip: Uint8Array = Buffer.from(text);
  for (let depth = 0; depth < 4; depth += 1) gzip = zlib.gzipSync(gzip);
  assert.deepEqual(told(open(gzip)), ['a: packed more than 3 times over']);
  let base64 = text;
  for (let depth = 0; depth < 4; depth += 1) base64 = Buffer.from(base64).toString('base64');
  assert.deepEqual(told(open(Buffer.from(base64))), ['a: encoded more than 3 times over']);
});

test('bombs stay within bounds, and are told', () => {
  const zeros = zlib.gzipSync(Buffer.alloc(128 * MiB));
  assert.deepEqual(told(open(zeros)), ['a: gzip: larger than may be opened']);
  const bounds = { bytes: 4 * MiB, parts: 1_000 };
  const members = zipOf(Array.from({ length: 20 }, (_, at) => [`m${at}`, Buffer.alloc(MiB, 'x ')]));
  const parts = open(members, bounds);
  const size = parts.reduce((all, one) => all + (one.kind === 'part' ? one.bytes.length : 0), 0);
  assert.ok(size <= bounds.bytes + members.length + MiB, `${size}`);
  assert.ok(parts.some((one) => one.kind === 'unscannable'));
  const many = tarOf(Array.from({ length: 3_000 }, (_, at) => [`m${at}`, '']));
  assert.ok(open(many, bounds).length <= bounds.parts + 2);
  assert.ok(told(open(many, bounds)).some((one) => one.endsWith('more in it than may be opened')));
  // One content that a thousand entries of the directory name.
  const overlap = Buffer.from(zipOf([['x', Buffer.alloc(MiB, 'y ')]]));
  const at = overlap.indexOf('PK\x01\x02');
  const entry = overlap.subarray(at, at + 47);
  const last = Buffer.from(overlap.subarray(at + 47));
  last.writeUInt32LE(47 * 1_000, 12);
  const entries = Buffer.concat(Array.from({ length: 1_000 }, () => entry));
  const again = open(Buffer.concat([overlap.subarray(0, at), entries, last]), bounds);
  assert.ok(again.some((one) => one.kind === 'unscannable'));
});

test('long lines, and many of the signs that begin something, end soon', () => {
  const unit = [
    'PK\x03\x04',
    '\x1f\x8b\x08\x00',
    'ustar',
    '!<arch>\n',
    '\x78\x9c',
    '\\',
    '%41',
    '&lt;',
    '=3D',
    '"',
    'A',
  ];
  for (const one of unit) {
    const bytes = Buffer.from(one.repeat(MiB / 4 / one.length), 'latin1');
    assert.ok(open(bytes).length > 0, one);
  }
  assert.ok(open(Buffer.from(`{"a":"${'\\"'.repeat(MiB / 8)}`)).length > 0);
  assert.ok(open(Buffer.from('['.repeat(MiB / 4))).length > 0);
});

const containers = {
  tar: (bytes: Uint8Array) => tarOf([['m', bytes]]),
  zip: (bytes: Uint8Array) => zipOf([['m', bytes]]),
  ar: (bytes: Uint8Array) => ar([['m', bytes]]),
  gzip: (bytes: Uint8Array) => zlib.gzipSync(bytes),
} as const;

test('whatever is changed in an archive, it is read or told, and nothing throws', () => {
  const kinds = fc.constantFrom('tar', 'zip', 'ar', 'gzip');
  const changes = fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(kinds, changes, fc.double({ min: 0.2, max: 1, noNaN: true }), (kind, all, cut) => {
      const bytes = Buffer.from(containers[kind](Buffer.from(text.repeat(8))));
      for (const [place, byte] of all) bytes[Math.floor(place * bytes.length)] = byte;
      const parts = open(bytes.subarray(0, Math.ceil(cut * bytes.length)));
      const isTold = told(parts).length > 0;
      const isCut = cut < 0.9;
      assert.ok(isTold || isCut || parts.length > 0);
    }),
    { numRuns: 300 },
  );
});
