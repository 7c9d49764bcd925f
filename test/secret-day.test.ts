// A day of use with twenty secrets leaves nothing of them. The long form:
// test/prove/secret-day.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { dayOfUse, leaked, twenty } from './support/secret-day.ts';

test('the search finds a secret in any usual form', () => {
  const secrets = twenty();
  for (const { name, value } of secrets) {
    const bytes = Buffer.from(value);
    const forms = [value, bytes.toString('hex'), Array.from(value).join(' '), value.toUpperCase()];
    for (const before of ['', 'x', 'xy']) {
      forms.push(Buffer.concat([Buffer.from(before), bytes]).toString('base64'));
    }
    for (const form of forms) assert.deepEqual(leaked(Buffer.from(form), secrets), [name]);
  }
  assert.deepEqual(leaked(Buffer.from('nothing of any of them, '.repeat(9)), secrets), []);
});

test('nothing is left of twenty secrets after a day', { skip: whyNoBox }, async () => {
  const day = await dayOfUse(24);
  assert.deepEqual(day.leaks, { traffic: [], kept: [], log: [] });
  assert.equal(day.refused, 0);
  assert.ok(day.hidden > 24, `${day.hidden} were hidden`);
});
