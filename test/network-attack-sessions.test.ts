// One session cannot use another's way to hosts, and no command one that has ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { egressExec, openBox } from './support/box.ts';
import {
  answerEach,
  bound,
  egressPid,
  exchange,
  openEgress,
  python,
  serve,
  until,
} from './support/network-attack.ts';

const secondExec = 'x-00000000000000000000000000000002';

test("another session's address leads nowhere", bound, async () => {
  await using server = await serve(answerEach);
  await using shared = openEgress({});
  const connect = { 'files.test': server.at };
  const through = shared.egress;
  await using one = await openBox({
    network: 'hosts',
    through,
    egress: { allow: ['files.test', 'files.test:9000'], connect },
  });
  await using two = await openBox({
    network: 'hosts',
    through,
    egress: { allow: ['own.test'], connect },
  });
  const address = await python<string>(one, `say(socket.gethostbyname('files.test'))`);
  const send = ['GET / HTTP/1.1\r\nHost: files.test\r\n\r\n'];
  const jobs = [80, 443, 22, 9000].map((port) => ({ host: address, port, send }));
  const results = await exchange(two, jobs);
  assert.ok(
    results.every(({ end }) => /^(ECONNRESET|ECONNREFUSED)$/.test(end)),
    JSON.stringify(results),
  );
  assert.deepEqual(server.seen, []);
  // The same address is another name's there.
  assert.equal(await python<string>(two, `say(socket.gethostbyname('own.test'))`), address);
  assert.ok((await exchange(two, jobs)).every(({ got }) => !got.includes('yes')));
  assert.deepEqual(server.seen, []);
});

test('a connection ends with the command whose rules permitted it', bound, async () => {
  await using server = await serve((socket, bytes) => {
    if (bytes.startsWith('GET')) answerEach(socket, bytes);
    else socket.write('more');
  });
  const connect = { 'files.test': server.at };
  const rules = { allow: ['files.test', 'files.test:9000'], connect };
  await using box = await openBox({ network: 'hosts', egress: rules });
  // A second command of the session, with no rule, that got both sockets of the first.
  await box.bridge?.begin(secondExec, {
    ...rules,
    mode: 'hosts',
    allow: [],
    deny: [],
    private: [],
  });
  const running = python<string[]>(
    box,
    `
web = socket.create_connection(('files.test', 80), timeout=20)
request = b'GET / HTTP/1.1\\r\\nHost: files.test\\r\\n\\r\\n'
web.sendall(request); web.recv(1000)
raw = socket.create_connection(('files.test', 9000), timeout=20)
raw.sendall(b'raw'); raw.recv(4)
raw.sendall(b'ready'); raw.recv(4)
def ended(s):
    try: return 'got ' + repr(s.recv(1000))
    except Exception as e: return name_of(e)
first = ended(raw)
try: web.sendall(request)
except Exception: pass
second = ended(web)
try: third = socket.create_connection(('files.test', 80), timeout=5) and 'connected'
except Exception as e: third = name_of(e)
say([first, second, third])
`,
  );
  await until(() => server.seen.some((seen) => seen.includes('ready')));
  await box.bridge?.end(egressExec);
  const [raw, web, anew] = await running;
  assert.equal(raw, 'ECONNRESET');
  assert.match(web ?? '', /^(ECONNRESET|EPIPE|got b'')$/);
  assert.equal(anew, 'no name');
  assert.equal(server.seen.filter((seen) => seen.startsWith('GET')).length, 1);
});

test('a connection stays while another command may have it', bound, async () => {
  await using server = await serve((socket) => socket.write('more'));
  const rules = {
    mode: 'hosts',
    allow: ['files.test:9000'],
    deny: [],
    private: [],
    connect: { 'files.test': server.at },
  } as const;
  await using box = await openBox({ network: 'hosts', egress: rules });
  await box.bridge?.begin(secondExec, rules);
  const running = python<string>(
    box,
    `
s = socket.create_connection(('files.test', 9000), timeout=20)
s.sendall(b'ready'); s.recv(4)
input and time.sleep(0)
s.sendall(b'again'); say(s.recv(4).decode() + s.recv(4).decode())
`,
  );
  await until(() => server.seen.some((seen) => seen.includes('ready')));
  await box.bridge?.end(egressExec);
  for (const socket of server.sockets) socket.write('more');
  assert.match(await running, /^more/);
});

test('a port of a second command is its own rule, beside a first one', bound, async () => {
  await using server = await serve((socket) => socket.end('reached'));
  const connect = { 'files.test': server.at };
  const rules = { mode: 'hosts', allow: ['files.test'], deny: [], private: [], connect } as const;
  await using box = await openBox({ network: 'hosts', egress: rules });
  const job = { host: 'files.test', port: 9000, send: ['x'] };
  assert.deepEqual(await exchange(box, [job]), [{ got: '', end: 'ECONNREFUSED' }]);
  await box.bridge?.begin(secondExec, { ...rules, allow: ['files.test:9000'] });
  assert.deepEqual(await exchange(box, [job]), [{ got: 'reached', end: 'eof' }]);
});

test('a session that ends with lookups open ends no other session', bound, async () => {
  await using server = await serve((socket) => socket.write('more'));
  await using shared = openEgress({});
  const through = shared.egress;
  const connect = { 'files.test': server.at };
  await using stays = await openBox({
    network: 'hosts',
    through,
    egress: { allow: ['files.test:9000'], connect },
  });
  const running = python<string>(
    stays,
    `
s = socket.create_connection(('files.test', 9000), timeout=30)
s.sendall(b'ready'); first = s.recv(4)
say(first.decode() + s.recv(4).decode())
`,
  );
  await until(() => server.seen.some((seen) => seen.includes('ready')));
  const pid = egressPid(shared);
  for (let turn = 0; turn < 3; turn += 1) {
    await using goes = await openBox({
      network: 'hosts',
      through,
      egress: { allow: ['*.wild.test:9000'] },
    });
    // Each wants a listener; the box goes before they have it.
    await python(
      goes,
      `
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(50): s.sendto(query('n%d.wild.test' % i), ('127.0.0.53', 53))
`,
    );
  }
  // Longer than it waits for a listener, and then answers whom it was asked by.
  await sleep(6_000);
  await stays.bridge?.begin(secondExec, {
    mode: 'hosts',
    allow: [],
    deny: [],
    private: [],
    connect: {},
  });
  for (const socket of server.sockets) socket.write('more');
  assert.equal(await running, 'moremore');
  assert.equal(egressPid(shared), pid);
});

test('names whose servers never answer hold up no other session', bound, async () => {
  await using server = await serve(answerEach);
  await using shared = openEgress({ 'quick.test': [['127.0.0.1']] });
  const through = shared.egress;
  await using slow = await openBox({
    network: 'hosts',
    through,
    egress: { allow: ['*.stuck.test'] },
  });
  const connect = { 'files.test': server.at };
  await using other = await openBox({
    network: 'hosts',
    through,
    egress: { allow: ['files.test', 'quick.test'], connect },
  });
  const stuck = python(
    slow,
    `
open = []
def one(i):
    s = socket.create_connection(('n%d.stuck.test' % i, 80), timeout=30)
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: n%d.stuck.test\\r\\n\\r\\n' % i)
    open.append(s)
all_of(list(range(100)), one)
for s in open: s.settimeout(60); s.recv(1000)
say(len(open))
`,
  );
  await until(() => shared.resolved().some((name) => name.endsWith('.stuck.test')));
  const results = await exchange(
    other,
    ['files.test', 'quick.test'].map((host) => ({
      host,
      port: 80,
      send: [`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
      halfClose: true,
    })),
  );
  assert.match(results[0]?.got ?? '', /yes/);
  // Refused for its address: it was resolved.
  assert.match(results[1]?.got ?? '', /^HTTP\/1\.1 502 /, JSON.stringify(results));
  const told = await other.bridge?.end(egressExec);
  assert.deepEqual(told?.find(({ host }) => host === 'quick.test')?.rule, 'special address');
  assert.equal(await stuck, 100);
});
