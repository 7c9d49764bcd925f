// What an editor offers is what is read, and the documentation shows what works.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readPolicyFile } from '../src/policy/files/read.ts';
import {
  policyKeysAt,
  unenforcedPolicyKeys,
  policyJsonSchema,
} from '../src/policy/files/schema.ts';

const docs = path.join(path.dirname(import.meta.dirname), 'docs');
const read = (name: string): string => readFileSync(path.join(docs, name), 'utf8');
const origin = { file: 'policy.md', kind: 'user', version: '9.9.9' } as const;

test('docs/policy.schema.json is current: tools/node tools/policy-schema.ts writes it', () => {
  assert.deepEqual(JSON.parse(read('policy.schema.json')), policyJsonSchema());
});

test('the example of docs/policy.md is a policy that says all that there is to say', () => {
  const [, example = ''] = /```yaml\n([^]*?)```/.exec(read('policy.md')) ?? [];
  const file = readPolicyFile(example, origin);
  assert.equal(file.name, 'web-team');
  assert.deepEqual(
    file.commands.map(({ id, decision }) => `${id} ${decision}`),
    ['rule.make-targets allow', 'rule.production block'],
  );
  assert.equal(file.cases.length, 3);
  for (const key of policyKeysAt([])) {
    assert.match(example, new RegExp(`^(?:# )?${key}:`, 'm'));
  }
});

test('docs/policy.md names every limit and everything that is refused', () => {
  const text = read('policy.md').replaceAll('\n', ' ');
  for (const name of [...unenforcedPolicyKeys, ...policyKeysAt(['limits'])]) {
    assert.ok(text.includes(`\`${name}\``), name);
  }
});

test('every key of the schema is described, or its values speak for themselves', () => {
  const undescribed = policyKeysAt([]).filter(
    (key) =>
      !JSON.stringify(Reflect.get(Object(policyJsonSchema()['properties']), key)).includes(
        'description',
      ),
  );
  assert.deepEqual(undescribed, []);
});
