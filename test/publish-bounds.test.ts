// Little that makes much work: the same bytes many times over, and escapes without end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { decodeItemInSteps, decodeItem } from '../src/publish/decode.ts';
import type { DecodedPart } from '../src/publish/decode-part.ts';
import { checkPublication } from '../src/publish/gate.ts';
import type { GateInput } from '../src/publish/publication.ts';
import { DeniedIndex } from '../src/publish/denied-index.ts';
import { DeniedNames } from '../src/publish/denied-names.ts';
import { findUndoubledRanges } from '../src/publish/text-views.ts';
import { tarOf, zipOf } from './support/archives.ts';

const line = `We offer forty-one million for the whole fleet before the quarter ends.
The board of Halvorsen meets on the ninth; Ingrid carries the letter herself.
If they decline we lease the depots in Bergen and wait for the winter rates.
`;
const MiB = 2 ** 20;

/** One member, and a directory that names it so often, each time in another way. */
function zipOfOne(content: Uint8Array, names: readonly string[]): Uint8Array {
  const one = Buffer.from(zipOf([['first', content]]));
  const at = one.lastIndexOf('PK\x01\x02', undefined, 'latin1');
  const central = one.subarray(at, at + 46);
  const directory = names.flatMap((name) => {
    const entry = Buffer.from(central);
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    return [entry, Buffer.from(name)];
  });
  const listed = Buffer.concat(directory);
  const end = Buffer.from(one.subarray(-22));
  end.writeUInt32LE(listed.length, 12);
  return Buffer.concat([one.subarray(0, at), listed, end]);
}

const index = new DeniedIndex();
index.put('private/plan.md', Buffer.from(line));

function inputOf(bytes: Uint8Array, more: Partial<GateInput> = {}): GateInput {
  return {
    items: [
      { name: 'a', kind: 'file', bytes, path: null, interference: { kind: 'unknown' } } as const,
    ],
    match: (text) => index.match(text),
    deniedFile: () => null,
    isDenied: () => false,
    names: new DeniedNames({ paths: [], words: ['Project Nightingale'] }),
    canaries: [],
    findSecrets: () => [],
    traceKey: Buffer.alloc(32, 7),
    yieldToEventLoop: async () => {},
    ...more,
  };
}

test('a member that a zip names many times is searched once', async () => {
  const names = Array.from({ length: 3_000 }, (_, at) => `f${at}`);
  const zip = zipOfOne(Buffer.from('nothing to see here\n'.repeat(2_000)), names);
  let searched = 0;
  const match: GateInput['match'] = (text) => {
    searched += text.length;
    return [];
  };
  await checkPublication(inputOf(zip, { match }));
  // Once the member, and once the names of all.
  assert.ok(searched < 200_000, `${searched}`);
});

test('what is in a repeated member is found, and each of its names is looked at', async () => {
  const names = ['x', 'y', 'Project Nightingale.md', 'z'];
  const { findings } = await checkPublication(inputOf(zipOfOne(Buffer.from(line), names)));
  const told = findings.map(({ rule, item }) => `${rule} ${item}`);
  assert.ok(told.includes('denied.content a!/x'), told.join('\n'));
  assert.ok(told.includes('denied.name a!/Project Nightingale.md'), told.join('\n'));
});

test('repeated bytes count as what may be opened, and what is beyond is told once', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `f${at}`);
  const zip = zipOfOne(Buffer.from('nothing to see here\n'.repeat(5_000)), names);
  const parts = [...decodeItem({ name: 'a', bytes: zip }, { bytes: MiB, parts: 50_000 })];
  const whole = parts.filter((one) => one.kind === 'part' && one.bytes.length === 100_000);
  assert.equal(whole.length, 10);
  assert.equal(whole.filter((one) => one.kind === 'part' && one.text).length, 1);
  const closed = parts.flatMap((one) => (one.kind === 'unscannable' ? [one.reason] : []));
  assert.deepEqual(closed, ['more in it than may be opened']);
});

test('what is too large is not unpacked in vain any number of times', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `f${at}`);
  const bomb = zipOfOne(Buffer.alloc(80 * MiB), names);
  const parts = [...decodeItem({ name: 'a', bytes: bomb })];
  const closed = parts.flatMap((one) => (one.kind === 'unscannable' ? [one.reason] : []));
  assert.ok(closed.length < 40, `${closed.length}`);
  assert.ok(closed.includes('more in it than may be opened'), closed.join('\n'));
});

test('what was opened less far before is opened again where more may be opened', () => {
  let inner: Uint8Array = tarOf([['plan.md', line]]);
  const shallow = inner;
  for (const name of ['b.tar', 'c.tar', 'd.tar']) inner = tarOf([[name, inner]]);
  const parts = [
    ...decodeItem({
      name: 'a',
      bytes: tarOf([
        ['deep', inner],
        ['near', shallow],
      ]),
    }),
  ];
  const texts = parts.filter((one): one is DecodedPart => one.kind === 'part' && one.text);
  assert.ok(texts.some(({ name }) => name === 'a!/near!/plan.md'));
});

const long = 400_000;
const gzip = zlib.gzipSync('x');
const zstd = zlib.zstdCompressSync('x');
const slow: readonly (readonly [string, Uint8Array | string])[] = [
  ['URL escapes', '%41'.repeat(long)],
  ['entities', '&amp;'.repeat(long)],
  ['quoted-printable', '=3D'.repeat(long)],
  ['backslashes', '\\'.repeat(long)],
  ['escapes of JSON', '\\u0041'.repeat(long)],
  ['one string of JSON', JSON.stringify(['\u0001'.repeat(long)])],
  ['strings of JSON', JSON.stringify(Array.from({ length: long }, (_, at) => `s${at}`))],
  ['hex with blanks', '4a '.repeat(long)],
  ['lines of hex', `${'4a '.repeat(16)}\n`.repeat(long / 16)],
  ['equal views', `%41${' '.repeat(40)}`.repeat(long / 8)],
  ['gzip members', Buffer.concat(Array.from({ length: 5_000 }, () => gzip))],
  ['zstd frames', Buffer.concat(Array.from({ length: 5_000 }, () => zstd))],
];

for (const [what, content] of slow) {
  test(`others have turns before the next part of ${what} is found`, () => {
    const steps = [...decodeItemInSteps({ name: 'a', bytes: Buffer.from(content) })];
    const pauses = steps.filter((one) => one === null).length;
    assert.ok(pauses >= 4, `${pauses} pauses`);
  });
}

test('what is decoded piece by piece is what it is decoded at once', () => {
  const words = 'a+b%2Bc+'.repeat(40_000);
  const texts = [...decodeItem({ name: 'a', bytes: Buffer.from(words) })].flatMap((one) =>
    one.kind === 'part' && one.via.join(' ') === 'url' ? [Buffer.from(one.bytes).toString()] : [],
  );
  assert.deepEqual(texts, ['a b+c '.repeat(40_000)]);
  const string = 'one "two" \\ three\n\t'.repeat(20_000);
  const strings = [...decodeItem({ name: 'a', bytes: Buffer.from(JSON.stringify([string])) })];
  const views = strings.flatMap((one) =>
    one.kind === 'part' && one.via.join(' ') === 'json' ? [Buffer.from(one.bytes).toString()] : [],
  );
  assert.ok(views.includes(`${string}\n`));
});

test('the gate gives way at each pause', async () => {
  let turns = 0;
  const bytes = Buffer.from('%41'.repeat(long));
  const turn = async (): Promise<void> => {
    turns += 1;
  };
  await checkPublication(inputOf(bytes, { match: () => [], yieldToEventLoop: turn }));
  const steps = [...decodeItemInSteps({ name: 'a', bytes })];
  assert.ok(turns >= steps.length, `${turns} of ${steps.length}`);
});

const quoting = `const title = "Halvorsen", port = "Bergen", by = 'Ingrid', mode = "lease";
offer.send({ "fleet": title, "harbour": port, "carrier": by, "terms": mode, "year": "next" });
if (reply["answer"] === "no" || reply["state"] === "late") depots.lease("Bergen", "winter");
`;

for (const [what, quoted] of [
  ['a field of CSV', `7,"${quoting.replaceAll('"', '""')}",open\n`],
  ['a string of SQL', `INSERT INTO notes VALUES (7, '${quoting.replaceAll("'", "''")}');\n`],
] as const) {
  test(`what is quoted by doubling its quotes is found in ${what}`, () => {
    const denied = new DeniedIndex();
    denied.put('private/offer.ts', Buffer.from(quoting));
    const whole = Math.max(...denied.match(Buffer.from(quoting)).map(({ novel }) => novel));
    const found = Math.max(0, ...denied.match(Buffer.from(quoted)).map(({ novel }) => novel));
    assert.ok(found > whole * 0.9, `${found} of ${whole}`);
  });
}

test('an empty string is not a doubled quote', () => {
  assert.deepEqual(findUndoubledRanges(`f("", '', [""], x = "")`), []);
  assert.deepEqual(findUndoubledRanges('a ""b"" c'), [0, 3, 4, 6, 7, 9]);
});
