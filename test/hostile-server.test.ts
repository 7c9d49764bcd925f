// What a server can do to a client that was sent to it: nothing but fail, in time, by a code.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { duplexPair } from 'node:stream';
import { after, before, test } from 'node:test';
import { clientOver, connect, isTrlError, streamChannel } from '../src/client/index.ts';
import type { Client } from '../src/client/index.ts';
import { EventBuffer } from '../src/client/event-buffer.ts';
import { findProxyVariable } from '../src/local/proxy.ts';

const clients = path.join(path.dirname(import.meta.dirname), 'clients/python');
const probe = spawnSync('python3', ['-c', 'import sys; print(sys.version_info >= (3, 9))'], {
  encoding: 'utf8',
});
const skip = probe.stdout?.trim() === 'True' ? false : 'there is no python3 of 3.9 or newer';
const token = 'hostile-'.repeat(5);
const json = { 'content-type': 'application/json' };
const pong = JSON.stringify({ id: '1', ok: true, data: { version: '0', uptime_s: 1 } });

/** Requests that came where no client was sent. */
let strays = 0;
const open = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const found = server.address();
  return `http://127.0.0.1:${typeof found === 'object' ? found?.port : ''}`;
};
const elsewhere = createServer((_asked, answer) => {
  strays += 1;
  answer.end(pong);
});
const answers = new Map<string, (answer: ServerResponse) => void>();
const server = createServer((asked, answer) => {
  const [, name = '', ...rest] = (asked.url ?? '').split('/');
  asked.resume().on('end', () => {
    const isPing = rest.join('/') === 'rpc' && !name.startsWith('first-');
    if (isPing) answer.writeHead(200, json).end(pong);
    else answers.get(name)?.(answer);
  });
});
server.on('upgrade', (asked, socket) => {
  socket.end(`HTTP/1.1 307 Elsewhere\r\nLocation: ${elsewhereUrl}${asked.url}\r\n\r\n`);
});
let url = '';
let elsewhereUrl = '';
before(async () => {
  [url, elsewhereUrl] = await Promise.all([open(server), open(elsewhere)]);
});
after(() => {
  for (const one of [server, elsewhere]) {
    one.closeAllConnections();
    one.close();
  }
});

/** Writes `text` again and again until the other side has left. */
function forever(answer: ServerResponse, text: string, everyMs: number): void {
  const { socket } = answer;
  const timer = setInterval(() => socket?.write(text), everyMs);
  socket?.on('error', () => {}).on('close', () => clearInterval(timer));
}
const body = (text: string) => (answer: ServerResponse) => answer.writeHead(200, json).end(text);
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n';
answers.set('first-headers', (answer) => forever(answer, 'x', 20));
answers.set('first-continue', (answer) => forever(answer, 'HTTP/1.1 100 Continue\r\n\r\n', 1));
answers.set('first-body', (answer) => {
  answer.socket?.write(`${chunked}\r\n`);
  forever(answer, '1\r\n \r\n', 20);
});
answers.set('first-deep', body('['.repeat(400_000)));
answers.set('first-digits', body(`{"ok":true,"data":{"n":${'9'.repeat(10_000)}}}`));
answers.set('first-list', body('[]'));
answers.set('first-text', body('"\\ud800"'));
answers.set('first-nothing', body(''));
answers.set('first-bytes', body('\xff\xfe{'));
answers.set('first-redirect', (answer) => {
  answer.writeHead(307, { location: `${elsewhereUrl}/rpc` }).end();
});

const events = (text: string) => (answer: ServerResponse) =>
  answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
const wrong = [
  '{"stream":"stdout"}',
  '{"stream":"stdout","seq":"x","data":"y"}',
  '{"stream":"stdout","seq":1e999,"data":"y"}',
  '{"stream":"stderr","seq":0,"b64":"***"}',
  '{"stream":"gap"}',
  '{"stream":"gap","to":[]}',
  '{"stream":"status","waiting_for_input":5}',
  '{"stream":"exit"}',
  '{"stream":"exit","seq":{}}',
  '{"stream":"exit","seq":0,"lost":true}',
  '{"stream":"exit","seq":0,"exit_code":[]}',
];
wrong.forEach((text, index) => answers.set(`event-${index}`, events(`data: ${text}\n\n`)));
answers.set('endless-event', (answer) => {
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  const more = (): void => {
    while (!answer.destroyed && answer.write('data: x\n'.repeat(1024)));
  };
  answer.on('drain', more).on('error', () => {});
  more();
});

async function python(text: string): Promise<string> {
  const child = spawn('python3', ['-B', '-c', `import trl\n${text}`, url, token], {
    env: {
      ...process.env,
      PYTHONPATH: clients,
      http_proxy: elsewhereUrl,
      HTTP_PROXY: elsewhereUrl,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  await once(child, 'close');
  assert.equal(stderr, '');
  return stdout;
}

test(
  'the Python client waits no longer than it was told, whatever drips in',
  { skip },
  async () => {
    const seen = await python(`
import sys
for name in ("headers", "continue", "body"):
    try:
        trl.connect(url=f"{sys.argv[1]}/first-{name}", token=sys.argv[2], call_seconds=0.3)
    except TimeoutError:
        print(name)
`);
    assert.equal(seen, 'headers\ncontinue\nbody\n');
  },
);

test('what is no answer is an error by code to the Python client', { skip }, async () => {
  const names = [...answers.keys()].filter((name) => /^first-(?!headers|continue|body)/.test(name));
  const seen = await python(`
import sys
for name in ${JSON.stringify(names)}:
    try:
        trl.connect(url=f"{sys.argv[1]}/{name}", token=sys.argv[2], call_seconds=5)
        print(name, "was taken")
    except trl.TrlError as error:
        print(name, error.code)
`);
  const told = Object.fromEntries(
    seen
      .trim()
      .split('\n')
      .map((line) => line.split(' ')),
  );
  assert.deepEqual(Object.keys(told).toSorted(), names.toSorted());
  for (const [name, code] of Object.entries(told)) {
    const wanted = name === 'first-digits' ? /^(?:was|BACK)/ : /^BACKEND_UNAVAILABLE$/;
    assert.match(String(code), wanted, name);
  }
  assert.equal(strays, 0, 'a redirect or a proxy was followed');
});

test('events of a wrong shape are an error by code to the Python client', { skip }, async () => {
  const seen = await python(`
import sys
trl._LINE_BYTES_MAX = 1 << 20
trl._RECONNECT_SECONDS = 0
for name in [*(f"event-{i}" for i in range(${wrong.length})), "endless-event"]:
    client = trl.connect(url=f"{sys.argv[1]}/{name}", token=sys.argv[2], call_seconds=5)
    try:
        with client.session("s-1").stream("true", deadline=120) as stream:
            stream.collect()
        print(name, "was taken")
    except trl.TrlError as error:
        print(name, error.code)
    client.close()
`);
  const lines = seen.trim().split('\n');
  assert.equal(lines.length, wrong.length + 1);
  for (const line of lines) assert.match(line, / (?:INTERNAL_ERROR|BACKEND_UNAVAILABLE)$/);
});

/** A client whose runtime answers each line by what `answer` makes of its id. */
async function clientOf(answer: (id: string, method: string) => string): Promise<Client> {
  const [near, far] = duplexPair();
  const reader = createInterface({ input: far });
  reader.on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (method === 'system.hello') {
      const error = { code: 'INVALID_PARAMS', message: 'unknown' };
      far.write(`${JSON.stringify({ id, ok: false, error })}\n`);
    } else far.write(`${answer(id, method)}\n`);
  });
  near.on('close', () => reader.close());
  const close = async (): Promise<void> => void near.destroy();
  return clientOver(streamChannel({ from: near, to: near, peer: 'a liar', close }));
}

test('an answer of a wrong shape ends what waits for it', async () => {
  for (const rest of ['"ok":true', '"ok":false,"error":null', '"ok":false,"error":5']) {
    await using client = await clientOf((id) => `{"id":"${id}",${rest}}`);
    await assert.rejects(client.ping(), isTrlError);
  }
  for (const rest of ['"ok":true,"data":null', '"ok":true,"data":7']) {
    await using client = await clientOf((id) => `{"id":"${id}",${rest}}`);
    const stream = client.session('s-1').stream('true');
    await assert.rejects(stream.drain(), isTrlError);
  }
  const opened = '"ok":true,"data":{"stream_id":"x-1","exec_id":"x-1","offset":0}';
  for (const text of ['"seq":0,"stream":"exit","lost":true,"error":null', '"seq":0,"b64":"*"']) {
    await using client = await clientOf(
      (id) => `{"id":"${id}",${opened}}\n{"stream_id":"x-1",${text}}`,
    );
    await assert.rejects(client.session('s-1').stream('true').drain(), isTrlError);
  }
});

test('a token leaves in clear text to this machine alone, and goes nowhere else', async () => {
  for (const bad of ['http://192.0.2.1:1', 'http://127.0.0.1.example.com', 'http://localhost.x']) {
    await assert.rejects(connect({ url: bad, token }), /clear text.*use https/);
  }
  strays = 0;
  await assert.rejects(connect({ url: `${url}/first-redirect`, token }), isTrlError);
  assert.equal(strays, 0);
});

test('a source that heeds no hold is cut off, and what it sent before is read', async () => {
  const buffer = new EventBuffer<number>(1024);
  const most = 256 * 1024 * 1024;
  for (const at of [1, 2, 3, 4]) buffer.push(at, most / 2);
  const taken: number[] = [];
  const read = async (): Promise<void> => {
    for await (const one of buffer) taken.push(one);
  };
  await assert.rejects(read(), (error) => isTrlError(error, 'QUOTA_EXCEEDED'));
  assert.deepEqual(taken, [1, 2]);
});

test('no proxy of the environment is shown a token', () => {
  const on = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://p:1' };
  const of = (env: Record<string, string>, to = 'http://127.0.0.1:7', flags: string[] = []) =>
    findProxyVariable(to, { env, flags });
  assert.equal(of(on), 'HTTP_PROXY');
  assert.equal(of({ http_proxy: 'p', NODE_OPTIONS: '-r x --use-env-proxy' }), 'http_proxy');
  assert.equal(of({ http_proxy: 'p' }, 'http://[::1]:7', ['--use-env-proxy']), 'http_proxy');
  assert.equal(of({ ...on, NO_PROXY: 'a.b,127.0.0.1.x 127.0.0.1:8' }), 'HTTP_PROXY');
  for (const spared of ['*', '127.0.0.1', 'x, 127.0.0.1:7']) {
    assert.equal(of({ ...on, NO_PROXY: spared }), null);
  }
  assert.equal(of({ HTTP_PROXY: 'p' }), null);
  assert.equal(of(on, 'https://runtime.example'), null);
});
