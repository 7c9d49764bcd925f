/**
 * The log that is written: chain, tree and signed heads above a store. While one group is on its
 * way to the disk the next one gathers, so that many wait for the disk once.
 */
import { hash, randomBytes } from 'node:crypto';
import { canonicalJson } from '../canonical.ts';
import type { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { AuditAppendOptions, AuditEvent, AuditPosition, AuditSink, Json } from './event.ts';
import { isDiskFull, describeWriteFailure, auditUnavailable } from './write-failure.ts';
import type { AuditKey } from './audit-key.ts';
import { serializeEventLine } from './line-format.ts';
import { emptyRoot, leafHash, type MerkleTree } from './merkle.ts';
import { noteKeyHash, signHeadNote } from './signed-note.ts';
import { LogLostError, type AuditStore, type StoredLog } from './store.ts';

export interface OpenedStore {
  readonly store: AuditStore;
  readonly stored: StoredLog;
}

export type LogState =
  | { readonly kind: 'ok' }
  /** `since`: Unix milliseconds of the first write that failed. */
  | { readonly kind: 'failing'; readonly since: number; readonly reason: string };

export interface AuditLogOptions {
  readonly key: AuditKey;
  /** Unix milliseconds; `Date.now` unless given. */
  readonly clock?: (() => number) | undefined;
  /** Said in `log.opened`: version, process. */
  readonly about?: { readonly [name: string]: Json | undefined } | undefined;
  /** Whenever it begins to fail, and when it is well again. Must not throw. */
  readonly onState?: ((state: LogState) => void) | undefined;
  /** Another log, when this one cannot be gone on with; without it every append is refused. */
  readonly openNextLog?: ((reason: string) => Promise<OpenedStore>) | undefined;
  /** Where the log before this one could not be gone on with. */
  readonly previousLog?: PreviousLog | undefined;
  /** After it is closed. Must not throw. */
  readonly onClosed?: (() => void) | undefined;
}

/** The log before, in `log.opened`. */
export interface PreviousLog {
  /** `null`: it is not known. */
  readonly log: string | null;
  /** The newest head that is known of it. */
  readonly head: string | null;
  readonly reason: string;
}

interface Waiting {
  /** Canonical. */
  readonly texts: readonly string[];
  readonly bytes: number;
  readonly isUrgent: boolean;
  readonly resolve: (positions: readonly AuditPosition[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Of one group, before it counts. */
interface Draft {
  readonly texts: readonly string[];
  readonly positions: readonly AuditPosition[];
  readonly tree: MerkleTree;
  readonly prev: string;
  readonly head: string;
  readonly lines: string;
  readonly hashes: readonly Buffer[];
}

/** The first head of a log that has nothing. */
export function createFirstHead(key: AuditKey): { readonly log: string; readonly head: string } {
  const log = randomBytes(16).toString('hex');
  const checkpoint = { log, size: 0, root: emptyRoot(), previous: 0 };
  return {
    log,
    head: signHeadNote(checkpoint, key.privateKey, noteKeyHash(log, key.rawPublicKey)),
  };
}

/**
 * An event that cannot be told as it is must not keep others from being told: half characters are
 * replaced, and of what is larger than `auditEventBytes` only the digest is kept.
 */
function textOf(event: AuditEvent): string {
  const text = canonicalOf(event);
  if (Buffer.byteLength(text) <= limits.auditEventBytes.max) return text;
  const data = { omitted_bytes: Buffer.byteLength(text), omitted_sha256: hash('sha256', text) };
  return canonicalJson({ ...event, data });
}

function canonicalOf(event: AuditEvent): string {
  try {
    return canonicalJson(event);
  } catch {
    const replaced = (_: string, one: unknown): unknown =>
      typeof one === 'string' ? one.toWellFormed() : one;
    return canonicalJson(JSON.parse(JSON.stringify(event, replaced)));
  }
}

export class AuditLog implements AuditSink {
  readonly #options: AuditLogOptions;
  readonly #clock: () => number;
  #store: AuditStore;
  #stored: StoredLog;
  #keyHash: Buffer;
  /** Events of its own that come before the next group. */
  #own: AuditEvent[] = [];
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | null = null;
  #state: LogState = { kind: 'ok' };
  /** Events that were refused since a group was last written. */
  #refused = 0;
  /** Whether the log says that it fails: written with the room that was put by. */
  #isTold = false;
  /** The store has to be recovered before it is written again. */
  #isBroken = false;
  #isReserved = false;
  #isClosed = false;
  #closing: Promise<void> | null = null;

  constructor({ store, stored }: OpenedStore, options: AuditLogOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#store = store;
    this.#stored = stored;
    this.#keyHash = noteKeyHash(stored.log, options.key.rawPublicKey);
    this.#opening(options.previousLog);
  }

  /** 32 lower-case hex digits. */
  get id(): string {
    return this.#stored.log;
  }

  /** Events that are on disk. */
  get size(): number {
    return this.#stored.tree.size;
  }

  state(): LogState {
    return this.#state;
  }

  head(): string | null {
    return this.size === 0 ? null : this.#stored.head;
  }

  /**
   * @throws TrlError `AUDIT_UNAVAILABLE` when they cannot be written, are together larger than
   *   `auditGroupBytes`, or too much waits for the disk
   */
  async append(
    events: readonly AuditEvent[],
    { urgent = false }: AuditAppendOptions = {},
  ): Promise<readonly AuditPosition[]> {
    if (this.#isClosed) throw this.#unavailable('it is closed');
    if (events.length === 0) return [];
    const texts = events.map(textOf);
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + placeBytes, 0);
    if (bytes > limits.auditGroupBytes.max - ownBytes) {
      throw this.#unavailable(`${bytes} bytes are more than are written at once`);
    }
    if (this.#waitingBytes + bytes > limits.auditPendingBytes.max) {
      throw this.#unavailable(`${this.#waitingBytes} bytes wait for the disk`);
    }
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ texts, bytes, isUrgent: urgent, resolve, reject });
      this.#waitingBytes += bytes;
      // What is appended in the same turn goes together.
      this.#writing ??= Promise.resolve().then(() => this.#writeAll());
    });
  }

  /** Waits for what was appended. */
  close(): Promise<void> {
    this.#isClosed = true;
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#writing;
    await this.#store.close();
    this.#options.onClosed?.();
  }

  #opening(follows: PreviousLog | undefined): void {
    const { key, about } = this.#options;
    const at = this.#clock();
    const data = { ...about, log: this.id, key: key.id, follows: follows && { ...follows } };
    this.#own.push({ kind: 'log.opened', at, actor: null, data });
    for (const torn of this.#stored.torn) {
      this.#own.push({ kind: 'log.repaired', at, actor: null, data: { ...torn } });
    }
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#write(this.#take());
    this.#writing = null;
  }

  /** As many as go into one group. */
  #take(): Waiting[] {
    let bytes = ownBytes;
    const end = this.#waiting.findIndex((one) => {
      bytes += one.bytes;
      return bytes > limits.auditGroupBytes.max;
    });
    const taken = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
    for (const one of taken) this.#waitingBytes -= one.bytes;
    return taken;
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    try {
      await this.#ready();
      // Room for ends comes before more beginnings.
      if (!this.#isReserved) this.#store.saveReserve();
      this.#isReserved = true;
      await this.#commit(group);
      this.#turn({ kind: 'ok' });
    } catch (error) {
      const urgent = isDiskFull(error) ? group.filter(({ isUrgent }) => isUrgent) : [];
      this.#fail(error, urgent.length === 0 ? group : group.filter(({ isUrgent }) => !isUrgent));
      if (urgent.length > 0) await this.#writeUrgent(urgent);
    }
  }

  async #writeUrgent(group: readonly Waiting[]): Promise<void> {
    try {
      await this.#ready();
      this.#store.spendReserve();
      this.#isReserved = false;
      await this.#commit(group);
    } catch (error) {
      this.#fail(error, group);
    }
  }

  async #ready(): Promise<void> {
    if (!this.#isBroken) return;
    try {
      await this.#store.recover();
    } catch (error) {
      if (!(error instanceof LogLostError)) throw error;
      await this.#goOnElsewhere(error);
    }
    this.#isBroken = false;
  }

  async #goOnElsewhere(lost: LogLostError): Promise<void> {
    const { openNextLog: next, key } = this.#options;
    if (next === undefined) throw lost;
    const follows = { log: this.id, head: this.head(), reason: lost.message };
    const opened = await next(lost.message);
    await this.#store.close().catch(() => null);
    this.#store = opened.store;
    this.#stored = opened.stored;
    this.#keyHash = noteKeyHash(opened.stored.log, key.rawPublicKey);
    this.#isReserved = false;
    this.#own = [];
    this.#opening(follows);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const own = this.#ownTexts();
    const first = this.size;
    const draft = this.#draft([...own, ...group.flatMap(({ texts }) => texts)]);
    const { lines, head, hashes, tree, prev } = draft;
    try {
      await this.#store.append({ first, lines, head, hashes });
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
    for (const torn of this.#stored.torn) this.#store.markRecorded(torn);
    this.#stored = { log: this.id, head, tree, prev, torn: [] };
    this.#own = [];
    this.#refused = 0;
    this.#isTold = true;
    let at = own.length;
    for (const { texts, resolve } of group) {
      resolve(draft.positions.slice(at, at + texts.length));
      at += texts.length;
    }
  }

  #ownTexts(): string[] {
    const own = this.#own.map((event) => canonicalJson(event));
    if (this.#state.kind === 'ok') return own;
    if (this.#isTold && this.#refused === 0) return own;
    const { since, reason } = this.#state;
    const data = { since, reason, refused: this.#refused };
    const interrupted = { kind: 'log.interrupted', at: this.#clock(), actor: null, data } as const;
    return [...own, canonicalJson(interrupted)];
  }

  #draft(texts: readonly string[]): Draft {
    const { log } = this.#stored;
    const tree = this.#stored.tree.clone();
    let { prev } = this.#stored;
    let lines = '';
    const hashes: Buffer[] = [];
    const positions = texts.map((text): AuditPosition => {
      const seq = tree.size;
      const line = serializeEventLine(text, prev, seq);
      const leaf = leafHash(line);
      hashes.push(...tree.append(leaf));
      lines += `${line}\n`;
      prev = leaf.toString('hex');
      return { log, seq, leaf: prev };
    });
    const previous = this.size;
    const checkpoint = { log, size: tree.size, root: tree.root(), previous };
    const head = signHeadNote(checkpoint, this.#options.key.privateKey, this.#keyHash);
    return { texts, positions, tree, prev, head, lines, hashes };
  }

  #fail(error: unknown, group: readonly Waiting[]): void {
    const reason = describeWriteFailure(error);
    if (this.#state.kind === 'ok') this.#isTold = false;
    const since = this.#state.kind === 'ok' ? this.#clock() : this.#state.since;
    this.#refused += group.reduce((sum, { texts }) => sum + texts.length, 0);
    if (isDiskFull(error)) this.#isReserved = false;
    this.#turn({ kind: 'failing', since, reason });
    const failure = this.#unavailable(reason, error);
    for (const { reject } of group) reject(failure);
  }

  #turn(state: LogState): void {
    const isNews =
      state.kind !== this.#state.kind ||
      (state.kind === 'failing' &&
        this.#state.kind === 'failing' &&
        state.reason !== this.#state.reason);
    this.#state = state;
    if (isNews) this.#options.onState?.(state);
  }

  #unavailable(reason: string, cause?: unknown): TrlError {
    return auditUnavailable(this.#store.location, reason, cause);
  }
}

/** What a line has besides its event, at most. */
const placeBytes = 128;
/** Left in each group for what the log says of itself, and its head. */
const ownBytes = 64 * 1024;
