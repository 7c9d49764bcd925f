// What the daemon remembers of texts without a secret must not outlive what it knew then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Masking } from '../src/daemon/secrets/masking.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import type { KnownSecret } from '../src/redacted.ts';

function masking(first: readonly KnownSecret[]) {
  const source = { version: 1, all: first };
  const own = new Masking(new RedactionTags(Buffer.alloc(32, 7)), {
    get version() {
      return source.version;
    },
    known: () => source.all,
  });
  return { own, source };
}

const one = { name: 'ONE', value: 'hq82-jsuw-81kd-0sna' };
const two = { name: 'TWO', value: 'zz17-pqow-55tm-6bxc' };

test('a text that was clean is masked as soon as a value in it is known', () => {
  const { own, source } = masking([one]);
  const text = `curl ${two.value}`;
  assert.equal(own.text(text), text);
  assert.equal(own.text(text), text);
  source.all = [one, two];
  source.version += 1;
  assert.deepEqual(own.look(text).names, ['TWO']);
  assert.equal(own.text(text).includes(two.value), false);
  assert.equal(own.deep({ words: [text] }).words[0]?.includes(two.value), false);
});

test('a value is hidden however often its text comes, among very many others', () => {
  const { own } = masking([one]);
  const shown = own.text(`x ${one.value}`);
  for (let count = 0; count < 10_000; count += 1) own.text(`a word of its own ${count}`);
  assert.equal(own.text(`x ${one.value}`), shown);
  assert.equal(shown.includes(one.value), false);
  assert.equal(own.text('a word of its own 3'), 'a word of its own 3');
});

test('what was given for one session is hidden, too, once it is known', () => {
  const { own } = masking([]);
  const data = { text: `say ${two.value}` };
  assert.deepEqual(own.deep(data), data);
  own.given.note('s-1', { TWO_TOKEN: two.value });
  assert.equal(own.deep(data).text.includes(two.value), false);
});
