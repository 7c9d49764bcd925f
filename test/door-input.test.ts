// Bad input at the socket: each gets a clear error, and nobody else notices.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newSession, raw, startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

const ping = '{"id":"after","method":"system.ping"}\n';

interface BadLine {
  readonly name: string;
  readonly line: string | Uint8Array;
  readonly id?: string;
  readonly code?: string;
  readonly says: RegExp;
}

const request = (method: string, params: string): string =>
  `{"id":"bad","method":"${method}","params":${params}}`;

const badLines: readonly BadLine[] = [
  { name: 'no JSON', line: 'hello', says: /not JSON/ },
  { name: 'half of a JSON object', line: '{"id":"1","method":"system.pi', says: /not JSON/ },
  { name: 'an array', line: '[]', says: /must be a JSON object/ },
  { name: 'two objects', line: '{"id":"1"}{"id":"2"}', says: /not JSON/ },
  { name: '10,000 levels', line: `{"id":${'['.repeat(10_000)}`, says: /nests deeper than 32/ },
  {
    name: '10,000 closed levels',
    line: `{"id":"1","a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    says: /nests deeper than 32/,
  },
  {
    name: '__proto__',
    line: request('system.ping', '{"__proto__":{"isAdmin":true}}'),
    says: /"__proto__" is not allowed/,
  },
  {
    name: 'escaped __proto__',
    line: request('system.ping', '{"\\u005f\\u005fproto__":1}'),
    says: /"__proto__" is not allowed/,
  },
  { name: 'a key twice', line: '{"id":"1","id":"2","method":"m"}', says: /"id" is there twice/ },
  {
    name: 'invalid UTF-8',
    line: Buffer.from('{"id":"1","method":"\xff\xfe"}', 'latin1'),
    says: /not valid UTF-8/,
  },
  { name: 'no id', line: '{"method":"system.ping"}', says: /"id" must be a string/ },
  { name: 'no method', line: '{"id":"bad"}', id: 'bad', says: /"method" must be a string/ },
  { name: 'NUL bytes', line: '\0\0\0', says: /not JSON/ },
  {
    name: 'params that are a list',
    line: request('system.ping', '[1]'),
    id: 'bad',
    says: /"params" must be an object/,
  },
  {
    name: 'an unknown method',
    line: request('exec.rum', '{}'),
    id: 'bad',
    says: /no method "exec.rum"; did you mean "exec.run"\?/,
  },
  {
    name: 'a method of Object',
    line: request('constructor', '{}'),
    id: 'bad',
    says: /no method "constructor"/,
  },
  {
    name: 'a wrong type',
    line: request('exec.run', '{"session_id":"s-1","command":["ls"]}'),
    id: 'bad',
    says: /Cannot run exec.run: "command" must be text, got an array/,
  },
  {
    name: 'a negative number',
    line: request('exec.run', '{"session_id":"s-1","command":"ls","timeout_s":-5}'),
    id: 'bad',
    says: /"timeout_s" must be a number >= 0 and <= 604800, got -5/,
  },
  {
    name: 'a huge number',
    line: request('exec.run', '{"session_id":"s-1","command":"ls","timeout_s":1e999}'),
    id: 'bad',
    says: /"timeout_s" must be a number/,
  },
  {
    name: 'a name with =',
    line: request('exec.run', '{"session_id":"s-1","command":"ls","env":{"A=B":"C"}}'),
    id: 'bad',
    says: /"env.A=B" must be named without "="/,
  },
  {
    name: 'a session that is not there',
    line: request('exec.run', `{"session_id":"s-${'0'.repeat(32)}","command":"ls"}`),
    id: 'bad',
    code: 'SESSION_NOT_FOUND',
    says: /session/,
  },
  {
    name: 'an id that no session has',
    line: request('session.info', '{"session_id":"../../etc"}'),
    id: 'bad',
    code: 'SESSION_NOT_FOUND',
    says: /there is no session/,
  },
];

test('bad input gets a clear error with its code, and the connection works on', async () => {
  using client = await raw(daemon.socketPath);
  for (const { name, line, id, code, says } of badLines) {
    await client.send(line);
    await client.send(`\n${ping}`);
    const answer = await client.json();
    assert.equal(answer.ok, false, name);
    assert.equal(answer.id, id ?? 'unknown', name);
    assert.equal(answer.error.code, code ?? 'INVALID_PARAMS', name);
    assert.match(answer.error.message, says, name);
    assert.deepEqual(Object.keys(answer).toSorted(), ['error', 'id', 'ok'], name);
    const next = await client.json();
    assert.deepEqual([next.id, next.ok], ['after', true], name);
  }
});

test('a session and a connection beside the bad one do not notice', async () => {
  using good = await raw(daemon.socketPath);
  const session = await newSession(good);
  await good.send({
    id: 'run',
    method: 'exec.run',
    params: { session_id: session, command: 'sleep 0.5; echo fine' },
  });
  using bad = await raw(daemon.socketPath);
  for (const { line } of badLines) {
    await bad.send(line);
    await bad.send('\n');
  }
  const answer = await good.json();
  assert.deepEqual([answer.id, answer.ok, answer.data.stdout], ['run', true, 'fine\n']);
});

// That it is not held: test/protocol-lines.test.ts, and of the whole process test/prove/memory.ts.
test('a line of 100 MB is refused once, and the next is answered', async () => {
  using client = await raw(daemon.socketPath);
  const part = Buffer.alloc(2 ** 20, 'x');
  await client.send('{"id":"1","method":"');
  for (let sent = 0; sent < 100; sent += 1) await client.send(part);
  await client.send(`"}\n${ping}`);
  const refusal = await client.json();
  assert.deepEqual([refusal.id, refusal.error.code], ['unknown', 'INVALID_PARAMS']);
  assert.match(refusal.error.message, /longer than 8388608 bytes/);
  assert.equal((await client.json()).id, 'after');
});

test('a command of 1 MiB is taken, one byte more is refused', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const command = `: ${'x'.repeat(2 ** 20 - 10)}\necho ok`;
  const fits = await client.ask('exec.run', { session_id: session, command });
  assert.equal(fits.data?.stdout, 'ok\n', JSON.stringify(fits.error));
  const over = await client.ask('exec.run', { session_id: session, command: `${command}   ` });
  assert.equal(over.error.code, 'INVALID_PARAMS');
  assert.match(over.error.message, /"command" must be text of at most 1048576 bytes/);
});

test('a request that arrives a byte at a time is answered', async () => {
  using client = await raw(daemon.socketPath);
  const line = '{"id":"é-slow","method":"system.ping","params":{}}\r\n';
  for (const byte of Buffer.from(line)) await client.send(Uint8Array.of(byte));
  const answer = await client.json();
  assert.deepEqual([answer.id, answer.ok], ['é-slow', true]);
});

test('a client that leaves in the middle of a request harms nobody', async () => {
  using other = await raw(daemon.socketPath);
  for (const cut of ['{', '{"id":"1","method":"session.cre', 'x'.repeat(9_000_000)]) {
    const client = await raw(daemon.socketPath);
    await client.send(cut);
    client.drop();
    assert.equal((await other.ask('system.ping')).ok, true);
  }
  assert.deepEqual((await other.ask('session.list')).ok, true);
});

test('a request that the end of the input cuts is refused, a whole one answered', async () => {
  using cut = await raw(daemon.socketPath);
  await cut.send('{"id":"1","method":"system.pi');
  cut.finish();
  assert.equal((await cut.json()).id, 'unknown');
  await cut.ended();
  using whole = await raw(daemon.socketPath);
  await whole.send('{"id":"1","method":"system.ping"}');
  whole.finish();
  assert.deepEqual((await whole.json()).id, '1');
  await whole.ended();
});
