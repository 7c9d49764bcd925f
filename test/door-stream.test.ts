// Streams: events after the answer, exact offsets, other requests meanwhile, binary frames.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { FrameReader, encodeHeader, frameTypes } from '../src/frame.ts';
import type { Frame } from '../src/frame.ts';
import { newSession, raw, startRuntime } from './support/daemon.ts';
import type { Daemon, Json, RawClient } from './support/daemon.ts';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

/** Reads events up to `exit`; other lines are answers, by their id. */
async function eventsOf(client: RawClient): Promise<{ events: Json[]; answers: Json[] }> {
  const events: Json[] = [];
  const answers: Json[] = [];
  for (;;) {
    const line = await client.json();
    (line.id === undefined ? events : answers).push(line);
    if (line.stream === 'exit') return { events, answers };
  }
}

function bytesOf(event: Json): Buffer {
  return event.b64 === undefined
    ? Buffer.from(event.data ?? '', 'utf8')
    : Buffer.from(event.b64, 'base64');
}

/** All output bytes, after checking that offsets leave neither hole nor overlap. */
function joined(events: readonly Json[], from = 0): Buffer {
  let next = from;
  const parts = events
    .filter(({ stream }) => stream === 'stdout' || stream === 'stderr')
    .map((event) => {
      assert.equal(event.seq, next, 'an event starts where the one before it ended');
      const bytes = bytesOf(event);
      next += bytes.length;
      return bytes;
    });
  const exit = events.at(-1);
  assert.deepEqual([exit.stream, exit.seq], ['exit', next]);
  return Buffer.concat(parts);
}

test('a stream answers first, then sends events without id, then exit', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const command = 'echo one; echo two >&2; exit 7';
  const answer = await client.ask('exec.stream', { session_id: session, command });
  assert.equal(answer.ok, true);
  const { stream_id: id } = answer.data;
  assert.deepEqual(answer.data, { stream_id: id, exec_id: id, offset: 0 });
  const { events } = await eventsOf(client);
  assert.ok(events.every((event) => event.stream_id === id && event.id === undefined));
  const text = (name: string): string =>
    Buffer.concat(events.filter(({ stream }) => stream === name).map(bytesOf)).toString();
  assert.deepEqual([text('stdout'), text('stderr')], ['one\n', 'two\n']);
  assert.equal(joined(events).length, 8);
  const exit = events.at(-1);
  assert.deepEqual([exit.exit_code, exit.timed_out, exit.signal], [7, false, null]);
});

test('a cut character arrives whole, and bytes that are no text as base64', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const command = "printf 'a\\342'; read _; printf '\\202\\254b'; read _; printf '\\377\\376'";
  // Where somebody may type, an unfinished line is not held back for long.
  const params = { session_id: session, command, stdin_open: true };
  const { exec_id: execId } = (await client.ask('exec.stream', params)).data;
  using other = await raw(daemon.socketPath);
  const events: Json[] = [];
  for (let event = await client.json(); event.stream !== 'exit'; event = await client.json()) {
    events.push(event);
    await other.ask('exec.write', { exec_id: execId, data: '\n' });
  }
  const chunks = events.map(({ data, b64, seq }) => ({ data, b64, seq }));
  assert.deepEqual(chunks, [
    { data: 'a', b64: undefined, seq: 0 },
    { data: '€b', b64: undefined, seq: 1 },
    { data: undefined, b64: '//4=', seq: 5 },
  ]);
});

test('enc b64 sends everything as base64', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const params = { session_id: session, command: 'echo text', enc: 'b64' };
  await client.ask('exec.stream', params);
  const { events } = await eventsOf(client);
  assert.ok(events.slice(0, -1).every(({ data, b64 }) => data === undefined && b64 !== ''));
  assert.equal(joined(events).toString(), 'text\n');
});

test('an execution is followed again from any offset, on any connection', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const command = "printf '%s' 'ab€cdé'; sleep 0.2; printf ' end'";
  const first = await client.ask('exec.stream', { session_id: session, command });
  const whole = joined((await eventsOf(client)).events);
  assert.equal(whole.toString(), 'ab€cdé end');
  using other = await raw(daemon.socketPath);
  for (let from = 0; from <= whole.length; from += 1) {
    const answer = await other.ask('exec.attach', { exec_id: first.data.exec_id, from });
    assert.equal(answer.data?.offset, from, JSON.stringify(answer));
    const { events } = await eventsOf(other);
    assert.deepEqual(joined(events, from), whole.subarray(from));
  }
});

test('requests are answered while streams run, and their events are told apart', async () => {
  using client = await raw(daemon.socketPath);
  const ids: string[] = [];
  for (const name of ['left', 'right']) {
    const session = await newSession(client);
    const command = `for i in 1 2 3; do echo ${name}; sleep 0.2; done`;
    await client.send({ id: name, method: 'exec.start', params: { session_id: session, command } });
    ids.push((await client.json()).data.exec_id);
  }
  for (const id of ids) await client.send({ id, method: 'exec.attach', params: { exec_id: id } });
  await client.send({ id: 'ping', method: 'system.ping' });
  const lines: Json[] = [];
  while (lines.filter(({ stream }) => stream === 'exit').length < 2) {
    lines.push(await client.json());
  }
  assert.equal(lines.filter(({ id, ok }) => id !== undefined && ok === true).length, 3);
  for (const [at, name] of ['left', 'right'].entries()) {
    const own = lines.filter(({ stream_id: id, id: reply }) => id === ids[at] && !reply);
    assert.equal(joined(own).toString(), `${name}\n`.repeat(3));
  }
});

test('an execution that is not there is refused in the answer', async () => {
  using client = await raw(daemon.socketPath);
  const answer = await client.ask('exec.attach', { exec_id: `x-${'0'.repeat(32)}` });
  assert.deepEqual([answer.ok, answer.error.code], [false, 'EXEC_NOT_FOUND']);
});

test('input is written to a running command, and ends', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const params = { session_id: session, command: 'cat; echo done', stdin_open: true };
  const { exec_id: execId } = (await client.ask('exec.stream', params)).data;
  const inputs = [
    { data: 'one\n' },
    { data: Buffer.from('two\n').toString('base64'), encoding: 'base64' },
    { eof: true },
  ];
  for (const [at, input] of inputs.entries()) {
    await client.send({ id: `${at}`, method: 'exec.write', params: { exec_id: execId, ...input } });
  }
  const { events, answers } = await eventsOf(client);
  assert.equal(joined(events).toString(), 'one\ntwo\ndone\n');
  const bytes = new Map(answers.map(({ id, data }) => [id, data.bytes]));
  assert.deepEqual([bytes.get('0'), bytes.get('1'), bytes.get('2')], [4, 4, 0]);
});

// Nor does it make the daemon grow: test/prove/memory.ts.
test('a reader that stops reading stops nobody else', async () => {
  using slow = await raw(daemon.socketPath);
  const session = await newSession(slow);
  slow.pause();
  const command = 'head -c 60000000 /dev/zero | tr "\\0" x';
  await slow.send({ id: 's', method: 'exec.stream', params: { session_id: session, command } });
  using other = await raw(daemon.socketPath);
  for (let turn = 0; turn < 200; turn += 1) {
    assert.equal((await other.ask('system.stats')).ok, true);
  }
  slow.drop();
  assert.equal((await other.ask('system.ping')).ok, true);
});

test('after hello both directions are frames, and output is byte for byte the same', async () => {
  await using client = await framed(daemon.socketPath);
  const created = await client.ask('session.create', {});
  const command = 'head -c 20000000 /dev/zero | tr "\\0" y; printf "\\377\\376" >&2';
  const params = { session_id: created.data.session_id, command };
  const answer = await client.ask('exec.stream', params);
  assert.ok(Number.isInteger(answer.data.channel), JSON.stringify(answer));
  const hash = createHash('sha256');
  let next = 0;
  for (;;) {
    const frame = await client.frame();
    if (frame.type === frameTypes.control) {
      const event = JSON.parse(Buffer.from(frame.payload).toString());
      assert.deepEqual([event.stream, event.seq, event.exit_code], ['exit', next, 0]);
      break;
    }
    assert.equal(frame.channel, answer.data.channel);
    assert.equal(frame.offset, next);
    hash.update(frame.payload);
    next += frame.payload.length;
  }
  const expected = createHash('sha256').update(Buffer.alloc(20_000_000, 'y'));
  assert.equal(hash.digest('hex'), expected.update(Uint8Array.of(0xff, 0xfe)).digest('hex'));
});

test('input frames reach the command of their channel, an empty one ends it', async () => {
  await using client = await framed(daemon.socketPath);
  const created = await client.ask('session.create', {});
  const params = { session_id: created.data.session_id, command: 'cat', stdin_open: true };
  const { channel } = (await client.ask('exec.stream', params)).data;
  client.send(frameTypes.stdin, channel, Buffer.from('hello'));
  client.send(frameTypes.stdin, channel, new Uint8Array(0));
  const frame = await client.frame();
  assert.equal(Buffer.from(frame.payload).toString(), 'hello');
  assert.equal((await client.json()).stream, 'exit');
  client.send(frameTypes.stdin, channel, Buffer.from('late'));
  assert.equal((await client.json()).error.code, 'EXEC_NOT_FOUND');
});

test('frames that cannot be end their connection with a message, and no other', async () => {
  await using good = await framed(daemon.socketPath);
  const header = (length: number, type: number): Uint8Array => encodeHeader(type, 0, 0, length);
  for (const bytes of [header(2 ** 31, 0), header(0, 9), header(0, frameTypes.stdout)]) {
    await using bad = await framed(daemon.socketPath);
    bad.socket.write(bytes);
    assert.equal((await bad.json()).error.code, 'INVALID_PARAMS');
    await once(bad.socket, 'end');
  }
  assert.equal((await good.ask('system.ping', {})).ok, true);
});

test('frames are refused while something else is under way on the connection', async () => {
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const params = { session_id: session, command: 'sleep 0.3' };
  await client.send({ id: 'run', method: 'exec.run', params });
  await client.send({ id: 'hello', method: 'system.hello', params: { frames: 'bin' } });
  assert.equal((await client.json()).id, 'run');
  assert.equal((await client.json()).error.code, 'INVALID_PARAMS');
  const plain = await client.ask('system.hello', { protocol: 'trl/2' });
  assert.deepEqual([plain.data.protocol, plain.data.frames], ['trl/2', 'lines']);
});

class FramedClient implements AsyncDisposable {
  readonly socket: Socket;
  readonly #reader = new FrameReader(2 ** 24);
  readonly #frames: Frame[] = [];
  #wake: () => void = () => {};

  constructor(socket: Socket, first: Uint8Array) {
    this.socket = socket;
    this.#take(first);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  send(type: number, channel: number, payload: Uint8Array): void {
    this.socket.write(encodeHeader(type, channel, 0, payload.length));
    this.socket.write(payload);
  }

  async frame(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async json(): Promise<Json> {
    const frame = await this.frame();
    assert.equal(frame.type, frameTypes.control);
    return JSON.parse(Buffer.from(frame.payload).toString());
  }

  async ask(method: string, params: object): Promise<Json> {
    const request = Buffer.from(JSON.stringify({ id: method, method, params }));
    this.send(frameTypes.control, 0, request);
    return this.json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    if (!this.socket.closed) await once(this.socket, 'close');
  }

  #take(chunk: Uint8Array): void {
    this.#frames.push(...this.#reader.push(chunk));
    this.#wake();
  }
}

/** A connection on which `system.hello` has switched to frames. */
async function framed(socketPath: string): Promise<FramedClient> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  const hello = { id: 'h', method: 'system.hello', params: { protocol: 'trl/2', frames: 'bin' } };
  socket.write(`${JSON.stringify(hello)}\n`);
  const [bytes] = await once(socket, 'data');
  const end = bytes.indexOf('\n');
  const answer = JSON.parse(bytes.subarray(0, end).toString());
  assert.deepEqual([answer.ok, answer.data.frames], [true, 'bin']);
  return new FramedClient(socket, bytes.subarray(end + 1));
}
