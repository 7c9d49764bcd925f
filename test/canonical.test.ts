// RFC 8785 (JSON Canonicalization Scheme): the published test data, and numbers of its appendix B.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { canonicalJson } from '../src/canonical.ts';

const published: readonly (readonly [name: string, input: string, output: string])[] = [
  [
    'arrays',
    '[\n  56,\n  {\n    "d": true,\n    "10": null,\n    "1": [ ]\n  }\n]',
    '[56,{"1":[],"10":null,"d":true}]',
  ],
  [
    'french',
    '{"peach":"This sorting order","péché":"is wrong according to French",' +
      '"pêche":"but canonicalization MUST","sin":"ignore locale"}',
    '{"peach":"This sorting order","péché":"is wrong according to French",' +
      '"pêche":"but canonicalization MUST","sin":"ignore locale"}',
  ],
  [
    'structures',
    '{"1":{"f":{"f":"hi","F":5},"\\n":56.0},"10":{},"":"empty","a":{},' +
      '"111":[{"e":"yes","E":"no"}],"A":{}}',
    '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},' +
      '"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
  ],
  ['unicode', '{"Unnormalized Unicode":"A\\u030a"}', '{"Unnormalized Unicode":"A\u030a"}'],
  [
    'values',
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
      String.raw`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",` +
      '"literals":[null,true,false]}',
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  ],
  [
    'weird',
    String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\u000a":"Newline","1":"One",` +
      String.raw`"\u0080":"Control\u007f","\ud83d\ude02":"Smiley",` +
      String.raw`"\u00f6":"Latin Small Letter O With Diaeresis",` +
      String.raw`"\ufb33":"Hebrew Letter Dalet With Dagesh","</script>":"Browser Challenge"}`,
    String.raw`{"\n":"Newline","\r":"Carriage Return","1":"One",` +
      '"</script>":"Browser Challenge","\u0080":"Control\u007f",' +
      '"\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",' +
      '"\u{1f602}":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  ],
];

for (const [name, input, output] of published) {
  test(`the published "${name}" has its canonical form`, () => {
    assert.equal(canonicalJson(JSON.parse(input)), output);
    assert.equal(canonicalJson(JSON.parse(output)), output);
  });
}

test('numbers are written as in appendix B', () => {
  const numbers = {
    '0000000000000000': '0',
    '8000000000000000': '0',
    '0000000000000001': '5e-324',
    '8000000000000001': '-5e-324',
    '7fefffffffffffff': '1.7976931348623157e+308',
    ffefffffffffffff: '-1.7976931348623157e+308',
    '4340000000000000': '9007199254740992',
    c340000000000000: '-9007199254740992',
    '4430000000000000': '295147905179352830000',
    '44b52d02c7e14af5': '9.999999999999997e+22',
    '44b52d02c7e14af6': '1e+23',
    '44b52d02c7e14af7': '1.0000000000000001e+23',
    '444b1ae4d6e2ef4e': '999999999999999700000',
    '444b1ae4d6e2ef4f': '999999999999999900000',
    '444b1ae4d6e2ef50': '1e+21',
    '3eb0c6f7a0b5ed8c': '9.999999999999997e-7',
    '3eb0c6f7a0b5ed8d': '0.000001',
    '41b3de4355555553': '333333333.3333332',
    '41b3de4355555554': '333333333.33333325',
    '41b3de4355555555': '333333333.3333333',
    '41b3de4355555556': '333333333.3333334',
    '41b3de4355555557': '333333333.33333343',
    becbf647612f3696: '-0.0000033333333333333333',
    '43143ff3c1cb0959': '1424953923781206.2',
  };
  for (const [hex, text] of Object.entries(numbers)) {
    assert.equal(canonicalJson(Buffer.from(hex, 'hex').readDoubleBE()), text, hex);
  }
});

test('what JSON cannot hold is refused', () => {
  const none = [Number.NaN, Infinity, -Infinity, undefined, 1n, Symbol.iterator, () => 1];
  for (const value of [...none, '\ud800', '\udc00x', { '\ud83d': 1 }]) {
    assert.throws(() => canonicalJson(value), TypeError);
    assert.throws(() => canonicalJson([[value ?? Number.NaN]]), TypeError);
  }
});

test('canonical text is JSON of the same value, whatever the order of members', () => {
  const property = fc.property(fc.jsonValue(), (value) => {
    const text = canonicalJson(value);
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    assert.equal(canonicalJson(JSON.parse(text)), text);
    assert.equal(canonicalJson(reversed(value)), text);
  });
  fc.assert(property, { numRuns: 500 });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toReversed();
  return Object.fromEntries(members.map(([name, inner]) => [name, reversed(inner)]));
}
