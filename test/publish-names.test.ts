// Names that tell of what is denied, and those that everybody has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { PatternSet, squeezeText } from '../src/publish/exact-patterns.ts';
import { DeniedNames, readPackageNames } from '../src/publish/denied-names.ts';

const names = new DeniedNames({
  paths: [
    'private/halvorsen-merger.md',
    'private/plan.md',
    'private/index.ts',
    'src/billing/settlement-engine.ts',
    'src/index.ts',
    'docs/README.md',
    'Geheim/Übernahme Süd.odt',
    'notes.txt',
  ],
  words: ['Project Nightingale', 'ACME-42', 'Zürich'],
  packages: [{ name: '@acme/secret-sauce', decision: 'block' }],
  visible: ['packages/a/src/index.ts', 'docs/guide.md', 'lib/settlement-engine.test.ts'],
});

const find = (text: string): string[] =>
  names.find(Buffer.from(text)).map(({ name, decision }) => `${decision} ${name}`);

const told: readonly (readonly [string, readonly string[]])[] = [
  ['see private/plan.md', ['block private/plan.md']],
  ['--- a/private/plan.md\t2026', ['block private/plan.md']],
  ['/home/me/ws/private/plan.md:3:1', ['block private/plan.md']],
  ['at x (file:///ws/private/plan.md)', ['block private/plan.md']],
  [String.raw`C:\ws\private\plan.md`, ['block private/plan.md']],
  ['PRIVATE/PLAN.MD', ['block private/plan.md']],
  ['"./private/index.ts"', ['block private/index.ts']],
  ['from "../private/index.js"', ['review private/index.ts']],
  ['cat halvorsen-merger.md', ['review private/halvorsen-merger.md']],
  ['settlement-engine.d.ts', ['review src/billing/settlement-engine.ts']],
  ['dist/settlement-engine.js.map', ['review src/billing/settlement-engine.ts']],
  ['billing/settlement-engine', []],
  ['src/billing/settlement-engine', ['review src/billing/settlement-engine.ts']],
  ['Geheim/Übernahme Süd.odt', ['block Geheim/Übernahme Süd.odt']],
  ['x = "project_nightingale"', ['block Project Nightingale']],
  ['class ProjectNightingale {}', ['block Project Nightingale']],
  ['const myProjectNightingale2 = 1', ['block Project Nightingale']],
  ['PROJECT-\n+ NIGHTINGALE', ['block Project Nightingale']],
  ['\x1b[1mProject\x1b[0m Nightingale', ['block Project Nightingale']],
  ['acme 42', ['block ACME-42']],
  ['in Zürich', ['block Zürich']],
  ['in Zu\u0308rich', ['block Zürich']],
  ['npm i @acme/secret-sauce@1', ['block @acme/secret-sauce']],
  ['xprivate/plan.md', []],
  ['private/plan.mdx', []],
  ['my-private/plan.md', []],
  ['plan.md', []],
  ['src/index.ts', []],
  ['docs/README.md', []],
  ['notes.txt', []],
  ['subproject nightingales', []],
  ['acme 421', []],
  ['', []],
];

for (const [text, wanted] of told) {
  test(`${JSON.stringify(text)} tells ${wanted.join(', ') || 'nothing'}`, () => {
    assert.deepEqual(find(text), wanted);
  });
}

test('a name is told by its place', () => {
  const text = 'see: Project  Nightingale!';
  const [hit] = names.find(Buffer.from(text));
  assert.equal(text.slice(...(hit?.span ?? [])), 'Project  Nightingale');
});

const manifests: readonly (readonly [string, string, readonly string[]])[] = [
  ['package.json', '{"name":"@acme/x-sauce","private":true}', ['block @acme/x-sauce']],
  ['a/package.json', '{"name":"@acme/x-sauce"}', ['review @acme/x-sauce']],
  ['package.json', '{"name":"@acme/x-sauce","license":"UNLICENSED"}', ['review @acme/x-sauce']],
  ['package.json', '{"name":"@babel/core-sauce","license":"MIT"}', []],
  ['package.json', '{"name":"left-pad","private":true}', []],
  [
    'package.json',
    '{"name":"halvorsen-settlement","private":true}',
    ['review halvorsen-settlement'],
  ],
  ['package.json', '{"name":7}', []],
  ['package.json', '{"name":', []],
  ['package.json', '[]', []],
  [
    'Cargo.toml',
    '[package]\nname = "halvorsen-settlement"\npublish = false\n',
    ['review halvorsen-settlement'],
  ],
  ['Cargo.toml', '[package]\nname = "serde-derive-thing"\nlicense = "MIT"\n', []],
  [
    'go.mod',
    'module git.acme.example/fleet/settle\n\ngo 1.24\n',
    ['review git.acme.example/fleet/settle'],
  ],
  ['README.md', '{"name":"@acme/x"}', []],
];

for (const [path, text, wanted] of manifests) {
  test(`${path}: ${text.slice(0, 60).replaceAll('\n', ' ')}`, () => {
    const found = readPackageNames(path, Buffer.from(text));
    assert.deepEqual(
      found.map(({ name, decision }) => `${decision} ${name}`),
      wanted,
    );
  });
}

test('many patterns at once find what each finds by itself', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 4, maxLength: 8 });
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 200 });
  fc.assert(
    fc.property(fc.uniqueArray(letters, { maxLength: 20 }), texts, (patterns, text) => {
      const found = new Set<string>();
      new PatternSet(patterns.map((one) => [one, one])).forEachMatch(text, (one, from, to) => {
        assert.equal(text.slice(from, to), one);
        found.add(one);
        return false;
      });
      assert.deepEqual(
        [...found].toSorted(),
        patterns.filter((one) => text.includes(one)).toSorted(),
      );
    }),
  );
});

test('squeezed text keeps letters and digits, and knows where they stood', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const { text, at } = squeezeText(bytes);
      assert.equal(text.length, at.length);
      for (const [index, place] of at.entries()) {
        const own = String.fromCharCode(bytes[place] ?? 0);
        assert.equal(text.charAt(index), /[A-Z]/.test(own) ? own.toLowerCase() : own);
        assert.ok(index === 0 || place > (at[index - 1] ?? 0));
      }
    }),
  );
});
