// Answers of hostile hosts: a credential that they send back in any form is hidden, what they cut
// off is cut off, and their certificates count.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { trustVariables } from '../src/network/trusted-certificates.ts';
import { egressExec, openBox, temporary, whyNoBox } from './support/box.ts';
import {
  openTerminatedHosts,
  placeholder,
  value,
  type TerminatedHosts,
} from './support/terminated.ts';
import { openTlsAuthority } from './support/tls-authority.ts';

const bytes = Buffer.from(value);
const base64 = (before: string): string => Buffer.from(before + value).toString('base64');
/** What of base64 is the value's alone, whatever stands before it. */
const core = (text: string): string => text.slice(5, -5);
const each = (write: (byte: number) => string): string => [...bytes].map(write).join('');
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

/** How a body shows the value, and what of it must not arrive. */
const forms: Readonly<Record<string, readonly [body: string, hidden: string]>> = {
  plain: [`it is ${value}!`, value],
  base64: [base64(''), core(base64(''))],
  'base64, one byte later': [base64('a'), core(base64('a'))],
  'base64, two bytes later': [base64('ab'), core(base64('ab'))],
  'base64 for URLs': [bytes.toString('base64url'), core(bytes.toString('base64url'))],
  hexadecimal: [bytes.toString('hex'), bytes.toString('hex')],
  'hexadecimal in capitals': [
    bytes.toString('hex').toUpperCase(),
    bytes.toString('hex').toUpperCase(),
  ],
  percent: [each((byte) => `%${hex(byte)}`), each((byte) => `%${hex(byte)}`)],
  'JSON escapes': [each((byte) => `\\u00${hex(byte)}`), each((byte) => `\\u00${hex(byte)}`)],
  lines: [`${value.slice(0, 20)}\n${value.slice(20)}`, value.slice(20)],
};

/** One line of what is printed, byte by byte. */
const characters = `od -An -c -w99999999 -v | tr -d ' '`;

type Send = (response: ServerResponse, got: string) => void;
const text =
  (body: string): Send =>
  (response) =>
    response.end(body);
const compressed =
  (encoding: string, body: Buffer): Send =>
  (response) => {
    response.setHeader('Content-Encoding', encoding);
    response.end(body);
  };
const header =
  (name: string, status = 200): Send =>
  (response, got) => {
    response.writeHead(status, { [name]: `x ${got}; y` });
    response.end();
  };

const sends: Readonly<Record<string, Send>> = {
  ...Object.fromEntries(Object.entries(forms).map(([name, [body]]) => [name, text(body)])),
  gzip: compressed('gzip', gzipSync(`it is ${value}`)),
  deflate: compressed('deflate', deflateSync(`it is ${value}`)),
  br: compressed('br', brotliCompressSync(`it is ${value}`)),
  'an encoding of its own': compressed('x-own', Buffer.from(`it is ${value}`)),
  'byte by byte': (response) => {
    const left = [...bytes];
    const next = (): void => {
      const byte = left.shift();
      if (byte === undefined) response.end();
      else response.write(Buffer.from([byte]), () => setTimeout(next, 2));
    };
    next();
  },
  'a header': header('X-Echo'),
  'a cookie': header('Set-Cookie'),
  'a redirect': header('Location', 302),
  'an error': (response, got) => response.writeHead(401).end(`bad token ${got}`),
  'a trailer': (response, got) => {
    response.writeHead(200, { Trailer: 'X-Echo' });
    response.write('all');
    response.addTrailers({ 'X-Echo': got });
    response.end();
  },
};

const cuts: Readonly<Record<string, Send>> = {
  'cut off': (response) => {
    response.write('half');
    setTimeout(() => {
      const stream: ServerHttp2Stream | undefined = Object(response)['stream'];
      if (stream === undefined) return void response.destroy();
      // Node ends a stream before it resets it.
      stream._final = (done) => done();
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }, 100);
  },
  'cut off with its connection': (response) => {
    response.write('half');
    const session: { destroy(): void } = Object(response)['stream']?.session ?? response.socket;
    setTimeout(() => session.destroy(), 100);
  },
};

const respond = (path: string): RequestListener | null => {
  const name = decodeURIComponent(path.slice(1));
  const send = sends[name] ?? cuts[name];
  if (send === undefined) return null;
  return (request, response) => send(response, request.headers.authorization ?? '');
};

describe('answers', { skip: whyNoBox, timeout: 120_000 }, () => {
  let at: TerminatedHosts;
  before(async () => {
    at = await openTerminatedHosts(({ url = '' }) => respond(url));
  });
  after(async () => {
    await at?.[Symbol.asyncDispose]();
  });
  const curl = async (words: string) =>
    await at.box.run(`curl -sS -m 20 -H 'Authorization: ${placeholder}' ${words}`, {
      env: trustVariables,
    });

  for (const host of ['old.test', 'new.test']) {
    test(`a credential that ${host} sends back`, async (context) => {
      for (const name of Object.keys(sends)) {
        await context.test(name, async () => {
          const got = await curl(
            `-i --raw https://${host}/${encodeURIComponent(name)} | ${characters}`,
          );
          const seen = got.stdout.replaceAll(String.raw`\r`, '').replaceAll(String.raw`\n`, '');
          const hidden = [value, forms[name]?.[1] ?? value].map((one) =>
            one.replaceAll('\\', '\\\\'),
          );
          assert.ok(
            !hidden.some(
              (one) => seen.includes(one) || seen.includes(one.replaceAll('\\\\', '\\')),
            ),
            seen,
          );
          // What cannot be read is not passed on.
          assert.equal(seen.length > 10, name !== 'an encoding of its own', got.stderr);
        });
      }
    });

    test(`an answer of ${host} that is cut off`, async (context) => {
      for (const name of Object.keys(cuts)) {
        await context.test(name, async () => {
          const got = await curl(`https://${host}/${encodeURIComponent(name)}`);
          assert.notEqual(got.code, 0, got.stdout);
        });
      }
    });
  }
});

/** Why a host is not reached whose TLS is not as it must be. */
test(
  'certificates of hosts count, and what asks for one of the client is refused',
  { skip: whyNoBox },
  async (context) => {
    using directory = temporary();
    const [good, other] = [openTlsAuthority(directory.path), openTlsAuthority(directory.path)];
    const fine = openTlsAuthority(directory.path);
    const right = fine.certify(['host.test']);
    const rows: readonly (readonly [string, object, string])[] = [
      ['another name', fine.certify(['other.test']), 'the certificate of the host is not valid'],
      [
        'another authority',
        good.certify(['host.test']),
        'the certificate of the host is not valid',
      ],
      [
        'another authority of that name',
        other.certify(['host.test']),
        'the certificate of the host is not valid',
      ],
      [
        'an old version',
        { ...right, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' },
        'TLS of the host failed',
      ],
      [
        'a certificate of the client',
        { ...right, requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' },
        'TLS of the host failed',
      ],
    ];
    for (const [name, options, rule] of rows) {
      await context.test(name, async () => {
        const server = createHttps(options, (_, response) => response.end('secret'));
        server.on('tlsClientError', (_, socket: TLSSocket) => socket.destroy());
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const port = String(Object(server.address())['port']);
        await using box = await openBox({
          network: 'hosts',
          roots: [fine.root],
          egress: { allow: ['GET host.test'], connect: { 'host.test': `127.0.0.1:${port}` } },
        });
        const got = await box.run('curl -sS -m 20 https://host.test/', { env: trustVariables });
        server.close();
        assert.equal(got.stdout, '');
        assert.notEqual(got.code, 0);
        const records = (await box.bridge?.end(egressExec)) ?? [];
        const refused = records.filter(({ allowed }) => !allowed).map((one) => one.rule);
        assert.deepEqual(refused, [rule]);
      });
    }
  },
);

test(
  'the authority of a session is in no other, and its key is in no file',
  { skip: whyNoBox },
  async () => {
    const print =
      'sha256sum /etc/trl/added-certificates.pem; ' +
      'grep -rl PRIVATE /etc/trl /etc/ssl/certs 2>/dev/null; ' +
      'echo x >> /etc/trl/certificates.pem || echo kept';
    const found: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      await using box = await openBox({ network: 'hosts' });
      const { stdout, stderr } = await box.run(print);
      assert.match(stdout, /kept$/m, stderr);
      assert.doesNotMatch(stdout, /key/i);
      found.push(stdout.slice(0, 64));
    }
    assert.notEqual(found[0], found[1]);
    assert.equal(createHash('sha256').update('').digest('hex').length, found[0]?.length);
  },
);
