// A port of a session in a browser of the host: for its token alone, under its own name, and no
// longer than its session.
import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { after, before, test as define } from 'node:test';
import type { Session } from '../src/client/index.ts';
import { whyNoBox } from './support/box.ts';
import { startHostsRuntime, type HostsRuntime } from './support/hosts-runtime.ts';
import { eventually, runnerPid } from './support/processes.ts';

const skip = whyNoBox;
let runtime: HostsRuntime;
before(async () => {
  if (skip === false) runtime = await startHostsRuntime();
});
after(async () => {
  await runtime?.[Symbol.asyncDispose]();
});
const test = (name: string, run: () => Promise<void>): void => void define(name, { skip }, run);

/** Answers with what it got; an upgrade is answered with an echo. */
const server = `
import http.server, socketserver
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        if self.headers.get('Upgrade'):
            head = b'HTTP/1.1 101 S\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n'
            self.wfile.write(head)
            self.wfile.write(b'<' + self.rfile.read(4) + b'>'); self.close_connection = True
            return
        n = int(self.headers.get('Content-Length', 0))
        text = (self.path + ' ' + str(self.headers) + self.rfile.read(n).decode()).encode()
        self.send_response(200); self.send_header('Set-Cookie', 'own=1')
        self.send_header('Content-Length', str(len(text))); self.end_headers()
        self.wfile.write(text)
    do_POST = do_GET
    def log_message(self, *a): pass
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(('127.0.0.1', 5173), H).serve_forever()
`;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const get = (url: string, headers: Readonly<Record<string, string>> = {}, body = '') =>
  new Promise<Answer>((resolve, reject) => {
    const method = body === '' ? 'GET' : 'POST';
    const sent = request(url, { headers, method, agent: false }, (response) => {
      let text = '';
      response.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });

interface Shown {
  readonly session: Session;
  readonly base: string;
  readonly cookie: string;
}

async function show(project: string, more: object): Promise<Shown> {
  const session = await runtime.open(project, more);
  await session.start(`python3 -c '${server.replaceAll("'", `'"'"'`)}'`);
  const url = await session.showPort(5173);
  const first = await get(url);
  assert.equal(first.status, 303);
  assert.equal(first.headers.location, '/');
  const [cookie = ''] = (first.headers['set-cookie']?.[0] ?? '').split(';');
  const shown = { session, base: new URL(url).origin, cookie };
  await eventually('the server inside', async () => {
    const { status } = await get(shown.base, { cookie });
    return status === 200 ? true : null;
  });
  return shown;
}

test('who has the token sees the server inside, and it sees no token', async () => {
  const { session, base, cookie } = await show('a', { network: 'off' });
  const got = await get(`${base}/x?y=1`, { cookie: `${cookie}; other=2` }, 'body');
  assert.equal(got.status, 200);
  assert.match(got.text, /^\/x\?y=1 /);
  assert.match(got.text, /^Host: localhost:5173\r?$/im);
  assert.match(got.text, /cookie: other=2\r?$/im);
  assert.match(got.text, /body$/);
  assert.deepEqual(got.headers['set-cookie'], ['own=1']);
  assert.doesNotMatch(got.text, /trl_token/);
  assert.equal(await session.showPort(5173).then((url) => new URL(url).origin), base);
});

const upgraded = (base: string, lines: readonly string[]) =>
  new Promise<string>((resolve) => {
    const { port, host } = new URL(base);
    const socket = connect(Number(port), '127.0.0.1', () => {
      const head = [
        'GET /ws HTTP/1.1',
        `Host: ${host}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
      ];
      socket.write(`${[...head, ...lines].join('\r\n')}\r\n\r\nping`);
    });
    let text = '';
    socket.on('data', (bytes) => (text += bytes.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });

test('nobody else does: other tokens, names and origins, other ports', async () => {
  const { base, cookie, session } = await show('b', { network: 'hosts' });
  const { port } = new URL(base);
  const refused: readonly (readonly [string, string, Record<string, string>])[] = [
    ['no token', base, {}],
    ['an empty one', base, { cookie: `trl_token_${port}=` }],
    ['another', `${base}/?trl_token=${'a'.repeat(32)}`, {}],
    ['another cookie', base, { cookie: cookie.replace(/=./, '=_') }],
    ['another name', base, { cookie, host: `evil.test:${port}` }],
    [
      'another name with the token',
      `${base}/?trl_token=${cookie.split('=')[1]}`,
      { host: 'evil.test' },
    ],
    ['a name without its port', base, { cookie, host: 'localhost' }],
  ];
  for (const [name, url, headers] of refused) {
    assert.equal((await get(url, headers)).status, 403, name);
  }
  assert.match(await upgraded(base, [`Cookie: ${cookie}`]), /<ping>$/);
  assert.match(await upgraded(base, [`Cookie: ${cookie}`, `Origin: ${base}`]), /<ping>$/);
  assert.match(
    await upgraded(base, [`Cookie: ${cookie}`, 'Origin: http://evil.test']),
    /^HTTP\/1.1 403/,
  );
  assert.match(await upgraded(base, []), /^HTTP\/1.1 403/);
  const other = await session.showPort(5174);
  const seen = await get(other);
  const [own = ''] = (seen.headers['set-cookie']?.[0] ?? '').split(';');
  const nothing = await get(new URL(other).origin, { cookie: own });
  assert.deepEqual(
    [nothing.status, nothing.text],
    [502, 'Nothing listens on port 5174 of the session.\n'],
  );
  assert.equal((await get(new URL(other).origin, { cookie })).status, 403);
});

test('it ends by itself, with its session, and with the runner', async () => {
  const hidden = await show('c', { network: 'off' });
  await hidden.session.hidePort(5173);
  await assert.rejects(get(hidden.base, { cookie: hidden.cookie }), /ECONNREFUSED/);
  const ended = await show('c', { network: 'off' });
  await ended.session.destroy({ force: true });
  await assert.rejects(get(ended.base, { cookie: ended.cookie }), /ECONNREFUSED/);
  const onHost = await runtime.open('d', { network: 'host' });
  await assert.rejects(onHost.showPort(80), {
    code: 'INVALID_PARAMS',
    message: /network of the host/,
  });
  const unused = await runtime.open('d', { network: 'off' });
  await assert.rejects(unused.showPort(80), { code: 'INVALID_PARAMS', message: /nothing runs/ });
  const last = await show('d', { network: 'off' });
  process.kill(runnerPid(runtime.daemon) ?? 0, 'SIGKILL');
  await eventually('the end of the runner', async () =>
    get(last.base, { cookie: last.cookie }).then(
      () => null,
      () => true,
    ),
  );
});
