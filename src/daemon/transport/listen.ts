/**
 * The local transports of the daemon: a Unix socket for many clients, and two streams for one.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { SocketLocation } from '../../protocol/socket-location.ts';
import { unknownRequestId } from '../../protocol/request.ts';
import type { Runtime } from '../runtime.ts';
import { failureReply } from './reply-messages.ts';
import type { Log, ReplyContext } from './reply-messages.ts';
import { Connection } from './connection.ts';
import type { InheritedSocket } from './inherited-socket.ts';
import { bindSocket } from './socket.ts';

/** How long a transport waits for pending replies when it closes, in ms. */
const closeWaitMs = 1_000;
/** Bytes that a socket buffers before its streams wait: a few chunks. */
const socketBufferBytes = 262_144;

export interface TransportOptions {
  readonly runtime: Runtime;
  /** The runtime's version, as `system.ping` returns it. */
  readonly version: string;
  readonly log: Log;
}

export interface SocketTransport {
  readonly socketPath: string;
  /** The number of open connections. */
  readonly connections: number;
  /**
   * Accepts no more connections and refuses new requests with `BACKEND_UNAVAILABLE`; running
   * requests continue. Call it before the runtime closes, so that the last answers are sent.
   */
  stop(): void;
  /** Sends pending replies, drops streams and connections, and removes the socket. */
  close(): Promise<void>;
}

/**
 * Opens the socket; clients may connect when this resolves. Only the user who runs the daemon
 * (or root) may connect: the socket has mode 0600.
 *
 * @throws TrlError `INVALID_PARAMS` or `BACKEND_UNAVAILABLE` if the path cannot be used
 */
export async function openSocketTransport(
  options: TransportOptions & { place: SocketLocation; inherited: InheritedSocket | null },
): Promise<SocketTransport> {
  const { place, inherited, log } = options;
  const open = new Set<Connection>();
  const caller = callerBy('socket-owner');
  const server = createServer({ allowHalfOpen: true, highWaterMark: socketBufferBytes });
  server.on('connection', (socket) => {
    if (open.size >= limits.connections.default) {
      refuse(socket, { log, masking: options.runtime.masking });
      return;
    }
    const connection = new Connection({ ...options, caller, input: socket, output: socket });
    open.add(connection);
    void connection.serve().finally(() => open.delete(connection));
  });
  if (inherited === null) await bindSocket(server, place);
  else await adopt(server, inherited);
  server.on('error', (error) => log(`the socket: ${String(error)}`));
  let closed: Promise<void> | null = null;
  const stop = (): void => {
    closed ??= closing(server);
    for (const connection of open) connection.stop();
  };
  return {
    socketPath: place.path,
    get connections() {
      return open.size;
    },
    stop,
    close: async () => {
      stop();
      await Promise.all([...open].map((connection) => connection.close(closeWaitMs)));
      await closed;
    },
  };
}

/** Listens on a socket that is already bound; its file remains after the server closes. */
async function adopt(server: Server, { fd, path }: InheritedSocket): Promise<void> {
  const listening = once(server, 'listening');
  try {
    server.listen({ fd });
    await listening;
  } catch (cause) {
    const message = `Cannot listen on "${path}": ${String(cause)}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
}

/** Serves one client on two streams (`trl stdio`) until it disconnects. Never rejects. */
export async function serveStream(
  options: TransportOptions & { readonly input: Readable; readonly output: Writable },
): Promise<void> {
  await new Connection({ ...options, caller: callerBy('parent-process') }).serve();
}

function callerBy(authenticatedBy: Caller['authenticatedBy']): Caller {
  const actor = `uid:${process.getuid?.() ?? 'unknown'}`;
  return { actor, kind: 'agent', authenticatedBy, roles: ['agent'] };
}

/** Sends one line that a client can read in place of its answer, and ends the connection. */
function refuse(socket: Socket, replyContext: ReplyContext): void {
  const reason = `${limits.connections.default} connections are open`;
  const error = new TrlError('QUOTA_EXCEEDED', `Cannot accept the connection: ${reason}`);
  socket.on('error', () => socket.destroy());
  socket.end(`${failureReply(unknownRequestId, 'the connection', error, replyContext)}\n`, () =>
    socket.destroy(),
  );
}

/** Settles when the socket is removed and its last connection has ended. */
function closing(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
