// What the store makes of a record's value, and of the names of contents, at little cost.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { jsonTextParts, RecordText } from '../src/snapshot/record-text.ts';
import { hmacWith } from '../src/snapshot/seal.ts';

const listsOf = (value: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.dictionary(fc.string(), fc.oneof(value, fc.array(value, { maxLength: 3_000 })));

test('the parts of a value are together what JSON makes of it', async () => {
  const any = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constant(undefined));
  await fc.assert(
    fc.asyncProperty(listsOf(any), async (value) => {
      const whole = JSON.stringify(value);
      assert.equal([...jsonTextParts(value)].join(''), whole);
      const text = new RecordText(value);
      assert.equal((await text.bytes()).toString(), whole);
      assert.deepEqual(text.value(), JSON.parse(whole));
    }),
    { numRuns: 50 },
  );
});

test('a value of long lists is no text before it is written, and then in small parts', () => {
  const changes = Array.from({ length: 20_000 }, (_, n) => ({ path: `made/file-${n}` }));
  let asked = 0;
  const counted = changes.map((change) => ({ toJSON: () => ((asked += 1), change) }));
  const text = new RecordText({ changes: counted });
  assert.equal(asked, 0, 'it was made to text where it was handed over');
  assert.ok(text.size >= changes.length, 'it counts for nothing while it waits');
  let most = 0;
  for (let before = 0, parts = jsonTextParts({ changes: counted }); parts.next().done !== true;) {
    most = Math.max(most, asked - before);
    before = asked;
  }
  assert.equal(asked, changes.length);
  assert.ok(most <= 512, `${most} entries in one part`);
});

test('the name of a content is the HMAC that it always was', () => {
  for (const bytes of [0, 1, 32, 64]) {
    const key = randomBytes(bytes);
    for (const text of ['', 'é', 'a'.repeat(64), 'b'.repeat(300)]) {
      const wanted = createHmac('sha256', key).update(text).digest('hex');
      assert.equal(hmacWith(key)(text).toString('hex'), wanted);
    }
  }
});
