/** Attacks on a session's way to hosts: what is sent from inside, and servers to be reached. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTls } from 'node:tls';
import { EgressProcess } from '../../src/runner/egress-process.ts';
import { egressExec, egressProgram, whyNoBox, type OpenBox } from './box.ts';

/** Nothing hangs: far above what any test takes. */
export const bound = { skip: whyNoBox, timeout: 120_000 };

/** Bytes as text, one character each. */
export type Wire = string;

/** A connection from inside: what it sends, and how it ends. */
export interface Exchange {
  /** A name, or an address. */
  readonly host: string;
  readonly port: number;
  readonly send: readonly Wire[];
  /** Between the parts of `send`; default: 0. */
  readonly pauseMs?: number;
  /** Ends its own direction after it has sent. */
  readonly halfClose?: boolean;
  /** How long it waits for the other side to end; default: 8,000. */
  readonly waitMs?: number;
  /** Only for the reader of a failure. */
  readonly what?: string;
}

/** `end`: `eof`, `open` (the other side did not end in time), or the name of an error. */
export interface Exchanged {
  readonly got: Wire;
  readonly end: string;
}

const prelude = String.raw`
import base64, json, socket, struct, sys, threading, time, errno
def name_of(e):
    if isinstance(e, socket.gaierror): return 'no name'
    if isinstance(e, OSError) and e.errno: return errno.errorcode.get(e.errno, str(e.errno))
    return type(e).__name__
def exchange(job):
    got = b''
    try:
        s = socket.create_connection((job['host'], job['port']), timeout=8)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i, part in enumerate(job['send']):
            if i and job['pauseMs']: time.sleep(job['pauseMs'] / 1000)
            s.sendall(part.encode('latin1'))
        if job['halfClose']: s.shutdown(socket.SHUT_WR)
        s.settimeout(job['waitMs'] / 1000)
        while True:
            part = s.recv(65536)
            if not part: return got, 'eof'
            got += part
    except TimeoutError: return got, 'open'
    except Exception as e: return got, name_of(e)
def ask(message, address=('127.0.0.53', 53), wait=1.0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(wait)
    s.connect(address)
    s.send(message)
    try: return s.recv(4096)
    except Exception: return None
def query(name, kind=1):
    labels = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.'))
    return struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + labels + b'\0' + struct.pack('>2H', kind, 1)
def all_of(jobs, one):
    results = [None] * len(jobs)
    def run(i): results[i] = one(jobs[i])
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for t in threads: t.start()
    for t in threads: t.join()
    return results
def say(value): print(json.dumps(value), flush=True)
`;

/** Runs a Python program in the box. @returns what it `say`s */
export async function python<Value>(
  box: OpenBox,
  program: string,
  input: unknown = null,
): Promise<Value> {
  const text = JSON.stringify(JSON.stringify(input));
  const stdin = `${prelude}\ninput = json.loads(${text})\n${program}`;
  const { code, stdout, stderr } = await box.run('exec python3 -', { stdin });
  if (code !== 0) throw new Error(`inside: ${code} ${stderr}`);
  return JSON.parse(stdout === '' ? 'null' : stdout);
}

/** All at once. */
export async function exchange(box: OpenBox, jobs: readonly Exchange[]): Promise<Exchanged[]> {
  const given = jobs.map((job) => ({ pauseMs: 0, halfClose: false, waitMs: 8_000, ...job }));
  const program = `say([[got.decode('latin1'), end] for got, end in all_of(input, exchange)])`;
  const results = await python<[string, string][]>(box, program, given);
  return results.map(([got, end]) => ({ got, end }));
}

/** Answers of the resolver, `null` where none comes. All at once. */
export async function ask(box: OpenBox, messages: readonly Wire[]): Promise<(Wire | null)[]> {
  const program = `say([a and a.decode('latin1') for a in
    all_of(input, lambda m: ask(m.encode('latin1')))])`;
  return await python(box, program, messages);
}

/** What the command was told about its connections: `host:port allowed rule`. */
export async function connectionsOf(box: OpenBox): Promise<string[]> {
  const found = (await box.bridge?.end(egressExec)) ?? [];
  return found.map(({ host, port, allowed, rule }) => `${host}:${port} ${allowed} ${rule}`);
}

export interface TcpServer extends AsyncDisposable {
  readonly at: string;
  /** What came on each connection. */
  readonly seen: Wire[];
  readonly sockets: Socket[];
}

/** @param on does not own the socket; `null`: never answers */
export async function serve(
  on: ((socket: Socket, bytes: Wire) => void) | null,
): Promise<TcpServer> {
  const seen: Wire[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const number = seen.push('') - 1;
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      seen[number] += bytes.toString('latin1');
      on?.(socket, bytes.toString('latin1'));
    });
    socket.on('end', () => socket.end());
  });
  return { ...(await listening(server, sockets)), seen, sockets };
}

/** Ends with the first request: answers each request on a connection, whatever its host. */
export function answerEach(socket: Socket, bytes: Wire): void {
  for (const _ of bytes.matchAll(/^[A-Z]+ \S+ HTTP\/1\.1\r$/gm)) {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes');
  }
}

export interface TlsServer extends AsyncDisposable {
  readonly at: string;
  /** The name that each handshake gave; `''`: none. */
  readonly names: string[];
  readonly seen: Wire[];
  /** Of the certificate. */
  readonly pem: string;
}

export async function serveTls(name: string): Promise<TlsServer> {
  const place = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'trl-tls-')));
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key
    -out cert -subj /CN=${name} -addext subjectAltName=DNS:${name}`;
  execFileSync('openssl', words.split(/\s+/), { cwd: place, stdio: 'ignore' });
  const [key, cert] = ['key', 'cert'].map((one) => readFileSync(path.join(place, one)));
  rmSync(place, { recursive: true });
  const names: string[] = [];
  const seen: Wire[] = [];
  const sockets: Socket[] = [];
  const server = createTls({ key, cert }, (socket) => {
    names.push(socket.servername || '');
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      seen.push(bytes.toString('latin1'));
      answerEach(socket, bytes.toString('latin1'));
    });
  });
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => sockets.push(socket));
  return { ...(await listening(server, sockets)), names, seen, pem: String(cert) };
}

async function listening(
  server: Server,
  sockets: readonly Socket[],
): Promise<{ readonly at: string } & AsyncDisposable> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    at: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface SharedEgress extends AsyncDisposable {
  readonly egress: EgressProcess;
  /** Its file, by which its process is found. */
  readonly program: string;
  /** Names that the system was asked to resolve. */
  resolved(): string[];
}

/**
 * An egress process for several boxes.
 *
 * @param addresses what the system's resolver finds, in turn; a name without any stays unanswered
 *   in a thread of its own, as by a name server that is not there
 */
export function openEgress(addresses: Readonly<Record<string, readonly string[][]>>): SharedEgress {
  const place = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'trl-egress-')));
  const log = path.join(place, 'log');
  const program = path.join(place, 'egress.mjs');
  writeFileSync(log, '');
  execFileSync('mkfifo', [path.join(place, 'stuck')]);
  execFileSync('chmod', ['-R', 'a+rX', place]);
  // The system's resolver is replaced, and nothing of the product.
  const text = `
    import dns from 'node:dns/promises';
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const log = fs.openSync(${JSON.stringify(log)}, 'a');
    const answers = new Map(Object.entries(${JSON.stringify(addresses)}));
    const real = dns.lookup;
    dns.lookup = async (name) => {
      fs.writeSync(log, name + '\\n');
      const turns = answers.get(name);
      if (turns === undefined) await fs.promises.open(${JSON.stringify(path.join(place, 'stuck'))});
      await real('localhost');
      const found = turns.length > 1 ? turns.shift() : turns[0];
      return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    };
    syncBuiltinESMExports();
    await import(${JSON.stringify(egressProgram)});`;
  writeFileSync(program, text);
  const egress = new EgressProcess(program);
  return {
    egress,
    program,
    resolved: () => readFileSync(log, 'utf8').split('\n').slice(0, -1),
    [Symbol.asyncDispose]: () => {
      egress.close();
      rmSync(place, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

/** Each byte by itself. */
export const bytesOf = (text: Wire): Wire[] => text.match(/[\s\S]/g) ?? [];

/** The process id of what answers now. */
export function egressPid({ program }: SharedEgress): number {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
      if (words.includes(program)) return Number(entry);
    } catch {
      // It ended meanwhile.
    }
  }
  throw new Error('there is no egress process');
}

/** Until something of another process is so. */
export async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !isSo();) {
    if (Date.now() > end) throw new Error('it never came');
    await sleep(20);
  }
}
