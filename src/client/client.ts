/** A connection to a daemon, for programs. */
import type { ApprovalId, ExecId, SessionId } from '../command.ts';
import type {
  ApprovalDecideParams,
  ApprovalListParams,
  ApprovalStatus,
  ApprovalView,
} from '../api/approval.ts';
import type {
  ExecCancelParams,
  ExecLeaseAnswer,
  ExecLeaseParams,
  ExecReadAnswer,
  ExecReadParams,
  ExecResizeParams,
  ExecWriteParams,
} from '../api/exec.ts';
import type { FeedEvent } from '../api/system.ts';
import type { ExecView } from '../api/receipt.ts';
import type { SessionCreateParams, SessionView } from '../api/session.ts';
import type { Data, MethodName, Params } from '../api/methods.ts';
import type { Channel } from './channel.ts';
import { EventBuffer, LatestValueBuffer } from './event-buffer.ts';
import type { RpcConnection, WatchSink } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { offerTool } from './register-tool.ts';
import type { OfferedTool, ToolOffer } from './register-tool.ts';
import { Session } from './session.ts';
import { ExecStream } from './stream.ts';
import type { StreamOptions } from './stream.ts';

/** Limit of approvals that are buffered for a slow reader, in `bytes`. */
const watchBytesMax = 1024 * 1024;

export interface ClientOptions {
  /** Default `bin`: output in binary frames, which costs a tenth of JSON. */
  readonly frames?: 'json' | 'bin';
  /**
   * Makes further connections, for streams and to replace lost ones; default: there is only one.
   */
  readonly dial?: () => Promise<Channel>;
  /** Ends the wait for the first answer; a client that is connected does not watch it. */
  readonly signal?: AbortSignal;
  /** Whether the runtime ends with the client; default `false`. */
  readonly ownsDaemon?: boolean;
  /** Default file mode mask of sessions; default: the runtime's. */
  readonly umask?: string;
  /** Default search path for programs of sessions; default: the runtime's. */
  readonly searchPath?: string;
}

/**
 * A client over any channel, which it then owns.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when the channel ends before the runtime answers.
 */
export async function clientOver(channel: Channel, options: ClientOptions = {}): Promise<Client> {
  const { frames = 'bin', dial = null, signal, ownsDaemon = false } = options;
  const links = await ConnectionPool.open(channel, { frames, dial, ownsDaemon }, signal);
  return new Client(links, options);
}

/**
 * All methods throw TrlError with the code of the daemon's answer, and BACKEND_UNAVAILABLE when the
 * connection was lost. A client that waits for nothing does not keep its process alive.
 */
export class Client implements AsyncDisposable {
  readonly #links: ConnectionPool;
  readonly #ofSessions: Pick<SessionCreateParams, 'umask' | 'search_path'>;

  constructor(
    links: ConnectionPool,
    { umask, searchPath }: Pick<ClientOptions, 'umask' | 'searchPath'> = {},
  ) {
    this.#links = links;
    this.#ofSessions = {
      ...(umask === undefined ? {} : { umask }),
      ...(searchPath === undefined ? {} : { search_path: searchPath }),
    };
  }

  /** Whether the daemon is this client's own and ends with it. */
  get ownsDaemon(): boolean {
    return this.#links.ownsDaemon;
  }

  async createSession(params: SessionCreateParams = {}): Promise<Session> {
    const view = await this.call('session.create', { ...this.#ofSessions, ...params });
    return new Session(this.#links, view.session_id);
  }

  /** An existing session. No request is made: an unknown id fails at the first use. */
  session(id: SessionId): Session {
    return new Session(this.#links, id);
  }

  async sessions(): Promise<readonly SessionView[]> {
    return (await this.call('session.list', {})).sessions;
  }

  /** The output of an execution from journal offset `from` (default 0) to its end. */
  attach(execId: ExecId, options: StreamOptions & { readonly from?: number } = {}): ExecStream {
    return new ExecStream(
      this.#links,
      { kind: 'attach', execId, from: options.from ?? 0 },
      options,
    );
  }

  async execs(sessionId?: SessionId): Promise<readonly ExecView[]> {
    const params = sessionId === undefined ? {} : { session_id: sessionId };
    return (await this.call('exec.list', params)).execs;
  }

  async exec(execId: ExecId): Promise<ExecView> {
    return this.call('exec.info', { exec_id: execId });
  }

  /** Reads a chunk of an execution's journal; waits up to `wait_ms` for one. */
  async read(params: ExecReadParams, signal?: AbortSignal): Promise<ExecReadAnswer> {
    return this.call('exec.read', params, { signal });
  }

  async write(params: ExecWriteParams): Promise<void> {
    await this.call('exec.write', params);
  }

  /** Takes over the input of a command from other callers, or releases it. */
  async lease(params: ExecLeaseParams): Promise<ExecLeaseAnswer> {
    return this.call('exec.lease', params);
  }

  async resize(params: ExecResizeParams): Promise<void> {
    await this.call('exec.resize', params);
  }

  /** Answers the executions that were stopped. */
  async cancel(params: ExecCancelParams): Promise<readonly ExecId[]> {
    return (await this.call('exec.cancel', params)).stopped;
  }

  /** Oldest first. */
  async approvals(filter: ApprovalListParams = {}): Promise<readonly ApprovalView[]> {
    return (await this.call('approval.list', filter)).approvals;
  }

  async approval(id: ApprovalId): Promise<ApprovalView> {
    return this.call('approval.get', { approval_id: id });
  }

  async decide(params: ApprovalDecideParams): Promise<ApprovalView> {
    return this.call('approval.decide', params);
  }

  async approvalStatus(): Promise<ApprovalStatus> {
    return this.call('approval.status', {});
  }

  /**
   * Every pending approval, then each change as it comes, until the loop is left.
   *
   * @throws TrlError BACKEND_UNAVAILABLE when the connection is lost; the signal's reason.
   */
  async *watchApprovals(signal?: AbortSignal): AsyncGenerator<ApprovalView, void, void> {
    const buffer = new EventBuffer<ApprovalView>(watchBytesMax);
    const sink: WatchSink = {
      notify: (message) => {
        if ('approval' in message) {
          buffer.push(message.approval, message.approval.asked.command.length);
        }
      },
      lost: (error) => buffer.fail(error),
    };
    const watching = await this.#watch('approval.watch', sink, signal);
    try {
      buffer.throttle((paused) => watching.link.pause(paused));
      yield* buffer;
    } finally {
      await watching.end();
    }
  }

  /**
   * Everything that the caller can see: the present state, then each change, until the loop is
   * left. A slow reader gets only the latest state of each thing.
   *
   * @throws TrlError BACKEND_UNAVAILABLE when the connection is lost, QUOTA_EXCEEDED for a reader
   *   that is far behind; the signal's reason.
   */
  async *watch(signal?: AbortSignal): AsyncGenerator<FeedEvent, void, void> {
    const latest = new LatestValueBuffer<FeedEvent>();
    const sink: WatchSink = {
      notify: (message) => {
        if ('event' in message) latest.put(thingOf(message.event), message.event);
      },
      lost: (error) => latest.fail(error),
    };
    const watching = await this.#watch('system.watch', sink, signal);
    try {
      yield* latest;
    } finally {
      await watching.end();
    }
  }

  /** A connection that receives changes; it has no other use, and ends with them. */
  async #watch(
    method: 'approval.watch' | 'system.watch',
    sink: WatchSink,
    signal?: AbortSignal,
  ): Promise<{ readonly link: RpcConnection; readonly end: () => Promise<void> }> {
    const { connection: link, release } = await this.#links.lease();
    const stop = (): void => sink.lost(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    const end = async (): Promise<void> => {
      signal?.removeEventListener('abort', stop);
      link.unwatch();
      if (!this.#links.isSingle) await link.close();
      release();
    };
    try {
      signal?.throwIfAborted();
      await link.watch(method, sink, {});
      return { link, end };
    } catch (error) {
      await end();
      throw error;
    }
  }

  /**
   * Offers a tool to every caller of the runtime, until the offer or its connection ends.
   *
   * @throws TrlError INVALID_PARAMS for a name that is in use, or an invalid schema.
   */
  async registerTool(tool: OfferedTool): Promise<ToolOffer> {
    return offerTool(this.#links, tool);
  }

  async ping(): Promise<Data<'system.ping'>> {
    return this.call('system.ping', {});
  }

  async stats(): Promise<Data<'system.stats'>> {
    return this.call('system.stats', {});
  }

  /** Calls any method of the wire. An abort ends the wait, not the request. */
  async call<M extends MethodName>(
    method: M,
    params: Params<M>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Data<M>> {
    const link = await this.#links.shared();
    return link.call(method, params, options.signal);
  }

  /** Closes the connections; an own daemon ends with them, and with it all its commands. */
  async close(): Promise<void> {
    await this.#links.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The thing that an event is about: a later event about it replaces this one. */
function thingOf(event: FeedEvent): string {
  switch (event.kind) {
    case 'session':
      return `session ${event.session.session_id}`;
    case 'session-ended':
      return `session ${event.session_id}`;
    case 'exec':
      return `exec ${event.exec.exec_id}`;
    case 'approval':
      return `approval ${event.approval.approval_id}`;
    case 'secret-requests':
      return event.kind;
    case 'held':
      return `held ${event.session_id}`;
  }
}
