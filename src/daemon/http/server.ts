/** The HTTP transport: Node's own server, with limits on everything before a token is checked. */
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TrlError } from '../../errors.ts';
import type { Identities } from '../access/identities.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { TransportOptions } from '../transport/listen.ts';
import type { HttpMetrics } from '../metrics.ts';
import { EventLoopYield } from '../event-loop-yield.ts';
import { urlHost } from './address.ts';
import type { HttpSettings } from './address.ts';
import { RequestHandler } from './request-handler.ts';
import type { MountedHandler } from './request-handler.ts';
import { Connections } from './connections.ts';
import { ConsoleFiles } from './console-files.ts';
import { allowedHostsAndOrigins } from './request-checks.ts';
import { HttpRefusal } from './problem.ts';
import { RefusalLog } from './refusal-log.ts';
import { refuseUpgrade } from './respond.ts';
import { WebSockets } from './websockets.ts';
import { readTlsPair, watchTlsPair } from './tls.ts';

const headerBytesMax = 16_384;
/** No limit on the number of fields, only on bytes: a dropped field could be a duplicate. */
const headersMax = 0;
const headersMs = 10_000;
const requestMs = 60_000;
const keepAliveMs = 30_000;
const handshakeMs = 10_000;
/** How often Node checks for requests that take too long, in ms. */
const lookMs = 1_000;
const backlog = 1_024;

export interface HttpTransportOptions extends TransportOptions {
  readonly settings: HttpSettings;
  readonly identities: Identities;
  readonly auditing: Pick<Auditing, 'note'>;
  /** The directory of the built console. */
  readonly consoleDirectory: string;
  /** The document of `/openapi.json`. */
  readonly openapi: () => Promise<string>;
  /** Prometheus text of the whole runtime. */
  readonly metricsText: () => string;
  /** Whether only people who are logged in get answers. Default: any caller with a token. */
  readonly loginsOnly?: boolean;
}

export interface HttpTransport {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** Adds a handler for `path`, for callers with a token. */
  mount(path: string, mounted: MountedHandler): void;
  metrics(): HttpMetrics;
  /** Accepts no more connections and refuses new requests; running requests continue. */
  stop(): void;
  /** Ends streams and connections; settles when all are gone. */
  close(): Promise<void>;
}

/** @throws TrlError `INVALID_PARAMS` or `BACKEND_UNAVAILABLE` if the address cannot be used */
export async function openHttpTransport(options: HttpTransportOptions): Promise<HttpTransport> {
  const { settings, runtime, version, log, identities } = options;
  const { tls } = settings;
  const replyContext = { log, masking: runtime.masking };
  const parts = { runtime, version, replyContext };
  const connections = new Connections();
  const refusals = new RefusalLog({ auditing: options.auditing, door: 'http' });
  const sockets = new WebSockets(parts);
  const answerer = new RequestHandler({
    parts,
    identities,
    connections,
    refusals,
    sockets,
    consoleFiles: new ConsoleFiles(options.consoleDirectory),
    openapi: options.openapi,
    metricsText: options.metricsText,
    loginsOnly: options.loginsOnly ?? false,
  });
  const server = tls === null ? createServer(bounds) : secureServer(tls);
  const unwatch =
    tls === null || !('setSecureContext' in server)
      ? () => {}
      : watchTlsPair(tls, (pair) => server.setSecureContext(pair), log);
  wire(server, { answerer, connections, refusals, replyContext });
  const port = await bound(server, settings);
  const { names, origins, host } = settings;
  const isTls = tls !== null;
  const hosts = isAny(host) ? names : [urlHost(host), ...names];
  answerer.names = allowedHostsAndOrigins({ hosts, port, isTls, origins });
  const unwatchRevoked = identities.watchRevoked((caller) => {
    sockets.endCaller(caller);
    answerer.endCaller(caller);
  });
  server.on('error', (error) => log(`HTTP: ${String(error)}`));
  const stop = (): void => {
    answerer.isStopping = true;
    sockets.stop();
    server.close();
    connections.closeIdle();
  };
  return {
    origin: `${isTls ? 'https' : 'http'}://${urlHost(isAny(host) ? '127.0.0.1' : host)}:${port}`,
    mount: (path, mounted) => answerer.mount(path, mounted),
    metrics: () => ({
      http: {
        connections: connections.size,
        web_sockets: sockets.size,
        evicted: connections.evicted,
        own_readers: answerer.followers.ownReaders,
      },
      refusals: Object.fromEntries(refusals.counts),
    }),
    stop,
    close: async () => {
      unwatch();
      unwatchRevoked();
      const closed = new Promise<void>((resolve) => {
        if (server.listening) server.close(() => resolve());
        else resolve();
      });
      stop();
      await sockets.close();
      connections.closeAll();
      await closed;
      refusals[Symbol.dispose]();
    },
  };
}

const isAny = (host: string): boolean => host === '0.0.0.0' || /^[0:]+$/.test(host);

/** The parser refuses ambiguous requests; slow requests time out. */
const bounds = {
  maxHeaderSize: headerBytesMax,
  headersTimeout: headersMs,
  requestTimeout: requestMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: lookMs,
  requireHostHeader: true,
  insecureHTTPParser: false,
  joinDuplicateHeaders: false,
  noDelay: true,
} as const;

function secureServer(tls: NonNullable<HttpSettings['tls']>): TlsServer {
  const pair = readTlsPair(tls);
  const secure = { minVersion: 'TLSv1.2', handshakeTimeout: handshakeMs } as const;
  return createTlsServer({ ...bounds, ...secure, ...pair });
}

interface Wiring {
  readonly answerer: RequestHandler;
  readonly connections: Connections;
  readonly refusals: RefusalLog;
  readonly replyContext: Parameters<typeof refuseUpgrade>[2];
}

function wire(
  server: Server | TlsServer,
  { answerer, connections, refusals, replyContext }: Wiring,
): void {
  server.maxHeadersCount = headersMax;
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  const turns = new EventLoopYield();
  const answer: RequestListener = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const all = open.get(socket) ?? new Set();
    open.set(socket, all.add(response));
    response.once('close', () => all.delete(response));
    void answerer.handle(request, response);
  };
  server.on('request', answer);
  // The handler sends "100 Continue" after it has accepted the headers.
  server.on('checkContinue', answer);
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    response.writeHead(417, { Connection: 'close' }).end();
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    void answerer.upgrade(request, socket, head);
  });
  // The server is not a proxy.
  server.on('connect', (_: IncomingMessage, socket: Duplex) => socket.destroy());
  server.on('connection', (socket: Socket) => connections.add(socket));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    refusals.note('protocol', socket.remoteAddress ?? 'unknown');
    const { code = '' } = error;
    const refuse = (): void => {
      // The client would take the error for the answer to an earlier complete request.
      const isDue = [...(open.get(socket) ?? [])].some(({ req }) => req.complete);
      if (isDue) socket.destroy();
      else refuseUpgrade(socket, unreadable(code), replyContext);
    };
    const inTurn = async (): Promise<void> => {
      await turns.next();
      refuse();
    };
    // Node finds all slow requests at the same time, so other work runs between them.
    if (code === late) void inTurn();
    else refuse();
  });
}

const late = 'ERR_HTTP_REQUEST_TIMEOUT';

function unreadable(code: string): HttpRefusal {
  const [status, why] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [431, `its fields are more than ${headerBytesMax} bytes`]
      : code === late
        ? [408, 'it took too long']
        : [400, 'it is not HTTP as RFC 9112 has it'];
  return new HttpRefusal('INVALID_PARAMS', `Cannot read the request: ${why}`, { status });
}

async function bound(server: Server | TlsServer, { host, port }: HttpSettings): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    const message = `Cannot listen on ${urlHost(host)}:${port}: ${why}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
