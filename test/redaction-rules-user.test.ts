// Patterns of users: RE2 syntax, linear, refused with a reason when they cannot be used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTrlError } from '../src/errors.ts';
import { compileUserRules, type UserRule } from '../src/redaction/rules/user-rules.ts';

function find(list: readonly UserRule[], text: string): { text: string; rule: string }[] {
  const bytes = Buffer.from(text, 'latin1');
  const found = compileUserRules(list).find(text, bytes, 0, text.length);
  return found.map(({ start, end, rule }) => ({ text: text.slice(start, end), rule }));
}

test('the first group is what is hidden, else the whole match', () => {
  const text = 'id ACME-1234 pin=9876;\npin=55 ACME-99\n';
  const list = [
    { id: 'acme', pattern: 'ACME-[0-9]{4}' },
    { id: 'pin', pattern: '\\bpin=([0-9]{4})', keywords: ['PIN='] },
  ];
  assert.deepEqual(find(list, text), [
    { text: 'ACME-1234', rule: 'acme' },
    { text: '9876', rule: 'pin' },
  ]);
});

test('matches that overlap become one, and no match spans lines', () => {
  const list = [
    { id: 'long', pattern: 'ab+c' },
    { id: 'tail', pattern: 'cd[\\s\\S]*' },
  ];
  assert.deepEqual(find(list, 'abbcd e\ncd'), [
    { text: 'abbcd e', rule: 'long' },
    { text: 'cd', rule: 'tail' },
  ]);
});

test('a pattern that blows up elsewhere is done in time, on what the bound lets through', () => {
  const found = find([{ id: 'hostile', pattern: '(?:a+)+b' }], `${'a'.repeat(100_000)}\naab\n`);
  assert.deepEqual(found, [{ text: 'aab', rule: 'hostile' }]);
});

test('a pattern that cannot be used is refused with its reason', () => {
  const refused = [
    { id: 'open', pattern: '(a', says: /"open": .*missing closing/ },
    { id: 'look', pattern: 'a(?=b)', says: /"look": .*invalid/ },
    { id: 'empty', pattern: 'a*', says: /"empty": it matches the empty text/ },
    { id: 'long', pattern: 'a'.repeat(1001), says: /"long": longer than 1000/ },
    { id: '', pattern: 'a', says: /the id is empty/ },
  ];
  for (const { id, pattern, says } of refused) {
    assert.throws(
      () => compileUserRules([{ id, pattern }]),
      (error) => isTrlError(error, 'INVALID_PARAMS') && says.test(error.message),
      pattern,
    );
  }
  const many = Array.from({ length: 101 }, (_, at) => ({ id: `r${at}`, pattern: 'a' }));
  assert.throws(() => compileUserRules(many), /at most 100/);
});
