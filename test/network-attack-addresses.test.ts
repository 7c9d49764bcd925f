// Attacks by addresses, from inside a real sandbox: literals of any form, and what names lead to.
import assert from 'node:assert/strict';
import os from 'node:os';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { addressKind } from '../src/network/addresses.ts';
import { EgressDecider } from '../src/network/egress-rules.ts';
import { parseHostRule } from '../src/network/host-rules.ts';
import { openBox } from './support/box.ts';
import {
  answerEach,
  bound,
  connectionsOf,
  exchange,
  openEgress,
  python,
  serve,
} from './support/network-attack.ts';

/** What a name may lead to, and why it is not connected to. */
const leads: Readonly<Record<string, readonly [readonly string[], string]>> = {
  loopback: [['127.0.0.1'], 'special address'],
  'loopback-other': [['127.8.9.10'], 'special address'],
  unspecified: [['0.0.0.0'], 'special address'],
  metadata: [['169.254.169.254'], 'special address'],
  'metadata-alibaba': [['100.100.100.200'], 'special address'],
  'metadata-azure': [['168.63.129.16'], 'special address'],
  'metadata-oracle': [['192.0.0.192'], 'special address'],
  'metadata-amazon-6': [['fd00:ec2::254'], 'special address'],
  'metadata-google-6': [['fd20:ce::254'], 'special address'],
  'metadata-scaleway-6': [['fd00:42::42'], 'special address'],
  'metadata-oracle-6': [['fd00:c1::a9fe:a9fe'], 'special address'],
  'private-10': [['10.0.0.1'], 'private address'],
  'private-172': [['172.31.255.255'], 'private address'],
  'private-192': [['192.168.1.1'], 'private address'],
  'carrier-grade': [['100.64.0.1'], 'private address'],
  'unique-local': [['fc00::1'], 'private address'],
  'own-range': [['198.18.0.2'], 'special address'],
  multicast: [['224.0.0.251'], 'special address'],
  broadcast: [['255.255.255.255'], 'special address'],
  reserved: [['240.0.0.1'], 'special address'],
  documentation: [['192.0.2.1'], 'special address'],
  'anycast-6to4': [['192.88.99.1'], 'special address'],
  'loopback-6': [['::1'], 'special address'],
  'unspecified-6': [['::'], 'special address'],
  mapped: [['::ffff:127.0.0.1'], 'special address'],
  'mapped-hex': [['::ffff:a9fe:a9fe'], 'special address'],
  'mapped-public': [['::ffff:8.8.8.8'], 'special address'],
  compatible: [['::127.0.0.1'], 'special address'],
  translated: [['::ffff:0:127.0.0.1'], 'special address'],
  nat64: [['64:ff9b::7f00:1'], 'special address'],
  'nat64-local': [['64:ff9b:1::a9fe:a9fe'], 'special address'],
  '6to4': [['2002:7f00:1::1'], 'special address'],
  teredo: [['2001:0:4136:e378:8000:63bf:3fff:fdd2'], 'special address'],
  'link-local-6': [['fe80::1'], 'special address'],
  zone: [['fe80::1%lo'], 'special address'],
  'zone-of-global': [['2606:4700::1111%lo'], 'special address'],
  'site-local': [['fec0::1'], 'special address'],
  'multicast-6': [['ff02::1'], 'special address'],
  'discard-6': [['100::1'], 'special address'],
  'documentation-6': [['2001:db8::1'], 'special address'],
  'srv6-6': [['5f00::1'], 'special address'],
  'public-then-private': [['8.8.8.8', '10.0.0.1'], 'private address'],
  'private-then-public': [['10.0.0.1', '8.8.8.8'], 'private address'],
  'public-then-loopback-6': [['8.8.8.8', '::1'], 'special address'],
  'public-then-metadata': [['8.8.8.8', '169.254.169.254'], 'special address'],
  nowhere: [[], 'name not found'],
  'not-an-address': [['0x7f.1'], 'special address'],
  'octal-address': [['0177.0.0.1'], 'special address'],
  'short-address': [['127.1'], 'special address'],
};

test(
  'a name that leads inside is not connected to, whatever else it leads to',
  bound,
  async (t) => {
    const names = Object.keys(leads);
    await using shared = openEgress(
      Object.fromEntries(
        Object.entries(leads).map(([name, [found]]) => [`${name}.test`, [[...found]]]),
      ),
    );
    await using box = await openBox({
      network: 'hosts',
      through: shared.egress,
      egress: { allow: ['*.a.test', ...names.map((name) => `${name}.test`)] },
    });
    const jobs = names.map((name) => ({
      host: `${name}.test`,
      port: 80,
      send: [`GET / HTTP/1.1\r\nHost: ${name}.test\r\n\r\n`],
    }));
    const results = await exchange(box, jobs);
    const told = await connectionsOf(box);
    for (const [at, name] of names.entries()) {
      await t.test(name, () => {
        assert.match(results[at]?.got ?? '', /^HTTP\/1\.1 502 /, JSON.stringify(results[at]));
        assert.ok(told.includes(`${name}.test:80 false ${leads[name]?.[1]}`), told.join('\n'));
      });
    }
  },
);

test('a rule for private addresses does not permit special ones', bound, async () => {
  const special = Object.entries(leads).filter(([, [, why]]) => why === 'special address');
  await using shared = openEgress(
    Object.fromEntries(special.map(([name, [found]]) => [`${name}.test`, [[...found]]])),
  );
  const allow = special.map(([name]) => `${name}.test:9000`);
  await using box = await openBox({
    network: 'hosts',
    through: shared.egress,
    egress: { allow, private: special.map(([name]) => `${name}.test`) },
  });
  const results = await exchange(
    box,
    special.map(([name]) => ({ host: `${name}.test`, port: 9000, send: ['\0'] })),
  );
  assert.ok(
    results.every(({ end }) => end === 'ECONNRESET'),
    JSON.stringify(results),
  );
  assert.ok((await connectionsOf(box)).every((line) => line.endsWith('special address')));
});

test(
  'a name that is bound anew is checked anew, and dialled where it was checked',
  bound,
  async (t) => {
    const own = Object.values(os.networkInterfaces())
      .flatMap((found) => found ?? [])
      .find(({ address }) => addressKind(address) !== 'special');
    if (own === undefined) {
      t.skip('this machine has no address that may be dialled');
      return;
    }
    const server = createServer((socket) => socket.end('reached'));
    server.listen(0, own.address);
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    try {
      await using shared = openEgress({
        'turn.test': [[own.address], ['127.0.0.1'], [own.address]],
      });
      const egress = { allow: [`turn.test:${port}`], private: ['turn.test'] };
      await using box = await openBox({ network: 'hosts', through: shared.egress, egress });
      const ends: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const [result] = await exchange(box, [{ host: 'turn.test', port, send: ['a'] }]);
        ends.push(`${result?.got}${result?.end === 'ECONNRESET' ? 'refused' : ''}`);
      }
      assert.deepEqual([ends[0], ends[1]?.slice(-7), ends[2]], ['reached', 'refused', 'reached']);
      assert.deepEqual(shared.resolved(), ['turn.test', 'turn.test', 'turn.test']);
    } finally {
      server.close();
    }
  },
);

/** Addresses instead of names, as programs read them. */
const literals = `127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0x7f.1 0 127.0.0.53
  169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 8.8.8.8 134744072
  10.255.255.53 192.168.1.1 198.18.0.1 198.18.0.0 198.19.255.255 198.18.200.1 224.0.0.1
  255.255.255.255 ::1 :: fe80::1%lo ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:198.18.200.1
  64:ff9b::808:808 2002:808:808::1 2001:4860:4860::8888 fd00:ec2::254`.split(/\s+/);

test('no address is reached without its name', bound, async (t) => {
  await using server = await serve(answerEach);
  const egress = {
    mode: 'open',
    allow: ['files.test'],
    connect: { 'files.test': server.at },
  } as const;
  await using box = await openBox({ network: 'open', egress });
  const jobs = literals.flatMap((host) =>
    [80, 443, 22].map((port) => {
      const send = ['GET / HTTP/1.1\r\nHost: files.test\r\n\r\n'];
      return { host, port, send: port === 80 ? send : ['SSH-2.0-x\r\n'] };
    }),
  );
  const results = await exchange(box, jobs);
  for (const [at, host] of literals.entries()) {
    await t.test(host, () => {
      for (const { got, end } of results.slice(at * 3, at * 3 + 3)) {
        assert.equal(got, '');
        assert.match(
          end,
          /^E(?:CONNRESET|NETUNREACH|HOSTUNREACH|CONNREFUSED|ADDRNOTAVAIL|INVAL|ACCES|NODEV|PIPE)$/,
        );
      }
    });
  }
  assert.equal(server.seen.join(''), '');
});

test('a redirect leads to no metadata service', bound, async () => {
  const to = [
    'http://169.254.169.254/latest/meta-data/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://[fd00:ec2::254]/',
    'http://2852039166/',
    'http://localhost/',
    'https://evil.test/',
    'gopher://127.0.0.1:22/_x',
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
  ];
  await using server = await serve((socket, bytes) => {
    const at = Number(/^GET \/(\d+)/.exec(bytes)?.[1]);
    socket.end(`HTTP/1.1 302 Found\r\nLocation: ${to[at]}\r\nContent-Length: 0\r\n\r\n`);
  });
  await using box = await openBox({
    network: 'hosts',
    egress: { allow: ['files.test'], connect: { 'files.test': server.at } },
  });
  const calls = to.map(
    (_, at) => `curl -sSL -m 20 -o /dev/null -w '%{http_code} ' http://files.test/${at} || echo $?`,
  );
  const got = await box.run(calls.join('\n'));
  assert.deepEqual(got.stdout.match(/^\d+ \d+$/gm)?.length, to.length, got.stdout);
  assert.equal(server.seen.length, to.length);
});

test('one port of a host does not open another, and a denial closes all', bound, async () => {
  await using server = await serve((socket) => socket.end('reached'));
  const at = server.at;
  const connect = { 'one.test': at, 'web.test': at, 'shut.test': at, 'a.wild.test': at };
  const egress = {
    allow: ['one.test:9000', 'web.test', 'shut.test:9000', '*.wild.test:9000', 'shut.test'],
    deny: ['shut.test:443', 'a.wild.test'],
    connect,
  };
  await using box = await openBox({ network: 'hosts', egress });
  const tried = ['one', 'web', 'shut', 'a.wild'].flatMap((name) =>
    [9000, 9001, 80, 443, 22, 53, 1].map((port) => ({ host: `${name}.test`, port, send: ['\0x'] })),
  );
  const results = await exchange(box, tried);
  const reached = tried.filter((_, index) => results[index]?.got === 'reached');
  assert.deepEqual(
    reached.map(({ host, port }) => `${host}:${port}`),
    ['one.test:9000', 'shut.test:9000'],
  );
});

test(
  'a name that is denied is denied on every port, also with an address of before',
  bound,
  async () => {
    const decider = new EgressDecider({
      mode: 'open',
      allow: ['shut.test:9000', '*.shut.test:9000'],
      deny: ['shut.test', '*.shut.test'],
      private: [],
      connect: {},
    });
    for (const name of ['shut.test', 'a.shut.test', 'a.b.shut.test']) {
      for (const port of [80, 443, 22, 9000, null]) {
        assert.equal(decider.decide(name, port).isAllowed, false, `${name}:${port}`);
      }
    }
    assert.equal(decider.decide('notshut.test', 443).isAllowed, true);
    await using server = await serve((socket) => socket.end('reached'));
    const connect = { 'shut.test': server.at };
    const rules = {
      mode: 'open',
      allow: ['shut.test:9000'],
      deny: [],
      private: [],
      connect,
    } as const;
    await using box = await openBox({ network: 'open', egress: rules });
    const address = await python<string>(box, `say(socket.gethostbyname('shut.test'))`);
    await connectionsOf(box);
    await box.bridge?.begin('x-00000000000000000000000000000002', {
      ...rules,
      deny: ['shut.test'],
    });
    const results = await exchange(
      box,
      [22, 80, 443, 9000].map((port) => ({ host: address, port, send: ['\0x'] })),
    );
    assert.deepEqual(
      results.map(({ end }) => end),
      Array.from({ length: 4 }, () => 'ECONNRESET'),
    );
    assert.deepEqual(server.seen, []);
  },
);

test('what is no rule is refused, and no rule covers more than it says', () => {
  const words = `* *. *.com *.*.test a.*.test *a.test **.test .a.test a..test a.test:0 a.test:65536
    a.test: a.test:80:80 http://a.test a.test/../x 1.2.3.4 127.1 [::1] ::1 0x7f000001 1.2.3.4:0
    *.1.2.3.4 u@a.test a%2etest -a.test a.test..`.split(/\s+/);
  const others = [
    '',
    'a b.test',
    'a.test\0',
    'a\u3002test',
    'a\uff0etest',
    `${'a'.repeat(64)}.test`,
  ];
  const none = [...words, ...others];
  for (const text of none) assert.equal(parseHostRule(text), null, JSON.stringify(text));
  const homograph = parseHostRule('\u0430pple.com');
  assert.match(homograph?.text ?? '', /^xn--/);
});
