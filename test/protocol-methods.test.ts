import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTrlError } from '../src/errors.ts';
import type { ErrorCode } from '../src/errors.ts';
import { findMethod, methods, parseParams, type MethodName } from '../src/api/methods.ts';
import type { JsonObject } from '../src/protocol/json.ts';

const run = { session_id: 's-1', command: 'true' };
const mebibyte = 2 ** 20;

type Refusal = readonly [MethodName, JsonObject, string, ErrorCode?];
const refusals: readonly Refusal[] = [
  ['exec.run', { ...run, timeout_s: 'abc' }, '"timeout_s" must be a number >= 0'],
  ['exec.run', { ...run, timeout_s: -1 }, '"timeout_s" must be a number >= 0'],
  ['exec.run', { ...run, timeout_s: 1e300 }, '"timeout_s" must be a number >= 0 and <= 604800'],
  ['exec.run', { ...run, timeout_s: Infinity }, '"timeout_s" must be a number'],
  ['exec.run', { ...run, timeout_s: Number.NaN }, '"timeout_s" must be a number'],
  ['exec.run', { ...run, timeout_ms: 1.5 }, '"timeout_ms" must be a whole number'],
  ['exec.start', { ...run, timeout_s: 1e18 }, '"timeout_s" must be a number >= 0, got 1000000'],
  ['exec.run', { session_id: 's-1' }, '"command" must be text, got nothing'],
  ['exec.run', { ...run, command: null }, '"command" must be text, got nothing'],
  ['exec.run', { ...run, command: ['ls'] }, '"command" must be text, got an array'],
  ['exec.run', { ...run, env_keys: ['A'.repeat(257)] }, 'a name of at most 256 bytes'],
  ['exec.run', { ...run, command: 'a\0b' }, '"command" must be text without NUL'],
  ['exec.run', { ...run, command: '\ud800' }, '"command" must be text that is well-formed'],
  ['exec.run', { ...run, command: 'é'.repeat(mebibyte / 2 + 1) }, 'of at most 1048576 bytes'],
  ['exec.run', { ...run, stdin: 'x'.repeat(mebibyte + 1) }, '"stdin" must be text of at most'],
  ['exec.run', { ...run, stdin: '*', stdin_encoding: 'base64' }, '"stdin" must be'],
  ['exec.run', { ...run, stdin_encoding: 'latin1' }, '"stdin_encoding" must be "utf8" or'],
  ['exec.run', { ...run, env: ['A=1'] }, '"env" must be an object of text by name'],
  ['exec.run', { ...run, env: { A: 1 } }, '"env.A" must be text'],
  ['exec.run', { ...run, env: { 'A=B': 'x' } }, '"env.A=B" must be named without "="'],
  ['exec.run', { ...run, env: { '': 'x' } }, '"env." must be named without "="'],
  ['exec.run', { ...run, env: { A: 'x\0y' } }, '"env.A" must be text without NUL'],
  ['exec.run', { ...run, env: { A: 'x'.repeat(mebibyte) } }, '"env" must be at most 1048576'],
  ['exec.run', { ...run, limits: { processes: 0 } }, '"limits.processes" must be a whole number'],
  ['exec.run', { ...run, limits: [] }, '"limits" must be an object'],
  ['exec.run', { ...run, output_bytes: 2 ** 40 }, '"output_bytes" must be a whole number from 0'],
  ['exec.run', { ...run, pty: { columns: 80 } }, '"pty.rows" must be a whole number'],
  ['exec.run', { ...run, exec_key: '' }, '"exec_key" must be a key that is not empty'],
  ['exec.stream', { ...run, from: -1 }, '"from" must be a whole number >= 0, got -1'],
  ['exec.stream', { ...run, enc: 'hex' }, '"enc" must be "text" or "b64", got "hex"'],
  ['exec.read', { exec_id: 'x-1', from: 1e16 }, '"from" must be a whole number'],
  ['exec.read', { exec_id: 'x-1', wait_ms: 1e9 }, '"wait_ms" must be a whole number'],
  ['exec.resize', { exec_id: 'x-1', columns: 0, rows: 1 }, '"columns" must be a whole number'],
  ['exec.cancel', {}, '"session_id" must be given, or "exec_id", or "exec_key", and one alone'],
  ['exec.cancel', { exec_key: 'k', exec_id: 'x-1' }, '"session_id" must be given'],
  ['exec.cancel', { session_id: 's-1', exec_id: 'x-1' }, '"session_id" must be given'],
  ['exec.cancel', { exec_id: 'x-1', signal: 'BANG' }, '"signal" must be a signal name'],
  ['session.create', { shell: 7 }, '"shell" must be a path, got 7'],
  [
    'session.create',
    { network: true },
    '"network" must be "off", "hosts", "open" or "host", got true',
  ],
  ['session.create', { files: { read: { deny: [1] } } }, '"files.read.deny.0" must be a path'],
  ['session.update', { session_id: 's-1', unset: ['A='] }, '"unset.0" must be a name'],
  ['session.destroy', { session_id: 's-1', force: 'yes' }, '"force" must be true or false'],
  ['session.info', {}, '"session_id" must be a session id, got nothing'],
  ['session.info', { session_id: 5 }, '"session_id" must be a session id, got 5'],
  ['session.info', { session_id: 'nope' }, 'there is no session "nope"', 'SESSION_NOT_FOUND'],
  ['exec.info', { exec_id: 'nope' }, 'there is no execution "nope"', 'EXEC_NOT_FOUND'],
];

test('a parameter that cannot be is refused by name, with what it must be', () => {
  for (const [method, params, text, code] of refusals) {
    const expected = `Cannot run ${method}: ${text}`;
    assert.throws(
      () => parseParams(method, params),
      (error) => {
        assert.ok(isTrlError(error, code ?? 'INVALID_PARAMS'), String(error));
        assert.ok(error.message.includes(text), `${error.message}\n${expected}`);
        assert.ok(error.message.startsWith(`Cannot run ${method}: `), error.message);
        assert.ok(error.message.length < 300, 'a message is one readable line');
        return true;
      },
      expected,
    );
  }
});

test('values of variables, input and commands are never quoted in a message', () => {
  const secret = 'hunter2';
  for (const params of [
    { ...run, env: { 'A=B': secret } },
    { ...run, env: { A: `${secret}\0` } },
    { ...run, env: secret },
    { ...run, stdin: secret, stdin_encoding: 'base64' },
    { ...run, command: `${secret}\0` },
  ]) {
    assert.throws(
      () => parseParams('exec.run', params),
      (error) => isTrlError(error) && !error.message.includes(secret),
    );
  }
});

test('null stands for a parameter that is not given', () => {
  const given = { ...run, timeout_s: null, stdin: null, env: null, pty: null, colour: null };
  assert.deepEqual(parseParams('exec.run', given), run);
  assert.deepEqual(parseParams('session.create', { name: null }), {});
});

/** What a parameter's refusal says; `null`: it was taken. */
function refusalOf(method: MethodName, params: object): string | null {
  try {
    parseParams(method, { ...params });
    return null;
  } catch (error) {
    assert.ok(isTrlError(error, 'INVALID_PARAMS'), String(error));
    return error.message;
  }
}

test('a parameter that no method takes is refused by each, with the nearest one', () => {
  const all = Object.keys(methods).map(findMethod);
  for (const method of all.filter((one) => one !== 'system.hello')) {
    const said = refusalOf(method, { colour: 'red' });
    assert.match(said ?? 'taken', new RegExp(`^Cannot run ${method}: it takes no "colour"`));
  }
  const meant = [
    ['session.create', 'cwd', 'working_dir'],
    ['session.create', 'fiels', 'files'],
    ['session.create', 'netwerk', 'network'],
    ['exec.run', 'working_dir', 'cwd'],
    ['exec.run', 'timeout', 'timeout_s'],
  ] as const;
  for (const [method, name, nearest] of meant) {
    const said = refusalOf(method, { [name]: 'x' });
    assert.match(said ?? 'taken', new RegExp(`no "\\w+"; did you mean "${nearest}"`), name);
  }
  const ref = { local_ref: 'a', local_id: 'b', remote_ref: 'c', remote_id: 'd', forced: true };
  assert.notEqual(refusalOf('publish.check', { kind: 'push', path: '/w', refs: [ref] }), null);
});

test('what clients of the first protocol send is taken, and of hello what is new', () => {
  const session = { session_id: 's-1' };
  const legacy: readonly (readonly [MethodName, object])[] = [
    [
      'session.create',
      { shell: '/bin/zsh', env: {}, working_dir: '/tmp', name: 'a', timeout_s: 1 },
    ],
    ['session.list', {}],
    ['session.info', session],
    ['session.destroy', { ...session, force: true }],
    ['exec.run', { ...run, timeout_s: 1, stdin: '', env: {} }],
    ['exec.stream', { ...run, timeout_s: 1, stdin: '', env: {}, from: 0, enc: 'text' }],
    ['exec.cancel', { ...session, signal: 'SIGINT' }],
    ['exec.cancel', { exec_id: 'x-1' }],
    ['system.ping', {}],
    ['system.stats', {}],
    ['system.hello', { protocol: '9', what_comes: true }],
  ];
  for (const [method, params] of legacy) assert.equal(refusalOf(method, params), null, method);
});

test('variables named like members of Object are variables', () => {
  const env = { constructor: 'a', toString: 'b', hasOwnProperty: 'c' };
  const parsed = parseParams('exec.run', { ...run, env }).env;
  assert.deepEqual({ ...parsed }, env);
  assert.equal(Object.getPrototypeOf(parsed), null);
});

test('what is at the bound is accepted', () => {
  const command = 'x'.repeat(mebibyte);
  const stdin = Buffer.alloc(mebibyte).toString('base64');
  const params = { session_id: 's-1', command, stdin, stdin_encoding: 'base64', timeout_s: 0.5 };
  assert.deepEqual(parseParams('exec.run', params), params);
  assert.deepEqual(parseParams('exec.cancel', { session_id: 's-1', signal: 'INT' }), {
    session_id: 's-1',
    signal: 'SIGINT',
  });
});

test('an unknown method is refused with the nearest one that exists', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['exec.rum', 'there is no method "exec.rum"; did you mean "exec.run"?'],
    ['session.created', 'did you mean "session.create"?'],
    ['ping', 'there is no method "ping"'],
    ['toString', 'there is no method "toString"'],
    ['__proto__', 'there is no method "__proto__"'],
    ['x'.repeat(1_000_000), 'there is no method "xxx'],
  ];
  for (const [name, text] of cases) {
    assert.throws(
      () => findMethod(name),
      (error) => isTrlError(error, 'INVALID_PARAMS') && error.message.includes(text),
      name,
    );
  }
  for (const name of Object.keys(methods)) assert.equal(findMethod(name), name);
});
