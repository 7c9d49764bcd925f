// The proxy of a company and its roots: hosts are reached through it, with what it asks for, and
// what it says wrong is an answer of the bridge.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { UpstreamProxy } from '../src/network-access.ts';
import { rootCertificates } from '../src/network/root-certificates.ts';
import { bypassesProxy, upstreamProxyOf } from '../src/network/upstream-proxy.ts';
import { egressExec, openBox, temporary, whyNoBox } from './support/box.ts';
import { openTlsAuthority } from './support/tls-authority.ts';

const portOf = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Number(Object(server.address())['port']);
};

test('a proxy is what a person wrote, or what variables say', () => {
  const env = { HTTPS_PROXY: 'http://me:p%40ss@proxy.test:3128', NO_PROXY: 'a.test, .b.test:8443' };
  assert.deepEqual(upstreamProxyOf('environment', env), {
    host: 'proxy.test',
    port: 3128,
    isSecure: false,
    authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    bypass: ['a.test', '.b.test:8443'],
  });
  assert.equal(upstreamProxyOf('none', env), null);
  assert.equal(upstreamProxyOf('environment', {}), null);
  assert.equal(upstreamProxyOf('environment', { ALL_PROXY: 'socks5://p.test:1080' }), null);
  assert.equal(upstreamProxyOf('https://[fd00::1]:8443', env)?.host, 'fd00::1');
  assert.equal(upstreamProxyOf('proxy.test:8080', {})?.port, 8080);
});

test('NO_PROXY names hosts, domains and ports', () => {
  const skips = (bypass: string, name: string, port = 443): boolean =>
    bypassesProxy({ host: 'p', port: 1, isSecure: false, bypass: bypass.split(',') }, name, port);
  assert.ok(skips('*', 'a.test'));
  assert.ok(skips('a.test', 'a.test'));
  assert.ok(skips('a.test', 'b.a.test'));
  assert.ok(skips('.A.test', 'b.a.test'));
  assert.ok(skips('*.a.test', 'b.a.test'));
  assert.ok(skips('x,a.test:8443', 'a.test', 8443));
  assert.ok(!skips('a.test:8443', 'a.test', 443));
  assert.ok(!skips('a.test', 'ba.test'));
  assert.ok(!skips('', 'a.test'));
});

test('roots are those of files and variables that the host does not have', () => {
  using dir = temporary();
  const [one, two] = [openTlsAuthority(dir.path).root, openTlsAuthority(dir.path).root];
  const at = (name: string, text: string): string => {
    const file = path.join(dir.path, name);
    writeFileSync(file, text);
    return file;
  };
  const bundle = at('bundle.pem', `# a comment\n${one}`);
  const both = at('both.pem', `${one}\n${two}`);
  const find = (files: readonly string[], env = {}) =>
    rootCertificates({ files, env, bundle }).map((pem) => pem.trim());
  assert.deepEqual(find([both]), [two.trim()]);
  assert.deepEqual(find([], { NODE_EXTRA_CA_CERTS: both, SSL_CERT_FILE: both }), [two.trim()]);
  assert.deepEqual(find([], { NODE_EXTRA_CA_CERTS: '/nowhere' }), []);
  assert.throws(() => find(['/nowhere']), { code: 'INVALID_PARAMS', message: /cannot be read/ });
  const none = at('none.pem', 'nothing');
  assert.throws(() => find([none]), { code: 'INVALID_PARAMS', message: /no certificate/ });
});

describe('through a proxy', { skip: whyNoBox }, () => {
  const asked: string[] = [];
  let answer: ((socket: Socket) => void) | null = null;
  const origin = createHttp((request, response) => {
    response.end(`origin ${request.headers.host} ${request.url}\n`);
  });
  const proxy = createHttp();
  const raw = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer?.(socket));
  });
  const at = { origin: 0, proxy: 0, raw: 0 };

  before(async () => {
    at.origin = await portOf(origin);
    at.proxy = await portOf(proxy);
    at.raw = await portOf(raw);
    proxy.on('connect', (request, socket: Socket, head) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization'] ?? '-'}`);
      socket.on('error', () => {});
      if (request.headers['proxy-authorization'] !== 'Basic bWU6cGFzcw==') {
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
        return;
      }
      const to = connect(at.origin, '127.0.0.1');
      to.on('error', () => socket.destroy());
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      to.write(head);
      socket.pipe(to).pipe(socket);
    });
  });
  after(() => {
    for (const server of [origin, proxy, raw]) server.close();
  });

  const run = async (command: string, proxied: Partial<UpstreamProxy>, connects = {}) => {
    const upstream = {
      host: '127.0.0.1',
      port: at.proxy,
      isSecure: false,
      bypass: [],
      ...proxied,
    };
    await using box = await openBox({
      network: 'hosts',
      egress: { allow: ['far.invalid', 'far.invalid:9000'], proxy: upstream, connect: connects },
    });
    const got = await box.run(command);
    const records = (await box.bridge?.end(egressExec)) ?? [];
    return {
      ...got,
      records: records.map(({ host, port, address, rule }) => `${host}:${port} ${address} ${rule}`),
    };
  };
  const authorization = 'Basic bWU6cGFzcw==';

  test('a name that nobody here knows is reached, with what the proxy asks for', async () => {
    const got = await run('curl -sS http://far.invalid/x', { authorization });
    assert.equal(got.stdout, 'origin far.invalid /x\n', got.stderr);
    assert.deepEqual(got.records, ['far.invalid:80 127.0.0.1 far.invalid']);
    assert.equal(asked.at(-1), `far.invalid:80 ${authorization}`);
    const other = await run('curl -sS http://far.invalid:9000/y', { authorization });
    assert.equal(other.stdout, 'origin far.invalid:9000 /y\n', other.stderr);
  });

  test('a proxy that refuses is said to, and nothing goes by itself', async () => {
    const got = await run('curl -sS http://far.invalid/', {});
    assert.match(got.stdout, /cannot be reached/);
    assert.deepEqual(got.records, ['far.invalid:80 null proxy: 407 authentication required']);
    const gone = await run('curl -sS http://far.invalid/', { port: 1 });
    assert.deepEqual(gone.records, ['far.invalid:80 null proxy: cannot connect']);
  });

  test('a named place and NO_PROXY go without it', async () => {
    const before = asked.length;
    const place = { 'far.invalid': `127.0.0.1:${at.origin}` };
    const got = await run('curl -sS http://far.invalid/z', {}, place);
    assert.equal(got.stdout, 'origin far.invalid /z\n');
    const bypassed = await run('curl -sS http://far.invalid/', { bypass: ['far.invalid'] });
    assert.deepEqual(bypassed.records, ['far.invalid:80 null name not found']);
    assert.equal(asked.length, before);
  });

  test('what a hostile proxy answers ends in a refusal', { timeout: 60_000 }, async (context) => {
    const rows: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
      ['nothing', (socket) => socket.end(), /cannot connect/],
      ['no HTTP', (socket) => socket.end('SSH-2.0-x\r\n'), /cannot connect/],
      ['403', (socket) => socket.end('HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n'), /proxy: 403/],
      [
        'a header of 1 MB',
        (socket) => socket.end(`HTTP/1.1 200 OK\r\nA: ${'x'.repeat(1 << 20)}`),
        /cannot connect/,
      ],
      [
        'a switch',
        (socket) => socket.end('HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
        /proxy: /,
      ],
    ];
    for (const [name, respond, rule] of rows) {
      await context.test(name, async () => {
        answer = respond;
        const got = await run('curl -sS -m 30 http://far.invalid/', { port: at.raw });
        assert.match(got.records.join('\n'), rule);
      });
    }
  });
});
