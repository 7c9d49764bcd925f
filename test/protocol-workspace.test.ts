// Parameters of the methods around workspaces: what is taken as it is, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTrlError } from '../src/errors.ts';
import { findMethod, parseParams } from '../src/api/methods.ts';
import type { JsonObject } from '../src/protocol/json.ts';

const session = `s-${'1'.repeat(32)}`;
const exec = `x-${'2'.repeat(32)}`;
const tree = `tree:sha256:${'a'.repeat(64)}`;

const taken: readonly (readonly [string, JsonObject])[] = [
  ['workspace.open', { path: '/w' }],
  [
    'workspace.open',
    { path: '/w', mode: 'staged', policy: { read: { deny: ['*.pem'] }, write: { deny: ['db'] } } },
  ],
  ['workspace.status', { session_id: session }],
  ['workspace.diff', { session_id: session, context: 0 }],
  ['workspace.diff', { exec_id: exec, paths: ['a', '/w/b'], paths_base64: ['/2E='] }],
  ['workspace.apply', { session_id: session, paths: [] }],
  ['workspace.apply', { session_id: session, held: true, digest: 'abcdef01', passphrase: 'p' }],
  ['workspace.discard', { session_id: session }],
  ['snapshot.list', { path: '/w', limit: 1_000 }],
  ['snapshot.get', { id: tree, from: 0, limit: 10 }],
  ['snapshot.restore', { exec_id: exec, dry_run: true }],
  ['exec.undo', { exec_id: exec, paths: ['a'] }],
  ['session.create', { workspace_id: `w-${'3'.repeat(32)}`, workspace_mode: 'discard' }],
  ['exec.run', { session_id: session, command: 'x', workspace_mode: 'direct' }],
];
for (const [method, params] of taken) {
  test(`${method} takes ${JSON.stringify(params)}`, () => {
    assert.deepEqual(parseParams(findMethod(method), params), params);
  });
}

const refused: readonly (readonly [string, JsonObject, RegExp])[] = [
  ['workspace.open', {}, /"path" must be a path/],
  ['workspace.open', { path: '/w', mode: 'undo' }, /"mode" must be "direct", "staged"/],
  ['workspace.open', { path: '/w', policy: [] }, /"policy" must be an object with "read"/],
  ['workspace.open', { path: '/w', policy: { write: { deny: 'x' } } }, /"policy\.write\.deny"/],
  ['workspace.diff', {}, /"exec_id" must be given, or "session_id", and not both/],
  ['workspace.diff', { session_id: session, exec_id: exec }, /and not both/],
  ['workspace.diff', { exec_id: exec, context: -1 }, /"context" must be a whole number/],
  ['workspace.diff', { exec_id: exec, paths: ['a\0b'] }, /"paths\.0" must be a path without NUL/],
  ['workspace.diff', { exec_id: exec, paths_base64: ['?'] }, /a list of paths in base64/],
  ['workspace.apply', { session_id: session, held: true }, /"digest" must be given with "held"/],
  ['snapshot.get', { id: 'tree:sha256:abc' }, /"id" must be an id like "tree:sha256:…"/],
  ['snapshot.restore', { id: tree, exec_id: exec }, /and not both/],
  ['snapshot.list', { limit: 0 }, /"limit" must be a whole number from 1/],
  ['session.create', { workspace_id: 'x' }, /there is no workspace "x"/],
  ['exec.run', { session_id: session, command: 'x', workspace_mode: '' }, /"workspace_mode"/],
];
for (const [method, params, message] of refused) {
  test(`${method} refuses ${JSON.stringify(params)}`, () => {
    assert.throws(
      () => parseParams(findMethod(method), params),
      (error) => isTrlError(error, 'INVALID_PARAMS') && message.test(error.message),
    );
  });
}

test('a passphrase is never quoted in a refusal', () => {
  const params = { session_id: session, passphrase: 7_654_321 };
  assert.throws(
    () => parseParams('workspace.apply', params),
    (error) => isTrlError(error) && !error.message.includes('7654321'),
  );
});
