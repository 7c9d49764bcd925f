/** A connection to a daemon, as a program uses it. */
import type { ApprovalId, ExecId, SessionId } from '../command.ts';
import type {
  ApprovalDecideParams,
  ApprovalListParams,
  ApprovalStatus,
  ApprovalView,
} from '../protocol/approval.ts';
import type { ExecLeaseAnswer, ExecLeaseParams, FeedEvent } from '../protocol/feed.ts';
import type {
  ExecReadAnswer,
  ExecReadParams,
  ExecView,
  SessionCreateParams,
  SessionView,
} from '../protocol/types.ts';
import type { Channel } from './channel.ts';
import { EventBuffer } from './event-buffer.ts';
import { LatestValueBuffer } from './latest-value-buffer.ts';
import type { RpcConnection, WatchSink } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import type {
  Data,
  ExecCancelParams,
  ExecResizeParams,
  ExecWriteParams,
  Method,
  Params,
} from './methods.ts';
import { offerTool } from './register-tool.ts';
import type { OfferedTool, ToolOffer } from './register-tool.ts';
import { Session } from './session.ts';
import { ExecStream } from './stream.ts';
import type { StreamOptions } from './stream.ts';

/** Approvals held for a reader that is slower than they come, in `bytes`. */
const watchBytesMax = 1024 * 1024;

export interface ClientOptions {
  /** Default `bin`: output in binary frames, which costs a tenth of JSON. */
  readonly frames?: 'json' | 'bin';
  /** Makes further connections, for streams and in place of lost ones; default: there is one. */
  readonly dial?: () => Promise<Channel>;
  /** Ends the wait for the first answer; a client that is connected does not watch it. */
  readonly signal?: AbortSignal;
  /** Whether the runtime ends with the client; default `false`. */
  readonly ownsDaemon?: boolean;
  /** The file mode mask of sessions that do not say theirs; default: the runtime's. */
  readonly umask?: string;
  /** Where programs are looked for, of sessions that do not say theirs; default: the runtime's. */
  readonly searchPath?: string;
}

/**
 * A client over any channel, which it takes over.
 *
 * @throws TrlError BACKEND_UNAVAILABLE when the channel ends before the runtime answers.
 */
export async function clientOver(channel: Channel, options: ClientOptions = {}): Promise<Client> {
  const { frames = 'bin', dial = null, signal, ownsDaemon = false } = options;
  const links = await ConnectionPool.open(channel, { frames, dial, ownsDaemon }, signal);
  return new Client(links, options);
}

/**
 * All methods throw TrlError with the code the daemon answered, and BACKEND_UNAVAILABLE when the
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

  /** A session that exists. Nothing is asked: an unknown id fails at the first use. */
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

  /** A piece of an execution's journal; waits up to `wait_ms` for one. */
  async read(params: ExecReadParams, signal?: AbortSignal): Promise<ExecReadAnswer> {
    return this.call('exec.read', params, { signal });
  }

  async write(params: ExecWriteParams): Promise<void> {
    await this.call('exec.write', params);
  }

  /** Takes a command over, so that nobody else types into it, or hands it back. */
  async lease(params: ExecLeaseParams): Promise<ExecLeaseAnswer> {
    return this.call('exec.lease', params);
  }

  async resize(params: ExecResizeParams): Promise<void> {
    await this.call('exec.resize', params);
  }

  /** Answers what was stopped. */
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
    const told: WatchSink = {
      notify: (message) => {
        if ('approval' in message) {
          buffer.push(message.approval, message.approval.asked.command.length);
        }
      },
      lost: (error) => buffer.fail(error),
    };
    const watching = await this.#watch('approval.watch', told, signal);
    try {
      buffer.throttle((paused) => watching.link.pause(paused));
      yield* buffer;
    } finally {
      await watching.end();
    }
  }

  /**
   * Everything that there is and that changes, as far as the caller sees it: the present state,
   * then each change, until the loop is left. Of one thing a slow reader gets the latest state.
   *
   * @throws TrlError BACKEND_UNAVAILABLE when the connection is lost, QUOTA_EXCEEDED for a reader
   *   that is far behind; the signal's reason.
   */
  async *watch(signal?: AbortSignal): AsyncGenerator<FeedEvent, void, void> {
    const latest = new LatestValueBuffer<FeedEvent>();
    const told: WatchSink = {
      notify: (message) => {
        if ('event' in message) latest.put(thingOf(message.event), message.event);
      },
      lost: (error) => latest.fail(error),
    };
    const watching = await this.#watch('system.watch', told, signal);
    try {
      yield* latest;
    } finally {
      await watching.end();
    }
  }

  /** A connection that is told of changes; when that ends it is of no other use, and ends too. */
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
   * Offers a tool to every caller of the runtime, as long as the offer or its connection lasts.
   *
   * @throws TrlError INVALID_PARAMS for a name that is taken, or a schema that cannot be.
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

  /** Asks for any method of the wire. An abort ends the wait, not what was asked. */
  async call<M extends Method>(
    method: M,
    params: Params<M>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Data<M>> {
    const link = await this.#links.shared();
    return link.call(method, params, options.signal);
  }

  /** Ends the connections; an own daemon and all it runs end with them. */
  async close(): Promise<void> {
    await this.#links.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** What an event is about, so that a later one takes its place. */
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
