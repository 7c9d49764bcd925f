// Hosts whose requests are seen: by rules for methods and paths, and for credentials that a command
// uses and never has. Real programs in a real sandbox, servers of the test's own.
import assert from 'node:assert/strict';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { BrokeredCredential, EgressRules } from '../src/network-access.ts';
import { trustVariables } from '../src/network/trusted-certificates.ts';
import { egressExec, openBox, temporary, whyNoBox, type OpenBox } from './support/box.ts';
import { openTlsAuthority } from './support/tls-authority.ts';

const value = 'ghp_r3alTokenOfTheTest0123456789abcdefXY';
const placeholder = 'ghp_PlaceholderOfTheTest0123456789abcdef';
const token: BrokeredCredential = {
  name: 'GITHUB_TOKEN',
  placeholder,
  value,
  hosts: ['api.test'],
  headers: ['authorization', 'x-api-key'],
  query: ['access_token'],
  body: ['token'],
};

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly authorization: string;
  readonly body: string;
}

describe('requests that are seen', { skip: whyNoBox }, () => {
  const dir = temporary();
  const authority = openTlsAuthority(dir.path);
  const seen: Seen[] = [];
  const servers: (Server | Http2SecureServer)[] = [];
  const at = { h1: '', h2: '', plain: '' };
  let box: OpenBox;

  const listen = async (server: Server | Http2SecureServer): Promise<string> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return `127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`;
  };
  const take = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString('latin1')));
    let isWhole = true;
    request.on('aborted', () => (isWhole = false));
    request.on('end', () => {
      // Node ends also what was cut off.
      if (!isWhole) return;
      const { method = '', url = '', headers } = request;
      seen.push({ method, url, authorization: headers.authorization ?? '', body });
      const got = request.headers.authorization ?? '';
      response.setHeader('x-echo', got);
      response.end(`answer to ${request.url} by HTTP/${request.httpVersion} ${got}\n`);
    });
  };
  const open = async (egress: Partial<EgressRules>): Promise<OpenBox> =>
    await openBox({
      network: 'hosts',
      roots: [authority.root],
      egress: {
        connect: { 'api.test': at.h2, 'old.test': at.h1, 'web.test': at.plain },
        ...egress,
      },
    });
  const records = async (): Promise<readonly string[]> =>
    ((await box.bridge?.end(egressExec)) ?? []).map(
      ({ host, port, allowed, rule, requests = [], secrets = [] }) => {
        const methods = requests.map(({ method, count }) => `${method} ${count}`);
        return [host, port, allowed ? 'ok' : 'refused', rule, ...methods, ...secrets].join(' ');
      },
    );
  const curl = async (words: string) =>
    await box.run(`curl -sS -m 10 ${words}`, { env: trustVariables });

  before(async () => {
    const certified = authority.certify(['api.test', 'old.test']);
    at.h1 = await listen(createHttps(certified, take));
    at.h2 = await listen(createSecureServer({ ...certified, allowHTTP1: true }, take));
    at.plain = await listen(createHttp(take));
  });
  after(() => {
    for (const server of servers) server.close();
    dir[Symbol.dispose]();
  });

  test('a rule for methods and paths holds over HTTP/1.1 and HTTP/2', async () => {
    box = await open({ allow: ['GET api.test/pub', 'GET old.test/pub', 'GET web.test/pub'] });
    for (const [base, version] of [
      ['https://api.test', '2.0'],
      ['https://old.test', '1.1'],
      ['http://web.test', '1.1'],
    ] as const) {
      const good = await curl(`${base}/pub/x`);
      assert.equal(good.stdout, `answer to /pub/x by HTTP/${version} \n`, good.stderr);
      const bad = await curl(`${base}/secret`);
      assert.match(bad.stdout, /refused this: \w+\.test:\d+: request not allowed/);
      const post = await curl(`-d x ${base}/pub/x`);
      assert.match(post.stdout, /request not allowed/);
    }
    assert.deepEqual(
      seen.map(({ method, url }) => `${method} ${url}`),
      Array(3).fill('GET /pub/x'),
    );
    assert.deepEqual((await records()).length, 6);
    await box[Symbol.asyncDispose]();
  });

  test('a secret is put where it may be, and hidden in the answer', async () => {
    box = await open({
      allow: ['api.test', 'old.test', 'web.test'],
      credentials: [{ ...token, hosts: ['api.test', 'old.test'] }],
    });
    seen.length = 0;
    const header = `-H 'Authorization: Bearer ${placeholder}'`;
    for (const base of ['https://api.test', 'https://old.test']) {
      const got = await curl(`-i ${header} ${base}/a`);
      assert.match(
        got.stdout,
        /answer to \/a by HTTP\/\S+ Bearer \*{40}\n/,
        got.stderr + got.stdout,
      );
      assert.match(got.stdout, /x-echo: Bearer \*{40}/);
      await curl(`-u me:${placeholder} ${base}/basic`);
      await curl(`'${base}/q?a=1&access_token=${placeholder}'`);
      await curl(
        `-d '{"token":"${placeholder}"}' -H 'Content-Type: application/json' ${base}/json`,
      );
      await curl(`-d 'a=b&token=${placeholder}' ${base}/form`);
    }
    const shown = seen.map(({ url, authorization, body }) => `${url} ${authorization} ${body}`);
    const basic = Buffer.from(`me:${value}`).toString('base64');
    const once = [
      `/a Bearer ${value} `,
      `/basic Basic ${basic} `,
      `/q?a=1&access_token=${value}  `,
      `/json  {"token":"${value}"}`,
      `/form  a=b&token=${value}`,
    ];
    assert.deepEqual(shown, [...once, ...once]);
    const encoded = Buffer.from(placeholder).toString('base64');
    const leaks = [
      `https://api.test/x/${placeholder}`,
      `-H 'X-Other: ${placeholder}' https://api.test/`,
      `-d 'note=${placeholder}' https://old.test/`,
      `-H 'Content-Type: text/plain' -d '${placeholder}' https://api.test/`,
      `-H 'Content-Type: text/plain' -d '${encoded}' https://old.test/`,
      `${header} http://web.test/`,
    ];
    for (const words of leaks) {
      const got = await curl(words);
      assert.match(`${got.stdout}${got.stderr}`, /leak of GITHUB_TOKEN/, words);
    }
    assert.deepEqual(seen.slice(10), []);
    const of = (host: string): string =>
      `${host} 443 ok ${host} ${'GET 1 '.repeat(3)}${'POST 1 '.repeat(3)}GITHUB_TOKEN`;
    const lines = await records();
    assert.deepEqual(lines.filter((line) => line.includes(' ok ')).slice(0, 2), [
      of('api.test'),
      of('old.test'),
    ]);
    const leaked = lines.filter((line) => line.endsWith('refused leak of GITHUB_TOKEN'));
    assert.equal(leaked.length, 3, lines.join('\n'));
    await box[Symbol.asyncDispose]();
  });
});
