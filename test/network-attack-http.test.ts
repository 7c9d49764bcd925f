// Attacks on HTTP without TLS, from inside a real sandbox: what the host reads names the host.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBox } from './support/box.ts';
import {
  answerEach,
  bound,
  connectionsOf,
  exchange,
  python,
  serve,
  type Exchange,
  type Wire,
} from './support/network-attack.ts';

const good = 'Host: files.test\r\n';
const evil = 'Host: evil.test\r\n';
/** A request for the other host, which no server may ever see. */
const smuggled = `GET /smuggled HTTP/1.1\r\n${evil}\r\n`;
const get = (lines: Wire, path = '/'): Wire => `GET ${path} HTTP/1.1\r\n${lines}\r\n`;
const post = (lines: Wire, body: Wire): Wire => `POST / HTTP/1.1\r\n${lines}\r\n${body}`;
const oneByte = 'Content-Length: 1\r\n\r\n';
const chunked = 'Transfer-Encoding: chunked\r\n';
const length = (body: Wire): Wire => `Content-Length: ${body.length}\r\n`;
const upgrade = (to: string): Wire => `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${to}\r\n`;
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';

/** Of which nothing may reach a server. */
const refused: Readonly<Record<string, Wire>> = {
  'another host': get(evil),
  'another host of the rules': get('Host: other.test\r\n'),
  'no host': get(''),
  'no host, in HTTP/1.0': 'GET / HTTP/1.0\r\n\r\n',
  'HTTP/0.9': 'GET /\r\n',
  'an empty host': get('Host:\r\n'),
  'two hosts': get(good + evil),
  'the same host twice': get(good + good),
  'two hosts, the first is another': get(evil + good),
  'two hosts in one header': get('Host: files.test, evil.test\r\n'),
  'two hosts by a folded line': get('Host: files.test\r\n evil.test\r\n'),
  'a folded line before the host': get(`X: a\r\n ${evil}`),
  'a host with user information': get('Host: files.test@evil.test\r\n'),
  'a user before the host': get('Host: evil.test@files.test\r\n'),
  'a host with another port': get('Host: files.test:8443\r\n'),
  'a host with two ports': get('Host: files.test:80:80\r\n'),
  'a host with a port that is not one': get('Host: files.test:80@evil.test\r\n'),
  'a host with a path': get('Host: files.test/evil.test\r\n'),
  'a host with a backslash': get('Host: evil.test\\files.test\r\n'),
  'a host with a query': get('Host: evil.test?files.test\r\n'),
  'a host with a percent sign': get('Host: files%2etest\r\n'),
  'a host with a tabulator': get('Host: files.test\tevil.test\r\n'),
  'a host with NUL': get('Host: files.test\0evil.test\r\n'),
  'a host with a byte above ASCII': get('Host: file\xaas.test\r\n'),
  'a host that IDNA makes equal': get('Host: fi\xadles.test\r\n'),
  'an address as the host': get('Host: 169.254.169.254\r\n'),
  'an IPv6 address as the host': get('Host: [::1]\r\n'),
  'a blank before the colon': get(`Host : evil.test\r\n${good}`),
  'a carriage return in a header': get(`${good}X: a\rHost: evil.test\r\n`),
  'a line feed alone': `GET / HTTP/1.1\n${good}\n`,
  'a line feed alone before a second host': get(`X: a\nHost: evil.test\r\n${good}`),
  'an absolute URL of another host': get(good, 'http://evil.test/'),
  'an absolute URL with another host': get(evil, 'http://files.test/'),
  'an absolute URL with a user': get(good, 'http://files.test@evil.test/'),
  'an absolute URL with a backslash': get(good, 'http://files.test\\@evil.test/'),
  'an absolute URL of another port': get(good, 'http://files.test:8080/'),
  'an absolute URL of https': get(good, 'https://files.test/'),
  'an absolute URL of ftp': get(good, 'ftp://evil.test/'),
  'an authority as the path': get(good, 'evil.test:80'),
  'a method CONNECT': `CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n`,
  'a method CONNECT to the host': `CONNECT files.test:80 HTTP/1.1\r\n${good}\r\n${smuggled}`,
  'a body with both lengths': post(
    `${good}Content-Length: 4\r\n${chunked}`,
    `0\r\n\r\n${smuggled}`,
  ),
  'a body with both lengths in turn': post(`${good}${chunked}Content-Length: 4\r\n`, `0\r\n\r\n`),
  'two lengths': post(`${good}Content-Length: 0\r\nContent-Length: 40\r\n`, smuggled),
  'two lengths in one': post(`${good}Content-Length: 0, 40\r\n`, smuggled),
  'a negative length': post(`${good}Content-Length: -1\r\n`, smuggled),
  'a length with a sign': post(`${good}Content-Length: +40\r\n`, smuggled),
  'a hexadecimal length': post(`${good}Content-Length: 0x28\r\n`, smuggled),
  'two transfer encodings': post(`${good}${chunked}Transfer-Encoding: identity\r\n`, smuggled),
  'a transfer encoding that is not one': post(`${good}Transfer-Encoding: xchunked\r\n`, smuggled),
  'a transfer encoding after chunked': post(`${good}Transfer-Encoding: chunked, x\r\n`, smuggled),
  'a transfer encoding with a vertical tab': post(
    `${good}Transfer-Encoding:\x0bchunked\r\n`,
    smuggled,
  ),
  'a transfer encoding in HTTP/1.0': `POST / HTTP/1.0\r\n${good}${chunked}${oneByte}`,
  'a host that the connection drops': get(`${good}Connection: close, Host\r\n`),
  'a length that the connection drops':
    get(`${good}Connection: close, Content-Length\r\n${length(smuggled)}`) + smuggled,
  'HTTP/2 with prior knowledge': preface,
  'a TLS hello': '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03',
  SSH: 'SSH-2.0-x\r\n',
  'a proxy header': `PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n${get(good)}`,
};

/** What a server sees of each: exactly one request, for its own host. */
const passed: Readonly<Record<string, Wire>> = {
  'a request': get(good),
  'its host in capitals': get('Host: FILES.TEST\r\n'),
  'its host with the port': get('Host: files.test:80\r\n'),
  'an absolute URL of the host': get(good, 'http://files.test/'),
  'a path that looks like a host': get(good, '//evil.test/'),
  'a path that looks like a URL': get(good, '/http://evil.test/'),
  'another host for those behind': get(`${good}X-Forwarded-Host: evil.test\r\n`),
  'a body that looks like a request': post(good + length(smuggled), smuggled.toLowerCase()),
  'a body that looks like a request, in a GET':
    get(good + length(smuggled)) + smuggled.toLowerCase(),
  'a chunk with extensions': post(good + chunked, `3;a="${evil.trim()}"\r\nabc\r\n0\r\n\r\n`),
  'trailers with a host': post(good + chunked, `3\r\nabc\r\n0\r\n${evil}\r\n`),
};

test('no server sees a request whose host is in doubt', bound, async (t) => {
  await using server = await serve(answerEach);
  const connect = { 'files.test': server.at, 'other.test': server.at };
  await using box = await openBox({
    network: 'hosts',
    egress: { allow: ['files.test', 'other.test'], connect },
  });
  const entries = Object.entries(refused);
  const to = { host: 'files.test', port: 80, halfClose: true };
  const results = await exchange(
    box,
    entries.map(([, bytes]) => ({ ...to, send: [bytes] })),
  );
  for (const [at, [what]] of entries.entries()) {
    await t.test(what, () => {
      assert.notEqual(results[at]?.end, 'open');
      assert.doesNotMatch(results[at]?.got ?? '', /yes/);
    });
  }
  assert.equal(server.seen.join(''), '');
});

test('a server sees one request for its own host, written anew', bound, async (t) => {
  for (const [what, bytes] of Object.entries(passed)) {
    await t.test(what, async () => {
      await using server = await serve(answerEach);
      const connect = { 'files.test': server.at };
      await using box = await openBox({
        network: 'hosts',
        egress: { allow: ['files.test'], connect },
      });
      const send = [bytes, get(good, '/second')];
      const [result] = await exchange(box, [
        { host: 'files.test', port: 80, send, halfClose: true },
      ]);
      assert.equal(result?.got.match(/yes/g)?.length, 2, JSON.stringify(result));
      assert.equal(server.seen.length, 2);
      for (const seen of server.seen) {
        assert.match(seen, /^(GET|POST) \S+ HTTP\/1\.1\r\n/);
        assert.match(seen, /^host: files\.test(:80)?\r$/im);
        assert.match(seen, /^connection: close\r$/im);
        // Its body is framed by one of the two ways.
        const lengths = seen.match(/^(content-length: |transfer-encoding: chunked)/gim) ?? [];
        assert.ok(lengths.length < 2);
        assert.doesNotMatch(seen, /^Host: evil/m);
      }
    });
  }
});

/** Second requests on a connection that was good. */
const second: Readonly<Record<string, readonly Wire[]>> = {
  pipelined: [get(good) + get(evil, '/evil')],
  'kept alive': [get(good), get(evil, '/evil')],
  'after a body': [post(good + length('abc'), 'abc') + get(evil, '/evil')],
  'after chunks': [post(good + chunked, '3\r\nabc\r\n0\r\n\r\n') + get(evil, '/evil')],
  'after Expect': [
    post(`${good}Expect: 100-continue\r\n${length('abc')}`, 'abc'),
    get(evil, '/evil'),
  ],
  'after HEAD': [`HEAD / HTTP/1.1\r\n${good}\r\n`, get(evil, '/evil')],
  'after an upgrade that is not taken': [get(good + upgrade('websocket')) + get(evil, '/evil')],
  'after an upgrade to HTTP/2': [get(good + upgrade('h2c')) + get(evil, '/evil')],
  'after an upgrade to TLS': [get(good + upgrade('TLS/1.0')), get(evil, '/evil')],
  'after an upgrade with a body': [
    `POST / HTTP/1.1\r\n${good}${upgrade('websocket')}${length('abc')}\r\nabc${get(evil, '/evil')}`,
  ],
  'an upgrade to another host': [get(good), get(evil + upgrade('websocket'), '/evil')],
};

test('no later request on a connection goes to another host', bound, async (t) => {
  for (const [what, send] of Object.entries(second)) {
    await t.test(what, async () => {
      await using server = await serve(answerEach);
      const connect = { 'files.test': server.at };
      await using box = await openBox({
        network: 'hosts',
        egress: { allow: ['files.test'], connect },
      });
      const job = { host: 'files.test', port: 80, send, pauseMs: 300, halfClose: true };
      const [result] = await exchange(box, [job]);
      assert.notEqual(result?.end, 'open');
      assert.doesNotMatch(server.seen.join(''), /evil/);
    });
  }
});

test('an upgrade is passed on once the host has taken it', bound, async () => {
  await using server = await serve((socket, bytes) => {
    if (bytes.startsWith('GET')) {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
          'X-Own: a\r\n\r\nfirst',
      );
    } else socket.end(`echo ${bytes}`);
  });
  const connect = { 'files.test': server.at };
  await using box = await openBox({ network: 'hosts', egress: { allow: ['files.test'], connect } });
  const send = [
    get(`${good}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n`),
    'frame',
  ];
  const [result] = await exchange(box, [{ host: 'files.test', port: 80, send, pauseMs: 300 }]);
  assert.match(
    result?.got ?? '',
    /^HTTP\/1\.1 101 [\s\S]*^X-Own: a\r\n[\s\S]*\r\n\r\nfirstecho frame$/m,
  );
  assert.match(server.seen[0] ?? '', /^Sec-WebSocket-Key: k\r$/m);
});

test('an upgrade to HTTP/2 is left out, and the request answered', bound, async () => {
  await using server = await serve(answerEach);
  const connect = { 'files.test': server.at };
  await using box = await openBox({ network: 'hosts', egress: { allow: ['files.test'], connect } });
  const got = await box.run('curl -sS --http2 http://files.test/a');
  assert.deepEqual([got.stdout, got.code], ['yes', 0], got.stderr);
  assert.doesNotMatch(server.seen.join(''), /^(upgrade|http2-settings)/im);
});

/** Answers of a host that is hostile itself. */
const answers: Readonly<Record<string, Wire>> = {
  'a status of 000': 'HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n',
  'a status of 099': 'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n',
  'a status of 999': 'HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n',
  'a status of four digits': 'HTTP/1.1 2000 X\r\n\r\n',
  'a switch that nobody asked for': 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  'a switch without a protocol': 'HTTP/1.1 101 X\r\n\r\n',
  'a thousand interim answers':
    'HTTP/1.1 103 X\r\nLink: a\r\n\r\n'.repeat(1000) + 'HTTP/1.1 204 X\r\n\r\n',
  'no HTTP': 'SSH-2.0-x\r\n',
  'a header of 1 MB': `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(1e6)}\r\n\r\n`,
  'a header with control characters': 'HTTP/1.1 200 OK\r\nX: a\x01b\x7f\r\n\r\n',
  'a header name above ASCII': 'HTTP/1.1 200 OK\r\n\xe9: a\r\n\r\n',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'both lengths':
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a body shorter than its length': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab',
  'a chunk that is none': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  nothing: '',
};

test('an answer of a hostile host ends no other connection', bound, async (t) => {
  await using server = await serve((socket, bytes) => {
    const what = Object.keys(answers)[Number(/^GET \/(\d+) /.exec(bytes)?.[1])] ?? '';
    socket.end(Buffer.from(answers[what] ?? '', 'latin1'));
  });
  await using other = await serve((socket) => socket.write('still here'));
  const connect = { 'files.test': server.at, 'other.test': other.at };
  const allow = ['files.test', 'other.test:4000'];
  await using box = await openBox({ network: 'hosts', egress: { allow, connect } });
  const jobs = Object.keys(answers).map((_, at): Exchange => {
    return { host: 'files.test', port: 80, send: [get(good, `/${at}`)], halfClose: true };
  });
  const results = await python<[[string, string][], string]>(
    box,
    `
s = socket.create_connection(('other.test', 4000), timeout=8)
s.sendall(b'one'); first = s.recv(100)
ends = [(got.decode('latin1')[:100], end) for got, end in all_of(input, exchange)]
s.sendall(b'two')
say([ends, s.recv(100).decode()])
`,
    jobs.map((job) => ({ pauseMs: 0, waitMs: 8_000, ...job })),
  );
  const [ends, alive] = results;
  for (const [at, what] of Object.keys(answers).entries()) {
    await t.test(what, () => assert.notEqual(ends[at]?.[1], 'open'));
  }
  assert.equal(alive, 'still here');
});

test('headers of 1 MB are refused, and HTTP on another port keeps its port', bound, async () => {
  await using server = await serve(answerEach);
  const connect = { 'files.test': server.at };
  const allow = ['files.test', 'files.test:8080'];
  await using box = await openBox({ network: 'hosts', egress: { allow, connect } });
  const big = get(`${good}${'X-A: b\r\n'.repeat(150_000)}`, '/big');
  const long = get(`${good}X: ${'a'.repeat(1e6)}\r\n`, '/long');
  const at = (port: number, ...send: readonly Wire[]): Exchange => ({
    host: 'files.test',
    port,
    send,
  });
  const results = await exchange(box, [
    at(80, big),
    at(80, long),
    at(80, `GET /${'a'.repeat(1e6)} HTTP/1.1\r\n${good}\r\n`),
    at(8080, get(good, '/noport')),
    at(8080, get('Host: evil.test:8080\r\n', '/evil')),
    { ...at(8080, get('Host: files.test:8080\r\n', '/port')), halfClose: true },
    { ...at(8080, get('Host: files.test:8080\r\n', '/port'), get(evil, '/evil')), pauseMs: 300 },
  ]);
  assert.ok(
    results.every(({ end }) => end !== 'open'),
    JSON.stringify(results),
  );
  assert.deepEqual(
    server.seen.map((seen) => seen.split(' ')[1]),
    ['/port', '/port'],
  );
  assert.ok((await connectionsOf(box)).includes('files.test:8080 false name mismatch'));
});
