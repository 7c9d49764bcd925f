// Output over HTTP as it comes: events, WebSockets, many who follow, some of them slow.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Socket } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { Json } from './support/daemon.ts';
import { ask, auditText, data, startHttp } from './support/http.ts';
import type { HttpDaemon } from './support/http.ts';
import { followEvents, followSocket, openEvents, openSocket } from './support/http-streams.ts';
import { eventually } from './support/processes.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
let daemon: HttpDaemon;
let session: string;
before(async () => {
  daemon = await startHttp();
  session = (await data(daemon, '/v1/sessions', { body: {} })).session_id;
});
after(() => daemon.stop());

async function start(command: string, more: object = {}): Promise<string> {
  const body = { command, ...more };
  const target = `/v1/sessions/${session}/execs?mode=detached`;
  return (await data(daemon, target, { body })).exec_id;
}

function trlWith(...args: readonly string[]): string {
  const { home } = daemon;
  const own = {
    XDG_STATE_HOME: path.join(home, 'state'),
    XDG_CONFIG_HOME: path.join(home, 'config'),
  };
  return execFileSync(trl, args, {
    env: { ...process.env, ...own },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

const sha256 = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** The next messages of a WebSocket, and those that came before somebody asked. */
function messagesOf(ws: WebSocket) {
  const held: { text: string; isBinary: boolean }[] = [];
  let wake = (): void => {};
  ws.on('message', (bytes: Buffer, isBinary: boolean) => {
    held.push({ text: (isBinary ? bytes.subarray(9) : bytes).toString(), isBinary });
    wake();
  });
  return async (): Promise<{ text: string; isBinary: boolean }> => {
    for (;;) {
      const next = held.shift();
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
}

test('a stream that was lost goes on behind the last event that came', async () => {
  const execId = await start('i=0; while [ $i -lt 400 ]; do echo "zeile ü $i"; i=$((i+1)); done');
  const whole = await followEvents({ port: daemon.port, execId });
  assert.equal(whole.exitCode, 0);
  const text = Array.from({ length: 400 }, (_, at) => `zeile ü ${at}\n`).join('');
  assert.equal(whole.digest, sha256(text));
  const part = await followEvents({ port: daemon.port, execId, from: 100 }, { stopAfter: 1 });
  const rest = await followEvents({ port: daemon.port, execId }, { lastId: part.lastId });
  assert.equal(part.bytes + rest.bytes + 100, Buffer.byteLength(text));
  const wrong = await ask(daemon, `/v1/execs/${execId}/stream`, {
    headers: { 'Last-Event-ID': 'x' },
  });
  assert.equal(wrong.status, 400);
});

test('bytes that are no text come as they are', async () => {
  const execId = await start(`printf 'a\\303'; sleep 0.1; printf '\\274\\377\\000b'`);
  const wanted = createHash('sha256')
    .update(Buffer.from([0x61, 0xc3, 0xbc, 0xff, 0, 0x62]))
    .digest('hex');
  const place = { port: daemon.port, execId };
  assert.equal((await followEvents(place)).digest, wanted);
  assert.equal((await followSocket(place)).digest, wanted);
});

test('a WebSocket writes, ends the input, and hears the exit', async () => {
  const execId = await start('cat; echo ended >&2', { stdin_open: true });
  const ws = openSocket(daemon.port, `/v1/execs/${execId}/ws`);
  const next = messagesOf(ws);
  await once(ws, 'open');
  ws.send(Buffer.from('hello'));
  assert.deepEqual(await next(), { text: 'hello', isBinary: true });
  ws.send(JSON.stringify({ type: 'dance' }));
  const error = JSON.parse((await next()).text);
  assert.deepEqual([error.stream, error.error.code], ['error', 'INVALID_PARAMS']);
  ws.send(JSON.stringify({ type: 'eof' }));
  assert.deepEqual(await next(), { text: 'ended\n', isBinary: true });
  const exit = JSON.parse((await next()).text);
  assert.deepEqual([exit.stream, exit.exit_code], ['exit', 0]);
  const [code] = await once(ws, 'close');
  assert.equal(code, 1000);
});

test('a WebSocket resizes a terminal and sends signals', async (t) => {
  const traps = `trap 'echo got; exit 5' INT; trap 'stty size' WINCH`;
  const script = `${traps}; echo up; while :; do sleep 0.05; done`;
  const execId = await start(script, { pty: { columns: 80, rows: 24 } });
  const ws = openSocket(daemon.port, `/v1/execs/${execId}/ws`);
  let seen = '';
  const exit = new Promise<Json>((resolve) => {
    ws.on('message', (bytes: Buffer, isBinary: boolean) => {
      if (isBinary) {
        seen += bytes.subarray(9).toString();
        return;
      }
      const event = JSON.parse(bytes.toString());
      if (event.stream === 'exit') resolve(event);
    });
  });
  const until = async (what: string): Promise<void> => {
    while (!seen.includes(what) && ws.readyState !== ws.CLOSED) await sleep(10);
  };
  await until('up');
  if (!seen.includes('up')) return t.skip(`no terminal here: ${seen}`);
  ws.send(JSON.stringify({ type: 'resize', columns: 99, rows: 11 }));
  await until('11 99');
  ws.send(JSON.stringify({ type: 'signal', signal: 'INT' }));
  assert.equal((await exit).exit_code, 5);
});

test('many who follow get the same bytes, whenever they come and however they read', async () => {
  const execId = await start(
    'i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero | tr "\\0" a; ' +
      'echo "$i" >&2; i=$((i+1)); sleep 0.02; done',
  );
  const place = { port: daemon.port, execId };
  const early = Array.from({ length: 6 }, (_, at) =>
    at % 2 === 0 ? followEvents(place) : followSocket(place),
  );
  await sleep(500);
  const late = Array.from({ length: 6 }, (_, at) =>
    at % 2 === 0 ? followEvents(place) : followSocket(place),
  );
  const all = await Promise.all([...early, ...late]);
  const [first] = all;
  assert.ok(first !== undefined && first.bytes > 4_000_000 && first.missing === 0);
  assert.deepEqual(new Set(all.map(({ digest }) => digest)).size, 1);
  assert.deepEqual(new Set(all.map(({ exitCode }) => exitCode)), new Set([0]));
});

test('what is read behind the others is whole, wherever it begins or is cut', async () => {
  // Three bytes a character, so that no window ends where one does.
  const line = `${'€'.repeat(700)}\n`;
  const count = 500;
  const whole = Buffer.from(line.repeat(count));
  const execId = await start(`yes ${line.trim()} | head -n ${count}; sleep 1`);
  await data(daemon, `/v1/execs/${execId}/output?from=${whole.length - 1}&wait_ms=60000`);
  // The first of each form stands near the end; the others begin behind it.
  const starts = [whole.length - 2, 0, 0, 1, 65_537, 131_072];
  const all = await Promise.all(
    starts.flatMap((from) => {
      const place = { port: daemon.port, execId, from };
      return [followEvents(place), followSocket(place)].map(async (one) => ({
        from,
        ...(await one),
      }));
    }),
  );
  for (const { from, digest, bytes, missing, exitCode } of all) {
    const wanted = whole.subarray(from);
    const found = [bytes, missing, exitCode, digest];
    assert.deepEqual(found, [wanted.length, 0, 0, sha256(wanted)], `from ${from}`);
  }
});

test('one who reads nothing holds up nobody else', async () => {
  const execId = await start('head -c 16000000 /dev/zero | tr "\\0" b');
  const place = { port: daemon.port, execId };
  const stuck = await openEvents(place);
  stuck.pause();
  const deaf = openSocket(daemon.port, `/v1/execs/${execId}/ws`);
  deaf.on('open', () => deaf.pause());
  const [one, other] = await Promise.all([followEvents(place), followSocket(place)]);
  assert.equal(one.bytes + one.missing, 16_000_000);
  assert.equal(other.bytes + other.missing, 16_000_000);
  assert.equal(one.exitCode, 0);
  stuck.destroy();
  deaf.terminate();
});

test('a token that is revoked ends what it has open, and is refused by that name', async () => {
  const token = trlWith('token', 'create', '--role', 'agent', '--name', 'brief');
  const own = (await data(daemon, '/v1/sessions', { body: {}, token })).session_id;
  const target = `/v1/sessions/${own}/execs?mode=detached`;
  const { exec_id: execId } = await data(daemon, target, { body: { command: 'sleep 30' }, token });
  const events = await openEvents({ port: daemon.port, execId, token });
  const tunnel = openSocket(daemon.port, '/rpc', token);
  await once(tunnel, 'open');
  trlWith('token', 'revoke', 'brief');
  const ended = once(events.resume(), 'close').catch(() => []);
  const [code] = await once(tunnel, 'close');
  await ended;
  assert.equal(code, 1008);
  assert.equal((await ask(daemon, '/v1/ping', { token })).status, 401);
  await ask(daemon, `/v1/execs/${execId}`);
  const isTold = (): boolean => auditText(daemon).includes('"token-revoked"');
  await eventually('the record of it', isTold);
  assert.ok(!auditText(daemon).includes(token) && !daemon.log().includes(token));
});

const line = (id: string): string => JSON.stringify({ id, method: 'system.ping' });

/** What is sent, and the ids that are answered. */
const messages: readonly (readonly [string, readonly (string | Buffer)[], readonly string[]])[] = [
  ['a request without a line end', [line('1')], ['1']],
  ['bytes without a line end', [Buffer.from(line('1')), Buffer.from(line('2'))], ['1', '2']],
  ['a request, and its line end for itself', [line('1'), '\n', line('2')], ['1', '2']],
  ['blanks at the end', [`${line('1')} \r`, ` ${line('2')}`], ['1', '2']],
  ['two lines of which one has an end', [`${line('1')}\n${line('2')}`], ['1', '2']],
  ['brackets and quotes in a text', [line('{"\\"}[')], ['{"\\"}[']],
  ['what is no JSON', ['hello'], ['unknown']],
  ['an array', ['[1, [2]]', line('2')], ['unknown', '2']],
  ['more than an object', [`${line('1')}x`, line('2')], ['unknown', '2']],
  [
    'a request in three parts',
    [line('1').slice(0, 9), Buffer.from(line('1').slice(9, 20)), line('1').slice(20)],
    ['1'],
  ],
];

for (const [what, sent, ids] of messages) {
  test(`over a WebSocket it answers ${what}`, async () => {
    const ws = openSocket(daemon.port, '/rpc');
    const got: string[] = [];
    const done = new Promise<void>((resolve) => {
      ws.on('message', (bytes: Buffer, isBinary: boolean) => {
        // One message is one line, as text for who sent text.
        got.push(JSON.parse(bytes.toString()).id);
        assert.equal(isBinary, Buffer.isBuffer(sent.at(-1)));
        if (got.length >= ids.length) resolve();
      });
    });
    await once(ws, 'open');
    for (const one of sent) ws.send(one);
    await done;
    ws.close();
    await once(ws, 'close');
    assert.deepEqual(got, ids);
  });
}

test('a long answer over a WebSocket is one message of frames that are bounded', async () => {
  const { session_id } = await data(daemon, '/v1/sessions', { body: {} });
  const ws = openSocket(daemon.port, '/rpc');
  await once(ws, 'open');
  // The frames as they are on the way, before the library joins them.
  const frames: number[] = [];
  const raw: unknown = Reflect.get(ws, '_socket');
  assert.ok(raw instanceof Socket);
  let head = Buffer.alloc(0);
  let skip = 0;
  raw.prependListener('data', (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    while (head.length >= 10 || (head.length > 0 && skip > 0)) {
      const cut = Math.min(skip, head.length);
      skip -= cut;
      head = head.subarray(cut);
      if (skip > 0 || head.length < 10) return;
      const short = (head[1] ?? 0) & 0x7f;
      const [size, bytes] =
        short < 126
          ? [short, 2]
          : short === 126
            ? [head.readUInt16BE(2), 4]
            : [Number(head.readBigUInt64BE(2)), 10];
      frames.push(size);
      skip = size + bytes;
    }
  });
  const params = { session_id, command: 'yes ü | head -c 3000000' };
  ws.send(JSON.stringify({ id: '1', method: 'exec.run', params }));
  const [bytes, isBinary] = await once(ws, 'message');
  const answer = JSON.parse(bytes.toString());
  assert.equal(answer.data.stdout.length, 2_000_000);
  assert.equal(isBinary, false);
  assert.ok(frames.length > 30, `${frames.length} frames`);
  assert.ok(Math.max(...frames) <= 65_536, `a frame of ${Math.max(...frames)} bytes`);
  ws.close();
  await once(ws, 'close');
});

test('the wire goes through a WebSocket, cut as it may be', async () => {
  const ws = openSocket(daemon.port, '/rpc');
  let text = '';
  ws.on('message', (bytes: Buffer) => {
    text += bytes.toString();
  });
  await once(ws, 'open');
  const line = `${JSON.stringify({ id: '1', method: 'system.ping' })}\n`;
  ws.send(line.slice(0, 7));
  ws.send(Buffer.from(line.slice(7) + line.replace('"1"', '"2"')));
  while (text.split('\n').length < 3) await once(ws, 'message');
  const answers = text
    .trim()
    .split('\n')
    .map((one) => JSON.parse(one));
  assert.deepEqual(
    answers.map(({ id, ok }) => [id, ok]),
    [
      ['1', true],
      ['2', true],
    ],
  );
  ws.close();
  await once(ws, 'close');
});

test('changes and questions come as events', async () => {
  const asked = await Promise.all(
    ['/v1/events', '/v1/approval-events'].map(async (target) => {
      const gone = new AbortController();
      const response = await fetch(`${daemon.origin}${target}`, {
        headers: { Authorization: 'Bearer main-0123456789abcdef0123456789abcdef' },
        signal: gone.signal,
      });
      return { response, gone };
    }),
  );
  const [changes] = asked;
  const reader = changes?.response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(session)) text += (await reader?.read())?.value ?? '';
  assert.match(text, /event: change\ndata: \{"stream_id":"f-/);
  for (const { response, gone } of asked) {
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    gone.abort();
  }
});
