/**
 * Ends TLS between a program of the session and a host, with a certificate of the session's own
 * authority, so that requests can be seen. The host's own certificate is checked as a client would.
 */
import { performServerHandshake, connect as connectHttp2 } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  TLSSocket,
  type SecureContext,
} from 'node:tls';
import { Authority, leafDays, type CertificateAndKey } from './certificates.ts';
import { DialError } from './dialled.ts';
import type { PermittedConnection } from './permitted-connection.ts';
import { agentOf, serveHttp } from './relay-http.ts';
import { relayHttp2 } from './relay-http2.ts';

/** What is spoken inside TLS. */
const known = ['h2', 'http/1.1'];
const handshakeMs = 15_000;
const renewMs = (leafDays * 86_400_000) / 2;
const leavesMax = 512;

/** Certificates of one session, and what its hosts' certificates must be signed by. */
export class Termination {
  readonly #authority: Authority;
  readonly #roots: readonly string[];
  readonly #leaves = new Map<string, { readonly context: SecureContext; readonly at: number }>();

  /** @param roots PEM */
  constructor(authority: CertificateAndKey, roots: readonly string[]) {
    this.#authority = new Authority(authority);
    this.#roots = roots;
  }

  get hosts(): SecureContext {
    return contextFor(this.#roots);
  }

  leafFor(name: string): SecureContext {
    const made = this.#leaves.get(name);
    if (made !== undefined && Date.now() - made.at < renewMs) return made.context;
    const { certificate, key } = this.#authority.certify(name);
    const context = createSecureContext({ cert: certificate, key });
    if (this.#leaves.size >= leavesMax) this.#leaves.clear();
    this.#leaves.set(name, { context, at: Date.now() });
    return context;
  }
}

/** Sessions have the same roots, and there are more than a hundred of them. */
let latest: { readonly roots: string; readonly context: SecureContext } | null = null;

function contextFor(roots: readonly string[]): SecureContext {
  const text = roots.join('\n');
  if (latest?.roots !== text) latest = { roots: text, context: createSecureContext({ ca: text }) };
  return latest.context;
}

export interface TerminatedClient {
  readonly socket: Socket;
  readonly permitted: PermittedConnection;
  readonly termination: Termination;
  /** That its ClientHello offers (ALPN). */
  readonly protocols: readonly string[];
}

/** Takes a connection whose ClientHello is still to be read, and names the host. */
export async function relayTerminated(client: TerminatedClient): Promise<void> {
  const { socket, permitted, termination } = client;
  const offered = known.filter((one) => client.protocols.includes(one));
  let first: TLSSocket;
  try {
    first = await dialTls(client, offered.length === 0 ? ['http/1.1'] : offered);
  } catch {
    socket.resetAndDestroy();
    return;
  }
  // What the host speaks is what the client gets: neither has to be translated.
  const protocol = first.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
  const secured = await secure(client, termination, protocol);
  if (secured === null || secured.destroyed || first.destroyed) {
    first.destroy();
    secured?.destroy();
    return;
  }
  secured.on('error', () => secured.destroy());
  if (protocol === 'h2') {
    // Nothing comes on a connection that is half closed.
    for (const one of [first, secured]) one.once('end', () => one.destroy());
    const upstream = connectHttp2(`https://${permitted.name}:${permitted.port}`, {
      createConnection: () => first,
    });
    relayHttp2(performServerHandshake(secured), upstream, permitted);
    return;
  }
  let next: TLSSocket | null = first;
  const connect = async (): Promise<Duplex> => {
    const given = next ?? (await dialTls(client, ['http/1.1']));
    next = null;
    return given;
  };
  first.once('close', () => secured.end());
  secured.once('close', () => first.destroy());
  const agent = agentOf(connect, { keepAlive: true, maxSockets: 1 });
  serveHttp({ permitted, client: secured, isSecure: true, agent, keepsAlive: true });
}

/** `null`: the client did not go on with our certificate. */
async function secure(
  { socket, permitted }: TerminatedClient,
  termination: Termination,
  protocol: string,
): Promise<TLSSocket | null> {
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: termination.leafFor(permitted.name),
    ALPNProtocols: [protocol],
  });
  const error = await settled(secured, 'secure');
  if (error === null) {
    // Node says so itself only for sockets of its own TLS servers; HTTP/2 waits for it.
    return Object.assign(secured, { secureConnecting: false });
  }
  secured.destroy();
  const code = String(Object(error)['code'] ?? '');
  permitted.failed(
    /ALERT|CERTIFICATE/.test(code)
      ? 'the program does not trust the certificate of its session'
      : 'TLS of the program failed',
  );
  return null;
}

/** @throws DialError, which is recorded */
async function dialTls(
  { permitted, termination, socket }: TerminatedClient,
  protocols: readonly string[],
): Promise<TLSSocket> {
  const { socket: upstream } = await permitted.dial();
  if (socket.destroyed) {
    upstream.destroy();
    throw new DialError('the program has gone');
  }
  const secured = connectTls({
    socket: upstream,
    servername: permitted.name,
    secureContext: termination.hosts,
    ALPNProtocols: [...protocols],
  });
  const error = await settled(secured, 'secureConnect');
  if (error === null) {
    secured.on('error', (later) => {
      const code = String(Object(later)['code'] ?? '');
      if (code.includes('CERTIFICATE_REQUIRED')) permitted.failed(wantsCertificate);
    });
    return secured;
  }
  secured.destroy();
  const why = whyUntrusted(error);
  permitted.failed(why);
  throw new DialError(why);
}

const wantsCertificate = 'the host wants a certificate of the client';

function whyUntrusted(error: Error): string {
  const code = String(Object(error)['code'] ?? '');
  if (/ALERT_(?:HANDSHAKE_FAILURE|CERTIFICATE_REQUIRED|BAD_CERTIFICATE)/.test(code)) {
    return code.includes('HANDSHAKE_FAILURE') ? 'TLS of the host failed' : wantsCertificate;
  }
  return /CERT|SIGNATURE|ALTNAME|ISSUER/.test(code)
    ? 'the certificate of the host is not valid'
    : 'TLS of the host failed';
}

/** `null`: the event came; else why it does not. */
async function settled(
  socket: TLSSocket,
  event: 'secure' | 'secureConnect',
): Promise<Error | null> {
  return await new Promise((resolve) => {
    const settle = (error: Error | null): void => {
      clearTimeout(timer);
      socket.off('error', settle);
      socket.off('close', ended);
      socket.off(event, done);
      resolve(error);
    };
    const done = (): void => settle(null);
    const ended = (): void => settle(new Error('it ended'));
    const timer = setTimeout(() => settle(new Error('no answer in time')), handshakeMs);
    socket.once(event, done);
    socket.on('error', settle);
    socket.once('close', ended);
  });
}
