/**
 * npm run bench:network [-- --quick]
 *
 * What the bridge costs a command: a new connection and many at once, against the same server
 * inside the session's own network namespace, and the throughput of a tunnel and of TLS that ends
 * at the bridge. All in one run.
 */
import { createSecureServer } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { EgressProcess } from '../src/runner/egress-process.ts';
import { trustVariables } from '../src/network/trusted-certificates.ts';
import { egressProgram, openBox, temporary } from '../test/support/box.ts';
import { openTlsAuthority } from '../test/support/tls-authority.ts';
import { checkLines } from './report.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const [rounds, megabytes] = values.quick ? [40, 256] : [200, 1024];

/** Answers a line with a line, and the line `data` with so many MiB. */
const server = `
import socket, threading, time, sys
block = b'x' * (1 << 20)
def serve(s):
    while True:
        c, _ = s.accept()
        threading.Thread(target=one, args=(c,), daemon=True).start()
def one(c):
    line = c.recv(64)
    if line.startswith(b'data'):
        for _ in range(${megabytes}): c.sendall(block)
    else: c.sendall(b'pong')
    c.close()
`;
const protocol = `${server}
own = socket.create_server(('127.0.0.1', 9001), backlog=512)
threading.Thread(target=serve, args=(own,), daemon=True).start()
direct = ('127.0.0.1', 9001)
bridged = (socket.gethostbyname('bench.test'), 9000)
def ping(at):
    c = socket.create_connection(at, 20); c.sendall(b'ping'); assert c.recv(9) == b'pong'; c.close()
def timed(f):
    t = time.perf_counter(); f(); return time.perf_counter() - t
def many(at):
    ts = [threading.Thread(target=ping, args=(at,)) for _ in range(100)]
    for t in ts: t.start()
    for t in ts: t.join()
def pull(at):
    c = socket.create_connection(at, 20); c.sendall(b'data'); n = 0
    buffer = bytearray(1 << 18)
    while True:
        k = c.recv_into(buffer)
        if k == 0: break
        n += k
    assert n == ${megabytes} << 20, n
def median(a): return sorted(a)[len(a) // 2]
for at in (direct, bridged): ping(at)
singles = ([], []); hundreds = ([], []); pulls = ([], [])
for _ in range(${rounds}):
    for k, at in enumerate((direct, bridged)): singles[k].append(timed(lambda: ping(at)))
for _ in range(9):
    for k, at in enumerate((direct, bridged)): hundreds[k].append(timed(lambda: many(at)))
for _ in range(3):
    for k, at in enumerate((direct, bridged)): pulls[k].append(timed(lambda: pull(at)))
print(*(median(a) for pair in (singles, hundreds, pulls) for a in pair))
`;

/** The same server on the host: it prints its port. */
const upstream = spawn('python3', [
  '-c',
  `${server}
s = socket.create_server(('127.0.0.1', 0), backlog=512)
print(s.getsockname()[1], flush=True)
serve(s)`,
]);
const [line] = await once(upstream.stdout, 'data');
const port = Number(String(line).trim());

// As the runner has it: one for all sessions.
const through = new EgressProcess(egressProgram);
await (await openBox({ network: 'hosts', through }))[Symbol.asyncDispose]();
const openings = { off: [] as number[], hosts: [] as number[] };
for (let round = 0; round < 7; round += 1) {
  for (const network of ['off', 'hosts'] as const) {
    const begun = performance.now();
    const box = await openBox({ network, through });
    openings[network].push(performance.now() - begun);
    await box[Symbol.asyncDispose]();
  }
}
through.close();
const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

await using box = await openBox({
  network: 'hosts',
  egress: { allow: ['bench.test:9000'], connect: { 'bench.test': `127.0.0.1:${port}` } },
});
const got = await box.run('cat > /tmp/b.py; python3 /tmp/b.py', { stdin: protocol });
upstream.kill();

/** The speed of curl in MB/s, on the host and through TLS that ends at the bridge. */
async function terminated(): Promise<Record<'h1' | 'h2', { direct: number; bridged: number }>> {
  using dir = temporary();
  const authority = openTlsAuthority(dir.path);
  const certified = authority.certify(['h1.test', 'h2.test']);
  const block = Buffer.alloc(1 << 16, 120);
  const send = (response: Pick<Writable, 'write' | 'once' | 'end'>): void => {
    let left = (megabytes << 20) / block.length;
    const more = (): void => {
      while (left > 0) {
        left -= 1;
        if (!response.write(block)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  };
  const h1 = createHttps(certified, (_, response) => send(response));
  const h2 = createSecureServer(certified, (_, response) => send(response.stream));
  const found: Record<string, { direct: number; bridged: number }> = {};
  for (const [name, server] of [
    ['h1', h1],
    ['h2', h2],
  ] as const) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = `127.0.0.1:${String(Object(server.address())['port'])}`;
    await using seen = await openBox({
      network: 'hosts',
      roots: [authority.root],
      egress: { allow: [`GET ${name}.test`], connect: { [`${name}.test`]: at } },
    });
    await using open = await openBox({ network: 'host', egress: { allow: [] } });
    const format = `-sS -o /dev/null -w '%{speed_download}'`;
    const speeds = { direct: [] as number[], bridged: [] as number[] };
    for (let round = 0; round < 3; round += 1) {
      const to = `--connect-to ${name}.test:443:${at} -k https://${name}.test/`;
      const direct = await open.run(`curl ${format} ${to}`);
      const bridged = await seen.run(`curl ${format} https://${name}.test/`, {
        env: trustVariables,
      });
      if (direct.code !== 0 || bridged.code !== 0) throw new Error(direct.stderr + bridged.stderr);
      speeds.direct.push(Number(direct.stdout) / (1 << 20));
      speeds.bridged.push(Number(bridged.stdout) / (1 << 20));
    }
    server.close();
    found[name] = { direct: median(speeds.direct), bridged: median(speeds.bridged) };
  }
  return { h1: { direct: 0, bridged: 0 }, h2: { direct: 0, bridged: 0 }, ...found };
}

const tls = await terminated();
const figures = got.stdout.trim().split(' ').map(Number);
if (got.code !== 0 || figures.length !== 6) throw new Error(got.stderr);
const [one = 0, oneBridged = 0, all = 0, allBridged = 0, pull = 0, pullBridged = 0] = figures;
console.log(
  `A connection ${(one * 1000).toFixed(2)} ms direct, ` +
    `${(oneBridged * 1000).toFixed(2)} ms bridged; ` +
    `100 at once ${(all * 1000).toFixed(0)} and ${(allBridged * 1000).toFixed(0)} ms; ` +
    `${(megabytes / pull).toFixed(0)} and ${(megabytes / pullBridged).toFixed(0)} MB/s`,
);
console.log(
  `Opening a session's namespace: ${median(openings.off).toFixed(0)} ms without, ` +
    `${median(openings.hosts).toFixed(0)} ms with a bridge`,
);
for (const [name, { direct, bridged }] of Object.entries(tls)) {
  console.log(
    `TLS, ${name}: ${direct.toFixed(0)} MB/s direct, ${bridged.toFixed(0)} through the bridge`,
  );
}
const more = median(openings.hosts) - median(openings.off);
const lines = checkLines([
  { name: 'a new connection / direct', value: oneBridged / one, unit: '×', targetMax: 2.5 },
  { name: '100 at once / direct', value: allBridged / all, unit: '×', targetMax: 2 },
  { name: 'set-up, once a session', value: more, unit: 'ms', targetMax: 60 },
  { name: 'a tunnel', value: megabytes / pullBridged, unit: 'MB/s', targetMin: 500 },
  { name: 'terminated, HTTP/1.1', value: tls.h1.bridged, unit: 'MB/s', targetMin: 150 },
  { name: 'terminated, HTTP/2', value: tls.h2.bridged, unit: 'MB/s', targetMin: 100 },
]);
console.log(lines.join('\n'));
