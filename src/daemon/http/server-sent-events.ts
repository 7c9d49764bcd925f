/** Sends server-sent events: those of one execution, or those of a watch method. */
import { Writable } from 'node:stream';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, ExecId } from '../../command.ts';
import { FeedWatch } from '../transport/feed-watch.ts';
import { ApprovalWatch } from '../transport/approval-watch.ts';
import { ConnectionWriter } from '../transport/connection-writer.ts';
import type { HttpTransportParts } from './method-calls.ts';
import type { OutputFollowers, FollowerOutput } from './followers.ts';
import { HttpRefusal } from './problem.ts';
import { setHeaderFields, stallMs } from './respond.ts';

/** How often an idle stream sends a heartbeat, in ms. */
const heartbeatMs = 15_000;
/** When a client that lost the stream reconnects, in ms. */
const retryMs = 1_000;

export interface EventExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Where to resume: after the last event that arrived, else at `from`.
 *
 * @throws HttpRefusal `INVALID_PARAMS` if `Last-Event-ID` is not the id of an event
 */
export function resumeOffset({ headers }: IncomingMessage, from: number): number {
  const last = headers['last-event-id'];
  if (last === undefined || last === '') return from;
  if (typeof last === 'string' && /^\d{1,15}$/.test(last)) return Number(last);
  const message = 'Cannot read the request: "Last-Event-ID" must be the id of an event, an offset';
  throw new HttpRefusal('INVALID_PARAMS', message);
}

/** Begins the stream; disconnects a client that reads nothing for {@link stallMs}. */
function begin({ request, response }: EventExchange): () => void {
  setHeaderFields(response, {
    'Content-Type': 'text/event-stream',
    // Some proxies would otherwise buffer the stream.
    'X-Accel-Buffering': 'no',
  });
  response.writeHead(200);
  request.socket.setNoDelay(true);
  request.socket.setTimeout(stallMs, () => request.socket.destroy());
  response.write(`retry: ${retryMs}\n\n`);
  const timer = setInterval(() => {
    // A write would reset the time-out of a client that reads nothing.
    if (!response.writableNeedDrain) response.write(':\n\n');
  }, heartbeatMs);
  return () => {
    clearInterval(timer);
    response.end();
  };
}

/** Sends an execution's output and events to the end. Never rejects. */
export async function sendExecEvents(
  exchange: EventExchange,
  followers: OutputFollowers,
  target: { readonly execId: ExecId; readonly from: number },
): Promise<void> {
  const { response, caller, signal } = exchange;
  const end = begin(exchange);
  const outlet: FollowerOutput = {
    form: 'events',
    signal,
    send: ({ payload }) => void response.write(payload),
    ready: () => (response.writableNeedDrain ? drained(response, signal) : undefined),
  };
  await followers.follow({ caller, ...target, outlet });
  end();
}

/** Methods that report changes: of approvals, or of everything. */
export type WatchMethod = 'approval.watch' | 'system.watch';

/** Sends the reports of a watch method until the client disconnects. Never rejects. */
export async function sendWatchEvents(
  exchange: EventExchange,
  parts: HttpTransportParts,
  watched: WatchMethod,
): Promise<void> {
  const { caller, signal, response } = exchange;
  const { runtime } = parts;
  const isFeed = watched === 'system.watch';
  const writer = new ConnectionWriter(
    new LineEvents(response, isFeed ? 'change' : 'approval', signal),
  );
  const options = { runtime, caller, writer, signal };
  const watch = isFeed ? new FeedWatch(options) : new ApprovalWatch(options);
  const { start } = watch.announce();
  const end = begin(exchange);
  start();
  await left(signal);
  end();
}

/** Sends wire lines as events: each line is the data of one event. */
class LineEvents extends Writable {
  readonly #response: ServerResponse;
  readonly #name: string;
  readonly #signal: AbortSignal;

  constructor(response: ServerResponse, name: string, signal: AbortSignal) {
    super({ decodeStrings: false });
    this.#response = response;
    this.#name = name;
    this.#signal = signal;
  }

  override _write(line: unknown, _: string, done: () => void): void {
    const data = String(line).trimEnd();
    const isMore = this.#response.write(`event: ${this.#name}\ndata: ${data}\n\n`);
    if (isMore) done();
    else void this.#wait(done);
  }

  async #wait(done: () => void): Promise<void> {
    await drained(this.#response, this.#signal);
    done();
  }
}

/** Settles when the client has read everything written, or has disconnected. */
function drained(out: Writable | ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      out.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    if (signal.aborted) return resolve();
    out.on('drain', done);
    signal.addEventListener('abort', done);
  });
}

function left(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
