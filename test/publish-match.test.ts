// What the publication gate finds of denied files in texts, and what it leaves alone.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { DeniedIndex, matchDeniedText } from '../src/publish/denied-index.ts';
import type { PassageMatch } from '../src/publish/match.ts';
import { forms } from './support/publish-forms.ts';

const root = path.dirname(import.meta.dirname);
const review = 60;
const block = 120;
const ready = (): Promise<void> => Promise.resolve();

const secretPlan = `export interface Settlement {
  readonly counterparty: string;
  readonly haircutBasisPoints: number;
}

/** What we pay is what the desk quoted, less the haircut that legal agreed with them. */
export function settle(quote: number, { haircutBasisPoints }: Settlement): number {
  const haircut = (quote * haircutBasisPoints) / 10_000;
  if (haircut > 'limits of the desk'.length) throw new RangeError("haircut isn't plausible");
  return Math.floor(quote - haircut);
}
`;
const snippet = secretPlan.split('\n').slice(7, 10);
const elsewhere = readFileSync(path.join(root, 'node_modules/zod/v4/core/util.js'));

function indexOf(files: Readonly<Record<string, string>>): DeniedIndex {
  const index = new DeniedIndex();
  for (const [name, text] of Object.entries(files)) index.put(name, Buffer.from(text));
  return index;
}

function best(matches: readonly PassageMatch[]): number {
  return Math.max(0, ...matches.map(({ novel }) => novel));
}

function embedded(text: string): Buffer {
  return Buffer.concat([
    elsewhere.subarray(0, 2000),
    Buffer.from(`\n${text}\n`),
    elsewhere.subarray(2000, 4000),
  ]);
}

test('a snippet is found in every form in which tools print it', () => {
  const index = indexOf({ 'private/settle.ts': secretPlan });
  const missed = forms
    .filter(({ name }) => name !== 'cut at 60')
    .map(({ name, of }) => ({ name, score: best(index.match(embedded(of(snippet)))) }))
    .filter(({ score }) => score < block);
  assert.deepEqual(missed, []);
});

test('a match says where it is, in the text as it was given and in the denied file', () => {
  const index = indexOf({ 'private/settle.ts': secretPlan });
  const text = embedded(snippet.map((line) => `\u001b[32m+${line}\u001b[0m`).join('\n'));
  const [match, ...more] = index.match(text);
  assert.deepEqual(more, []);
  assert.equal(match?.path, 'private/settle.ts');
  assert.deepEqual(match.lines, [8, 10]);
  const shown = text.subarray(...match.span).toString();
  assert.match(shown, /^const haircut[^]*Math\.floor\(quote-?[^]*$/);
  assert.equal(match.text, shown.slice(0, 200));
});

test('a denied file is not found in texts that have nothing of it', () => {
  const index = indexOf({ 'private/settle.ts': secretPlan });
  assert.deepEqual(index.match(elsewhere.subarray(0, 60_000)), []);
});

test('a text with the same words in another order is none of it', () => {
  const index = indexOf({ 'private/settle.ts': secretPlan });
  const words = secretPlan.split(/\s+/).toReversed().join(' ');
  assert.equal(best(index.match(Buffer.from(words))) < review, true);
});

test('what the audience sees counts as known, until it does not see it any more', () => {
  const index = indexOf({ 'private/settle.ts': secretPlan });
  const text = embedded(snippet.join('\n'));
  index.putVisible(
    'docs/settling.md',
    Buffer.from(`Some text\n${snippet.join('\n')}\nmore text\n`),
  );
  assert.deepEqual(index.match(text), []);
  index.removeVisible('docs/settling.md');
  assert.ok(best(index.match(text)) >= block);
});

test('license texts count as known however they are wrapped, what is beside them does not', () => {
  const license = readFileSync(path.join(root, 'node_modules/zod/LICENSE'), 'utf8');
  const own = `/*\n${license.replaceAll(/^/gm, ' * ')} */\n${secretPlan}`;
  const index = indexOf({ 'private/settle.ts': own });
  const words = license.split(/\s+/);
  const wrapped = words.map((word, i) => (i % 9 === 8 ? `${word}\n# ` : `${word} `)).join('');
  assert.ok(best(index.match(Buffer.from(license))) < review);
  assert.ok(best(index.match(Buffer.from(wrapped))) < review);
  assert.ok(best(index.match(Buffer.from(`${license}\n${snippet.join('\n')}`))) >= block);
});

test('rules, zeros and padding are no evidence', () => {
  const dull = `${'='.repeat(200)}\n${'0000 0000 '.repeat(40)}\n${'- '.repeat(90)}\n`;
  const index = indexOf({ 'private/dull.txt': dull });
  assert.deepEqual(index.match(Buffer.from(dull)), []);
});

test('a token in a file of its own is found whole, a short text that says nothing is not', () => {
  const index = indexOf({
    'private/token': 'Zx81-Kq33-Lm90-PPq7\n',
    'private/long': 'f81d4fae7dec11d0a76500a0c91e6bf6\n',
    'private/index.js': 'module.exports = {};\n',
  });
  const found = (text: string): number => best(index.match(Buffer.from(text)));
  assert.equal(found('the key is Zx81-Kq33-Lm90-PPq7.'), review);
  assert.equal(found('id=f81d4fae7dec11d0a76500a0c91e6bf6&x=1'), block);
  assert.equal(found('module.exports = {};\n'), 0);
  assert.equal(found('the key is Zx81-Kq33-Lm90-PPq8.'), 0);
});

test('an index answers the same whatever was in it before', () => {
  const names = globSync('src/publish/*.ts', { cwd: root }).slice(0, 12);
  const texts = names.map((name) => readFileSync(path.join(root, name)));
  const step = fc.record({
    path: fc.integer({ min: 0, max: 5 }),
    what: fc.constantFrom(
      'put' as const,
      'remove' as const,
      'putVisible' as const,
      'removeVisible' as const,
    ),
    text: fc.integer({ min: 0, max: texts.length - 1 }),
  });
  const asked = Buffer.concat(texts);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const index = new DeniedIndex();
      const denied = new Map<string, Buffer>();
      const seen = new Map<string, Buffer>();
      for (const { path: at, what, text } of steps) {
        const name = String(at);
        const bytes = texts[text] ?? Buffer.alloc(0);
        index[what](name, bytes);
        const files = what === 'put' || what === 'remove' ? denied : seen;
        if (what === 'put' || what === 'putVisible') files.set(name, bytes);
        else files.delete(name);
      }
      const fresh = new DeniedIndex();
      for (const [name, bytes] of denied) fresh.put(name, bytes);
      for (const [name, bytes] of seen) fresh.putVisible(name, bytes);
      const said = (one: DeniedIndex): unknown =>
        one.match(asked).map(({ span, novel, length }) => ({ span, novel, length }));
      assert.deepEqual(said(index), said(fresh));
      assert.equal(index.stats().fingerprints, fresh.stats().fingerprints);
    }),
    { numRuns: 25 },
  );
});

test('a long text is searched in pieces, also where a passage lies on a cut', async () => {
  const index = indexOf({ 'private/settle.ts': secretPlan });
  const filler = Buffer.alloc(300_000, 'lorem ipsum dolor sit amet\n');
  for (const at of [10, 65_400, 65_536, 131_000, 299_000]) {
    const text = Buffer.concat([
      filler.subarray(0, at),
      Buffer.from(`\n${secretPlan}`),
      filler.subarray(at),
    ]);
    const matches = await matchDeniedText(index, text, ready);
    assert.ok(best(matches) >= block, `at ${at}`);
    const [first, last] = [at, at + secretPlan.length + 1];
    assert.ok(matches.every(({ span }) => span[0] >= first && span[1] <= last));
  }
});

test('of real code nearly every snippet of five lines is found, of other code nothing', () => {
  const files = (pattern: string): Buffer[] =>
    globSync(pattern, { cwd: root })
      .toSorted()
      .map((name) => readFileSync(path.join(root, name)));
  const index = new DeniedIndex();
  const denied = files('node_modules/zod/v4/core/*.js');
  for (const [i, bytes] of denied.entries()) index.put(`core/${i}.js`, bytes);
  const tried: string[][] = [];
  for (const bytes of denied) {
    const lines = bytes.toString().split('\n');
    for (let at = 10; at + 5 < lines.length && tried.length < 60; at += 97) {
      const five = lines.slice(at, at + 5);
      if (five.join('').replaceAll(/\s/g, '').length >= 100) tried.push(five);
    }
  }
  assert.ok(tried.length > 30);
  for (const { name, of } of forms.filter((form) => form.name !== 'cut at 60')) {
    const found = tried.filter((five) => best(index.match(Buffer.from(of(five)))) >= review);
    assert.ok(found.length >= tried.length * 0.98, `${name}: ${found.length} of ${tried.length}`);
  }
  const others = files('node_modules/{yaml/dist,picomatch/lib,diff/libesm}/**/*.js');
  const flagged = others.filter((bytes) => best(index.match(bytes)) >= review);
  assert.ok(others.length > 60);
  assert.equal(flagged.length, 0);
});
