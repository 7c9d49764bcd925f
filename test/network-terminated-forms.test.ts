// Forms of requests and answers that clients and hosts differ in, on hosts whose TLS is terminated:
// over HTTP/1.1 and HTTP/2, by curl.
import assert from 'node:assert/strict';
import { createServer as createHttps } from 'node:https';
import {
  createSecureServer,
  Http2ServerResponse,
  type Http2SecureServer,
  type Http2ServerRequest,
} from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { trustVariables } from '../src/network/trusted-certificates.ts';
import { openBox, temporary, whyNoBox, type OpenBox } from './support/box.ts';
import { openTlsAuthority } from './support/tls-authority.ts';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

const text = 'whole text\n';

const answers: Readonly<Record<string, (request: Request, response: Response) => void>> = {
  '/none': (_, response) => {
    response.statusCode = 204;
    response.end();
  },
  '/same': (_, response) => {
    response.statusCode = 304;
    response.setHeader('etag', '"1"');
    response.end();
  },
  '/text': (_, response) => {
    response.setHeader('content-length', String(text.length));
    response.end(text);
  },
  '/zipped': (_, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(text));
  },
  // Nothing of the body is read.
  '/early': (_, response) => {
    response.statusCode = 413;
    response.end(text);
  },
  '/trailers': (_, response) => {
    response.addTrailers({ 'x-last': 'trailer' });
    response.end(text);
  },
  '/cut': (_, response) => {
    if (response instanceof Http2ServerResponse) {
      response.write(text, () => response.stream.session?.destroy());
    } else response.write(text, () => response.destroy());
  },
  '/cookies': (request, response) => {
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(`${request.headers.cookie}\n`);
  },
};

describe('forms of HTTP on terminated hosts', { skip: whyNoBox }, () => {
  const dir = temporary();
  const servers: (Server | Http2SecureServer)[] = [];
  let box: OpenBox;

  const listen = async (server: Server | Http2SecureServer): Promise<string> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${Number(Object(server.address())['port'])}`;
  };

  before(async () => {
    const authority = openTlsAuthority(dir.path);
    const certified = authority.certify(['two.test', 'one.test']);
    const take = (request: Request, response: Response): void => {
      const answer = answers[request.url ?? ''];
      if (answer === undefined) response.end('?');
      else answer(request, response);
    };
    const connect = {
      'two.test': await listen(createSecureServer(certified, take)),
      'one.test': await listen(createHttps(certified, take)),
    };
    box = await openBox({
      network: 'hosts',
      roots: [authority.root],
      egress: { allow: ['GET|HEAD|POST two.test', 'GET|HEAD|POST one.test'], connect },
    });
  });
  after(async () => {
    await box?.[Symbol.asyncDispose]();
    for (const server of servers) server.close();
    dir[Symbol.dispose]();
  });
  const curl = async (words: string) =>
    await box.run(`curl -sS -m 20 ${words}`, { env: trustVariables });

  for (const [base, version] of [
    ['https://two.test', 'HTTP/2'],
    ['https://one.test', 'HTTP/1.1'],
  ] as const) {
    test(`${version}: answers without a body, and to HEAD`, async () => {
      const format = `-o /dev/null -w '%{http_code} %{http_version} %{size_download}'`;
      const digit = version.slice('HTTP/'.length);
      for (const [words, status] of [
        ['/none', 204],
        ['/same', 304],
        ['/text -I', 200],
      ] as const) {
        const got = await curl(`${base}${words} ${format}`);
        assert.equal(got.stdout.replace(/ \d+$/, ''), `${status} ${digit}`, words + got.stderr);
      }
    });

    test(`${version}: an answer before the body has been sent`, async () => {
      const got = await curl(
        `${base}/early -w '%{http_code}' -H Expect: --data-binary @<(head -c 8000000 /dev/zero)`,
      );
      assert.equal(got.stdout, `${text}413`, got.stderr);
    });

    test(`${version}: compressed answers, cookies and trailers`, async () => {
      assert.equal((await curl(`--compressed ${base}/zipped`)).stdout, text);
      const cookies = await curl(`-i -H 'Cookie: x=1; y=2' ${base}/cookies`);
      assert.match(cookies.stdout, /set-cookie: a=1\r\nset-cookie: b=2\r\n/i);
      assert.match(cookies.stdout, /^x=1; y=2$/m);
      const trailers = await curl(`-v ${base}/trailers`);
      assert.equal(trailers.stdout, text, trailers.stderr);
      // Others than these a proxy may leave out (RFC 9110, 6.5).
      if (version === 'HTTP/2') assert.match(trailers.stderr, /^< x-last: trailer/im);
    });

    test(`${version}: an answer that is cut is not taken for a whole one`, async () => {
      const got = await curl(`${base}/cut`);
      assert.notEqual(got.code, 0);
    });

    test(`${version}: twenty requests at once`, async () => {
      const all = await curl(`-Z --parallel-max 20 '${base}/text#[1-20]' | wc -l`);
      assert.equal(all.stdout.trim(), '20', all.stderr);
    });
  }
});
