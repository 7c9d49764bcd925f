// Attacks on requests that are seen over TLS: on the host, the method and the path that they name,
// and on where a placeholder may stand. Whatever a server gets, the value is only where it may be.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import {
  openTerminatedHosts,
  placeholder,
  value,
  type Said,
  type TerminatedHosts,
} from './support/terminated.ts';

/** `given`: the host gets the value. `passes`: it gets the request, without it or what is wrong. */
type Fate = 'refused' | 'passes' | 'given';
type Row = readonly [name: string, fate: Fate, said: Said];

const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const old = (text: string): Said => ({ host: 'old.test', h1: text });
const ruled = (text: string): Said => ({ host: 'rule.test', h1: text });
const get = (path: string, ...lines: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: old.test', 'Connection: close', ...lines, '', ''].join('\r\n');
const pub = (line: string, ...lines: readonly string[]): Said =>
  ruled(
    [`${line} HTTP/1.1`, 'Host: rule.test', 'Connection: close', ...lines, '', ''].join('\r\n'),
  );
const post = (type: string, body: string, ...lines: readonly string[]): Said =>
  old(
    get('/post', `Content-Type: ${type}`, `Content-Length: ${body.length}`, ...lines).replace(
      'GET',
      'POST',
    ) + body,
  );
const chunked = (...chunks: readonly string[]): Said =>
  old(
    get('/chunks', 'Transfer-Encoding: chunked', 'Content-Type: text/plain').replace(
      'GET',
      'POST',
    ) + [...chunks, ''].map((one) => `${one.length.toString(16)}\r\n${one}\r\n`).join(''),
  );

const fields = (
  path: string,
  more: readonly (readonly [string, string])[] = [],
  host = 'new.test',
): readonly (readonly [string, string])[] => [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', host],
  [':path', path],
  ...more,
];
const fresh = (
  path: string,
  more: readonly (readonly [string, string])[] = [],
  extra: object = {},
): Said => ({ host: 'new.test', h2: fields(path, more), ...extra });
const without = (name: string, ...more: readonly (readonly [string, string])[]): Said => ({
  host: 'new.test',
  h2: [...fields('/').filter(([key]) => key !== name), ...more],
});
const ruled2 = (path: string, method = 'GET'): Said => ({
  host: 'rule2.test',
  h2: [[':method', method], ...fields(path, [], 'rule2.test').slice(1)],
});

const hosts: readonly Row[] = [
  ['the host itself', 'passes', old(get('/'))],
  ['another host', 'refused', old(get('/').replace('old.test', 'evil.test'))],
  ['another allowed host', 'refused', old(get('/').replace('old.test', 'new.test'))],
  ['two hosts', 'refused', old(get('/', 'Host: evil.test'))],
  ['no host', 'refused', old('GET / HTTP/1.1\r\n\r\n')],
  ['another port', 'refused', old(get('/').replace('old.test', 'old.test:8443'))],
  ['an absolute URL of another host', 'refused', old(get('https://evil.test/'))],
  ['an absolute URL of http', 'refused', old(get('http://old.test/'))],
  ['CONNECT', 'refused', old(get('/').replace('GET /', 'CONNECT evil.test:443'))],
  [
    'both lengths',
    'refused',
    old(get('/', 'Content-Length: 4', 'Transfer-Encoding: chunked') + '0\r\n\r\n'),
  ],
  ['two lengths', 'refused', old(get('/', 'Content-Length: 0', 'Content-Length: 30'))],
  ['a transfer encoding that is not one', 'refused', old(get('/', 'Transfer-Encoding: xchunked'))],
  ['a line feed in a header', 'refused', old(get('/', 'X: a\nHost: evil.test'))],
  ['a folded line', 'refused', old(get('/', 'X: a', ' Host: evil.test'))],
  [
    'a second request for another host',
    'passes',
    old(
      get('/').replace('Connection: close\r\n', '') + get('/two').replace('old.test', 'evil.test'),
    ),
  ],
  ['an upgrade to HTTP/2', 'passes', old(get('/', 'Upgrade: h2c').replace('close', 'Upgrade'))],
  ['HTTP/2 in a connection of HTTP/1.1', 'refused', old('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
  ['no HTTP', 'refused', old('SSH-2.0-x\r\n')],
  ['h2: the host itself', 'passes', fresh('/')],
  ['h2: another authority', 'refused', without(':authority', [':authority', 'evil.test'])],
  ['h2: another allowed authority', 'refused', without(':authority', [':authority', 'old.test'])],
  ['h2: no authority', 'refused', without(':authority')],
  ['h2: another host beside it', 'refused', fresh('/', [['host', 'evil.test']])],
  ['h2: two authorities', 'refused', fresh('/', [[':authority', 'evil.test']])],
  ['h2: two paths', 'refused', fresh('/', [[':path', '/two']])],
  ['h2: an absolute URL as its path', 'refused', fresh('https://evil.test/')],
  ['h2: a path with a line', 'refused', fresh('/ HTTP/1.1\r\nHost: evil.test\r\n\r\n')],
  ['h2: a path with a blank', 'refused', fresh('/a b')],
  ['h2: a value with a line', 'passes', fresh('/', [['x', 'a\r\nHost: evil.test']])],
  ['h2: a value with NUL', 'passes', fresh('/', [['x', 'a\0b']])],
  ['h2: a name in capitals', 'refused', fresh('/', [['X-Y', 'a']])],
  ['h2: a name with a colon', 'passes', fresh('/', [['x:y', 'a']])],
  ['h2: a connection header', 'refused', fresh('/', [['connection', 'host']])],
  ['h2: a transfer encoding', 'refused', fresh('/', [['transfer-encoding', 'chunked']])],
  [
    'h2: another length than its body',
    'refused',
    fresh('/', [['content-length', '1']], { data: 'GET /x HTTP/1.1\r\n\r\n' }),
  ],
  [
    'h2: CONNECT',
    'refused',
    {
      host: 'new.test',
      h2: [
        [':method', 'CONNECT'],
        [':authority', 'evil.test:443'],
      ],
    },
  ],
  [
    'h2: extended CONNECT',
    'refused',
    {
      host: 'new.test',
      h2: [[':method', 'CONNECT'], [':protocol', 'websocket'], ...fields('/').slice(1)],
    },
  ],
  ['h2: a pseudo header behind others', 'refused', without(':path', ['x', 'a'], [':path', '/'])],
];

const cut: readonly Row[] = [
  ['a body shorter than its length', 'refused', old(get('/', 'Content-Length: 30') + 'half')],
  ['a chunk that ends early', 'refused', old(get('/', 'Transfer-Encoding: chunked') + '9\r\nhalf')],
  [
    'chunks without an end',
    'refused',
    old(get('/', 'Transfer-Encoding: chunked') + '4\r\nhalf\r\n'),
  ],
  [
    'h2: a body that is reset',
    'refused',
    fresh('/', [], { data: 'half', frames: [[3, 0, '\0\0\0\u0008']] }),
  ],
  [
    'h2: a body that is reset without an error',
    'refused',
    fresh('/', [], { data: 'half', frames: [[3, 0, '\0\0\0\0']] }),
  ],
  [
    'h2: a body without an end',
    'refused',
    fresh('/', [], { data: 'half', frames: [[2, 0, '\0\0\0\0\0']] }),
  ],
  [
    'h2: trailers instead of an end',
    'passes',
    fresh('/', [], { data: 'all', frames: [[1, 5, 'x=1']] }),
  ],
];

const paths: readonly Row[] = [
  ['below the path', 'passes', pub('GET /pub/a')],
  ['another path', 'refused', pub('GET /secret')],
  ['a path that begins like it', 'refused', pub('GET /public')],
  ['dots', 'refused', pub('GET /pub/../secret')],
  ['encoded dots', 'refused', pub('GET /pub/%2e%2e/secret')],
  ['dots encoded twice', 'refused', pub('GET /pub/%252e%252e/secret')],
  ['an encoded slash', 'refused', pub('GET /pub/..%2fsecret')],
  ['a backslash', 'refused', pub('GET /pub\\..\\secret')],
  ['two slashes', 'refused', pub('GET //pub/a')],
  ['a parameter of a segment', 'refused', pub('GET /pub/..;/secret')],
  ['an encoding that is none', 'refused', pub('GET /pub/%zz')],
  ['overlong UTF-8', 'refused', pub('GET /pub/%c0%ae%c0%ae/secret')],
  ['another method', 'refused', pub('POST /pub/a', 'Content-Length: 0')],
  ['a method in lower case', 'refused', pub('get /pub/a')],
  ['another method by a header', 'refused', pub('GET /pub/a', 'X-HTTP-Method-Override: DELETE')],
  ['an absolute URL with dots', 'refused', pub('GET https://rule.test/pub/../secret')],
  ['h2: below the path', 'passes', ruled2('/pub/a')],
  ['h2: dots', 'refused', ruled2('/pub/../secret')],
  ['h2: another method', 'refused', ruled2('/pub/a', 'DELETE')],
  ['h2: an empty path', 'refused', ruled2('')],
  ['h2: a fragment', 'refused', ruled2('/secret#/pub')],
];

const placeholders: readonly Row[] = [
  ['in its header', 'given', old(get('/', `Authorization: Bearer ${placeholder}`))],
  ['as a password', 'given', old(get('/', `Authorization: Basic ${base64(`me:${placeholder}`)}`))],
  ['in its parameter', 'given', old(get(`/?key=${placeholder}`))],
  ['in its field', 'given', post('application/json', `{"token":"${placeholder}"}`)],
  ['h2: in its header', 'given', fresh('/', [['authorization', `Bearer ${placeholder}`]])],
  ['in the path', 'refused', old(get(`/${placeholder}`))],
  ['in another parameter', 'refused', old(get(`/?other=${placeholder}`))],
  ['in the name of a parameter', 'refused', old(get(`/?${placeholder}=1`))],
  [
    'encoded in the path',
    'refused',
    old(get(`/${[...Buffer.from(placeholder)].map((byte) => `%${byte.toString(16)}`).join('')}`)),
  ],
  ['in another header', 'refused', old(get('/', `X-Other: ${placeholder}`))],
  ['in a cookie', 'refused', old(get('/', `Cookie: a=${placeholder}`))],
  ['in a referrer', 'refused', old(get('/', `Referer: https://old.test/${placeholder}`))],
  ['in a user agent', 'refused', old(get('/', `User-Agent: ${placeholder}`))],
  ['in the name of a header', 'refused', old(get('/', `${placeholder}: 1`))],
  ['in base64 in another header', 'refused', old(get('/', `X: ${base64(placeholder)}`))],
  ['in another field', 'refused', post('application/json', `{"note":"${placeholder}"}`)],
  [
    'in a field that is deeper',
    'refused',
    post('application/json', `{"a":{"token":"${placeholder}"}}`),
  ],
  ['in a text', 'refused', post('text/plain', `x${placeholder}y`)],
  ['in base64', 'refused', post('text/plain', base64(`ab${placeholder}`))],
  ['in hexadecimal', 'refused', post('text/plain', Buffer.from(placeholder).toString('hex'))],
  [
    'in a form, as another field',
    'refused',
    post('application/x-www-form-urlencoded', `a=${placeholder}`),
  ],
  [
    'in a part',
    'refused',
    post(
      'multipart/form-data; boundary=b',
      `--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n${placeholder}\r\n--b--\r\n`,
    ),
  ],
  ['in chunks', 'refused', chunked(placeholder.slice(0, 9), placeholder.slice(9))],
  ['byte by byte', 'refused', chunked(...placeholder.split(''))],
  [
    'in a host of no credential',
    'refused',
    pub('GET /pub', `Authorization: Bearer ${placeholder}`),
  ],
  ['h2: in the path', 'refused', fresh(`/${placeholder}`)],
  ['h2: in another header', 'refused', fresh('/', [['x-other', placeholder]])],
  ['h2: in the name of a header', 'refused', fresh('/', [[placeholder.toLowerCase(), '1']])],
  ['h2: in its body', 'refused', fresh('/', [], { data: placeholder })],
  [
    'h2: in a host of no credential',
    'refused',
    { host: 'rule2.test', h2: fields('/pub', [['authorization', placeholder]], 'rule2.test') },
  ],
  [
    'in a WebSocket that is asked for',
    'refused',
    old(
      get(
        `/${placeholder}`,
        'Upgrade: websocket',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version: 13',
      ).replace('close', 'Upgrade'),
    ),
  ],
];

describe('attacks on requests that are seen', { skip: whyNoBox, timeout: 240_000 }, () => {
  let at: TerminatedHosts;
  before(async () => {
    at = await openTerminatedHosts();
  });
  after(async () => {
    await at?.[Symbol.asyncDispose]();
  });

  for (const [title, rows] of Object.entries({ hosts, cut, paths, placeholders })) {
    test(title, async (context) => {
      const answers = await at.say(rows.map(([, , said]) => said));
      const seen = at.takeSeen().filter(({ isWhole }) => isWhole);
      for (const [index, [name, fate]] of rows.entries()) {
        await context.test(name, () => {
          const answer = answers[index] ?? '';
          assert.ok(!answer.includes(value));
          // In HTTP/2 what hides the value may cut it.
          assert.equal(answer.includes('nswered'), fate !== 'refused', answer);
        });
      }
      const all = JSON.stringify(seen);
      assert.ok(!all.includes(placeholder), all);
      const count = (wanted: (fate: Fate) => boolean): number =>
        rows.filter(([, fate]) => wanted(fate)).length;
      assert.equal(
        seen.length,
        count((fate) => fate !== 'refused'),
        all,
      );
      const given = seen.map((one) => JSON.stringify(one)).filter(hasValue);
      assert.equal(
        given.length,
        count((fate) => fate === 'given'),
        all,
      );
    });
  }
});

const hasValue = (text: string): boolean =>
  text.includes(value) || text.includes(base64(`me:${value}`));
