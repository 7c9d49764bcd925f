/**
 * The bridge of one session's network namespace: its resolver, its listeners, and the commands
 * whose rules hold.
 */
import type { Socket as UdpSocket } from 'node:dgram';
import { createServer, isIPv4, type Server, type Socket } from 'node:net';
import type { ExecId } from '../command.ts';
import { liveConnectionsMax } from '../network-access.ts';
import type { ConnectionSummary, EgressRules, LiveConnection } from '../network-access.ts';
import { deniedByPerson, lateAnswer, openPorts, unanswered } from '../network/egress-rules.ts';
import { normalHostName } from '../network/host-rules.ts';
import { BridgeCommands, keyOf } from './bridge-commands.ts';
import { leakRule } from './credential-set.ts';
import { dial } from './dial.ts';
import { DialError, type Dialled } from './dialled.ts';
import { dnsAnswer, parseDnsQuery, recordTypes, responseCodes } from './dns-message.ts';
import type { DnsQuestion } from './dns-message.ts';
import { NameLookups } from './name-lookups.ts';
import { inspectRequest, type RequestRules } from './inspect-request.ts';
import type { PermittedConnection } from './permitted-connection.ts';
import { relayHttp } from './relay-http.ts';
import { relayStream, relayTunnel } from './relay-stream.ts';
import { whileOpen } from './while-open.ts';
import { SyntheticAddresses } from './synthetic-addresses.ts';
import type { Termination } from './termination.ts';

export interface BridgeEvents {
  /** A name got the next address. */
  name(name: string): void;
  /** Wants a listener; settles {@link Bridge.opened}. */
  open(address: string, port: number): void;
  /** A connection is held; settled by {@link Bridge.answered}. */
  ask(exec: ExecId, host: string, port: number): void;
}

/** Connections at once, of clients and to hosts; more are reset. */
const connectionsMax = 512;
/** Listeners on addresses of names; on more addresses nothing listens. */
const listenersMax = 128;
/** Queries that wait for a listener. */
const openMs = 5_000;

/** Hosts that a person is asked about at once. */
const questionsMax = 16;
/** How long a connection is held: most programs give up before. */
const holdMs = 120_000;

/** What a client's connection is for, once that is permitted. */
interface Destination {
  readonly name: string;
  readonly port: number;
}

/** A client's connection; `since`: Unix ms. */
interface Client extends Destination {
  readonly since: number;
}

export class Bridge {
  readonly #events: BridgeEvents;
  readonly #addresses = new SyntheticAddresses();
  readonly #commands = new BridgeCommands();
  readonly #servers: Server[] = [];
  readonly #clients = new Map<Socket, Client>();
  /** Connections that wait for a person. */
  readonly #held = new Map<Socket, Client>();
  /** Connections to hosts, and those that are being made. */
  #dialled = 0;
  readonly #lookups = new NameLookups();
  /** Names of an earlier process, whose listeners are gone with it. */
  #restored: readonly string[] = [];
  /** Listeners on addresses of names, beside those of every address. */
  readonly #listening = new Map<string, PromiseWithResolvers<void>>();
  /** Questions that a person has not answered yet, by host and port. */
  readonly #questions = new Map<string, PromiseWithResolvers<boolean>>();
  #resolver: UdpSocket | null = null;
  #termination: Termination | null = null;

  constructor(events: BridgeEvents) {
    this.#events = events;
  }

  /** Where it has none, connections whose requests must be seen are refused. */
  terminateBy(termination: Termination): void {
    this.#termination = termination;
  }

  /** Names of an earlier process, in the order of their addresses. */
  restore(names: readonly string[]): void {
    for (const name of names) this.#addresses.addressOf(name);
    this.#restored = names;
  }

  /** @param handle a TCP socket that is bound in the namespace */
  listen(handle: object): void {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    server.on('connection', (socket) => this.#accept(socket));
    server.on('error', () => server.close());
    server.listen(handle);
    this.#servers.push(server);
  }

  resolveBy(socket: UdpSocket): void {
    this.#resolver = socket;
    socket.on('error', () => {});
    socket.on('message', (message, { address, port }) => {
      void this.#reply(socket, message, { address, port });
    });
  }

  /** Resolves when all that its rules name is listened on. */
  async begin(exec: ExecId, rules: EgressRules): Promise<void> {
    const decider = this.#commands.begin(exec, rules);
    // Programs keep addresses, and connect without asking again.
    for (const name of this.#restored) {
      const address = this.#addresses.addressOf(name)?.address;
      if (address !== undefined) void this.#openPorts(address, decider.portsOf(name));
    }
    await Promise.all(
      decider.addresses.map(({ address, port }) => this.#openPorts(address, [port])),
    );
  }

  /** Ends connections that no other command may have: a socket can be passed on. */
  end(exec: ExecId): readonly ConnectionSummary[] {
    const summaries = this.#commands.end(exec);
    this.#resetDenied();
    return summaries;
  }

  #resetDenied(): void {
    for (const [socket, { name, port }] of this.#clients) {
      if (!this.#commands.decide(name, port).isAllowed) socket.resetAndDestroy();
    }
  }

  /** Ends what goes to the name, and refuses it from now on. */
  block(name: string): void {
    this.#commands.blocked.add(name);
    this.#resetDenied();
    for (const [key, question] of this.#questions) {
      if (!key.startsWith(`${name}:`)) continue;
      question.resolve(false);
      this.#questions.delete(key);
    }
  }

  live(): readonly LiveConnection[] {
    const all = [
      ...[...this.#clients].map((one) => [...one, 'open'] as const),
      ...[...this.#held].map((one) => [...one, 'held'] as const),
    ];
    return all.slice(0, liveConnectionsMax).map(([socket, { name, port, since }, state]) => ({
      host: name,
      port,
      state,
      since,
      sent_bytes: socket.bytesRead,
      received_bytes: socket.bytesWritten,
    }));
  }

  answered(host: string, port: number, allow: boolean): void {
    this.#commands.answered(host, port, allow);
    const key = keyOf(host, port);
    this.#questions.get(key)?.resolve(allow);
    this.#questions.delete(key);
  }

  opened(address: string, port: number): void {
    this.#listening.get(`${address}:${port}`)?.resolve();
  }

  close(): void {
    this.#resolver?.close();
    this.#resolver = null;
    for (const server of this.#servers) server.close();
    for (const socket of [...this.#clients.keys(), ...this.#held.keys()]) socket.resetAndDestroy();
    this.#commands.clear();
  }

  #refuse(host: string, port: number, rule: string): void {
    this.#commands.record({ host, port, allowed: false, rule });
  }

  async #reply(
    socket: UdpSocket,
    message: Buffer,
    to: { readonly address: string; readonly port: number },
  ): Promise<void> {
    const answer = await this.#answer(message);
    // It may have been closed meanwhile.
    if (answer !== null && this.#resolver === socket) {
      socket.send(answer, to.port, to.address, () => {});
    }
  }

  /** `null`: not answered, as for what is no query. */
  async #answer(message: Buffer): Promise<Buffer | null> {
    const question = parseDnsQuery(message);
    if (question === null) return null;
    const name = question.name === null ? null : normalHostName(question.name);
    if (name === null || name !== question.name) {
      return dnsAnswer(question, responseCodes.noSuchName);
    }
    const leaked = this.#commands.credentials.inName(name);
    if (leaked !== null) {
      this.#refuse(name, 0, leakRule(leaked));
      return dnsAnswer(question, responseCodes.noSuchName);
    }
    const decision = this.#commands.decide(name, null);
    // A name that may be asked about is: when it is connected to.
    if (!decision.isAllowed && decision.asker === null) {
      if (isAddressQuestion(question)) this.#refuse(name, 0, decision.rule);
      return dnsAnswer(question, responseCodes.noSuchName);
    }
    // No other records: what could lead past the bridge (HTTPS, SVCB) or carry data (TXT).
    if (question.type !== recordTypes.A) return dnsAnswer(question, responseCodes.ok);
    const found = this.#addresses.addressOf(name);
    if (found === null) return dnsAnswer(question, responseCodes.serverFailure);
    if (found.isNew) this.#events.name(name);
    await this.#openPorts(
      found.address,
      this.#commands.deciders.flatMap((decider) => decider.portsOf(name)),
    );
    return dnsAnswer(question, responseCodes.ok, found.address);
  }

  /** Listens on the address where nothing listens on every address. */
  async #openPorts(address: string, ports: readonly number[]): Promise<void> {
    const own = ports.filter((port) => !openPorts.includes(port));
    const waits = own.map((port) => {
      const key = `${address}:${port}`;
      const known = this.#listening.get(key);
      if (known !== undefined) return known.promise;
      if (this.#listening.size >= listenersMax) return Promise.resolve();
      const opening = Promise.withResolvers<void>();
      this.#listening.set(key, opening);
      this.#events.open(address, port);
      setTimeout(() => opening.resolve(), openMs).unref();
      return opening.promise;
    });
    await Promise.all(waits);
  }

  #accept(socket: Socket): void {
    const { localAddress = '', localPort: port = 0 } = socket;
    socket.on('error', () => socket.destroy());
    if (this.#clients.size + this.#held.size >= connectionsMax) {
      this.#refuse(localAddress, port, 'too many connections');
      socket.resetAndDestroy();
      return;
    }
    const name =
      this.#addresses.nameOf(localAddress) ?? this.#commands.namedAddress(localAddress, port);
    const decision = name === null ? null : this.#commands.decide(name, port);
    if (name !== null && decision !== null && decision.asker !== null) {
      void this.#hold(socket, { name, port }, decision.asker);
      return;
    }
    if (name === null || decision === null || !decision.isAllowed) {
      this.#refuse(name ?? localAddress, port, decision?.rule ?? 'address without a name');
      socket.resetAndDestroy();
      return;
    }
    this.#connect(socket, { name, port });
  }

  #connect(socket: Socket, { name, port }: Destination): void {
    this.#clients.set(socket, { name, port, since: Date.now() });
    socket.once('close', () => this.#clients.delete(socket));
    const isSeen = this.#commands.decidesRequests(name, port);
    const permitted = this.#permit(socket, { name, port }, isSeen);
    if (isSeen && permitted.termination === null) permitted.refuse('no authority');
    else if (port === 80 || (isIPv4(name) && isSeen)) relayHttp(socket, permitted);
    // Who names an address names what answers there, whatever it calls itself.
    else if (isIPv4(name)) void relayTunnel(socket, permitted, undefined, permitted.guard(true));
    else void relayStream(socket, permitted);
  }

  /** Holds a connection until a person has answered, or its program gives up. */
  async #hold(socket: Socket, { name, port }: Destination, asker: ExecId): Promise<void> {
    const key = keyOf(name, port);
    const known = this.#questions.get(key);
    if (known === undefined && this.#questions.size >= questionsMax) {
      this.#refuse(name, port, 'too many questions');
      socket.resetAndDestroy();
      return;
    }
    const question = known ?? Promise.withResolvers<boolean>();
    if (known === undefined) {
      this.#questions.set(key, question);
      this.#events.ask(asker, name, port);
    }
    this.#held.set(socket, { name, port, since: Date.now() });
    const isThere = await whileOpen(socket, question.promise, holdMs);
    this.#held.delete(socket);
    if (isThere && (await question.promise)) {
      this.#connect(socket, { name, port });
      return;
    }
    socket.resetAndDestroy();
    this.#refuse(name, port, isThere ? deniedByPerson : unanswered);
    // The program may be run again then.
    if (!isThere && (await question.promise)) this.#refuse(name, port, lateAnswer);
  }

  #permit(socket: Socket, destination: Destination, isSeen: boolean): PermittedConnection {
    const { name, port } = destination;
    const commands = this.#commands;
    return {
      name,
      port,
      termination: isSeen ? this.#termination : null,
      inspect: (head, options) => {
        const rules: RequestRules = {
          name,
          port,
          credentials: commands.credentials,
          decide: (request) => commands.decideRequest(name, port, request),
          takeUpload: (bytes) => commands.takeUpload(name, port, bytes),
          guard: () => commands.guardFor(name, port, true),
          permitted: (request, secrets) => commands.recordRequest(name, port, { request, secrets }),
        };
        return inspectRequest(rules, head, options);
      },
      guard: (isReadable) => commands.guardFor(name, port, isReadable),
      failed: (why) => this.#refuse(name, port, why),
      refuse: (why) => {
        this.#refuse(name, port, why);
        socket.resetAndDestroy();
      },
      dial: async () => {
        try {
          return await this.#dial(destination);
        } catch (error) {
          const why = error instanceof DialError ? error.message : 'cannot connect';
          this.#refuse(name, port, why);
          throw error;
        }
      },
    };
  }

  /** @throws DialError where rules permit no more */
  #takeConnection({ name, port }: Destination): void {
    try {
      this.#commands.takeConnection(name, port);
    } catch (error) {
      throw new DialError(error instanceof Error ? error.message : String(error));
    }
  }

  /** By the rules that hold now: one connection may ask for several, at any time. */
  async #dial({ name, port }: Destination): Promise<Dialled> {
    const { by, rule } = this.#commands.decide(name, port);
    if (by === null) throw new DialError(rule);
    this.#takeConnection({ name, port });
    if (this.#dialled >= connectionsMax) throw new DialError('too many connections');
    this.#dialled += 1;
    try {
      const target = {
        name,
        port,
        mayBePrivate: by.mayBePrivate(name),
        servedAt: by.servedAt(name, port),
        proxy: by.proxyFor(name, port),
      };
      const dialled = await dial(target, this.#lookups);
      this.#dialled += 1;
      dialled.socket.once('close', () => (this.#dialled -= 1));
      const record = { host: name, port, allowed: true, rule };
      this.#commands.watch(record, dialled.socket, dialled.address);
      return dialled;
    } finally {
      this.#dialled -= 1;
    }
  }
}

const isAddressQuestion = ({ type }: DnsQuestion): boolean =>
  type === recordTypes.A || type === recordTypes.AAAA;
