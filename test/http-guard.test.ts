// Who must not get in over HTTP, and by which tricks it is tried.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, auditText, mainToken, sendRaw, startHttp, statuses } from './support/http.ts';
import type { HttpDaemon } from './support/http.ts';

let daemon: HttpDaemon;
before(async () => {
  daemon = await startHttp();
});
after(() => daemon.stop());

const codeOf = (text: string): unknown => JSON.parse(text).code;

/** A request of bytes, right but for what a case changes. */
function bytes(lines: {
  readonly first?: string;
  readonly host?: string | null;
  readonly more?: readonly string[];
  readonly body?: string;
}): string {
  const { first = 'GET /v1/ping HTTP/1.1', host = `127.0.0.1:${daemon.port}`, more = [] } = lines;
  const fields = [
    ...(host === null ? [] : [`Host: ${host}`]),
    `Authorization: Bearer ${mainToken}`,
    ...more,
  ];
  return `${[first, ...fields].join('\r\n')}\r\n\r\n${lines.body ?? ''}`;
}

/** Its one answer, with the connection ended after it. */
async function answerTo(lines: Parameters<typeof bytes>[0]): Promise<number> {
  const closing = { ...lines, more: [...(lines.more ?? []), 'Connection: close'] };
  const text = await sendRaw(daemon.port, bytes(closing));
  const [status = 0, ...others] = statuses(text);
  assert.deepEqual(others, [], text);
  return status;
}

test('the request that the others are variations of is answered', async () => {
  assert.equal(await answerTo({}), 200);
});

test('nobody is answered without the token', async () => {
  const wrong = [
    null,
    'x',
    `${mainToken}x`,
    mainToken.slice(0, -1),
    mainToken.toUpperCase(),
    'x'.repeat(400),
  ];
  for (const token of wrong) {
    for (const target of ['/v1/sessions', '/metrics', '/rpc', '/nothing', '/mcp']) {
      const { status, headers, text } = await ask(daemon, target, { token });
      assert.ok(status === 401 || status === 429, `${target}: ${status}`);
      if (status === 401) assert.match(String(headers['www-authenticate']), /^Bearer/);
      const form = target === '/mcp' ? 'application/json' : 'application/problem+json';
      assert.equal(headers['content-type'], form);
      assert.ok(token === null || token.length < 2 || !text.includes(token));
    }
  }
});

test('who guesses is told to wait, and who has the token is not', async () => {
  const all = await Promise.all(
    Array.from({ length: 40 }, (_, at) => ask(daemon, '/v1/ping', { token: `guess-${at}` })),
  );
  const late = all.filter(({ status }) => status === 429);
  assert.ok(late.length > 0);
  for (const { headers } of late) assert.match(String(headers['retry-after']), /^\d+$/);
  assert.equal((await ask(daemon, '/v1/ping')).status, 200);
});

test('a token counts in one place only', async () => {
  for (const name of ['token', 'access_token', 'bearer', 'auth']) {
    const { status, text } = await ask(daemon, `/v1/ping?${name}=${mainToken}`);
    assert.equal(status, 400, name);
    assert.ok(!text.includes(mainToken), text);
    assert.notEqual(
      (await ask(daemon, `/v1/ping?${name}=${mainToken}`, { token: null })).status,
      200,
    );
  }
  const { status } = await ask(daemon, '/v1/ping', {
    token: null,
    headers: { Cookie: `token=${mainToken}`, 'X-Api-Key': mainToken },
  });
  assert.ok(status === 401 || status === 429);
  for (const field of [`Basic ${mainToken}`, mainToken, `Bearer ${mainToken} x`, 'Bearer ']) {
    const asked = { token: null, headers: { Authorization: field } };
    assert.notEqual((await ask(daemon, '/v1/ping', asked)).status, 200, field);
  }
});

test('a name that is not of this runtime is refused, whatever it points to', async () => {
  const { port } = daemon;
  const wrong = [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1',
    `127.0.0.1:${port + 1}`,
    `127.0.0.1.evil.example:${port}`,
    `localhost.:${port}`,
    `0x7f000001:${port}`,
    `user@127.0.0.1:${port}`,
    `127.0.0.1:${port}/`,
    '',
  ];
  for (const host of wrong) assert.ok([400, 403].includes(await answerTo({ host })), host);
  assert.equal(await answerTo({ host: null }), 400);
  assert.equal(await answerTo({ more: ['Host: evil.example'] }), 400);
  for (const host of [`localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
    assert.equal(await answerTo({ host }), 200, host);
  }
});

test('pages of other sites are refused', async () => {
  const { port } = daemon;
  const wrong = [
    'null',
    'https://evil.example',
    `https://127.0.0.1:${port}`,
    `http://127.0.0.1:${port + 1}`,
    'http://127.0.0.1',
    `http://evil.example:${port}`,
    'file://',
    '',
  ];
  for (const origin of wrong) {
    assert.equal(await answerTo({ more: [`Origin: ${origin}`] }), 403, origin);
    const preflight = await ask(daemon, '/v1/sessions', {
      method: 'OPTIONS',
      token: null,
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    });
    assert.equal(preflight.status, 403);
    for (const name of Object.keys(preflight.headers)) {
      assert.ok(!name.startsWith('access-control'), name);
    }
  }
  assert.equal(await answerTo({ more: [`Origin: http://localhost:${port}`] }), 200);
});

const upgrade = [
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

test('a WebSocket is held to the same', async () => {
  const first = 'GET /rpc HTTP/1.1';
  const tries = [
    ['Origin: https://evil.example'],
    ['Origin: null'],
    ['Host: evil.example'],
    ['Sec-WebSocket-Protocol: other'],
  ];
  for (const more of tries) {
    const [status = 0] = statuses(
      await sendRaw(daemon.port, bytes({ first, more: [...upgrade, ...more] })),
    );
    assert.ok(status >= 400 && status < 500, `${more.join()}: ${status}`);
  }
  for (const target of [`/rpc?token=${mainToken}`, '/v1/ping', '/nothing', '/v1/execs/x-1/ws']) {
    const lines = { first: `GET ${target} HTTP/1.1`, more: upgrade };
    const [status = 0] = statuses(await sendRaw(daemon.port, bytes(lines)));
    assert.ok(status >= 400 && status < 500, `${target}: ${status}`);
  }
  const bare = [first, `Host: 127.0.0.1:${daemon.port}`, ...upgrade].join('\r\n');
  const [status = 0] = statuses(await sendRaw(daemon.port, `${bare}\r\n\r\n`));
  assert.ok(status === 401 || status === 429);
});

test('a request that can be read in two ways is not answered', async () => {
  const first = 'POST /v1/sessions HTTP/1.1';
  const type = 'Content-Type: application/json';
  const chunked = '2\r\n{}\r\n0\r\n\r\nGET /v1/ping HTTP/1.1\r\n\r\n';
  const tries: readonly (readonly [readonly string[], string])[] = [
    [['Content-Length: 2', 'Transfer-Encoding: chunked'], chunked],
    [['Content-Length: 2', 'Content-Length: 3'], '{} '],
    [['Content-Length: 2', 'Content-Length: 2'], '{}'],
    [['Content-Length: 2, 3'], '{} '],
    [['Content-Length: +2'], '{}'],
    [['Content-Length: 0x2'], '{}'],
    [['Content-Length: -2'], '{}'],
    [['Content-Length : 2'], '{}'],
    [['Transfer-Encoding : chunked'], chunked],
    [['Transfer-Encoding: chunked, identity'], chunked],
    [['Transfer-Encoding: xchunked'], chunked],
    [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], chunked],
    [['X: a\r\n folded: b', 'Content-Length: 2'], '{}'],
    [['X: a\rY: b', 'Content-Length: 2'], '{}'],
    [['Content-Length: 2', 'X: a\0b'], '{}'],
    [['Transfer-Encoding: chunked'], 'g\r\n{}\r\n0\r\n\r\n'],
    [['Transfer-Encoding: chunked'], 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
  ];
  for (const [more, body] of tries) {
    const text = await sendRaw(daemon.port, bytes({ first, more: [type, ...more], body }));
    assert.deepEqual(statuses(text), [400], `${more.join(' | ')}\n${text}`);
  }
});

test('targets and versions of other kinds are refused', async () => {
  const { port } = daemon;
  const wrong = [
    `GET http://127.0.0.1:${port}/v1/ping HTTP/1.1`,
    'GET http://evil.example/v1/ping HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET //evil.example/v1/ping HTTP/1.1',
    'GET /v1\\ping HTTP/1.1',
    'GET /v1/ping#x HTTP/1.1',
    'GET /v1/ping HTTP/1.0',
    'GET /v1/ping HTTP/2.0',
    'GET /v1/pi ng HTTP/1.1',
    'GET v1/ping HTTP/1.1',
    'get /v1/ping HTTP/1.1',
  ];
  for (const first of wrong) assert.equal(await answerTo({ first }), 400, first);
  assert.deepEqual(statuses(await sendRaw(port, bytes({ first: 'CONNECT a:1 HTTP/1.1' }))), []);
});

test('no other method than that of a path is answered', async () => {
  for (const method of ['TRACE', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
    const { status, headers, text } = await ask(daemon, '/v1/ping', { method });
    assert.equal(status, 405, method);
    assert.equal(headers.allow, 'GET');
    assert.ok(!text.includes(mainToken));
  }
  const head = await ask(daemon, '/v1/ping', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
});

test('no field of an answer, and no file, is made of what a path holds', async () => {
  const ids = ['s-%0d%0aX-Evil:%201', 's-%00', '%2e%2e', '..', '.', 's-%2f..%2fx', '%ff', '%'];
  for (const id of ids) {
    const { status, headers } = await ask(daemon, `/v1/sessions/${id}`);
    assert.ok(status === 400 || status === 404, `${id}: ${status}`);
    assert.equal(headers['x-evil'], undefined);
  }
  const files = [
    '/assets/../../../package.json',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets//etc/passwd',
    '/assets/',
    '/assets/../index.html',
    '/index.html',
  ];
  for (const file of files) {
    const { status } = await ask(daemon, file, { token: null });
    assert.ok([400, 401, 404, 429].includes(status), `${file}: ${status}`);
  }
});

test('what is too long, compressed or no JSON is refused before it is understood', async () => {
  const target = '/v1/sessions';
  const first = `POST ${target} HTTP/1.1`;
  const type = 'Content-Type: application/json';
  const long = { first, more: [type, 'Content-Length: 9000000'] };
  assert.deepEqual(statuses(await sendRaw(daemon.port, bytes(long))), [413]);
  const piece = `100000\r\n${'a'.repeat(1_048_576)}\r\n`;
  const chunked = { first, more: [type, 'Transfer-Encoding: chunked'], body: piece.repeat(9) };
  assert.deepEqual(statuses(await sendRaw(daemon.port, bytes(chunked))), [413]);
  // Who is still sending must see why, not a connection that broke.
  for (const path of ['/v1/login', '/v1/policy/none']) {
    const { status } = await ask(daemon, path, { body: { code: 'a'.repeat(7_000_000) } });
    assert.equal(status, path === '/v1/login' ? 413 : 404);
  }
  const fields = { first: 'GET /v1/ping HTTP/1.1', more: [`X: ${'a'.repeat(20_000)}`] };
  assert.deepEqual(statuses(await sendRaw(daemon.port, bytes(fields))), [431]);

  for (const coding of ['gzip', 'br', 'deflate', 'gzip, gzip']) {
    const asked = { body: '{}', headers: { 'Content-Encoding': coding } };
    assert.equal((await ask(daemon, target, asked)).status, 415, coding);
  }
  for (const form of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', '']) {
    const asked = { body: '{}', headers: { 'Content-Type': form } };
    assert.equal((await ask(daemon, target, asked)).status, 415, form);
  }
  const bodies = [
    '{"name":"a","name":"b"}',
    '{"__proto__":{}}',
    `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
    Buffer.from([0x7b, 0xff, 0x7d]),
    '[]',
    'null',
    '{',
    '',
    '{}{}',
  ];
  for (const body of bodies) {
    const { status, text } = await ask(daemon, target, { body });
    if (body === '') assert.equal(status, 201);
    else assert.deepEqual([status, codeOf(text)], [400, 'INVALID_PARAMS'], String(body));
  }
  const withBody = { method: 'GET', body: '{}', headers: { 'Content-Length': '2' } };
  assert.equal((await ask(daemon, '/v1/ping', withBody)).status, 400);
});

test('who waits to be asked for a body is asked for it when the rest was right', async () => {
  const first = 'POST /v1/policy/explain HTTP/1.1';
  const body = '{"command":"ls"}';
  const fields = ['Content-Type: application/json', `Content-Length: ${body.length}`];
  const right = { first, more: [...fields, 'Expect: 100-continue', 'Connection: close'], body };
  const text = await sendRaw(daemon.port, bytes(right));
  assert.deepEqual(statuses(text), [100, 200]);
  const other = `${first}\r\nHost: evil.example\r\n${right.more.join('\r\n')}\r\n\r\n`;
  assert.deepEqual(statuses(await sendRaw(daemon.port, other)), [403]);
  const odd = { ...right, more: [...fields, 'Expect: tea', 'Connection: close'] };
  assert.deepEqual(statuses(await sendRaw(daemon.port, bytes(odd))), [417]);
});

test('no answer tells more than it must', async () => {
  const answers = [
    await ask(daemon, '/v1/sessions'),
    await ask(daemon, '/nothing'),
    await ask(daemon, '/', { token: null }),
    await ask(daemon, '/healthz', { token: null }),
  ];
  for (const { headers } of answers) {
    assert.equal(headers['server'], undefined);
    assert.equal(headers['x-powered-by'], undefined);
    assert.equal(headers['set-cookie'], undefined);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.match(String(headers['cache-control']), /no-store|no-cache/);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
  }
  assert.equal((await ask(daemon, '/readyz', { token: null })).text, '{"status":"ok"}');
});

test('who is refused is recorded, a flood in few words, and no token ever', async () => {
  const said = (): readonly { reason: string; count: number }[] =>
    auditText(daemon)
      .split('\n')
      .filter((line) => line.includes('"call.refused"') && line.includes('"door"'))
      .map((line) => JSON.parse(line).event?.data ?? JSON.parse(line).data);
  await ask(daemon, '/v1/ping', { headers: { Host: 'evil.example' } });
  for (let tries = 0; said().length < 4 && tries < 200; tries += 1) {
    await ask(daemon, '/v1/ping');
  }
  const reasons = new Set(said().map(({ reason }) => reason));
  for (const one of ['host', 'origin', 'token-missing', 'token-unknown']) {
    assert.ok(reasons.has(one), `${one} of ${[...reasons].join()}`);
  }
  // Hundreds came, from one address: each reason once, and once more for what came after it.
  assert.ok(said().length <= 3 * reasons.size, JSON.stringify(said()));
  for (const text of [auditText(daemon), daemon.log()]) assert.ok(!text.includes(mainToken));
});
