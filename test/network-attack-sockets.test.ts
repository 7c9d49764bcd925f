// Attacks with sockets other than TCP to names, from inside a real sandbox.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { openBox } from './support/box.ts';
import { answerEach, bound, python, serve } from './support/network-attack.ts';

const refused =
  'EPERM EACCES EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT ENETUNREACH ' +
  'EHOSTUNREACH ENETDOWN EADDRNOTAVAIL ECONNREFUSED EOPNOTSUPP EINVAL ENODEV ' +
  'ENOPROTOOPT EROFS ENOENT ENOSYS EBADF EADDRINUSE TimeoutError PermissionError';
const refusals = new RegExp(`^(?:${refused.replaceAll(' ', '|')})$`);

/** Programs that give the name of the error by which they fail. */
const attempts: Readonly<Record<string, string>> = {
  'a raw ICMP socket': 'socket.socket(2, socket.SOCK_RAW, 1)',
  'a raw IP socket': 'socket.socket(2, socket.SOCK_RAW, 255)',
  'a raw TCP socket': 'socket.socket(2, socket.SOCK_RAW, 6)',
  'a raw IPv6 socket': 'socket.socket(10, socket.SOCK_RAW, 58)',
  'a packet socket': 'socket.socket(17, socket.SOCK_RAW, socket.htons(3))',
  'a packet socket of datagrams': 'socket.socket(17, socket.SOCK_DGRAM, socket.htons(3))',
  'ping without a raw socket': `
    s = socket.socket(2, socket.SOCK_DGRAM, 1)
    s.sendto(b'\\x08\\0\\0\\0\\0\\0\\0\\0', ('8.8.8.8', 0))`,
  'a socket of virtual machines': 'socket.socket(40, socket.SOCK_STREAM)',
  'a socket of Bluetooth': 'socket.socket(31, socket.SOCK_RAW, 0)',
  'a socket of CAN': 'socket.socket(29, socket.SOCK_RAW, 1)',
  'a socket of TIPC': 'socket.socket(30, socket.SOCK_STREAM)',
  'a socket of RDS': 'socket.socket(21, socket.SOCK_SEQPACKET)',
  'a socket of SMC': 'socket.socket(43, socket.SOCK_STREAM)',
  'a socket of XDP': 'socket.socket(44, socket.SOCK_RAW)',
  'a socket of the kernel crypto': 'socket.socket(38, socket.SOCK_SEQPACKET)',
  'a socket of QRTR': 'socket.socket(42, socket.SOCK_DGRAM)',
  'a socket of key management': 'socket.socket(15, socket.SOCK_RAW, 2)',
  SCTP: `s = socket.socket(2, 1, 132); s.settimeout(3); s.connect(('8.8.8.8', 80))`,
  MPTCP: `s = socket.socket(2, 1, 262); s.settimeout(3); s.connect(('8.8.8.8', 80))`,
  DCCP: `s = socket.socket(2, 6, 33); s.settimeout(3); s.connect(('8.8.8.8', 80))`,
  'UDP-Lite': `s = socket.socket(2, 2, 136); s.sendto(b'x', ('8.8.8.8', 53))`,
  'UDP to a resolver': `socket.socket(2, 2).sendto(b'x', ('8.8.8.8', 53))`,
  'UDP to the host': `socket.socket(2, 2).sendto(b'x', ('10.255.255.53', 53))`,
  'UDP to a group': `socket.socket(2, 2).sendto(b'x', ('224.0.0.251', 5353))`,
  'UDP to everyone': `
    s = socket.socket(2, 2)
    s.setsockopt(1, 6, 1)
    s.sendto(b'x', ('255.255.255.255', 9))`,
  'UDP by IPv6': `socket.socket(10, 2).sendto(b'x', ('2001:4860:4860::8888', 53))`,
  'UDP to a group by IPv6': `socket.socket(10, 2).sendto(b'x', ('ff02::1', 9, 0, 1))`,
  'QUIC to an allowed name': `
    s = socket.socket(2, 2); s.settimeout(3); s.connect((socket.gethostbyname('files.test'), 443))
    s.send(b'\\xc0\\0\\0\\0\\x01' + b'x' * 1200); s.recv(100)`,
  'TCP fast open to an address': `socket.socket(2, 1).sendto(b'x', 0x20000000, ('8.8.8.8', 80))`,
  'the device by name, to an address': `
    s = socket.socket(2, 1)
    s.setsockopt(1, 25, b'eth0\\0')
    s.settimeout(3)
    s.connect(('8.8.8.8', 80))`,
  'the loopback device by name, to an address': `
    s = socket.socket(2, 1)
    s.setsockopt(1, 25, b'lo\\0')
    s.settimeout(3)
    s.connect(('8.8.8.8', 80))`,
  'a transparent socket': `s = socket.socket(2, 1); s.setsockopt(0, 19, 1)`,
  'a mark on a socket': `s = socket.socket(2, 1); s.setsockopt(1, 36, 1)`,
  'source routing': `
    s = socket.socket(2, 1)
    s.setsockopt(0, 4, b'\\x83\\x07\\x04\\x08\\x08\\x08\\x08\\0')
    s.settimeout(3)
    s.connect(('8.8.8.8', 80))`,
  'another address of its own by route': `
    netlink(24, struct.pack('8BI', 2, 0, 0, 0, 254, 4, 0, 1, 0) +
    attr(4, struct.pack('I', 1)))`,
  'a local route to everything': `
    netlink(24, struct.pack('8BI', 2, 0, 0, 0, 255, 4, 254, 2, 0) +
    attr(4, struct.pack('I', 1)))`,
  'an address of its own': `
    netlink(20, struct.pack('4BI', 2, 32, 0, 0, 1) +
    attr(2, b'\\x08\\x08\\x08\\x08'))`,
  'the range taken away': `
    netlink(25, struct.pack('8BI', 2, 15, 0, 0, 255, 4, 254, 2, 0) +
    attr(1, b'\\xc6\\x12\\0\\0'))`,
  'the device taken down': `netlink(16, struct.pack('BxHiII', 0, 0, 1, 0, 1))`,
  'a device of its own': `
    netlink(16, struct.pack('BxHiII', 0, 0, 0, 0, 0) +
    attr(3, b'a0\\0') + attr(18, attr(1, b'dummy')), 0x605)`,
  'a rule of routes': `netlink(32, struct.pack('8BI', 2, 0, 0, 0, 254, 0, 0, 1, 0))`,
  netfilter: 'socket.socket(16, socket.SOCK_RAW, 12)',
  'netlink of audit': 'socket.socket(16, socket.SOCK_RAW, 9)',
  'netlink of diagnostics': 'socket.socket(16, socket.SOCK_RAW, 4)',
  'netlink of devices': 'socket.socket(16, socket.SOCK_RAW, 15)',
  'a network namespace of its own': `libc(272, 0x40000000)`,
  'a user namespace of its own': `libc(272, 0x10000000 | 0x40000000)`,
  'the network namespace of its first process': `libc(308, os.open('/proc/1/ns/net', 0), 0)`,
  'its own network namespace again': `libc(308, os.open('/proc/self/ns/net', 0), 0x40000000)`,
  'an io_uring': `libc(425, 8, ctypes.create_string_buffer(256))`,
  'a program for sockets': `libc(321, 5, ctypes.create_string_buffer(256), 128)`,
  'a descriptor of another process': `libc(438, libc(434, 1, 0), 3, 0)`,
  'a tun device': `os.open('/dev/net/tun', 2)`,
  'ports below 1024 for all': `
    f = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
    open(f, 'w').write('0')`,
  forwarding: `open('/proc/sys/net/ipv4/ip_forward', 'w').write('1')`,
  'port 80 of a name': `socket.socket(2, 1).bind(('198.18.0.2', 80))`,
  'port 80 of an address of nobody': `socket.socket(2, 1).bind(('198.18.77.77', 80))`,
  'the port of the resolver': `socket.socket(2, 2).bind(('127.0.0.53', 53))`,
  'the port of the resolver on all': `
    s = socket.socket(2, 2)
    s.setsockopt(1, 15, 1)
    s.bind(('0.0.0.0', 53))`,
};

const tools = `
import ctypes, os
def attr(kind, body):
    padding = b'\\0' * (-len(body) % 4)
    return struct.pack('HH', 4 + len(body), kind) + body + padding
def netlink(kind, body, flags=0x505):
    s = socket.socket(16, socket.SOCK_RAW, 0)
    s.settimeout(3)
    s.send(struct.pack('IHHII', 16 + len(body), kind, flags, 1, 0) + body)
    code = -struct.unpack('i', s.recv(4096)[16:20])[0]
    if code: raise OSError(code, '')
call = ctypes.CDLL(None, use_errno=True).syscall
def libc(*args):
    result = call(*args)
    if result < 0: raise OSError(ctypes.get_errno(), '')
    return result
def attempt(text):
    try: exec('\\n'.join(line.strip() for line in text.split('\\n')), globals()); return 'done'
    except Exception as e: return name_of(e)
`;

test('nothing leaves but by a name', bound, async (t) => {
  await using server = await serve(answerEach);
  const egress = { allow: ['files.test'], connect: { 'files.test': server.at } };
  await using box = await openBox({ network: 'hosts', egress });
  const results = await python<string[]>(
    box,
    `${tools}\nsay([attempt(one) for one in input])`,
    Object.values(attempts),
  );
  for (const [at, what] of Object.keys(attempts).entries()) {
    await t.test(what, () => assert.match(results[at] ?? '', refusals));
  }
  // The way that is allowed still is one.
  assert.equal((await box.run('curl -sS http://files.test/')).stdout, 'yes');
});

test('sockets of the host are not there', bound, async () => {
  const name = `trl-attack-${process.pid}`;
  const abstract = createServer((socket) => socket.end('reached'));
  abstract.listen(`\0${name}`);
  await once(abstract, 'listening');
  const tcp = createServer((socket) => socket.end('reached'));
  tcp.listen(0, '0.0.0.0');
  await once(tcp, 'listening');
  const udp = createSocket('udp4');
  const heard: string[] = [];
  udp.on('message', (bytes) => heard.push(String(bytes)));
  udp.bind(0, '0.0.0.0');
  await once(udp, 'listening');
  const address = tcp.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  try {
    await using box = await openBox({ network: 'hosts', egress: { allow: ['files.test'] } });
    const got = await python<string[]>(
      box,
      `
def attempt(family, kind, address):
    try:
        s = socket.socket(family, kind); s.settimeout(3); s.connect(address); s.send(b'x')
        return s.recv(100).decode()
    except Exception as e: return name_of(e)
name, tcp, udp = input
say([attempt(1, 1, '\\0' + name), attempt(2, 1, ('127.0.0.1', tcp)),
     attempt(2, 1, ('198.18.0.1', tcp)),
     attempt(2, 2, ('127.0.0.1', udp)), attempt(2, 2, ('198.18.0.1', udp)),
     attempt(10, 1, ('::1', tcp))])
`,
      [name, port, udp.address().port],
    );
    for (const one of got) assert.match(one, refusals);
    assert.deepEqual(heard, []);
    const listed = await box.run('cd /proc/net; cat unix tcp tcp6 route arp; ls /sys/class/net');
    assert.ok(!listed.stdout.includes(name));
    const hex = port.toString(16).toUpperCase().padStart(4, '0');
    assert.doesNotMatch(listed.stdout, new RegExp(`:${hex} `));
    assert.doesNotMatch(listed.stdout, /eth0|ens\d|docker/);
  } finally {
    abstract.close();
    tcp.close();
    udp.close();
  }
});

test(
  'a command cannot take the connections of the bridge by a socket of its own',
  bound,
  async () => {
    await using server = await serve(answerEach);
    const connect = { 'files.test': server.at, 'port.test': server.at };
    await using box = await openBox({
      network: 'hosts',
      egress: { allow: ['files.test', 'port.test:8080'], connect },
    });
    // A server of its own on the port of a rule, on every address, is its own and stays so.
    const got = await python<[string, string]>(
      box,
      `
s = socket.socket(); s.setsockopt(1, 2, 1); s.bind(('0.0.0.0', 8080)); s.listen(5)
def own():
    while True:
        c, _ = s.accept(); c.recv(100); c.sendall(b'own'); c.close()
threading.Thread(target=own, daemon=True).start()
def get(host, port):
    got, end = exchange({'host': host, 'port': port, 'pauseMs': 0, 'halfClose': True,
                          'waitMs': 8000,
        'send': ['GET / HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' % host]})
    return got[-3:].decode()
say([get('port.test', 8080), get('files.test', 80)])
`,
    );
    assert.deepEqual(got, ['own', 'yes']);
  },
);
