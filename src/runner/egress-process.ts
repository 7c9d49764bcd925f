/**
 * The runner's end of the egress process (`egress/`), and the bridges of sessions' network
 * namespaces to it. It is started with the first bridge. When it ends, connections end with it;
 * another one takes over the bridges, with the same names at the same addresses.
 */
import { fork, type ChildProcess, type SendHandle } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecId, SandboxNamespace } from '../command.ts';
import type { ConnectionSummary, EgressRules, LiveConnection } from '../network-access.ts';
import type { BridgeAuthority, BridgeId, EgressEvent, EgressRequest } from '../egress/wire.ts';
import { openPorts } from '../network/egress-rules.ts';
import type { OpenNamespace } from './namespace.ts';
import { passSockets, type SocketSpec } from './namespace-sockets.ts';
import { makeSessionTrust } from './session-trust.ts';
import { SessionBridge, unavailable } from './session-bridge.ts';
import type { BridgedNamespaces, HostAnswer, HostQuestion } from './session-bridge.ts';

const readyMs = 15_000;
const resolverAddress = '127.0.0.53';
/** Before another process is tried where one did not get ready. */
const restartMs = 1_000;
/** For names: far more than the few that one session may hold (`egress/name-lookups.ts`). */
const lookupThreads = 64;
/** Keeps its memory small. */
const lean = ['--max-semi-space-size=4', '--disable-sigusr1'];

/** Sockets of every bridge: the resolver, and ports that no command can listen on itself. */
const commonSockets: readonly SocketSpec[] = [
  ['udp', resolverAddress, 53],
  ...openPorts.map((port): SocketSpec => ['tcp', '0.0.0.0', port]),
];

/** One egress process. */
class EgressLink {
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #begun = new Map<ExecId, PromiseWithResolvers<void>>();
  readonly #ended = new Map<ExecId, PromiseWithResolvers<readonly ConnectionSummary[]>>();
  readonly #listed = new Map<number, PromiseWithResolvers<readonly LiveConnection[]>>();
  #lists = 0;
  isDead = false;
  #isReady = false;
  /** Sockets that bridges want, and whose helper does not run yet. */
  readonly wanted = new Map<BridgeId, SocketSpec[]>();

  /** @param on `lost`: it ended; `wasReady`: after it had begun to work */
  constructor(
    program: string,
    on: { event(event: EgressEvent): void; lost(wasReady: boolean): void },
  ) {
    const child = fork(program, [], {
      execArgv: lean,
      // Its environment has nothing of ours.
      env: { UV_THREADPOOL_SIZE: String(lookupThreads) },
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child = child;
    const ready = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.ready.catch(() => {});
    const timer = setTimeout(() => child.kill('SIGKILL'), readyMs);
    const lose = (): void => {
      if (this.isDead) return;
      this.isDead = true;
      clearTimeout(timer);
      const ended = unavailable('the egress process ended');
      ready.reject(ended);
      for (const { reject } of this.#begun.values()) reject(ended);
      for (const { resolve } of this.#ended.values()) resolve([]);
      for (const { resolve } of this.#listed.values()) resolve([]);
      on.lost(this.#isReady);
    };
    child.once('exit', lose);
    child.once('error', lose);
    child.on('message', (event: EgressEvent) => {
      if ('ready' in event) {
        clearTimeout(timer);
        this.#isReady = true;
        ready.resolve();
      } else if ('begun' in event) {
        this.#begun.get(event.begun.exec)?.resolve();
      } else if ('failed' in event) {
        this.#begun.get(event.failed.exec)?.reject(unavailable(event.failed.why));
      } else if ('ended' in event) {
        this.#ended.get(event.ended.exec)?.resolve(event.ended.connections);
      } else if ('live' in event) {
        this.#listed.get(event.live.number)?.resolve(event.live.connections);
      } else on.event(event);
    });
    // It must not keep a runner alive that has nothing else to do.
    child.unref();
    child.channel?.unref();
  }

  send(request: EgressRequest, handle?: SendHandle): Promise<void> {
    return new Promise((resolve) => {
      if (this.isDead) resolve();
      else this.#child.send(request, handle, { keepOpen: true }, () => resolve());
    });
  }

  async begin(bridge: BridgeId, exec: ExecId, rules: EgressRules): Promise<void> {
    if (this.isDead) throw unavailable('the egress process ended');
    const begun = Promise.withResolvers<void>();
    this.#begun.set(exec, begun);
    void this.send({ begin: { bridge, exec, rules } });
    await begun.promise.finally(() => this.#begun.delete(exec));
  }

  async end(bridge: BridgeId, exec: ExecId): Promise<readonly ConnectionSummary[]> {
    if (this.isDead) return [];
    const ended = Promise.withResolvers<readonly ConnectionSummary[]>();
    this.#ended.set(exec, ended);
    void this.send({ end: { bridge, exec } });
    return await ended.promise.finally(() => this.#ended.delete(exec));
  }

  async live(bridge: BridgeId): Promise<readonly LiveConnection[]> {
    if (this.isDead) return [];
    this.#lists += 1;
    const number = this.#lists;
    const listed = Promise.withResolvers<readonly LiveConnection[]>();
    this.#listed.set(number, listed);
    void this.send({ list: { bridge, number } });
    return await listed.promise.finally(() => this.#listed.delete(number));
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Opens a namespace with the way to hosts that it was planned with. */
export async function withBridge(
  egress: EgressProcess,
  { bridged, tools: { perl } }: SandboxNamespace,
  open: (files: SandboxNamespace['files']) => Promise<OpenNamespace>,
): Promise<OpenNamespace> {
  if (bridged === undefined) return await open([]);
  const { authority, files } = makeSessionTrust(bridged);
  const opened = await open(files);
  try {
    const { userNamespace: user, networkNamespace: network } = opened;
    if (network === null) throw unavailable('it has the network of the host');
    const bridge = await egress.open({ perl, user, network }, authority);
    const close = (): void => {
      opened.close();
      bridge.release();
    };
    return { ...opened, bridge, close };
  } catch (error) {
    opened.close();
    throw error;
  }
}

export class EgressProcess {
  readonly #program: string;
  readonly #bridges = new Map<BridgeId, SessionBridge>();
  #link: EgressLink | null = null;
  #last = 0;
  #isClosed = false;
  readonly #onAsk: (question: HostQuestion) => void;

  /**
   * @param program the egress process's bundle
   * @param onAsk called when a connection is held until a person has answered
   */
  constructor(program: string, onAsk: (question: HostQuestion) => void = () => {}) {
    this.#program = program;
    this.#onAsk = onAsk;
  }

  /** @throws TrlError `SANDBOX_UNAVAILABLE` where the namespace cannot be bridged */
  async open(namespaces: BridgedNamespaces, authority: BridgeAuthority): Promise<SessionBridge> {
    this.#last += 1;
    const bridge = new SessionBridge(this, this.#last, { namespaces, authority });
    const link = this.#current();
    await link.ready;
    await this.#connect(link, bridge, true);
    // What it got is lost with it, and nobody would connect this bridge again.
    if (link.isDead) throw unavailable('the egress process ended');
    this.#bridges.set(bridge.id, bridge);
    return bridge;
  }

  async begin(bridge: SessionBridge, exec: ExecId, rules: EgressRules): Promise<void> {
    await this.#current().begin(bridge.id, exec, rules);
  }

  async end(bridge: SessionBridge, exec: ExecId): Promise<readonly ConnectionSummary[]> {
    return (await this.#link?.end(bridge.id, exec)) ?? [];
  }

  answer({ id }: SessionBridge, { host, port, allow }: HostAnswer): void {
    void this.#link?.send({ answer: { bridge: id, host, port, allow } });
  }

  block({ id }: SessionBridge, host: string): void {
    void this.#link?.send({ block: { bridge: id, host } });
  }

  async live({ id }: SessionBridge): Promise<readonly LiveConnection[]> {
    return (await this.#link?.live(id)) ?? [];
  }

  forget({ id }: SessionBridge): void {
    this.#bridges.delete(id);
    void this.#link?.send({ close: { bridge: id } });
  }

  close(): void {
    this.#isClosed = true;
    this.#link?.kill();
  }

  #current(): EgressLink {
    if (this.#isClosed) throw unavailable('the runner ends');
    if (this.#link !== null && !this.#link.isDead) return this.#link;
    const link: EgressLink = new EgressLink(this.#program, {
      event: (event) => void this.#take(link, event),
      lost: (wasReady) => this.#restart(wasReady),
    });
    this.#link = link;
    return link;
  }

  /** What runs gets its network back: its connections were reset, and new ones are possible. */
  #restart(wasReady: boolean): void {
    if (this.#isClosed || this.#bridges.size === 0) return;
    for (const bridge of this.#bridges.values()) {
      bridge.ready = this.#reconnect(bridge, wasReady ? 0 : restartMs);
      bridge.ready.catch(() => {});
    }
  }

  async #reconnect(bridge: SessionBridge, afterMs: number): Promise<void> {
    if (afterMs > 0) await sleep(afterMs, undefined, { ref: false });
    const link = this.#current();
    await link.ready;
    for (const host of bridge.blocked) void link.send({ block: { bridge: bridge.id, host } });
    void link.send({ named: { bridge: bridge.id, names: bridge.names } });
    await this.#connect(link, bridge, false);
    for (const [exec, rules] of bridge.commands) await link.begin(bridge.id, exec, rules);
  }

  async #connect(link: EgressLink, bridge: SessionBridge, isFirst: boolean): Promise<void> {
    void link.send({ authority: { bridge: bridge.id, ...bridge.authority } });
    await passSockets(bridge.namespaces, { isFirst, sockets: commonSockets }, (kind, handle) =>
      link.send(
        kind === 'udp' ? { resolve: { bridge: bridge.id } } : { listen: { bridge: bridge.id } },
        handle,
      ),
    );
  }

  async #take(link: EgressLink, event: EgressEvent): Promise<void> {
    if ('ask' in event) this.#onAsk(event.ask);
    if ('name' in event) this.#bridges.get(event.name.bridge)?.names.push(event.name.name);
    if (!('open' in event)) return;
    const { bridge: id, address, port } = event.open;
    const waiting = link.wanted.get(id);
    if (waiting !== undefined) {
      waiting.push(['tcp', address, port]);
      return;
    }
    // One helper at a time, however many names a command looks up at once.
    link.wanted.set(id, []);
    let batch: readonly SocketSpec[] = [['tcp', address, port]];
    while (batch.length > 0) {
      await this.#listen(link, id, batch);
      batch = link.wanted.get(id) ?? [];
      link.wanted.set(id, []);
    }
    link.wanted.delete(id);
  }

  async #listen(link: EgressLink, id: BridgeId, sockets: readonly SocketSpec[]): Promise<void> {
    const bridge = this.#bridges.get(id);
    if (bridge === undefined) return;
    // A port that a command has taken on every address is its own: then nothing leads out there.
    await passSockets(bridge.namespaces, { isFirst: false, sockets }, async (_, handle) => {
      // A bridge that was closed meanwhile would listen for ever.
      if (this.#bridges.has(id)) await link.send({ listen: { bridge: id } }, handle);
    }).catch(() => {});
    for (const [, address, port] of sockets) {
      void link.send({ opened: { bridge: id, address, port } });
    }
  }
}
