/**
 * Limits the connections of the HTTP transport, so that slow clients cannot exclude others. A
 * connection is `new` until a request with a token arrives on it, then `busy` during a request and
 * `idle` between requests. At the maximum, the oldest connection without a token is closed, then
 * the one that has been idle longest: a client with a token needs only milliseconds to send it.
 */
import type { Socket } from 'node:net';

/** Maximum connections at the same time. */
const connectionsMax = 4_096;
/** Maximum connections among them that have sent no token. */
const newMax = 512;
/** Maximum open requests of one caller, including streams. */
const ofCallerMax = 1_024;

type State = 'new' | 'idle' | 'busy';

export interface ConnectionBounds {
  readonly connectionsMax: number;
  readonly newMax: number;
  readonly ofCallerMax: number;
}

interface Entry {
  readonly key: string;
  readonly socket: Socket;
  state: State;
  actor: string | null;
  /** Requests that are running. */
  open: number;
}

export class Connections {
  readonly #bounds: ConnectionBounds;
  /** By address and port of the peer, oldest first within each state. */
  readonly #all = new Map<string, Entry>();
  readonly #new = new Set<Entry>();
  readonly #idle = new Set<Entry>();
  readonly #byActor = new Map<string, number>();
  /** Connections closed to make room, since the start. */
  evicted = 0;

  constructor(bounds: Partial<ConnectionBounds> = {}) {
    this.#bounds = { connectionsMax, newMax, ofCallerMax, ...bounds };
  }

  get size(): number {
    return this.#all.size;
  }

  /** Adds a new connection before anything is read from it. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    const entry: Entry = { key, socket, state: 'new', actor: null, open: 0 };
    this.#all.set(key, entry);
    this.#new.add(entry);
    socket.once('close', () => {
      if (this.#all.get(key) === entry) this.#all.delete(key);
      this.#new.delete(entry);
      this.#idle.delete(entry);
    });
    if (this.#new.size > this.#bounds.newMax) this.#evict(this.#new);
    if (this.#all.size <= this.#bounds.connectionsMax) return;
    const crowd = this.#new.size > 1 ? this.#new : this.#idle;
    if (crowd.size > 0) this.#evict(crowd);
    else socket.destroy();
  }

  /**
   * Begins a request of a known caller.
   *
   * @returns a function that ends it; `null` if the caller has the maximum number open
   */
  begin(socket: Socket, actor: string): (() => void) | null {
    const held = this.#byActor.get(actor) ?? 0;
    if (held >= this.#bounds.ofCallerMax) return null;
    this.#byActor.set(actor, held + 1);
    const entry = this.#all.get(keyOf(socket));
    if (entry !== undefined) {
      entry.open += 1;
      this.#become(entry, 'busy');
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#byActor.get(actor) ?? 1) - 1;
      if (left > 0) this.#byActor.set(actor, left);
      else this.#byActor.delete(actor);
      if (entry === undefined) return;
      entry.open -= 1;
      if (entry.open === 0) this.#become(entry, 'idle');
    };
  }

  /** Closes the connections without a running request. */
  closeIdle(): void {
    for (const { socket, open } of this.#all.values()) if (open === 0) socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.#all.values()) socket.destroy();
  }

  #become(entry: Entry, state: State): void {
    this.#new.delete(entry);
    this.#idle.delete(entry);
    entry.state = state;
    if (state === 'idle' && this.#all.get(entry.key) === entry) this.#idle.add(entry);
  }

  #evict(crowd: ReadonlySet<Entry>): void {
    const [oldest] = crowd;
    if (oldest === undefined) return;
    this.evicted += 1;
    // Removed now, because the `close` event comes later.
    this.#all.delete(oldest.key);
    oldest.socket.destroy();
    this.#new.delete(oldest);
    this.#idle.delete(oldest);
  }
}

/** The same key for a socket and for the TLS socket over it. */
const keyOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress ?? ''} ${remotePort ?? ''} ${localPort ?? ''}`;
