import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { isTrlError } from '../src/errors.ts';
import { limits } from '../src/limits.ts';
import { jsonKeysMax, parseJsonObject } from '../src/protocol/json.ts';
import { readRequest } from '../src/protocol/request.ts';
import { cpuMsOf } from './support/cost.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

function refuses(input: string | Uint8Array, reason: RegExp): void {
  assert.throws(
    () => parseJsonObject(typeof input === 'string' ? bytes(input) : input),
    (error) => isTrlError(error, 'INVALID_PARAMS') && reason.test(error.message),
  );
}

/** JSON objects no deeper than the bound and without the one key that is refused. */
const jsonObjects = fc
  .dictionary(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }),
  )
  .filter((value) => !JSON.stringify(value).includes('__proto__'));

test('what JSON.parse reads of well-formed objects is what is read', () => {
  fc.assert(
    fc.property(jsonObjects, fc.nat(3), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.deepEqual(parseJsonObject(bytes(text)), JSON.parse(text));
    }),
  );
});

test('any bytes are read as JSON.parse reads them, or refused with INVALID_PARAMS', () => {
  const fragments = fc
    .array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', ' ', '0', 'a', 'null', '"a":'))
    .map((parts) => `{${parts.join('')}}`);
  fc.assert(
    fc.property(fc.oneof(fragments.map(bytes), fc.uint8Array()), (input) => {
      try {
        const value = parseJsonObject(input);
        assert.deepEqual(value, JSON.parse(Buffer.from(input).toString('utf8')));
      } catch (error) {
        assert.ok(isTrlError(error, 'INVALID_PARAMS'), String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a key given twice is refused wherever it is and however it is spelled', () => {
  const key = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 });
  const spelled = (text: string): string =>
    `"${text.replaceAll(/[^]/g, (unit) => `\\u${hex(unit.charCodeAt(0))}`)}"`;
  fc.assert(
    fc.property(key.map(utf16), fc.nat(10), (name, depth) => {
      const twice = `{${JSON.stringify(name)}:1,"other":[{}],${spelled(name)}:2}`;
      const nested = `{"x":${'['.repeat(depth)}${twice}${']'.repeat(depth)}}`;
      refuses(nested, /is there twice|"__proto__"/);
    }),
  );
});

test('the same key in different objects is no duplicate', () => {
  const text = '{"a":{"a":[{"a":1},{"a":"a"}]},"b":"a"}';
  assert.deepEqual(parseJsonObject(bytes(text)), JSON.parse(text));
});

test('__proto__ is refused as a key, and only as a key', () => {
  refuses('{"__proto__":{}}', /"__proto__" is not allowed/);
  refuses('{"params":{"env":{"\\u005f_proto__":"x"}}}', /"__proto__" is not allowed/);
  assert.deepEqual(parseJsonObject(bytes('{"command":"__proto__"}')), { command: '__proto__' });
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
});

test('nesting is refused one level over the bound and cheaply at any depth', () => {
  const nested = (levels: number): string =>
    `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  assert.ok(parseJsonObject(bytes(nested(limits.frameDepth.max))));
  refuses(nested(limits.frameDepth.max + 1), /nests deeper than 32/);
  refuses(nested(10_000), /nests deeper than 32/);
  refuses('{"a":'.repeat(1_000_000), /nests deeper than 32/);
  const deepest = '['.repeat(limits.frameBytes.max);
  refuses(deepest, /nests deeper than 32/);
  // No more than what is taken at once costs; parsed to its depth it is a thousand times that.
  const flat = bytes(JSON.stringify({ a: 'x'.repeat(limits.frameBytes.max - 9) }));
  const taken = cpuMsOf(() => parseJsonObject(flat));
  const refused = cpuMsOf(() => refuses(deepest, /nests deeper/));
  assert.ok(refused < 5 * taken, `${refused} ms, against ${taken} ms of a flat one`);
});

test('brackets and quotes inside strings are text', () => {
  const value = { command: `${'['.repeat(100)}"{\\"{":,${'}'.repeat(100)}\\`, b: '\\\\"' };
  assert.deepEqual(parseJsonObject(bytes(JSON.stringify(value))), value);
});

test('size, keys, UTF-8 and shape are bounded with a message that says which', () => {
  refuses(new Uint8Array(limits.frameBytes.max + 1), /at most 8388608 are read/);
  const keys = Array.from({ length: jsonKeysMax + 1 }, (_, at) => `"${at}":0`);
  refuses(`{${keys.join(',')}}`, /more than 65536 keys/);
  refuses(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d), /not valid UTF-8/);
  refuses(Uint8Array.of(0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d), /not valid UTF-8/);
  refuses('\ufeff{}', /not JSON/);
  refuses('[]', /must be a JSON object, got an array/);
  refuses('null', /got null/);
  refuses('"x"', /got a string/);
  refuses('', /not JSON/);
  refuses('{"a":"', /a string does not end/);
  refuses('{"a":1}{"a":1}', /not JSON/);
});

test('a line that parses is echoed by its id, one that does not by "unknown"', () => {
  const ids = (line: string): string => readRequest(bytes(line)).id;
  assert.equal(ids('{"id":"7","method":"m"}'), '7');
  assert.equal(ids('{"id":7,"method":"m"}'), '7');
  assert.equal(ids('{"id":"7"}'), '7');
  assert.equal(ids('{"id":"7","method":"m","params":[]}'), '7');
  assert.equal(ids('{"method":"m"}'), 'unknown');
  assert.equal(ids(`{"id":"${'7'.repeat(257)}","method":"m"}`), 'unknown');
  assert.equal(ids('{"id":{},"method":"m"}'), 'unknown');
  assert.equal(ids('nonsense'), 'unknown');
  assert.deepEqual(readRequest(bytes('{"id":"1","method":"m","params":null}')), {
    kind: 'request',
    id: '1',
    method: 'm',
    params: {},
  });
});

test('a command costs as much as it is long, up to 1 MiB', () => {
  const costOf = (length: number): number => {
    const command = 'echo "a\\b"\n'.repeat(length / 11);
    const line = bytes(JSON.stringify({ id: '1', method: 'exec.run', params: { command } }));
    return cpuMsOf(() => parseJsonObject(line));
  };
  const [part, whole] = [costOf(2 ** 18), costOf(2 ** 20)];
  // By its square it would be sixteen times the quarter.
  assert.ok(whole < 9 * part, `${whole} ms, against ${part} ms of a quarter`);
});

function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}

/** Without halves of surrogate pairs, which have no UTF-8 form. */
function utf16(text: string): string {
  return text.toWellFormed();
}
