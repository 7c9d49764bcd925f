// The shipped rules: each finds keys of its form and nothing that only resembles them. The keys are
// drawn from the forms here, so that no file of the repository holds one.
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { SecretFinding } from '../src/redaction/secret-finding.ts';
import {
  KeywordAutomaton,
  scanKeywords,
  type KeywordHits,
} from '../src/redaction/rules/keyword-automaton.ts';
import { endsInCrc32, hasBcryptCost, hasJwtHead } from '../src/redaction/rules/secret-rule.ts';
import { SecretRuleSet } from '../src/redaction/rules/rule-set.ts';
import { parseShapeParts } from '../src/redaction/rules/key-shape.ts';
import { shippedRules } from '../src/redaction/rules/shipped-rules.ts';
import { draw, seeded } from './support/redaction-draw.ts';

const shipped = SecretRuleSet.shipped();
const formRules = shippedRules.filter(({ near }) => near.length === 0);
const nearRules = shippedRules.filter(({ near }) => near.length > 0);

function find(rules: SecretRuleSet, text: string): SecretFinding[] {
  const bytes = Buffer.from(text, 'latin1');
  return rules.find(text, bytes, 0, bytes.length);
}

const frames: readonly ((token: string) => string)[] = [
  (token) => token,
  (token) => `NAME=${token}`,
  (token) => `  "name": "${token}",`,
  (token) => `{\\"name\\":\\"${token}\\"}`,
  (token) => `> Authorization: Bearer ${token}`,
  (token) => `line\\n${token} tail`,
  (token) => `\u001b[32m${token}\u001b[0m`,
];

test('literals are found wherever they end, in any case', () => {
  const letters = fc.constantFrom('a', 'b', 'c', '-', '1');
  const literal = fc.array(letters, { minLength: 1, maxLength: 6 }).map((some) => some.join(''));
  const literals = fc.uniqueArray(literal, { maxLength: 12 });
  const printed = fc.array(fc.constantFrom('a', 'A', 'b', 'B', 'c', 'C', '-', '1', '\n', 'x'), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(literals, printed, (keywords, parts) => {
      const text = parts.join('');
      const hits: KeywordHits = { pairs: new Int32Array(2), count: 0 };
      scanKeywords({ automaton: new KeywordAutomaton(keywords), hits }, Buffer.from(text), [
        0,
        text.length,
      ]);
      const found = Array.from({ length: hits.count }, (_, at) => [
        hits.pairs[2 * at + 1],
        keywords[hits.pairs[2 * at] ?? 0],
      ]);
      const wanted = text.split('').flatMap((_, at) =>
        keywords
          .filter((one) =>
            text
              .slice(0, at + 1)
              .toLowerCase()
              .endsWith(one),
          )
          .toSorted((one, other) => other.length - one.length)
          .map((one) => [at + 1, one]),
      );
      assert.deepEqual(found, wanted);
    }),
  );
});

test('a rule has a name of its own, and there are about 300 with a literal', () => {
  const names = shippedRules.map(({ id }) => id);
  assert.deepEqual(names, [...new Set(names)]);
  assert.ok(formRules.length >= 280, `${formRules.length}`);
});

test('a key of each form is found, in every frame that a command prints it in', () => {
  const random = seeded(1);
  for (const rule of formRules) {
    const rules = new SecretRuleSet([rule]);
    for (const shape of rule.shapes) {
      for (const frame of frames) {
        const { text, start, end } = draw(shape, random);
        const framed = frame(text);
        const at = framed.indexOf(text);
        const found = find(rules, framed);
        assert.equal(found.length, 1, `${rule.id}: ${shape}: ${framed}`);
        assert.ok(found[0] !== undefined && found[0].start <= at + start, `${shape}: ${framed}`);
        assert.ok(found[0].end >= at + end, `${rule.id}: ${shape}: ${framed}`);
        assert.deepEqual([found[0].kind, found[0].rule], ['format', rule.id]);
      }
    }
  }
});

test('all rules together find what one finds', () => {
  const random = seeded(2);
  for (const rule of formRules) {
    for (const shape of rule.shapes) {
      const { text, start, end } = draw(shape, random);
      const found = find(shipped, `value ${text}`);
      const over = found.some((one) => one.start <= 6 + start && one.end >= 6 + end);
      assert.ok(over, `${rule.id}: ${shape}: ${text}: ${JSON.stringify(found)}`);
    }
  }
});

test('a key is told by the provider named beside it, and only there', () => {
  const random = seeded(3);
  for (const rule of nearRules) {
    const rules = new SecretRuleSet([rule]);
    const { text } = draw(rule.shapes.at(-1) ?? '', random);
    for (const word of rule.near.slice(0, 20)) {
      for (const line of [`${word}_token=${text}`, `${word} secret key: "${text}"`]) {
        assert.equal(find(rules, line)[0]?.end, line.indexOf(text) + text.length, line);
      }
      if (rule.near.some((other) => other !== word && word.includes(other))) continue;
      for (const line of [
        `${text} ${word}`,
        `${word}\n${text}`,
        `${word} image sha256:${text}`,
        `x${word}y ${text}`,
        `${word} key: ${'far '.repeat(15)}${text}`,
      ]) {
        const found = find(rules, line).filter(({ start }) => line.startsWith(text, start));
        assert.deepEqual(found, [], line);
      }
    }
  }
});

test('what a rule names as no key is not found', () => {
  for (const rule of shippedRules) {
    for (const text of rule.negatives) assert.deepEqual(find(shipped, text), [], text);
  }
});

test('a placeholder in the form of a key stays, as does a token within a longer word', () => {
  const random = seeded(4);
  for (const rule of formRules) {
    for (const shape of rule.shapes.filter((one) => /^\(?(?!http)[a-zA-Z]/.test(one))) {
      const rules = new SecretRuleSet([{ ...rule, shapes: [shape] }]);
      const { text, start, end } = draw(shape, random);
      const parts = parseShapeParts(shape);
      if (!rule.anywhere) assert.deepEqual(find(rules, `word${text}`), [], `word${text}`);
      const tail = parts.at(-1);
      if (rule.wordy || tail?.kind !== 'run' || end - start < 24 || tail.min < 16) continue;
      const masked = text.slice(0, end - 12) + 'x'.repeat(12);
      assert.deepEqual(find(rules, masked), [], `${rule.id}: ${masked}`);
    }
  }
});

test('the findings do not depend on how the lines are divided', () => {
  const line = fc.record({
    rule: fc.nat(shippedRules.length - 1),
    seed: fc.nat(),
    head: fc.constantFrom(
      '',
      'datadog key ',
      'token=',
      'a\r',
      '-----',
      'eyJ',
      'sk-',
      'AccountKey=',
    ),
    tail: fc.constantFrom('', ' x', '"', '\\n', 'eyJeyJeyJ', '-sk-sk-'),
  });
  const texts = fc.array(
    line.map(({ rule, seed, head, tail }) => {
      const shape = shippedRules[rule]?.shapes[0] ?? '';
      return `${head}${draw(shape, seeded(seed)).text}${tail}\n`;
    }),
    { minLength: 2, maxLength: 12 },
  );
  const check = fc.property(texts, fc.nat(), (lines, seed) => {
    const random = seeded(seed);
    const text = lines.join('');
    const bytes = Buffer.from(text, 'latin1');
    const whole = shipped.find(text, bytes, 0, bytes.length);
    const parts: SecretFinding[] = [];
    let from = 0;
    let to = 0;
    for (const one of lines) {
      to += one.length;
      if (random() < 0.5 && to < text.length) continue;
      parts.push(...shipped.find(text, bytes, from, to));
      from = to;
    }
    assert.deepEqual(parts, whole);
    const sorted = whole.every(({ start }, at) => at === 0 || start >= (whole[at - 1]?.end ?? 0));
    assert.ok(sorted);
  });
  fc.assert(check, { numRuns: 200 });
});

test('a valid checksum makes a key sure, a wrong one does not clear it', () => {
  const body = draw('{w30}', seeded(5)).text;
  const sum = toBase62(crc32(body)).padStart(6, '0');
  const scores = (text: string): number[] => find(shipped, text).map(({ score }) => score);
  for (const prefix of ['ghp_', 'npm_']) {
    assert.deepEqual(scores(prefix + body + sum), [0.99]);
    assert.deepEqual(scores(`${prefix}${body}${sum === '000000' ? 'aB3dE6' : '000000'}`), [0.95]);
  }
  assert.ok(endsInCrc32(`ghp_${body}${sum}`));
  const head = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
  const claims = Buffer.from('{"sub":"1234567890"}').toString('base64url');
  assert.ok(hasJwtHead(`${head}.${claims}.x`) && !hasJwtHead('eyJqqqqqqqqqq.x.y'));
  assert.ok(hasBcryptCost('$2b$12$') && !hasBcryptCost('$2b$32$'));
});

function toBase62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return value < 62 ? digits.charAt(value) : toBase62(Math.floor(value / 62)) + digits[value % 62];
}

test('no pattern can run away: bounded runs only, nothing nested', () => {
  for (const rule of shippedRules) {
    for (const shape of rule.shapes) {
      const parts = parseShapeParts(shape);
      const long = parts.filter((part) => part.kind === 'run' && part.max > 512);
      assert.ok(long.length <= 4, shape);
      for (const part of parts) {
        if (part.kind === 'run') assert.ok(part.max <= 4000 && part.min <= part.max, shape);
      }
    }
  }
});
