/**
 * WebSockets: `GET /rpc` carries the wire (`tunnel.ts`); `GET
 * /v1/execs/{exec_id}/ws` one execution (`encoding.ts` draws what it sends), for programs that
 * know nothing of the wire. What such a one sends:
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

/** How often each side says that it is there, in ms; who is silent for two rounds is dropped. */
const pingMs = 15_000;
/** Bytes that wait for the other side before output waits, too. */
const unsentBytesMax = 262_144;
/** Bytes of input that no command has taken yet. */
const untakenBytesMax = 1_048_576;
const closeWaitMs = 1_000;
/** How often what waits for one caller, on all of its sockets, is looked at, in ms. */
const lookMs = 1_000;
/** What may wait for one caller in all. */
const unsentOfCallerMax = 64 * 1_024 * 1_024;
/** RFC 6455: an end as it should be, and one that the rules of this side ask for; one of ours. */
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
  /** What is written before it becomes messages; `null`: nothing is. */
  stream: Duplex | null;
  readonly socket: Duplex;
  /** Bytes that the other side had taken when it was last looked at. */
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

  /** The wire, until the other side has left. Never rejects. */
  async tunnel(upgrade: WebSocketUpgrade): Promise<void> {
    const ws = await this.#accept(this.#tunnels, upgrade);
    const { runtime, version, replyContext: says } = this.#parts;
    const stream = tunnelOf(ws, () => connection.inFrames);
    const known = this.#open.get(ws);
    if (known !== undefined) known.stream = stream;
    // An end without an answer to it is one all the same.
    stream.on('error', () => stream.destroy());
    const { log } = says;
    const { caller, pace } = upgrade;
    const ends = { input: stream, output: stream };
    const connection = new Connection({ ...ends, caller, runtime, version, log, pace });
    this.#connections.add(connection);
    await connection.serve();
    this.#connections.delete(connection);
    ws.close(closeCodes.normal);
  }

  /** One execution, to its end. Never rejects. */
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

  /** A page learns no status of a refused handshake, but how its WebSocket ended. */
  refuse({ request, socket, head }: Pick<WebSocketUpgrade, 'request' | 'socket' | 'head'>): void {
    this.#plain.handleUpgrade(request, socket, head, (ws) => {
      ws.on('error', () => ws.terminate());
      close(ws, closeCodes.refusedToken, 'AUTH_FAILED');
    });
  }

  /** Ends what a caller has open: its token is no more. */
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

  /** Who asks over many sockets and reads none of them loses those that hold the most. */
  #dropUnread(): void {
    // Who follows a command is bounded alone, and shares with all who follow it what waits.
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
      // One alone may be a long answer to a slow reader.
      if (before > 0 && before + unsent > unsentOfCallerMax) ws.terminate();
    }
  }

  #ping(): void {
    for (const [ws, known] of this.#open) {
      // The answer to a ping comes behind all that is still to be read: who reads is there.
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

/** Bytes that were written and wait no more. */
const takenOf = (socket: Duplex): number =>
  socket instanceof Socket ? socket.bytesWritten - socket.writableLength : 0;

/** Whether the handshake asks for something that can be answered. */
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

/** What a client of one execution sends, one after another. */
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
      .catch((error: unknown) => this.#tell(error))
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
   * A failure has no answer to be in: it is an event. Who reads none of them is not listened to
   * until they do.
   */
  async #tell(error: unknown): Promise<void> {
    const { ws, execId } = this.#target;
    const { masking } = this.#parts.replyContext;
    const told = toWireError('the message', error, this.#parts.replyContext);
    const event = masking.json({ stream_id: execId, stream: 'error', error: told });
    const sent = new Promise<void>((resolve) => ws.send(event, () => resolve()));
    if (ws.bufferedAmount > unsentBytesMax) await sent;
  }
}

function unknownType(): TrlError {
  const wanted = '"type" must be "eof", "resize", "signal" or "lease"';
  return new TrlError('INVALID_PARAMS', `Cannot take the message: ${wanted}`);
}
