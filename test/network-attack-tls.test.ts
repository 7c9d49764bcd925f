// Attacks on TLS, from inside a real sandbox: what a host's ClientHello names is the host.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readClientHello } from '../src/egress/client-hello.ts';
import { openBox, type OpenBox } from './support/box.ts';
import {
  bound,
  bytesOf,
  connectionsOf,
  exchange,
  python,
  serve,
  serveTls,
  type TlsServer,
  type Wire,
} from './support/network-attack.ts';

const word = (value: number): Wire => String.fromCharCode(value >> 8, value & 255);
const sized = (body: Wire): Wire => word(body.length) + body;
const triple = (value: number): Wire => String.fromCharCode(value >> 16) + word(value & 65_535);
const record = (body: Wire, type = 22, version = 0x0301): Wire =>
  String.fromCharCode(type) + word(version) + sized(body);
const extension = (type: number, body: Wire): Wire => word(type) + sized(body);
const nameEntry = (name: Wire, type = 0): Wire => String.fromCharCode(type) + sized(name);
const sni = (...entries: readonly Wire[]): Wire => extension(0, sized(entries.join('')));
const named = (name: Wire): Wire => sni(nameEntry(name));
const versions = extension(43, '\x04\x03\x04\x03\x03');
/** A handshake message. */
function hello(extensions: Wire, type = 1): Wire {
  const body = `\x03\x03${'r'.repeat(32)}\0${sized('\x13\x01\xc0\x2f')}\x01\0${sized(extensions)}`;
  return String.fromCharCode(type) + triple(body.length) + body;
}
const good = hello(named('files.test') + versions);
const evil = hello(named('evil.test') + versions);
/** One record for each part of so many bytes. */
const cut = (message: Wire, bytes: number): Wire =>
  [...message.matchAll(new RegExp(`[\\s\\S]{1,${bytes}}`, 'g'))]
    .map(([part]) => record(part))
    .join('');

/** Of which nothing may reach a server. */
const refused: Readonly<Record<string, Wire>> = {
  'another name': record(evil),
  'another name of the rules': record(hello(named('other.test'))),
  'no name': record(hello(versions)),
  'no extensions': record(hello('').slice(0, -2)),
  'an empty name': record(hello(named(''))),
  'an empty list of names': record(hello(sni())),
  'an empty extension of names': record(hello(extension(0, ''))),
  'two names': record(hello(sni(nameEntry('files.test'), nameEntry('evil.test')))),
  'two names in two extensions': record(hello(named('files.test') + named('evil.test'))),
  'the same name twice': record(hello(named('files.test') + named('files.test'))),
  'a name of another type': record(hello(sni(nameEntry('files.test', 1)))),
  'a name that is longer than its list': record(
    hello(extension(0, `${word(5)}\0${word(40)}files.test`)),
  ),
  'a name with NUL': record(hello(named('files.test\0.evil.test'))),
  'a name that ends with NUL': record(hello(named('files.test\0'))),
  'a name with a port': record(hello(named('files.test:443'))),
  'a name with a blank': record(hello(named('files.test '))),
  'a name with a byte above ASCII': record(hello(named('file\xaas.test'))),
  'a name that IDNA makes equal': record(hello(named('f\xecles.test'))),
  'a number that IDNA makes equal': record(hello(named('files\xb2.test'))),
  'a name with two final dots': record(hello(named('files.test..'))),
  'an address as the name': record(hello(named('169.254.169.254'))),
  'a later message that names the host': record(evil) + record(good),
  'two messages in one record': record(evil + good),
  'another name in a later record': record(evil.slice(0, 3)) + record(evil.slice(3)),
  'another name, byte by byte': cut(evil, 1),
  'an alert first': record('\x01\0', 21) + record(good),
  'data first': record('x', 23) + record(good),
  'an empty record first': record('') + record(good),
  'another record between': record(good.slice(0, 9)) + record('\x01', 20) + record(good.slice(9)),
  'a record of SSL 2': `\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10${'r'.repeat(48)}`,
  'a record of version 2': record(good, 22, 0x0200),
  'a record of DTLS': `\x16\xfe\xfd${'\0'.repeat(8)}${sized(good)}`,
  'a server hello': record(hello(named('files.test'), 2)),
  'a record that is too large': `\x16\x03\x01${word(16_385)}${'x'.repeat(100)}`,
  'a message of 16 MB': record(`\x01\xff\xff\xff${'x'.repeat(1000)}`),
  'a hello of 40 KB': cut(hello(extension(21, 'x'.repeat(40_000)) + named('files.test')), 16_000),
  'an extension that ends beyond the message': record(
    hello(`${named('files.test')}\0\x15\xff\xff`),
  ),
  'HTTP without TLS': 'GET / HTTP/1.1\r\nHost: files.test\r\n\r\n',
  'HTTP/2 without TLS': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  SSH: 'SSH-2.0-x\r\n',
  'a byte that is no record': '\0',
  'a hello that is cut off': record(good).slice(0, 60),
  'a byte of a record': '\x16',
};

test('no server sees a TLS hello that does not name it alone', bound, async (t) => {
  await using server = await serve(null);
  const connect = { 'files.test': server.at, 'files2.test': server.at, 'other.test': server.at };
  const allow = ['files.test', 'files2.test', 'other.test', 'files.test:9443'];
  await using box = await openBox({ network: 'hosts', egress: { allow, connect } });
  const entries = Object.entries(refused);
  const jobs = [443, 9443].flatMap((port) =>
    entries.map(([what, bytes]) => {
      const host = what.startsWith('a number') ? 'files2.test' : 'files.test';
      return { host, port, send: [bytes], halfClose: true };
    }),
  );
  const results = await exchange(box, jobs.slice(0, entries.length));
  for (const [at, [what]] of entries.entries()) {
    await t.test(what, () => assert.notEqual(results[at]?.end, 'open'));
  }
  assert.equal(server.seen.join(''), '');
  // On another port what says TLS is looked at in the same way.
  const isTls = jobs.filter(({ port, send }) => port === 9443 && send[0]?.startsWith('\x16'));
  const others = await exchange(box, isTls);
  assert.ok(others.every(({ end }) => end !== 'open'));
  assert.equal(server.seen.join(''), '');
});

test('a hello that names the host passes, however it is cut', bound, async (t) => {
  await using server = await serve((socket, bytes) => socket.write(`got ${bytes.length}`));
  const connect = { 'files.test': server.at };
  await using box = await openBox({ network: 'hosts', egress: { allow: ['files.test'], connect } });
  const whole: Readonly<Record<string, readonly Wire[]>> = {
    'in one record': [record(good)],
    'in capitals': [record(hello(named('FILES.test')))],
    'with a final dot': [record(hello(named('files.test.')))],
    'in records of one byte': [cut(good, 1)],
    'in segments of one byte': bytesOf(record(good)),
    'in records and segments of one byte': bytesOf(cut(good, 1)),
    'with padding of 12 KB': [
      record(hello(extension(21, '\0'.repeat(12_000)) + named('files.test'))),
    ],
    // A name inside what is encrypted is the server's to refuse; the outer one is the host's.
    'with an encrypted hello beside it': [
      record(hello(named('files.test') + extension(0xfe0d, 'x'.repeat(200)))),
    ],
  };
  const entries = Object.entries(whole);
  const results = await exchange(
    box,
    entries.map(([, send]) => ({
      host: 'files.test',
      port: 443,
      send,
      halfClose: true,
      pauseMs: 1,
    })),
  );
  for (const [at, [what]] of entries.entries()) {
    await t.test(what, () =>
      assert.match(results[at]?.got ?? '', /^got /, JSON.stringify(results[at])),
    );
  }
  assert.deepEqual(
    server.seen.map((seen) => seen).toSorted(),
    entries.map(([, send]) => send.join('')).toSorted(),
  );
});

test('a hello in records of one byte is read in one pass', { timeout: 60_000 }, () => {
  const message = hello(extension(21, '\0'.repeat(5_000)) + named('files.test'));
  const bytes = Buffer.from(cut(message, 1), 'latin1');
  // As it comes, in 1,000 segments: quadratic work in each would take minutes.
  const step = Math.ceil(bytes.length / 1000);
  for (let at = step; at < bytes.length; at += step) {
    assert.equal(readClientHello(bytes.subarray(0, at)).kind, 'incomplete');
  }
  assert.deepEqual(readClientHello(bytes), { kind: 'hello', name: 'files.test', protocols: [] });
});

async function withTls(run: (box: OpenBox, server: TlsServer) => Promise<void>): Promise<void> {
  await using server = await serveTls('files.test');
  const connect = { 'files.test': server.at, 'other.test': server.at };
  const egress = { allow: ['files.test', 'other.test'], deny: ['deny.test'], connect };
  await using box = await openBox({ network: 'hosts', egress });
  await run(box, server);
}

test('curl and openssl reach the host by its own name alone', bound, async () => {
  await withTls(async (box, server) => {
    const got = await box.run(
      `cat > /tmp/ca.pem
      one() { echo "$1 $(timeout 20 "\${@:2}" 2>&1 </dev/null | grep -c 'yes\\|BEGIN CERT')"; }
      one own curl -sS --cacert /tmp/ca.pem https://files.test/
      one connect-to curl -sSk --connect-to evil.test:443:files.test:443 https://evil.test/
      address=$(getent ahostsv4 files.test | head -1 | cut -d' ' -f1)
      one resolve curl -sSk --resolve "evil.test:443:$address" https://evil.test/
      one address curl -sSk "https://$address/"
      one noservername openssl s_client -connect files.test:443 -noservername
      one servername openssl s_client -connect files.test:443 -servername evil.test
      one tls12 openssl s_client -connect files.test:443 -servername other.test -tls1_2
      one right openssl s_client -connect files.test:443 -servername files.test
      one plain curl -sS http://files.test:443/
      one proxy curl -sSk --proxy http://files.test:80 https://evil.test/
      one socks curl -sSk --socks5-hostname files.test:443 https://evil.test/
      one denied curl -sSk https://deny.test/`,
      { stdin: server.pem },
    );
    assert.equal(
      got.stdout,
      'own 1\nconnect-to 0\nresolve 0\naddress 0\nnoservername 0\nservername 0\n' +
        'tls12 0\nright 1\n' +
        'plain 0\nproxy 0\nsocks 0\ndenied 0\n',
      got.stderr,
    );
    assert.deepEqual([...new Set(server.names)], ['files.test']);
    assert.ok((await connectionsOf(box)).includes('files.test:443 false name mismatch'));
  });
});

test('a session that was resumed names the host as well', bound, async () => {
  await withTls(async (box, server) => {
    const got = await python<string[]>(
      box,
      `
import ssl
context = ssl.create_default_context(cadata=input)
context.check_hostname = False
def once(name, session=None):
    try:
        raw = socket.create_connection(('files.test', 443), timeout=8)
        with context.wrap_socket(raw, server_hostname=name, session=session) as s:
            s.sendall(b'GET / HTTP/1.1\\r\\nHost: files.test\\r\\n\\r\\n')
            return s.recv(100)[-3:].decode(), s.session
    except (OSError, ValueError) as e: return name_of(e), None
first, session = once('files.test')
second, _ = once('files.test', session)
third, _ = once('other.test', session)
say([first, second, third])
`,
      server.pem,
    );
    assert.deepEqual(got.slice(0, 2), ['yes', 'yes']);
    assert.notEqual(got[2], 'yes');
    assert.deepEqual([...new Set(server.names)], ['files.test']);
  });
});
