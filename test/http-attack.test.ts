// What breaks a door from outside, tried on one in the test's own process: nobody without a token
// takes anything from who has one, and nobody makes it hold or do more than it must.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import path from 'node:path';
import { duplexPair } from 'node:stream';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { OutputFollowers } from '../src/daemon/http/followers.ts';
import { openHttpTransport } from '../src/daemon/http/server.ts';
import type { HttpTransport } from '../src/daemon/http/server.ts';
import { WebSockets } from '../src/daemon/http/websockets.ts';
import { readTlsPair } from '../src/daemon/http/tls.ts';
import type { Json } from './support/daemon.ts';
import { sendRaw, statuses } from './support/http.ts';
import { startInside } from './support/inside.ts';
import type { Inside } from './support/inside.ts';

const token = 'attack-0123456789abcdef0123456789abcdef';
let inside: Inside;
let door: HttpTransport;
let port: number;
let session: string;

before(async () => {
  inside = await startInside({ TRL_AUTH_TOKEN: token, TRL_POLICY: 'trusted' });
  const settings = { host: '127.0.0.1', port: 0, tls: null, names: [], origins: [] };
  door = await openHttpTransport({
    runtime: inside.core,
    version: '0.0.0',
    log: () => {},
    settings,
    identities: inside.identities,
    auditing: { note: () => {} },
    consoleDirectory: inside.home,
    openapi: async () => '{}',
    metricsText: () => '',
  });
  port = Number(new URL(door.origin).port);
  session = (await post('/v1/sessions', {})).session_id;
});
after(async () => {
  await door.close();
  await inside[Symbol.asyncDispose]();
});

const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };

async function post(path: string, body: object): Promise<Json> {
  const answer = await fetch(`${door.origin}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

async function start(command: string, more: object = {}): Promise<string> {
  const path = `/v1/sessions/${session}/execs?mode=detached`;
  return (await post(path, { command, ...more })).exec_id;
}

/** Events of a stream until one of them holds `wanted`. */
async function heard(stream: AsyncIterator<Uint8Array>, wanted: string): Promise<void> {
  let text = '';
  while (!text.includes(wanted)) {
    const { value, done } = await stream.next();
    assert.ok(!done, `the stream ended before "${wanted}": ${text}`);
    text += Buffer.from(value).toString();
  }
}

async function follow(exec: string, from: number, signal: AbortSignal) {
  const path = `/v1/execs/${exec}/stream?from=${from}`;
  const { body } = await fetch(`${door.origin}${path}`, { headers, signal });
  assert.ok(body !== null);
  return body[Symbol.asyncIterator]();
}

test('who follows from where nothing is yet makes nobody read in circles', async (t) => {
  const exec = await start('echo one; read x; echo two', { stdin_open: true });
  const end = new AbortController();
  const reads = t.mock.method(inside.core.execs, 'read');
  const far = await follow(exec, 1_000_000_000, end.signal);
  await heard(far, 'retry');
  const near = await follow(exec, 0, end.signal);
  await heard(near, 'one');
  await post(`/v1/execs/${exec}/input`, { data: 'go\n' });
  await heard(near, 'two');
  await heard(near, 'event: exit');
  await heard(far, 'event: exit');
  assert.ok(reads.mock.callCount() < 10, `${reads.mock.callCount()} readings`);
});

test('who logs in sends little, and takes no room from who has a token', async () => {
  const form = 'Content-Type: application/json\r\n';
  const head = `POST /v1/login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${form}`;
  const long = await sendRaw(port, `${head}Content-Length: 5000\r\n\r\n`);
  assert.deepEqual(statuses(long), [413]);
  const chunk = `1000\r\n${' '.repeat(4_096)}\r\n`;
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`;
  assert.deepEqual(statuses(await sendRaw(port, chunked)), [413]);
  const held: Socket[] = [];
  for (let at = 0; at < 40; at += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (at % 4)}` });
    socket.on('error', () => {});
    socket.write(`${head}Content-Length: 4096\r\n\r\n${' '.repeat(4_095)}`);
    held.push(socket);
  }
  assert.equal((await post('/rpc', { id: '1', method: 'system.ping', params: {} })).ok, true);
  for (const socket of held) socket.destroy();
});

test('what cannot be read behind a request is not answered before it', async () => {
  const exec = await start('read x', { stdin_open: true });
  const named = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n`;
  const waits = `GET /v1/execs/${exec}/output?wait_ms=60000 HTTP/1.1\r\n${named}\r\n`;
  assert.deepEqual(statuses(await sendRaw(port, `${waits}NOT HTTP\r\n\r\n`)), []);
  await post(`/v1/execs/${exec}/cancel`, {});
});

test('who reads no refusals of a WebSocket is not listened to', async (t) => {
  const exec = await start('read x', { stdin_open: true });
  const [near, far] = duplexPair();
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  Object.assign(request.headers, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
  });
  const caller = inside.identities.callerOf(token);
  assert.ok(caller !== null);
  const says = { log: () => {}, masking: inside.core.masking };
  const parts = { runtime: inside.core, version: '0.0.0', replyContext: says };
  const sockets = new WebSockets(parts);
  const sends = t.mock.method(WebSocket.prototype, 'send');
  const [found] = (await inside.core.execs.list(caller, null)).filter(
    (one) => one.exec_id === exec,
  );
  assert.ok(found !== undefined);
  const pace = { take: () => {}, ready: () => Promise.resolve() };
  const upgrade = { request, socket: far, head: Buffer.alloc(0), caller, pace };
  const over = sockets.exec(upgrade, new OutputFollowers(parts), {
    execId: found.exec_id,
    from: 0,
  });
  // A text message of two bytes, with a mask of nothing.
  const wrong = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x7b, 0x7d]);
  near.write(Buffer.concat(Array.from({ length: 1_800 }, () => wrong)));
  while (sends.mock.callCount() <= 100) await nextTurn();
  for (let turn = 0; turn < 500; turn += 1) await nextTurn();
  const unread = sends.mock.callCount();
  assert.ok(unread < 1_600, `${unread} refusals wait for a reader`);
  near.resume();
  while (sends.mock.callCount() < 1_800) await nextTurn();
  near.destroy();
  far.destroy();
  await over;
  await sockets.close();
  await post(`/v1/execs/${exec}/cancel`, {});
});

test("a person who signs out leaves a token that is nobody's", async () => {
  const { code } = inside.identities.newLogin('same_uid');
  const { token: login } = await post('/v1/login', { code });
  const as = (bearer: string, method: string, path: string): Promise<Response> =>
    fetch(`${door.origin}${path}`, { method, headers: { Authorization: `Bearer ${bearer}` } });
  const watching = await as(login, 'GET', '/v1/events');
  assert.equal(watching.status, 200);
  assert.equal((await as(token, 'DELETE', '/v1/login')).status, 403, 'an agent has no login');
  assert.equal((await as(login, 'GET', '/v1/ping')).status, 200);
  assert.equal((await as(login, 'DELETE', '/v1/login')).status, 200);
  assert.equal((await as(login, 'GET', '/v1/ping')).status, 401);
  // What it had open is cut.
  await assert.rejects(watching.text());
});

test('a key that is no file is refused, and waited for by nobody', () => {
  const key = path.join(inside.home, 'key.pem');
  const cert = path.join(inside.home, 'cert.pem');
  writeFileSync(cert, 'x');
  execFileSync('mkfifo', ['-m', '600', key]);
  assert.throws(() => readTlsPair({ cert, key }), /is no file of at most/);
});
