/**
 * WebSockets: `GET /rpc` carries the wire (`tunnel.ts`); `GET /v1/execs/{exec_id}/ws` carries one
 * execution (`stream-encoding.ts` shows the server's messages), for programs that do not know the
 * wire. Messages of such a client:
 *
 *   binary                                     bytes for standard input
 *   {"type":"eof"}                             the end of it
 *   {"type":"resize","columns":80,"rows":24}   of its terminal
 *   {"type":"signal","signal":"INT"}
 *   {"type":"lease","lease_id":"…"}            given with each write from then on
 */
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { parseJsonObject } from '../../protocol/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { MethodName } from '../../api/methods.ts';
import { toWireError } from '../transport/reply-messages.ts';
import { Connection } from '../transport/connection.ts';
import type { RequestPacer } from '../transport/connection.ts';
import { callMethodAs } from './method-calls.ts';
import type { HttpTransportParts } from './method-calls.ts';
import type { OutputFollowers, FollowerOutput } from './followers.ts';
import { subprotocolsOf, wireProtocol } from './request-checks.ts';
import { messageBytes, tunnelOf } from './tunnel.ts';

/** How often the server sends a ping, in ms; a client that misses two is disconnected. */
const pingMs = 15_000;
/** Unsent bytes after which output waits. */
const unsentBytesMax = 262_144;
/** Maximum bytes of input that no command has read yet. */
const untakenBytesMax = 1_048_576;
const closeWaitMs = 1_000;
/** How often the unsent bytes on all sockets of a caller are checked, in ms. */
const lookMs = 1_000;
/** Maximum unsent bytes on all sockets of one caller. */
const unsentOfCallerMax = 64 * 1_024 * 1_024;
/** Close codes of RFC 6455, and one of the runtime's own. */
const closeCodes = { normal: 1_000, goingAway: 1_001, policy: 1_008, refusedToken: 4_401 } as const;

const tunnelMessageBytesMax = limits.frameBytes.max + 65_536;

export interface WebSocketUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly caller: Caller;
  readonly pace: RequestPacer;
}

interface Open {
  readonly caller: Caller;
  isAlive: boolean;
  /** The stream whose writes become messages; `null` if there is none. */
  stream: Duplex | null;
  readonly socket: Duplex;
  /** Bytes that the client had read at the last check. */
  taken: number;
}

export class WebSockets {
  readonly #parts: HttpTransportParts;
  readonly #open = new Map<WebSocket, Open>();
  readonly #connections = new Set<Connection>();
  readonly #tunnels: WebSocketServer;
  readonly #plain: WebSocketServer;
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(parts: HttpTransportParts) {
    this.#parts = parts;
    const usual = { noServer: true, perMessageDeflate: false, clientTracking: false } as const;
    const handleProtocols = (offered: ReadonlySet<string>): string | false =>
      offered.has(wireProtocol) ? wireProtocol : false;
    const tunnel = { ...usual, handleProtocols, maxPayload: tunnelMessageBytesMax };
    this.#tunnels = new WebSocketServer(tunnel);
    const maxPayload = limits.stdinBytes.max;
    this.#plain = new WebSocketServer({ ...usual, handleProtocols, maxPayload });
    this.#timers = [
      setInterval(() => this.#ping(), pingMs).unref(),
      setInterval(() => this.#dropUnread(), lookMs).unref(),
    ];
  }

  get size(): number {
    return this.#open.size;
  }

  /** Serves the wire until the client disconnects. Never rejects. */
  async tunnel(upgrade: WebSocketUpgrade): Promise<void> {
    const ws = await this.#accept(this.#tunnels, upgrade);
    const { runtime, version, replyContext } = this.#parts;
    const stream = tunnelOf(ws, () => connection.inFrames);
    const known = this.#open.get(ws);
    if (known !== undefined) known.stream = stream;
    // A close without a close reply counts as an end, too.
    stream.on('error', () => stream.destroy());
    const { log } = replyContext;
    const { caller, pace } = upgrade;
    const ends = { input: stream, output: stream };
    const connection = new Connection({ ...ends, caller, runtime, version, log, pace });
    this.#connections.add(connection);
    await connection.serve();
    this.#connections.delete(connection);
    ws.close(closeCodes.normal);
  }

  /** Serves one execution to its end. Never rejects. */
  async exec(
    upgrade: WebSocketUpgrade,
    followers: OutputFollowers,
    target: { readonly execId: ExecId; readonly from: number },
  ): Promise<void> {
    const { caller, pace } = upgrade;
    const ws = await this.#accept(this.#plain, upgrade);
    const gone = new AbortController();
    ws.on('close', () => gone.abort());
    const writes = new Writes(this.#parts, { ws, caller, pace, execId: target.execId });
    ws.on('message', (data, isBinary) => writes.take(data, isBinary));
    await followers.follow({ caller, ...target, outlet: outletOf(ws, gone.signal) });
    ws.close(closeCodes.normal);
  }

  /** Refuses with a close code, because pages cannot see the status of a refused handshake. */
  refuse({ request, socket, head }: Pick<WebSocketUpgrade, 'request' | 'socket' | 'head'>): void {
    this.#plain.handleUpgrade(request, socket, head, (ws) => {
      ws.on('error', () => ws.terminate());
      close(ws, closeCodes.refusedToken, 'AUTH_FAILED');
    });
  }

  /** Closes a caller's sockets after its token has become invalid. */
  endCaller(caller: Caller): void {
    for (const [ws, one] of this.#open) {
      if (one.caller === caller) close(ws, closeCodes.policy, 'the token is no longer valid');
    }
  }

  stop(): void {
    for (const connection of this.#connections) connection.stop();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([...this.#connections].map((one) => one.close(closeWaitMs)));
    for (const ws of this.#open.keys()) close(ws, closeCodes.goingAway, 'the runtime is stopping');
  }

  #accept(
    server: WebSocketServer,
    { request, socket, head, caller }: WebSocketUpgrade,
  ): Promise<WebSocket> {
    return new Promise((resolve) => {
      server.handleUpgrade(request, socket, head, (ws) => {
        const known: Open = { caller, isAlive: true, stream: null, socket, taken: 0 };
        this.#open.set(ws, known);
        const lives = (): void => {
          known.isAlive = true;
        };
        ws.on('pong', lives).on('message', lives);
        ws.on('error', () => ws.terminate());
        ws.on('close', () => this.#open.delete(ws));
        resolve(ws);
      });
    });
  }

  /** Closes the fullest sockets of a caller who requests much and reads nothing. */
  #dropUnread(): void {
    // Followers of a command have their own limit and share their chunks with other followers.
    const all = [...this.#open].flatMap(([ws, { caller, stream }]) =>
      stream === null
        ? []
        : [{ ws, actor: caller.actor, unsent: ws.bufferedAmount + stream.writableLength }],
    );
    const held = new Map<string, number>();
    const waiting = all.filter(({ unsent }) => unsent > unsentBytesMax);
    for (const { ws, actor, unsent } of waiting.toSorted((a, b) => a.unsent - b.unsent)) {
      const before = held.get(actor) ?? 0;
      held.set(actor, before + unsent);
      // A single full socket may be a long answer to a slow client.
      if (before > 0 && before + unsent > unsentOfCallerMax) ws.terminate();
    }
  }

  #ping(): void {
    for (const [ws, known] of this.#open) {
      // A pong comes only after everything unread, so a client that still reads counts as alive.
      const taken = takenOf(known.socket);
      if (!known.isAlive && taken === known.taken) {
        ws.terminate();
        continue;
      }
      known.isAlive = false;
      known.taken = taken;
      if (ws.readyState === ws.OPEN) ws.ping();
    }
  }
}

/** Bytes that were written and sent. */
const takenOf = (socket: Duplex): number =>
  socket instanceof Socket ? socket.bytesWritten - socket.writableLength : 0;

/** Whether the handshake offers the wire protocol, or no protocol at all. */
export function isWireOffer({ headers }: IncomingMessage): boolean {
  const field = headers['sec-websocket-protocol'];
  return field === undefined || subprotocolsOf(field).includes(wireProtocol);
}

function close(ws: WebSocket, code: number, reason: string): void {
  ws.close(code, reason);
  setTimeout(() => ws.terminate(), closeWaitMs).unref();
}

function outletOf(ws: WebSocket, signal: AbortSignal): FollowerOutput {
  let sent: Promise<void> = Promise.resolve();
  return {
    form: 'websocket',
    signal,
    send: ({ payload, output }) => {
      sent = new Promise((resolve) => {
        ws.send(payload, { binary: output !== null }, () => resolve());
      });
    },
    ready: () => (ws.bufferedAmount > unsentBytesMax ? sent : undefined),
  };
}

interface Target {
  readonly ws: WebSocket;
  readonly caller: Caller;
  readonly pace: RequestPacer;
  readonly execId: ExecId;
}

/** Handles the messages of a client of one execution, one after another. */
class Writes {
  readonly #parts: HttpTransportParts;
  readonly #target: Target;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #lease: JsonObject = {};

  constructor(parts: HttpTransportParts, target: Target) {
    this.#parts = parts;
    this.#target = target;
  }

  take(data: RawData, isBinary: boolean): void {
    const bytes = messageBytes(data);
    const { ws } = this.#target;
    this.#waiting += bytes.length + 64;
    if (this.#waiting > untakenBytesMax) ws.pause();
    this.#last = this.#last
      .then(() => this.#act(bytes, isBinary))
      .catch((error: unknown) => this.#sendError(error))
      .finally(() => {
        this.#waiting -= bytes.length + 64;
        if (ws.isPaused && this.#waiting <= untakenBytesMax) ws.resume();
      });
  }

  async #act(bytes: Buffer, isBinary: boolean): Promise<void> {
    await this.#target.pace.ready();
    if (isBinary) {
      await this.#call('exec.write', { data: bytes.toString('base64'), encoding: 'base64' });
      return;
    }
    const { type, ...params } = parseJsonObject(bytes);
    if (type === 'eof') await this.#call('exec.write', { eof: true });
    else if (type === 'resize') await this.#call('exec.resize', params);
    else if (type === 'signal') await this.#call('exec.cancel', { signal: params['signal'] });
    else if (type === 'lease') this.#lease = { lease_id: params['lease_id'] };
    else throw unknownType();
  }

  async #call(method: MethodName, params: JsonObject): Promise<void> {
    const { caller, execId } = this.#target;
    const lease = method === 'exec.cancel' ? {} : this.#lease;
    const all = { ...params, ...lease, exec_id: execId };
    await callMethodAs(this.#parts, caller, { method, params: all });
  }

  /**
   * Sends a failure as an event, since messages have no replies. Reads no further messages until
   * the client reads these events.
   */
  async #sendError(error: unknown): Promise<void> {
    const { ws, execId } = this.#target;
    const { masking } = this.#parts.replyContext;
    const wireError = toWireError('the message', error, this.#parts.replyContext);
    const event = masking.json({ stream_id: execId, stream: 'error', error: wireError });
    const sent = new Promise<void>((resolve) => ws.send(event, () => resolve()));
    if (ws.bufferedAmount > unsentBytesMax) await sent;
  }
}

function unknownType(): TrlError {
  const wanted = '"type" must be "eof", "resize", "signal" or "lease"';
  return new TrlError('INVALID_PARAMS', `Cannot take the message: ${wanted}`);
}
