// The gate as a whole: what is denied does not leave, in no packing; what tells nothing passes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { checkPublication, withoutEvidence } from '../src/publish/gate.ts';
import type { GateInput, GateItem } from '../src/publish/publication.ts';
import { DeniedIndex } from '../src/publish/denied-index.ts';
import { DeniedNames } from '../src/publish/denied-names.ts';
import { tarOf, zipOf } from './support/archives.ts';

const plan = `# Acquisition of Halvorsen Freight

We offer forty-one million for the whole fleet before the quarter ends.
The board of Halvorsen meets on the ninth; Ingrid carries the letter herself.
If they decline we lease the depots in Bergen and wait for the winter rates.
`;
const code = `export function settleOverdue(ledger, today) {
  const overdue = ledger.entries.filter((entry) => entry.due < today && !entry.waived);
  const penalty = overdue.reduce((sum, entry) => sum + entry.amount * 0.0825, 0);
  return { overdue, penalty, total: overdue.length * ledger.settlementFee + penalty };
}
`;
const denied = new Map([
  ['private/halvorsen-plan.md', plan],
  ['private/settle.ts', code],
  ['private/index.ts', 'export { settleOverdue } from "./settle.ts";\n'],
]);
const canary = 'TRL-CANARY-5f0c9a71';
const known = 'correct-horse-battery-staple';

const index = new DeniedIndex();
const digests = new Map<string, string>();
for (const [path, text] of denied) {
  index.put(path, Buffer.from(text));
  digests.set(createHash('sha256').update(text).digest('hex'), path);
}

const input = (items: readonly GateItem[], more: Partial<GateInput> = {}): GateInput => ({
  items,
  match: (text) => index.match(text),
  deniedFile: (digest) => digests.get(digest) ?? null,
  isDenied: (path) => path.startsWith('private/'),
  names: new DeniedNames({
    paths: denied.keys(),
    words: ['Project Nightingale'],
    packages: [{ name: '@acme/secret-sauce', decision: 'block' }],
    visible: ['src/index.ts', 'README.md'],
  }),
  canaries: [canary],
  findSecrets: (bytes) => {
    const at = Buffer.from(bytes).indexOf(known);
    return at === -1
      ? []
      : [{ name: 'DB_PASSWORD', kind: 'known', span: [at, at + known.length], score: 1 }];
  },
  traceKey: Buffer.alloc(32, 7),
  yieldToEventLoop: async () => {},
  ...more,
});

const item = (bytes: string | Uint8Array, more: Partial<GateItem> = {}): GateItem => ({
  name: 'out.txt',
  kind: 'file',
  bytes: Buffer.from(bytes),
  path: null,
  interference: { kind: 'unknown' },
  ...more,
});

const check = (bytes: string | Uint8Array, more: Partial<GateItem> = {}) =>
  checkPublication(input([item(bytes, more)]));

const brief = (verdict: Awaited<ReturnType<typeof check>>): string[] =>
  verdict.findings.map(({ rule, decision, item, evidence }) =>
    [decision, rule, item, evidence.source].join(' '),
  );

test('what has nothing of what is denied passes', async () => {
  const verdict = await check('npm test\n# 12 passing\nok\n');
  assert.deepEqual(verdict, { decision: 'pass', findings: [], basis: 'scan', items: 1, bytes: 25 });
});

const threeLines = code.split('\n').slice(1, 4).join('\n');
const leaks: readonly (readonly [string, string | Uint8Array, string])[] = [
  [
    'lines of a denied file',
    `see:\n${threeLines}\n`,
    'block denied.content out.txt private/settle.ts',
  ],
  [
    'lines in gzip in base64 in JSON',
    JSON.stringify({ a: zlib.gzipSync(threeLines).toString('base64') }),
    'block denied.content out.txt private/settle.ts',
  ],
  [
    'a member of an npm package',
    zlib.gzipSync(tarOf([['package/dist/a.js', `x;\n${code}`]])),
    'block denied.content out.txt!/package/dist/a.js private/settle.ts',
  ],
  [
    'a denied file by another name in an archive',
    zipOf([['notes/x.md', plan]]),
    'block denied.file out.txt!/notes/x.md private/halvorsen-plan.md',
  ],
  [
    'the path of a denied file in a stack trace',
    '    at settle (/home/me/ws/private/settle.ts:3:9)\n',
    'block denied.name out.txt private/settle.ts',
  ],
  [
    'the path of a denied file in a diff',
    'diff --git a/private/settle.ts b/private/settle.ts\n',
    'block denied.name out.txt private/settle.ts',
  ],
  [
    'the name of a denied file',
    'cp: cannot stat halvorsen-plan.md\n',
    'review denied.name out.txt private/halvorsen-plan.md',
  ],
  [
    'a source of a source map',
    JSON.stringify({ version: 3, sources: ['../../private/settle.ts'], mappings: '' }),
    'block denied.name out.txt!/../../private/settle.ts private/settle.ts',
  ],
  [
    'the content in a source map',
    JSON.stringify({ version: 3, sources: ['webpack:///a.ts'], sourcesContent: [code] }),
    'block denied.file out.txt!/webpack:///a.ts private/settle.ts',
  ],
  [
    'the name of a member of an archive',
    tarOf([['package/private/settle.ts', '']]),
    'block denied.name out.txt!/package/private/settle.ts private/settle.ts',
  ],
  [
    'a member where the rules deny it',
    tarOf([['package/private/new.txt', 'hello']]),
    'review denied.path out.txt!/package/private/new.txt private/new.txt',
  ],
  [
    'a package',
    "import x from '@acme/secret-sauce';\n",
    'block denied.name out.txt @acme/secret-sauce',
  ],
  ['a word', 'const projectNightingale = 1;\n', 'block denied.name out.txt Project Nightingale'],
  [
    'a word over lines',
    'the Project\n> nightingale\n',
    'block denied.name out.txt Project Nightingale',
  ],
  ['a canary', `x ${canary} y`, 'block canary out.txt canary 1'],
  [
    'a canary in small letters, wrapped',
    'trl canary\n+5F0C\n+9a71',
    'block canary out.txt canary 1',
  ],
  [
    'a canary in base64',
    `x: ${Buffer.from(`id=${canary};`).toString('base64')}`,
    'block canary out.txt canary 1',
  ],
  ['a known secret', `pw=${known}\n`, 'block secret.known out.txt DB_PASSWORD'],
  [
    'a known secret in hex',
    Buffer.from(`pw=${known}`).toString('hex'),
    'block secret.known out.txt DB_PASSWORD',
  ],
  [
    'an image',
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    'review unscannable out.txt an image is not read',
  ],
];

for (const [what, bytes, wanted] of leaks) {
  test(`${what} is found`, async () => {
    const verdict = await check(bytes);
    assert.ok(brief(verdict).includes(wanted), brief(verdict).join('\n'));
    assert.equal(verdict.decision, verdict.findings[0]?.decision);
  });
}

test('a denied path itself does not leave', async () => {
  const verdict = await check('anything', { name: 'private/new.md', path: 'private/new.md' });
  assert.deepEqual(brief(verdict), ['block denied.path private/new.md private/new.md']);
});

test('what the audience has in its own paths, and names that all have, are not told', async () => {
  for (const text of [
    'src/index.ts',
    './index.ts:3',
    'settle.ts',
    'xprivate/settle.tsx',
    'plan.md',
  ]) {
    assert.deepEqual(brief(await check(`error in ${text}\n`)), [], text);
  }
});

test('passages of one file add up in an item, and count once however they were found', async () => {
  const [, first = '', second = ''] = code.split('\n');
  const one = await check(`${first}\n`);
  const twice = await check(`${first}\n\nother text in between, of no meaning\n\n${first}\n`);
  const encoded = await check(`${first}\n${Buffer.from(first).toString('base64')}\n`);
  const two = await check(`${first}\n\nother text in between, of no meaning\n\n${second}\n`);
  const [score, ...rest] = [one, twice, encoded, two].map(
    ({ findings }) => findings[0]?.score ?? 0,
  );
  assert.ok(score !== undefined && score >= 60, `${score}`);
  assert.deepEqual(rest.slice(0, 2), [score, score]);
  assert.ok((rest[2] ?? 0) > score);
});

test('non-interference holds only if it holds for every item, and hides no finding', async () => {
  const apart = { interference: { kind: 'none' } } as const;
  const clean = await checkPublication(input([item('a', apart), item('b', apart)]));
  assert.equal(clean.basis, 'non-interference');
  const mixed = await checkPublication(input([item('a', apart), item('b')]));
  assert.equal(mixed.basis, 'scan');
  const copied = await checkPublication(input([item(code, apart)]));
  assert.deepEqual([copied.decision, copied.basis], ['block', 'non-interference']);
  assert.equal((await checkPublication(input([]))).basis, 'scan');
});

test('that a command could read what is denied is told, and policy may hold it back', async () => {
  const possible = { interference: { kind: 'possible', reason: 'exec x-1' } } as const;
  for (const answer of ['pass', 'review', 'block'] as const) {
    const verdict = await checkPublication(
      input([item('a', possible)], { onInterference: answer }),
    );
    assert.deepEqual(brief(verdict), [`${answer} interference out.txt exec x-1`]);
    assert.equal(verdict.decision, answer);
  }
});

test('what a person let pass passes, for the same bytes, and never what is blocked', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const first = await check(png);
  const approved = new Set(first.findings.map(({ trace }) => trace));
  const second = await checkPublication(input([item(png)], { approved }));
  assert.equal(second.decision, 'pass');
  assert.equal(second.findings.length, 1);
  const other = await checkPublication(input([item(Buffer.concat([png, png]))], { approved }));
  assert.equal(other.decision, 'review');
  const blocked = await check(code);
  const all = new Set(blocked.findings.map(({ trace }) => trace));
  assert.equal((await checkPublication(input([item(code)], { approved: all }))).decision, 'block');
});

test('an id is the same for the same bytes, and another one with another key', async () => {
  const [a, b] = [await check(plan), await check(plan)];
  assert.deepEqual(a.findings, b.findings);
  for (const { trace } of a.findings) assert.match(trace, /^t-[0-9a-f]{16}$/);
  const other = await checkPublication(input([item(plan)], { traceKey: Buffer.alloc(32, 8) }));
  const traces = new Set(a.findings.map(({ trace }) => trace));
  assert.ok(other.findings.every(({ trace }) => !traces.has(trace)));
});

test('without evidence nothing of what is denied is told', async () => {
  const tar = tarOf([['package/private/halvorsen-plan.md', plan]]);
  const verdict = await checkPublication(
    input([
      item(tar, { name: 'dist.tar' }),
      item(plan, { name: 'private/halvorsen-plan.md', path: 'private/halvorsen-plan.md' }),
    ]),
  );
  const shown = JSON.stringify(withoutEvidence(verdict));
  assert.doesNotMatch(shown, /halvorsen|private|Acquisition/i);
  assert.match(shown, /dist\.tar/);
  assert.match(shown, /t-[0-9a-f]{16}/);
});

test('findings are bounded, and the strict ones are those that are kept', async () => {
  const members = Array.from({ length: 1_500 }, (_, at): [string, Uint8Array] => [
    `image-${at}.png`,
    Buffer.from(`89504e470d0a1a0a0000000d49484452${at.toString(16).padStart(4, '0')}`, 'hex'),
  ]);
  const verdict = await check(tarOf([...members, ['last.txt', code]]));
  assert.equal(verdict.findings.length, 200);
  assert.equal(verdict.decision, 'block');
});

test('it gives way to others, and ends when it is told to', async () => {
  let turns = 0;
  const long = 'nothing to see in this line, as in all the others of the same text\n'.repeat(
    40_000,
  );
  await checkPublication(
    input([item(long)], {
      match: () => [],
      yieldToEventLoop: async () => {
        turns += 1;
      },
    }),
  );
  assert.ok(turns >= 5, `${turns}`);
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(checkPublication(input([item(long)], { signal })), /enough/);
});
