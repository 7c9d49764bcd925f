// Attacks that use something up, from inside a real sandbox: the session's own share, and no more.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { openBox, type OpenBox } from './support/box.ts';
import {
  answerEach,
  bound,
  connectionsOf,
  egressPid,
  exchange,
  openEgress,
  python,
  serve,
  until,
  type SharedEgress,
  type TcpServer,
} from './support/network-attack.ts';

const get = 'GET / HTTP/1.1\r\nHost: files.test\r\n\r\n';
const getAt9000 = get.replace('files.test', 'files.test:9000');
const allow = ['files.test', 'files.test:9000'];

interface Two extends AsyncDisposable {
  readonly shared: SharedEgress;
  readonly one: OpenBox;
  /** What `one` does must not matter to it. */
  readonly other: OpenBox;
  readonly server: TcpServer;
}

async function two(server: TcpServer, rules: readonly string[] = allow): Promise<Two> {
  const shared = openEgress({});
  const connect = { 'files.test': server.at };
  const box = async (allowed: readonly string[]): Promise<OpenBox> => {
    const egress = { allow: allowed, connect };
    return await openBox({ network: 'hosts', through: shared.egress, egress });
  };
  const [one, other] = [await box(rules), await box(allow)];
  return {
    shared,
    one,
    other,
    server,
    [Symbol.asyncDispose]: async () => {
      for (const part of [one, other, shared, server]) await part[Symbol.asyncDispose]();
    },
  };
}

async function assertServed({ other }: Two): Promise<void> {
  const [web, raw] = await exchange(other, [
    { host: 'files.test', port: 80, send: [get], halfClose: true, waitMs: 30_000 },
    { host: 'files.test', port: 9000, send: [getAt9000], halfClose: true, waitMs: 30_000 },
  ]);
  assert.match(web?.got ?? '', /yes$/, JSON.stringify(web));
  assert.match(raw?.got ?? '', /yes$/, JSON.stringify(raw));
}

test('connections that say nothing, or little, hold up no other session', bound, async () => {
  await using scene = await two(await serve(answerEach));
  const { one, shared } = scene;
  const held = python<number[]>(
    one,
    `
open, raw = [], []
for i in range(1000):
    try:
        s = socket.create_connection(('files.test', (80, 443, 9000)[i % 3]), timeout=8)
        s.sendall((b'GET / HTTP/1.1\\r\\nX: ', b'\\x16\\x03\\x01', b'G')[i % 3])
        # What waits for a host is the host's to end.
        if i % 3 == 2: raw.append(s)
        else: open.append(s)
    except OSError: pass
# All end by the bridge's own time: none is held for ever.
ended = 0
for s in open:
    s.settimeout(60)
    try:
        while s.recv(1000): pass
        ended += 1
    except TimeoutError: pass
    except OSError: ended += 1
say([len(open), ended])
`,
  );
  await until(() => descriptorsOf(egressPid(shared)) > 300);
  await assertServed(scene);
  assert.ok(descriptorsOf(egressPid(shared)) < 1200);
  const [opened = 0, ended = 0] = await held;
  assert.ok(opened > 0);
  assert.equal(ended, opened);
  assert.ok((await connectionsOf(one)).some((line) => line.endsWith('false too many connections')));
});

function descriptorsOf(pid: number): number {
  return Number(execFileSync('sh', ['-c', `ls /proc/${pid}/fd | wc -l`], { encoding: 'utf8' }));
}

test(
  'requests in one connection make no more connections to hosts than are allowed',
  bound,
  async () => {
    await using scene = await two(await serve(null));
    const { one, shared, server } = scene;
    const sent = python<string>(
      one,
      `
s = socket.create_connection(('files.test', 80), timeout=30)
try: s.sendall(input.encode() * 5000); s.recv(10); say('answered')
except OSError as e: say(name_of(e))
`,
      get,
    );
    await until(() => server.sockets.length >= 500);
    await scene.other.bridge?.end('x-00000000000000000000000000000003');
    assert.ok(descriptorsOf(egressPid(shared)) < 1_200);
    assert.ok(server.sockets.length <= 512, String(server.sockets.length));
    for (const socket of server.sockets) socket.destroy();
    assert.match(await sent, /^(answered|ECONNRESET|EPIPE|TimeoutError)$/);
  },
);

test('20,000 names have their bound, and wish for no 20,000 helpers', bound, async () => {
  const rules = ['*.wild.test', '*.port.test:9000', 'files.test', 'files.test:9000'];
  await using scene = await two(await serve(answerEach), rules);
  const { one } = scene;
  const counted = python<[number, number]>(
    one,
    `
codes = {}
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.connect(('127.0.0.53', 53))
def ask(name):
    # As resolvers do: what came in a flood may have been dropped.
    for _ in range(5):
        s.send(query(name))
        try: return s.recv(512)
        except TimeoutError: pass
    raise TimeoutError(name)
# Nothing is read: each would start a helper.
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(500): flood.sendto(query('p%d.port.test' % i), ('127.0.0.53', 53))
for i in range(20000):
    code = ask('n%d.wild.test' % i)[3] & 15
    codes[code] = codes.get(code, 0) + 1
say([codes.get(0, 0), codes.get(2, 0)])
`,
  );
  let helpers = 0;
  let isDone = false;
  void counted.finally(() => (isDone = true));
  await until(() => {
    helpers = Math.max(helpers, childrenOf(process.pid, 'perl'));
    return isDone;
  });
  const [named, failed] = await counted;
  assert.equal(named + failed, 20_000);
  assert.ok(named <= 16_384 && failed >= 3_616, `${named} ${failed}`);
  assert.ok(helpers <= 2, `${helpers} helpers at once`);
  await assertServed(scene);
  // Its own names go on as well.
  const [own] = await exchange(one, [{ host: 'n1.wild.test', port: 22, send: [] }]);
  assert.equal(own?.end, 'ECONNRESET');
});

function childrenOf(parent: number, name: string): number {
  const text = execFileSync('ps', ['-o', 'comm=', '--ppid', String(parent)], { encoding: 'utf8' });
  return text.split('\n').filter((line) => line === name).length;
}

test(
  'a client that never reads, and a host that never answers, hold up nobody',
  bound,
  async () => {
    await using scene = await two(
      await serve((socket, bytes) => {
        if (bytes.includes('/endless')) {
          const more = (): void => {
            while (socket.writable && socket.write(Buffer.alloc(65_536)));
          };
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          socket.on('drain', more);
          more();
        } else if (!bytes.includes('/never')) answerEach(socket, bytes);
      }),
    );
    const before = memoryOf(egressPid(scene.shared));
    const { one, server } = scene;
    const held = python<string[]>(
      one,
      `
open = []
for path in ('endless', 'never'):
    for i in range(50):
        s = socket.create_connection(('files.test', 80 if i % 2 else 9000), timeout=30)
        port = '' if i % 2 else ':9000'
        request = 'GET /%s HTTP/1.1\\r\\nHost: files.test%s\\r\\n\\r\\n' % (path, port)
        s.sendall(request.encode())
        open.append(s)
# Until the test has looked; its other end is closed by the host then.
for s in open[50:]:
    s.settimeout(60)
    try: s.recv(1000)
    except OSError: pass
say(['done'])
`,
    );
    await until(() => server.seen.filter((seen) => seen.includes('/never')).length === 50);
    await assertServed(scene);
    assert.ok(memoryOf(egressPid(scene.shared)) - before < 300_000, 'kilobytes');
    for (const socket of server.sockets) socket.destroy();
    assert.deepEqual(await held, ['done']);
  },
);

function memoryOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));
}

test('a client that is gone leaves no connection to a host behind', bound, async () => {
  await using scene = await two(await serve(null));
  const { one, server } = scene;
  await python(
    one,
    `
for i in range(300):
    s = socket.create_connection(('files.test', (80, 9000)[i % 2]), timeout=8)
    head = b'POST / HTTP/1.1\\r\\nHost: files.test%s\\r\\nContent-Length: 9\\r\\n\\r\\nabc'
    s.sendall(head % (b'', b':9000')[i % 2])
    if i % 3 == 0: s.setsockopt(1, 13, struct.pack('ii', 1, 0))
    s.close()
`,
  );
  await until(() => server.sockets.every((socket) => socket.destroyed));
});

test('each direction of a raw connection ends by itself', bound, async () => {
  await using server = await serve(null);
  const connect = { 'files.test': server.at };
  await using box = await openBox({ network: 'hosts', egress: { allow, connect } });
  const running = exchange(box, [
    { host: 'files.test', port: 9000, send: ['all'], halfClose: true, waitMs: 60_000 },
  ]);
  await until(() => server.sockets.some((socket) => socket.readableEnded));
  assert.deepEqual(server.seen, ['all']);
  assert.deepEqual(await running, [{ got: '', end: 'eof' }]);
});

test('after kill -9 of the egress process connections end, and new ones work', bound, async () => {
  await using scene = await two(await serve(answerEach));
  const { one, shared, server } = scene;
  for (let turn = 1; turn <= 3; turn += 1) {
    const running = python<string[]>(
      one,
      `
address = socket.gethostbyname('files.test')
open = []
for port in (80, 9000, 443, 9000):
    s = socket.create_connection((address, port), timeout=60)
    s.sendall(b'GET / HT' if port == 80 else b'\\x16' if port == 443 else b'live ${turn}')
    open.append(s)
ends = []
for s in open:
    try: ends.append('got ' + repr(s.recv(100)))
    except OSError as e: ends.append(name_of(e))
# To an address that it knows, and by names.
def again(host, port):
    got = b''
    for _ in range(400):
        got, end = exchange({'host': host, 'port': port, 'pauseMs': 0, 'halfClose': True,
            'waitMs': 8000, 'send': [input[port == 9000]]})
        if got: break
        time.sleep(0.05)
    return got[-3:].decode()
ends += [again(address, 9000), again('files.test', 9000), again('files.test', 80)]
say(ends + [socket.gethostbyname('files.test') == address])
`,
      [get, getAt9000],
    );
    await until(() => server.seen.filter((seen) => seen === `live ${turn}`).length === 2);
    process.kill(egressPid(shared), 'SIGKILL');
    const [first = '', second = '', third = '', fourth = '', ...after] = await running;
    for (const end of [first, second, third, fourth]) assert.match(end, /^(ECONNRESET|got b'')$/);
    assert.deepEqual(after, ['yes', 'yes', 'yes', true]);
  }
  await assertServed(scene);
});
