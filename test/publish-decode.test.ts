// What is encoded is found again, however often; what nobody can look into is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import * as fc from 'fast-check';
import './support/seed.ts';
import { decodeItem } from '../src/publish/decode.ts';
import type { DecodedPart, Unscannable } from '../src/publish/decode-part.ts';

const secret = `export function settle(ledger) {
  const due = ledger.entries.filter((entry) => entry.overdue && !entry.waived);
  return due.reduce((sum, entry) => sum + entry.amount * 1.0825, 0);
}
`;
const marker = 'entry.amount*1.0825';

function open(bytes: Uint8Array | string, name = 'item'): (DecodedPart | Unscannable)[] {
  return [...decodeItem({ name, bytes: Buffer.from(bytes) })];
}

const plain = (bytes: Uint8Array): string =>
  Buffer.from(bytes).toString('utf8').replaceAll(/\s/g, '');

/** The ways by which a text that has the marker was reached. */
function reached(bytes: Uint8Array | string): string[] {
  return open(bytes).flatMap((one) =>
    one.kind === 'part' && one.text && plain(one.bytes).includes(marker)
      ? [one.via.join(' ') || 'as it is']
      : [],
  );
}

const wrap = (text: string, width: number, before = ''): string =>
  (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).map((line) => before + line).join('\n');

const wide = (bytes: Uint8Array, big: boolean): Buffer => {
  const text = Buffer.from(Buffer.from(bytes).toString('latin1'), 'utf16le');
  return big ? text.swap16() : text;
};

const xxd = (bytes: Uint8Array): string =>
  Array.from({ length: Math.ceil(bytes.length / 16) }, (_, line) => {
    const row = Buffer.from(bytes.subarray(line * 16, line * 16 + 16));
    const pairs = row.toString('hex').match(/.{1,4}/g) ?? [];
    const shown = row.toString('latin1').replaceAll(/[^ -~]/g, '.');
    const at = (line * 16).toString(16).padStart(8, '0');
    return `${at}: ${pairs.join(' ').padEnd(39)}  ${shown}\n`;
  }).join('');

const hexdump = (bytes: Uint8Array): string =>
  Array.from({ length: Math.ceil(bytes.length / 16) }, (_, line) => {
    const row = Buffer.from(bytes.subarray(line * 16, line * 16 + 16));
    const pairs = row.toString('hex').match(/../g) ?? [];
    const shown = row.toString('latin1').replaceAll(/[^ -~]/g, '.');
    const halves = [pairs.slice(0, 8).join(' '), pairs.slice(8).join(' ')];
    const at = (line * 16).toString(16).padStart(8, '0');
    return `${at}  ${halves.join('  ').padEnd(48)}  |${shown}|\n`;
  }).join('');

const quotedPrintable = (bytes: Uint8Array): string =>
  (
    Buffer.from(bytes)
      .toString('latin1')
      .replaceAll(
        /[^\t\n -<>-~]/g,
        (one) => `=${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
      )
      .match(/(?:=..|[^\n]){1,70}|\n/g) ?? []
  ).reduce(
    (all, line) =>
      all === '' || all.endsWith('\n') || line === '\n' ? all + line : `${all}=\r\n${line}`,
    '',
  );

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const entity = (one: string): string => `&#x${one.charCodeAt(0).toString(16)};`;

/** Each as bytes to bytes. `texts`: it takes texts only. */
const encodings: Readonly<
  Record<string, { readonly texts?: true; readonly of: (bytes: Uint8Array) => string | Uint8Array }>
> = {
  base64: { of: (bytes) => Buffer.from(bytes).toString('base64') },
  'base64 in text': { of: (bytes) => `token=${Buffer.from(bytes).toString('base64')};\nok\n` },
  'base64 in a URL of data': {
    of: (bytes) => `<a href="data:text/plain;base64,${Buffer.from(bytes).toString('base64')}">`,
  },
  'base64 after a name': { of: (bytes) => `sum-1+${Buffer.from(bytes).toString('base64')}` },
  'base64 without filling': {
    of: (bytes) => Buffer.from(bytes).toString('base64').replace(/=+$/, ''),
  },
  base64url: { of: (bytes) => `jwt ${Buffer.from(bytes).toString('base64url')} end` },
  'wrapped base64': { of: (bytes) => wrap(Buffer.from(bytes).toString('base64'), 76) },
  'quoted base64': { of: (bytes) => wrap(Buffer.from(bytes).toString('base64'), 64, '> ') },
  'base64 in a diff': { of: (bytes) => wrap(Buffer.from(bytes).toString('base64'), 60, '+') },
  'base64 in YAML': {
    of: (bytes) => `x: |\n${wrap(Buffer.from(bytes).toString('base64'), 64, '    ')}\n`,
  },
  hex: { of: (bytes) => Buffer.from(bytes).toString('hex') },
  'wrapped hex': { of: (bytes) => wrap(Buffer.from(bytes).toString('hex'), 60) },
  'hex in capitals': { of: (bytes) => `0x${Buffer.from(bytes).toString('hex').toUpperCase()}` },
  'hex with blanks': {
    of: (bytes) => (Buffer.from(bytes).toString('hex').match(/../g) ?? []).join(' '),
  },
  'hex with colons': {
    of: (bytes) => (Buffer.from(bytes).toString('hex').match(/../g) ?? []).join(':'),
  },
  'a list of bytes': {
    of: (bytes) =>
      `[${[...bytes].map((one) => `0x${one.toString(16).padStart(2, '0')}`).join(', ')}]`,
  },
  'a list of numbers': { of: (bytes) => JSON.stringify(Buffer.from(bytes)) },
  xxd: { of: xxd },
  hexdump: { of: hexdump },
  url: { texts: true, of: (bytes) => `q=${encodeURIComponent(text(bytes))}&x=1` },
  form: { texts: true, of: (bytes) => new URLSearchParams({ q: text(bytes) }).toString() },
  json: { texts: true, of: (bytes) => JSON.stringify({ a: 1, log: text(bytes) }) },
  'json lines': {
    texts: true,
    of: (bytes) => `{"a":1}\n${JSON.stringify({ log: text(bytes) })}\n`,
  },
  'a list of lines in json': {
    texts: true,
    of: (bytes) => JSON.stringify({ source: text(bytes).split(/(?<=\n)/) }, null, 2),
  },
  'a string in a program': {
    texts: true,
    of: (bytes) => `const x = ${JSON.stringify(text(bytes))};`,
  },
  html: {
    texts: true,
    of: (bytes) => `<pre>${text(bytes).replaceAll(/[<>&"'/=]/g, entity)}</pre>`,
  },
  'quoted-printable': { texts: true, of: quotedPrintable },
  'utf-16le with mark': {
    texts: true,
    of: (bytes) => Buffer.concat([Buffer.from([0xff, 0xfe]), wide(bytes, false)]),
  },
  'utf-16be with mark': {
    texts: true,
    of: (bytes) => Buffer.concat([Buffer.from([0xfe, 0xff]), wide(bytes, true)]),
  },
  'utf-16le': { texts: true, of: (bytes) => wide(bytes, false) },
  'utf-16be': { texts: true, of: (bytes) => wide(bytes, true) },
  gzip: { of: (bytes) => zlib.gzipSync(bytes) },
  'gzip in two members': {
    of: (bytes) =>
      Buffer.concat([bytes.subarray(0, 70), bytes.subarray(70)].map((one) => zlib.gzipSync(one))),
  },
  zlib: { of: (bytes) => zlib.deflateSync(bytes) },
  deflate: { of: (bytes) => zlib.deflateRawSync(bytes) },
  brotli: { of: (bytes) => zlib.brotliCompressSync(bytes) },
  zstd: { of: (bytes) => zlib.zstdCompressSync(bytes) },
};

function encode(name: string, bytes: Uint8Array): Uint8Array {
  const encoded = encodings[name]?.of(bytes) ?? '';
  return typeof encoded === 'string' ? Buffer.from(encoded, 'latin1') : encoded;
}

for (const name of Object.keys(encodings)) {
  test(`${name} is decoded`, () => {
    const [way] = reached(encode(name, Buffer.from(secret)));
    assert.ok(way !== undefined, text(encode(name, Buffer.from(secret))).slice(0, 400));
  });
}

const isPacked = (name: string): boolean => /^(?:gzip|zlib|deflate|brotli|zstd|utf)/.test(name);

const isUnmarked = (name: string): boolean => name === 'deflate' || name === 'brotli';

test('whatever is encoded three times over in whatever ways is found', () => {
  const names = fc.array(fc.constantFrom(...Object.keys(encodings)), {
    minLength: 2,
    maxLength: 3,
  });
  fc.assert(
    fc.property(names, (chain) => {
      // Text stays text in between; what is packed is not put into a text as it is.
      let bytes: Uint8Array = Buffer.from(secret);
      let last = '';
      for (const name of chain) {
        fc.pre(!(encodings[name]?.texts === true && isPacked(last)));
        // Neither has a mark: of two, nothing tells the inner one.
        fc.pre(!(isUnmarked(name) && isUnmarked(last)));
        bytes = encode(name, bytes);
        last = name;
      }
      assert.ok(reached(bytes).length > 0, chain.join(' → '));
    }),
    { numRuns: 300 },
  );
});
