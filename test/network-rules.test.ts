// Host rules, kinds of addresses and what a resolver's message says: pure parts of the bridge.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EgressRules } from '../src/network-access.ts';
import { readClientHello } from '../src/egress/client-hello.ts';
import { dial } from '../src/egress/dial.ts';
import { NameLookups } from '../src/egress/name-lookups.ts';
import { dnsAnswer, parseDnsQuery, recordTypes, responseCodes } from '../src/egress/dns-message.ts';
import { namesMax, SyntheticAddresses } from '../src/egress/synthetic-addresses.ts';
import { addressKind } from '../src/network/addresses.ts';
import { EgressDecider } from '../src/network/egress-rules.ts';
import { coversRule, parseHostRule, parseHostRules } from '../src/network/host-rules.ts';
import { expandPreset, hostPresetNames, hostPresets } from '../src/network/presets.ts';

test('a rule is a name, or it is none', () => {
  const rules: Readonly<Record<string, string | null>> = {
    'Example.COM.': 'example.com',
    '*.example.com:8443': '*.example.com:8443',
    'аррӏе.com': 'xn--80ak6aa92e.com',
    'a_b.example': 'a_b.example',
    registry: 'registry',
    '*.com': null,
    '*': null,
    'a.*.com': null,
    '1.2.3.4': null,
    '1.2.3.4:80': '1.2.3.4:80',
    '127.0.0.1:5432': '127.0.0.1:5432',
    '10.0.0.5:443': '10.0.0.5:443',
    '127.0.0.53:53': null,
    '169.254.169.254:80': null,
    '0.0.0.0:80': null,
    '198.18.0.2:80': null,
    '224.0.0.1:80': null,
    '127.0.0.01:80': null,
    '2130706433:80': null,
    '[::1]:80': null,
    '*.127.0.0.1:80': null,
    '0x7f.1': null,
    '2130706433': null,
    '127.1': null,
    '[::1]': null,
    '::1': null,
    'a%2ecom': null,
    'ex ample.com': null,
    'ＥＸＡＭＰＬＥ．com': null,
    'a。com': null,
    'foo\0.com': null,
    'a..b': null,
    '-a.com': null,
    'a-.com': null,
    'a.com:0': null,
    'a.com:65536': null,
    'a.com:': null,
    'a.com/x': 'a.com/x',
    'a.com/': 'a.com',
    'HEAD|GET a.com:8443/v1/': 'GET|HEAD a.com:8443/v1',
    'POST *.a.com': 'POST *.a.com',
    'POST 127.0.0.1:80/x': 'POST 127.0.0.1:80/x',
    'a.com/x/../y': null,
    'a.com//x': null,
    'a.com/%78': null,
    'a.com/x?y': null,
    'get a.com': null,
    'GET  a.com': null,
    'GET|| a.com': null,
    'GET a.com ': null,
    'user@a.com': null,
    'https://a.com': null,
    '': null,
    '.': null,
    [`${'a'.repeat(64)}.com`]: null,
    [`${'a.'.repeat(126)}com`]: null,
  };
  for (const [text, wanted] of Object.entries(rules)) {
    assert.equal(parseHostRule(text)?.text ?? null, wanted, JSON.stringify(text));
  }
});

test('every preset is made of rules, and has a source', () => {
  for (const name of hostPresetNames) {
    const hosts = expandPreset(name);
    assert.ok(hosts.length > 0);
    assert.deepEqual(
      parseHostRules(hosts).map(({ text }) => text),
      hosts,
      name,
    );
  }
  for (const { source } of Object.values(hostPresets)) assert.match(source, /^https:\/\//);
  assert.deepEqual(expandPreset('example.com'), ['example.com']);
  assert.deepEqual(expandPreset('__proto__'), ['__proto__']);
});

test('deny beats allow and open; a rule without a port is for the web', () => {
  const rules: EgressRules = {
    mode: 'hosts',
    allow: ['*.example.com', 'example.com:22', 'bad.example.com'],
    deny: ['bad.example.com', 'api.example.com:80'],
    private: ['intra.test'],
    connect: { 'a.test': '127.0.0.1:81', 'b.test': '[::1]:82', 'c.test': 'elsewhere:1' },
  };
  const decider = new EgressDecider(rules);
  const open = new EgressDecider({ ...rules, mode: 'open' });
  const decisions: readonly (readonly [string, number | null, boolean, boolean])[] = [
    ['www.example.com', 443, true, true],
    ['www.example.com', 22, false, true],
    ['www.example.com', 8443, false, false],
    ['example.com', 22, true, true],
    ['example.com', 443, false, true],
    ['example.com', null, true, true],
    ['bad.example.com', 443, false, false],
    ['bad.example.com', null, false, false],
    ['api.example.com', 80, false, false],
    ['api.example.com', 443, true, true],
    ['api.example.com', null, true, true],
    ['notexample.com', 443, false, true],
    ['example.com.evil.test', 443, false, true],
    ['other.test', null, false, true],
    ['other.test', 25, false, false],
  ];
  for (const [name, port, byHosts, byOpen] of decisions) {
    assert.equal(decider.decide(name, port).isAllowed, byHosts, `${name} ${port}`);
    assert.equal(open.decide(name, port).isAllowed, byOpen, `open ${name} ${port}`);
  }
  assert.deepEqual(decider.servedAt('a.test', 443), { address: '127.0.0.1', port: 81 });
  assert.deepEqual(decider.servedAt('b.test', 443), { address: '::1', port: 82 });
  assert.equal(decider.servedAt('c.test', 443), null);
  assert.ok(decider.mayBePrivate('intra.test') && !decider.mayBePrivate('www.example.com'));
  assert.throws(() => new EgressDecider({ ...rules, deny: ['1.2.3.4'] }), RangeError);
});

test('a rule is covered by rules that permit all of it', () => {
  const rules = parseHostRules(['*.example.com', 'example.com', 'git.test:22', '*.deep.test:8443']);
  const covered = ['a.example.com', 'a.example.com:443', 'example.com', 'git.test:22'];
  const others = ['example.org', 'a.example.com:22', 'git.test', '*.other.test', 'deep.test:8443'];
  for (const [texts, wanted] of [
    [[...covered, '*.a.example.com', '*.x.deep.test:8443'], true],
    [others, false],
  ] as const) {
    for (const one of parseHostRules(texts)) {
      assert.equal(coversRule(rules, one), wanted, one.text);
    }
  }
});

test('only what is globally reachable is a public address', () => {
  const kinds: Readonly<Record<string, string>> = {
    '1.1.1.1': 'public',
    '2606:4700::1111': 'public',
    '10.1.2.3': 'private',
    '172.31.255.255': 'private',
    '100.64.0.1': 'private',
    'fd00::1': 'private',
    '127.0.0.1': 'special',
    '0.0.0.0': 'special',
    '169.254.169.254': 'special',
    '100.100.100.200': 'special',
    '168.63.129.16': 'special',
    '198.18.0.9': 'special',
    '224.0.0.1': 'special',
    '255.255.255.255': 'special',
    '::': 'special',
    '::1': 'special',
    '::ffff:1.1.1.1': 'special',
    '::ffff:7f00:1': 'special',
    '64:ff9b::101:101': 'special',
    '64:ff9b:1::1': 'special',
    '2002:7f00:1::': 'special',
    '2001::1': 'special',
    '2001:db8::1': 'special',
    'fe80::1': 'special',
    'fe80::1%eth0': 'special',
    'fec0::1': 'special',
    'ff02::1': 'special',
    'fd00:ec2::254': 'special',
    '127.1': 'special',
    '0x7f000001': 'special',
    '2130706433': 'special',
    '': 'special',
  };
  for (const [address, kind] of Object.entries(kinds)) {
    assert.equal(addressKind(address), kind, address);
  }
});

test('a permitted name is dialled at a checked address alone', async () => {
  const target = { name: 'localhost', port: 9, mayBePrivate: true, servedAt: null, proxy: null };
  await assert.rejects(dial(target, new NameLookups()), {
    name: 'DialError',
    message: 'special address',
  });
  const nowhere = { ...target, name: 'nobody.invalid' };
  await assert.rejects(dial(nowhere, new NameLookups()), {
    name: 'DialError',
    message: 'name not found',
  });
});

test('a name keeps its address, and the range has an end', () => {
  const addresses = new SyntheticAddresses();
  const first = addresses.addressOf('a.test');
  assert.deepEqual(first, { address: '198.18.0.2', isNew: true });
  for (let n = 1; n < namesMax; n += 1) {
    const found = addresses.addressOf(`n${n}.test`);
    assert.equal(addresses.nameOf(found?.address ?? ''), `n${n}.test`);
  }
  assert.equal(addresses.addressOf('late.test'), null);
  assert.deepEqual(addresses.addressOf('a.test'), { ...first, isNew: false });
  for (const other of ['198.18.0.1', '198.18.0.0', '127.0.0.1', '198.20.0.2', '198.18.0.2.3']) {
    assert.equal(addresses.nameOf(other), null, other);
  }
});

/** A query with one question, from labels. */
function query(labels: readonly string[], type: number, flags = 0x0100, questions = 1): Buffer {
  const header = Buffer.from([0, 7, flags >> 8, flags & 255, 0, questions, 0, 0, 0, 0, 0, 0]);
  const name = labels.map((one) =>
    Buffer.concat([Buffer.of(one.length), Buffer.from(one, 'latin1')]),
  );
  return Buffer.concat([header, ...name, Buffer.from([0, 0, type, 0, 1])]);
}

test('a query is read in one way, or not at all', () => {
  const good = parseDnsQuery(query(['API', 'Example', 'com'], recordTypes.A));
  assert.equal(good?.name, 'api.example.com');
  assert.equal(parseDnsQuery(query(['a\0b', 'com'], 1))?.name, null);
  assert.equal(parseDnsQuery(query(['a.b', 'com'], 1))?.name, null);
  assert.equal(parseDnsQuery(query([], 1))?.name, null);
  const pointer = Buffer.concat([
    query([], 1).subarray(0, 12),
    Buffer.from([0xc0, 12, 0, 1, 0, 1]),
  ]);
  const whole = query(['a', 'com'], 1);
  const bad = [
    pointer,
    query(['a'], 1, 0x8100),
    query(['a'], 1, 0x2900),
    query(['a'], 1, 0x0100, 2),
    query(['a'], 1, 0x0100, 0),
    Buffer.concat([whole.subarray(0, -1), Buffer.of(3)]),
    query(
      Array.from({ length: 130 }, () => 'aa'),
      1,
    ),
    ...Array.from({ length: whole.length }, (_, length) => whole.subarray(0, length)),
  ];
  for (const message of bad) assert.equal(parseDnsQuery(message), null, message.toString('hex'));
});

test('an answer has its question, and at most one address', () => {
  const question = parseDnsQuery(query(['a', 'com'], 1));
  assert.ok(question !== null);
  const answer = dnsAnswer(question, responseCodes.ok, '198.18.1.2');
  assert.equal(answer.toString('hex').slice(0, 24), '000781800001000100000000');
  assert.deepEqual([...answer.subarray(-4)], [198, 18, 1, 2]);
  assert.equal(dnsAnswer(question, responseCodes.noSuchName).readUInt16BE(2), 0x8183);
});

/** A ClientHello with these extensions, in one record. */
function hello(extensions: readonly Buffer[]): Buffer {
  const body = Buffer.concat(extensions);
  const fields = [Buffer.alloc(34), Buffer.of(0), Buffer.of(0, 2, 19, 1), Buffer.of(1, 0)];
  const length = Buffer.alloc(2);
  length.writeUInt16BE(body.length);
  const message = Buffer.concat([...fields, length, body]);
  const record = Buffer.from([22, 3, 1, 0, 0, 1, 0, 0, 0]);
  record.writeUInt16BE(message.length + 4, 3);
  record.writeUIntBE(message.length, 6, 3);
  return Buffer.concat([record, message]);
}

function serverName(...names: readonly string[]): Buffer {
  const entries = names.map((name) =>
    Buffer.concat([Buffer.of(0, 0, name.length), Buffer.from(name)]),
  );
  const list = Buffer.concat(entries);
  return Buffer.concat([Buffer.of(0, 0, 0, list.length + 2, 0, list.length), list]);
}

test('the name of a ClientHello is found, also in pieces and in several records', () => {
  const whole = hello([serverName('a.test')]);
  assert.deepEqual(readClientHello(whole), { kind: 'hello', name: 'a.test', protocols: [] });
  for (let length = 0; length < whole.length; length += 1) {
    assert.equal(readClientHello(whole.subarray(0, length)).kind, 'incomplete', String(length));
  }
  const split = (at: number): Buffer => {
    const [one, two] = [whole.subarray(5, 5 + at), whole.subarray(5 + at)];
    return Buffer.concat([
      Buffer.of(22, 3, 1, 0, one.length),
      one,
      Buffer.of(22, 3, 1, 0, two.length),
      two,
    ]);
  };
  for (const at of [1, 3, 4, 5, 40, whole.length - 6]) {
    assert.deepEqual(
      readClientHello(split(at)),
      { kind: 'hello', name: 'a.test', protocols: [] },
      String(at),
    );
  }
  assert.deepEqual(readClientHello(hello([])), { kind: 'hello', name: null, protocols: [] });
  assert.equal(readClientHello(hello([serverName('a.test'), serverName('b.test')])).kind, 'none');
  assert.equal(readClientHello(hello([serverName('a.test', 'b.test')])).kind, 'none');
  for (const text of [
    'GET / HTTP/1.1\r\n',
    'SSH-2.0-x\r\n',
    '\x80\x2e\x01\x03\x01',
    '\x16\x04\x00',
  ]) {
    assert.equal(readClientHello(Buffer.from(text, 'latin1')).kind, 'none', text);
  }
});
