/**
 * The connections of a door, so that whoever is slow shuts nobody out. A connection is `new` until
 * a token came with a request on it, then `busy` while one is answered and `idle` between two.
 * When there are as many as there may be, the oldest that has shown no token makes room, then the
 * one that is idle longest: who comes with a token needs milliseconds to show it.
 */
import type { Socket } from 'node:net';

/** Connections at once. */
const connectionsMax = 4_096;
/** Of them, those that have shown no token. */
const newMax = 512;
/** What one caller may have open at once, streams among them. */
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
  /** Requests under way. */
  open: number;
}

export class Connections {
  readonly #bounds: ConnectionBounds;
  /** By address and port of the other side, oldest first within each state. */
  readonly #all = new Map<string, Entry>();
  readonly #new = new Set<Entry>();
  readonly #idle = new Set<Entry>();
  readonly #byActor = new Map<string, number>();
  /** Those that were made to leave, since the start. */
  evicted = 0;

  constructor(bounds: Partial<ConnectionBounds> = {}) {
    this.#bounds = { connectionsMax, newMax, ofCallerMax, ...bounds };
  }

  get size(): number {
    return this.#all.size;
  }

  /** A connection that has just come, before anything of it is read. */
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
   * A request of a known caller begins.
   *
   * @returns a function that ends it; `null`: the caller has as many open as it may
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

  /** Ends those on which nothing is under way. */
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
    // Gone at once: its end is told later.
    this.#all.delete(oldest.key);
    oldest.socket.destroy();
    this.#new.delete(oldest);
    this.#idle.delete(oldest);
  }
}

/** The same for a socket and the TLS that runs over it. */
const keyOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress ?? ''} ${remotePort ?? ''} ${localPort ?? ''}`;
