/**
 * Hosts whose requests are seen, and a client inside that says exactly what a row says: HTTP/1.1 as
 * bytes, HTTP/2 as frames, in TLS that ends at the bridge.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { Server } from 'node:net';
import type { BrokeredCredential } from '../../src/network-access.ts';
import { trustVariables } from '../../src/network/trusted-certificates.ts';
import { egressExec, openBox, temporary, type OpenBox } from './box.ts';
import { openTlsAuthority } from './tls-authority.ts';

export const value = 'ghp_r3alTokenOfTheTest0123456789abcdefXY';
export const placeholder = 'ghp_PlaceholderOfTheTest0123456789abcdef';
/** `old.test` speaks HTTP/1.1, `new.test` HTTP/2, `rule.test` takes GET of /pub alone. */
export const names = ['old.test', 'new.test', 'rule.test', 'rule2.test'] as const;

export const credential: BrokeredCredential = {
  name: 'TOKEN',
  placeholder,
  value,
  hosts: ['old.test', 'new.test'],
  headers: ['authorization'],
  query: ['key'],
  body: ['token'],
};

/** What one connection says. */
export type Said =
  | { readonly host: string; readonly h1: string }
  | {
      readonly host: string;
      /** Fields of a request, as they are written; then bytes of its body, and frames behind. */
      readonly h2: readonly (readonly [string, string])[];
      readonly data?: string;
      readonly frames?: readonly (readonly [kind: number, flags: number, bytes: string])[];
      readonly times?: number;
    };

export interface Seen {
  readonly line: string;
  readonly headers: string;
  readonly body: string;
  readonly isWhole: boolean;
}

export interface TerminatedHosts extends AsyncDisposable {
  readonly box: OpenBox;
  /** What servers got since the last call. */
  takeSeen(): readonly Seen[];
  /** The answer to each, as bytes of latin1; of HTTP/2 its frames. They are said at once. */
  say(rows: readonly Said[]): Promise<readonly string[]>;
  records(): Promise<readonly string[]>;
}

/** Python of the client: what it gets is JSON, and so is what it prints. */
const client = `
import json, os, socket, ssl, struct, sys
def frame(kind, flags, stream, data):
    head = struct.pack('>I', len(data))[1:] + bytes([kind, flags]) + struct.pack('>I', stream)
    return head + data
def text(s):
    b = s.encode('latin1'); n = len(b)
    if n < 127: return bytes([n]) + b
    out = b'\\x7f'; n -= 127
    while n > 127: out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n]) + b
def block(fields): return b''.join(b'\\0' + text(k) + text(v) for k, v in fields)
def h2(c, row):
    c.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + frame(4, 0, 0, b''))
    stream = 1
    for _ in range(row.get('times', 1)):
        data = row.get('data')
        c.sendall(frame(1, 4 | (data is None and not row.get('frames')), stream, block(row['h2'])))
        if data is not None:
            c.sendall(frame(0, not row.get('frames'), stream, data.encode('latin1')))
        for kind, flags, more in row.get('frames', []):
            at = 0 if kind in (4, 6) else stream
            data = block([more.split('=', 1)]) if kind == 1 else more.encode('latin1')
            c.sendall(frame(kind, flags, at, data))
        stream += 2
def one(row):
    got = b''
    try:
        raw = socket.create_connection((row['host'], 443), 5)
        context = ssl.create_default_context(cafile='/etc/trl/certificates.pem')
        context.set_alpn_protocols(['h2'] if 'h2' in row else ['http/1.1'])
        with context.wrap_socket(raw, server_hostname=row['host']) as c:
            c.settimeout(row.get('wait', 1.5))
            if 'h2' in row: h2(c, row)
            else: c.sendall(row['h1'].encode('latin1'))
            while len(got) < 1 << 20:
                more = c.recv(65536)
                if not more: break
                got += more
                if 'h2' in row and (b'nswered' in got or b'refused' in got): break
    except Exception as e: got += (' [' + type(e).__name__ + ']').encode()
    return got.decode('latin1')
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(16) as pool: print(json.dumps(list(pool.map(one, json.load(sys.stdin)))))
`;

export async function openTerminatedHosts(
  respond?: (request: IncomingMessage) => RequestListener | null,
): Promise<TerminatedHosts> {
  const directory = temporary();
  const authority = openTlsAuthority(directory.path);
  let seen: Seen[] = [];
  const listener: RequestListener = (request, response) => {
    const own = respond?.(request) ?? null;
    if (own !== null) {
      own(request, response);
      return;
    }
    let body = '';
    let isWhole = true;
    request.on('aborted', () => (isWhole = false));
    request.on('error', () => (isWhole = false));
    request.on('data', (bytes: Buffer) => (body += bytes.toString('latin1')));
    const stream: { rstCode?: number } = Object(request)['stream'] ?? {};
    request.on('close', () => {
      // Node calls an HTTP/2 request that was cut off whole.
      isWhole &&= (stream.rstCode ?? 0) === 0;
      const headers = Object.entries(request.headers).map(([key, one]) => `${key}: ${String(one)}`);
      const trailers = Object.entries(request.trailers).map(([key, one]) => `${key}: ${one}`);
      const all = [...headers, ...trailers].join('\n');
      seen.push({ line: `${request.method} ${request.url}`, headers: all, body, isWhole });
    });
    request.on('end', () => response.end('answered'));
  };
  const certified = authority.certify(names);
  const h1 = createHttps(certified, listener);
  const h2 = createSecureServer({ ...certified, allowHTTP1: true });
  h2.on('request', (request, response) => listener(Object(request), Object(response)));
  const servers: Server[] = [h1, Object(h2)];
  const at = await Promise.all(
    servers.map(async (server) => {
      server.on('error', () => {});
      server.on('clientError', (_, socket) => socket.destroy());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return `127.0.0.1:${String(Object(server.address())['port'])}`;
    }),
  );
  const [old = '', fresh = ''] = at;
  const box = await openBox({
    network: 'hosts',
    roots: [authority.root],
    egress: {
      allow: ['old.test', 'new.test', 'GET rule.test/pub', 'GET rule2.test/pub'],
      connect: { 'old.test': old, 'new.test': fresh, 'rule.test': old, 'rule2.test': fresh },
      credentials: [credential],
    },
  });
  await box.run('cat > /tmp/client.py', { stdin: client });
  return {
    box,
    takeSeen: () => {
      const all = seen;
      seen = [];
      return all;
    },
    say: async (rows) => {
      const got = await box.run('python3 /tmp/client.py', {
        stdin: JSON.stringify(rows),
        env: trustVariables,
      });
      if (got.code !== 0) throw new Error(got.stderr);
      return JSON.parse(got.stdout);
    },
    records: async () =>
      ((await box.bridge?.end(egressExec)) ?? []).map(
        ({ host, allowed, rule }) => `${host} ${allowed ? 'ok' : 'refused'} ${rule}`,
      ),
    [Symbol.asyncDispose]: async () => {
      await box[Symbol.asyncDispose]();
      for (const server of servers) {
        Object(server).closeAllConnections?.();
        server.close();
      }
      directory[Symbol.dispose]();
    },
  };
}
