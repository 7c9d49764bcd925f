// The client over WebSockets: the same wire, as far as a platform that cannot stop reading lets it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { WebSocket as WsWebSocket } from 'ws';
import { connect, isTrlError } from '../src/client/index.ts';
import type { ErrorCode } from '../src/client/index.ts';
import { encodeHeader, frameTypes } from '../src/frame.ts';
import { limits } from '../src/limits.ts';
import { raw, startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { openTunnel } from './support/tunnel.ts';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

const rejects = (code: ErrorCode, message: RegExp) => (error: unknown) =>
  isTrlError(error, code) && message.test(error.message);
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('a client over a WebSocket runs, streams and writes as one on a socket', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  await using client = await connect(tunnel);
  await using session = await client.createSession({ working_dir: daemon.root });
  const receipt = await session.run('printf out; printf err >&2; exit 3');
  assert.deepEqual([receipt.stdout, receipt.stderr, receipt.exit_code], ['out', 'err', 3]);
  const stream = session.stream('head -c 3 | od -An -tx1', { stdin_open: true });
  const id = await stream.execId;
  await client.write({ exec_id: id, data: '/wD+', encoding: 'base64', eof: true });
  assert.equal((await stream.collect()).stdout.trim(), 'ff 00 fe');
});

test('every byte comes once, in order, through connections that break', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  await using client = await connect(tunnel);
  await using session = await client.createSession();
  const bytes = 6 * 1024 * 1024;
  const stream = session.stream(`seq 1 99999999 | head -c ${bytes}`);
  const hash = createHash('sha256');
  let received = 0;
  let dropped = 0;
  for await (const event of stream) {
    assert.equal(event.type, 'output');
    if (event.type !== 'output') continue;
    assert.equal(event.offset, received);
    hash.update(event.bytes);
    received += event.bytes.length;
    if (received > (dropped + 1) * 1024 * 1024 && dropped < 3) {
      dropped += 1;
      tunnel.drop();
    }
  }
  const wanted = await session.run(`seq 1 99999999 | head -c ${bytes} | sha256sum`);
  assert.deepEqual([received, hash.digest('hex')], [bytes, wanted.stdout.split(' ')[0]]);
  assert.equal(dropped, 3);
});

test('a reader that stops holds the runtime back to a window, and gets all the same', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  let arrived = 0;
  /** The platform's, counting what comes in. */
  class Counting extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      this.addEventListener('message', ({ data }) => {
        arrived += data instanceof ArrayBuffer ? data.byteLength : 0;
      });
    }
  }
  await using client = await connect({ ...tunnel, WebSocket: Counting });
  await using session = await client.createSession();
  const bytes = 24 * 1024 * 1024;
  const stream = session.stream(`head -c ${bytes} /dev/zero`);
  const reader = stream[Symbol.asyncIterator]();
  const parts = [await reader.next()];
  // The runtime answers on other connections meanwhile; its output has stopped when two looks
  // a call apart see the same.
  let before = -1;
  for (let looks = 0; looks < 200 && before !== arrived; looks += 1) {
    before = arrived;
    await client.read({ exec_id: await stream.execId, from: bytes, wait_ms: 50 });
  }
  // The window, what the daemon had under way by then, and what the client holds for a reader.
  const most = limits.windowBytes.default + limits.streamWindowBytes.default + 2 * 1024 * 1024;
  assert.ok(arrived < most, `${arrived} bytes came to a reader that took one piece`);
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
    parts.push(next);
  }
  const got = parts.map(({ value }) => (value?.type === 'output' ? value.bytes.length : 0));
  assert.equal(
    got.reduce((sum, each) => sum + each, 0),
    bytes,
  );
  assert.equal((await stream.exit).exit_code, 0);
});

test('why a connection fails is told by code', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  const { url, token } = tunnel;
  const wrong = connect({ url, token: `${token}x` });
  await assert.rejects(wrong, rejects('AUTH_FAILED', /the token is not taken/));
  const elsewhere = connect({ url: `${url}/none`, token });
  await assert.rejects(elsewhere, rejects('BACKEND_UNAVAILABLE', /refuses a WebSocket/));
  const nowhere = connect({ url: 'http://127.0.0.1:1', token });
  await assert.rejects(nowhere, rejects('BACKEND_UNAVAILABLE', /does not answer/));
  for (const bad of ['', 'localhost:80', 'ftp://127.0.0.1', 'ws://127.0.0.1']) {
    const refused = connect({ url: bad, token });
    await assert.rejects(refused, rejects('INVALID_PARAMS', /must begin with http/));
  }
  await assert.rejects(connect({}), rejects('INVALID_PARAMS', /only Node reaches a socket/));
  const stopped = connect({ url, token, signal: AbortSignal.abort(new Error('enough')) });
  await assert.rejects(stopped, /enough/);
});

test('a token that is revoked ends what waits, without trying for long', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  await using client = await connect(tunnel);
  const session = await client.createSession();
  const stream = session.stream('echo here; sleep 30');
  const reader = stream[Symbol.asyncIterator]();
  await reader.next();
  tunnel.revoke();
  tunnel.drop();
  await assert.rejects(reader.next(), rejects('AUTH_FAILED', /not taken/));
  await assert.rejects(client.ping(), rejects('AUTH_FAILED', /not taken/));
});

test('a platform without a WebSocket is told, and takes one that is given', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  await using client = await connect({ ...tunnel, WebSocket: WsWebSocket });
  assert.equal((await client.ping()).version, '0.1.0');
  const big = 'x'.repeat(900_000);
  const session = await client.createSession();
  const receipt = await session.run('sha256sum', { stdin: big });
  assert.equal(receipt.stdout.split(' ')[0], sha256(Buffer.from(big)));
  await session.destroy();
  const { WebSocket: own } = globalThis;
  Reflect.deleteProperty(globalThis, 'WebSocket');
  try {
    await assert.rejects(connect(tunnel), rejects('INVALID_PARAMS', /has no WebSocket/));
  } finally {
    globalThis.WebSocket = own;
  }
});

test('a window frame that cannot be one ends its connection with a message', async () => {
  const frame = (taken: number): Uint8Array => encodeHeader(frameTypes.window, 0, taken, 0);
  for (const params of [{ frames: 'bin' }, { frames: 'bin', window_bytes: 65_536 }]) {
    using one = await raw(daemon.socketPath);
    await one.ask('system.hello', params);
    await one.send(frame(1));
    await one.ended();
    assert.match(one.received(), /1 bytes of output cannot have been taken/);
  }
  using small = await raw(daemon.socketPath);
  const { error } = await small.ask('system.hello', { frames: 'bin', window_bytes: 1 });
  assert.equal(error.code, 'INVALID_PARAMS');
});
