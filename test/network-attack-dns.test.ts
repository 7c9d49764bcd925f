// Attacks on the resolver of a session, from inside a real sandbox.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBox } from './support/box.ts';
import {
  ask,
  bound,
  connectionsOf,
  openEgress,
  python,
  type Wire,
} from './support/network-attack.ts';

const types = {
  A: 1,
  NS: 2,
  CNAME: 5,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  SVCB: 64,
  HTTPS: 65,
  AXFR: 252,
  ANY: 255,
};

const word = (value: number): Wire => String.fromCharCode(value >> 8, value & 255);
const label = (text: Wire): Wire => String.fromCharCode(text.length) + text;
const nameOf = (labels: readonly Wire[]): Wire => `${labels.map(label).join('')}\0`;
const header = (flags = 0x0100, counts: readonly number[] = [1, 0, 0, 0]): Wire =>
  [7, flags, ...counts].map(word).join('');
const query = (labels: readonly Wire[], type: number = types.A, klass = 1): Wire =>
  header() + nameOf(labels) + word(type) + word(klass);
const asked = (name: string, type?: number): Wire => query(name.split('.'), type);

/** `code addresses`, or `silence`. */
function read(answer: Wire | null): string {
  if (answer === null) return 'silence';
  const bytes = Buffer.from(answer, 'latin1');
  const count = bytes.readUInt16BE(6);
  const address = count === 0 ? '' : ` ${bytes.subarray(-4).join('.')}`;
  return `${bytes.readUInt16BE(2) & 15}${address}`;
}

const [found, noSuchName, nothing] = [/^0 198\.1[89]\.\d+\.\d+$/, /^3$/, /^0$/];
const silence = /^silence$/;

const allow = ['files.test', '*.wild.test', 'bücher.test', 'under_score.test', 'port.test:8443'];
const deny = ['secret.wild.test', '*.deep.wild.test', 'files.test:22'];

const long = 'a'.repeat(63);
/** 253 bytes, and one more. */
const longest = `${long}.${long}.${long}.${'a'.repeat(51)}.wild.test`;

const attacks: Readonly<Record<string, readonly [Wire, RegExp]>> = {
  'an allowed name': [asked('files.test'), found],
  'its case': [asked('FiLeS.TEST'), found],
  'an allowed name with a port of its own': [asked('port.test'), found],
  'a denied name': [asked('other.test'), noSuchName],
  'a name that ends like an allowed one': [asked('evilfiles.test'), noSuchName],
  'a name below an allowed one': [asked('a.files.test'), noSuchName],
  'an allowed name below another': [asked('files.test.evil.com'), noSuchName],
  'the wildcard itself': [asked('wild.test'), noSuchName],
  'a name below the wildcard': [asked('a.b.wild.test'), found],
  'a denied name below an allowed wildcard': [asked('secret.wild.test'), noSuchName],
  'a denied wildcard below an allowed one': [asked('a.deep.wild.test'), noSuchName],
  'a star as a label': [query(['*', 'wild', 'test']), noSuchName],
  'an underscore': [asked('under_score.test'), found],
  'a label that begins with a hyphen': [asked('-a.wild.test'), noSuchName],
  'the name of IDNA': [asked('xn--bcher-kva.test'), found],
  'UTF-8 on the wire': [query([Buffer.from('bücher').toString('latin1'), 'test']), noSuchName],
  'a homograph': [asked('xn--fles-tsb.test'), noSuchName],
  // It is a name to DNS.
  'broken punycode': [asked('xn--0.wild.test'), found],
  'NUL in a label': [query(['files.test\0', 'wild', 'test']), noSuchName],
  'a dot in a label': [query(['files.test']), noSuchName],
  'a denied name with an allowed one behind NUL': [query(['evil\0.files', 'test']), noSuchName],
  'a blank in a label': [query(['a b', 'wild', 'test']), noSuchName],
  'a line feed in a label': [query(['a\nb', 'wild', 'test']), noSuchName],
  'bytes above ASCII': [query(['f\xaales', 'test']), noSuchName],
  'the root': [query([]), noSuchName],
  'one label': [asked('localhost'), noSuchName],
  'an empty label between': [header() + '\x05files\0\x04test\0' + word(1) + word(1), silence],
  'a name of 253 bytes': [asked(longest), found],
  'a name of 254 bytes': [asked(`a${longest}`), silence],
  'a label of 64 bytes': [query(['a'.repeat(64), 'wild', 'test']), silence],
  'a name of 1,000 bytes': [asked(`${`${long}.`.repeat(15)}wild.test`), silence],
  'an address': [asked('127.0.0.1'), noSuchName],
  'a number': [asked('2130706433'), noSuchName],
  'a hexadecimal number': [asked('0x7f000001'), noSuchName],
  'an octal address': [asked('0177.0.0.1'), noSuchName],
  'a short address': [asked('127.1'), noSuchName],
  'a number below the wildcard of its own': [asked('1.2.3.4'), noSuchName],
  'the reverse of an address': [asked('254.169.254.169.in-addr.arpa', types.PTR), noSuchName],
  'the metadata service': [asked('metadata.google.internal'), noSuchName],
  'AAAA of an allowed name': [asked('files.test', types.AAAA), nothing],
  'HTTPS of an allowed name': [asked('files.test', types.HTTPS), nothing],
  'SVCB of an allowed name': [asked('files.test', types.SVCB), nothing],
  'TXT of an allowed name': [asked('files.test', types.TXT), nothing],
  'ANY of an allowed name': [asked('files.test', types.ANY), nothing],
  'AXFR of an allowed name': [asked('files.test', types.AXFR), nothing],
  'CNAME, MX, NS, SRV of an allowed name': [asked('files.test', types.CNAME), nothing],
  'MX of a denied name': [asked('other.test', types.MX), noSuchName],
  'TXT of a denied name': [asked('data.other.test', types.TXT), noSuchName],
  'the class CHAOS': [query(['version', 'bind'], types.TXT, 3), silence],
  'the class ANY': [query(['files', 'test'], types.A, 255), silence],
  'a response sent as a query': [
    header(0x8180) + nameOf(['files', 'test']) + word(1) + word(1),
    silence,
  ],
  'an update': [header(0x2800) + nameOf(['files', 'test']) + word(1) + word(1), silence],
  'an inverse query': [header(0x0800) + nameOf(['files', 'test']) + word(1) + word(1), silence],
  'no question': [
    header(0x0100, [0, 0, 0, 0]) + nameOf(['files', 'test']) + word(1) + word(1),
    silence,
  ],
  'two questions': [
    header(0x0100, [2, 0, 0, 0]) + asked('files.test').slice(12) + asked('other.test').slice(12),
    silence,
  ],
  'two questions that say one': [asked('files.test') + asked('other.test').slice(12), found],
  'a compressed name': [header() + '\xc0\x0c' + word(1) + word(1) + '\0\0\0', silence],
  'a pointer to itself after a label': [
    header() + '\x05files\xc0\x0c' + word(1) + word(1),
    silence,
  ],
  'a pointer into the header': [header() + '\x05files\xc0\x00' + word(1) + word(1), silence],
  'a label of a reserved kind': [header() + '\x45files\0' + word(1) + word(1), silence],
  nothing: ['\0', silence],
  'a header alone': [header(), silence],
  'a name that is cut off': [asked('files.test').slice(0, 20), silence],
  'a question without its class': [asked('files.test').slice(0, -2), silence],
  'EDNS with a payload': [
    header(0x0100, [1, 0, 0, 1]) +
      asked('files.test').slice(12) +
      `\0${word(41)}${word(65_535)}\0\0\0\0${word(300)}${word(65_001)}${word(296)}` +
      'x'.repeat(296),
    found,
  ],
  'EDNS with a payload, of a denied name': [
    header(0x0100, [1, 0, 0, 1]) + asked('other.test').slice(12) + `\0${word(41)}`,
    noSuchName,
  ],
  'answers in a query': [
    header(0x0100, [1, 1, 0, 0]) +
      asked('files.test').slice(12) +
      `\xc0\x0c${word(1)}${word(1)}\0\0\0\x09${word(4)}\x08\x08\x08\x08`,
    found,
  ],
  'a payload of 9,000 bytes': [asked('files.test') + 'x'.repeat(9000), found],
};

test('the resolver answers allowed names with addresses of its own', bound, async (t) => {
  await using box = await openBox({ network: 'hosts', egress: { allow, deny } });
  const answers = await ask(
    box,
    Object.values(attacks).map(([message]) => message),
  );
  for (const [at, [what, [message, expected]]] of Object.entries(attacks).entries()) {
    await t.test(what, () => {
      const answer = answers[at] ?? null;
      assert.match(read(answer), expected);
      // An answer is no larger than its question and one record: nothing to amplify, nothing else.
      assert.ok((answer ?? '').length <= message.length + 16);
    });
  }
});

test('nothing of a denied name leaves this machine', bound, async () => {
  await using shared = openEgress({});
  const egress = { allow: ['files.test', '*.wild.test'], deny: ['*.deny.wild.test'] };
  await using box = await openBox({ network: 'hosts', through: shared.egress, egress });
  await python(
    box,
    `
names = ['c2VjcmV0.evil.test', 'c2VjcmV0.deny.wild.test', 'x.files.test', 'evil.test']
for kind in (1, 28, 16, 5, 15, 33, 64, 65, 255):
    for name in names: ask(query(name, kind))
# Also an allowed name is only looked up for a connection.
ask(query('c2VjcmV0.wild.test'))
for name in names:
    try: socket.create_connection((name, 80), timeout=5)
    except OSError: pass
`,
  );
  assert.deepEqual(shared.resolved(), []);
  assert.deepEqual(
    new Set(await connectionsOf(box)),
    new Set([
      'c2vjcmv0.evil.test:0 false not allowed',
      'c2vjcmv0.deny.wild.test:0 false deny *.deny.wild.test',
      'x.files.test:0 false not allowed',
      'evil.test:0 false not allowed',
    ]),
  );
});

test('no other resolver is reached, and none by TCP', bound, async () => {
  await using box = await openBox({ network: 'hosts', egress: { allow } });
  const results = await python<string[]>(
    box,
    `
def by_udp(address):
    try:
        s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(1)
        s.connect((address, 53)); s.send(query('files.test')); s.recv(512)
        return 'answered'
    except OSError as e: return name_of(e)
def by_tcp(address):
    try: socket.create_connection((address, 53), timeout=5); return 'connected'
    except OSError as e: return name_of(e)
say([by_udp(a) for a in input] + [by_tcp(a) for a in input])
`,
    [
      '8.8.8.8',
      '127.0.0.54',
      '10.255.255.53',
      '198.18.0.2',
      '198.18.0.1',
      '2001:4860:4860::8888',
      '::1',
    ],
  );
  for (const result of results) {
    assert.match(result, /^(ENETUNREACH|ECONNREFUSED|EADDRNOTAVAIL|EHOSTUNREACH)$/);
  }
});

test('a resolver of the command cannot take the place of the bridge', bound, async () => {
  await using box = await openBox({ network: 'hosts', egress: { allow } });
  const results = await python<string[]>(
    box,
    `
def bind(kind, address, port, option=None):
    s = socket.socket(socket.AF_INET, kind)
    if option: s.setsockopt(socket.SOL_SOCKET, option, 1)
    try: s.bind((address, port)); return 'bound'
    except OSError as e: return name_of(e)
say([bind(kind, address, port, option)
    for kind, port in ((2, 53), (1, 53), (1, 80), (1, 443), (1, 22))
    for address in ('127.0.0.53', '0.0.0.0', '198.18.0.2')
    for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT)])
`,
  );
  assert.equal(results.length, 45);
  for (const result of results) assert.match(result, /^(EACCES|EADDRINUSE|EPERM)$/);
});
