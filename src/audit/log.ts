/**
 * The log that is written: chain, tree and signed heads on top of a store. While one group is being
 * written the next one collects, so that many callers wait for the disk once.
 */
import { hash, randomBytes } from 'node:crypto';
import { canonicalJson } from '../canonical.ts';
import type { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { AuditAppendOptions, AuditEvent, AuditPosition, AuditSink, Json } from './event.ts';
import type { AuditKey } from './audit-key.ts';
import { serializeEventLine } from './line-format.ts';
import { emptyRoot, leafHash, type MerkleTree } from './merkle.ts';
import { noteKeyHash, signHeadNote } from './signed-note.ts';
import {
  auditUnavailable,
  describeWriteFailure,
  isDiskFull,
  LogLostError,
  type AuditStore,
  type StoredLog,
} from './store.ts';

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
  /** Unix milliseconds. Default: `Date.now`. */
  readonly clock?: (() => number) | undefined;
  /** Data of `log.opened`: version, process. */
  readonly about?: { readonly [name: string]: Json | undefined } | undefined;
  /** Runs when writing begins to fail, fails for another reason, or works again. Must not throw. */
  readonly onState?: ((state: LogState) => void) | undefined;
  /** Opens another log when this one cannot be continued; without it every append is refused. */
  readonly openNextLog?: ((reason: string) => Promise<OpenedStore>) | undefined;
  /** The log before this one, if it could not be continued. */
  readonly previousLog?: PreviousLog | undefined;
  /** Runs after it is closed. Must not throw. */
  readonly onClosed?: (() => void) | undefined;
}

/** `follows` in the data of `log.opened`. */
export interface PreviousLog {
  /** `null`: unknown. */
  readonly log: string | null;
  /** The newest head that is known. */
  readonly head: string | null;
  readonly reason: string;
}

interface PendingAppend {
  /** Canonical JSON of each event. */
  readonly texts: readonly string[];
  readonly bytes: number;
  readonly isUrgent: boolean;
  readonly resolve: (positions: readonly AuditPosition[]) => void;
  readonly reject: (error: unknown) => void;
}

/** One group before it is on disk. */
interface GroupDraft {
  readonly texts: readonly string[];
  readonly positions: readonly AuditPosition[];
  readonly tree: MerkleTree;
  readonly prev: string;
  readonly head: string;
  readonly lines: string;
  readonly hashes: readonly Buffer[];
}

/** The first head of an empty log. */
export function createFirstHead(key: AuditKey): { readonly log: string; readonly head: string } {
  const log = randomBytes(16).toString('hex');
  const checkpoint = { log, size: 0, root: emptyRoot(), previous: 0 };
  return {
    log,
    head: signHeadNote(checkpoint, key.privateKey, noteKeyHash(log, key.rawPublicKey)),
  };
}

/**
 * An event that cannot be recorded as it is must not prevent others from being recorded: lone
 * surrogates are replaced, and of data larger than `auditEventBytes` only the digest is recorded.
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
  /** Events of the log itself, written before the next group. */
  #own: AuditEvent[] = [];
  #pending: PendingAppend[] = [];
  #pendingBytes = 0;
  #writing: Promise<void> | null = null;
  #state: LogState = { kind: 'ok' };
  /** Events that were refused since the last group that was written. */
  #refused = 0;
  /** Whether the log has an event about the failure, written with the reserve. */
  #isFailureRecorded = false;
  /** The store must be recovered before the next write. */
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
    this.#recordOpening(options.previousLog);
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
   * @throws TrlError `AUDIT_UNAVAILABLE` if they cannot be written, are together larger than
   *   `auditGroupBytes`, or too many bytes wait for the disk
   */
  async append(
    events: readonly AuditEvent[],
    { urgent = false }: AuditAppendOptions = {},
  ): Promise<readonly AuditPosition[]> {
    if (this.#isClosed) throw this.#unavailable('it is closed');
    if (events.length === 0) return [];
    const texts = events.map(textOf);
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + positionBytes, 0);
    if (bytes > limits.auditGroupBytes.max - ownBytes) {
      throw this.#unavailable(`${bytes} bytes are more than one write takes`);
    }
    if (this.#pendingBytes + bytes > limits.auditPendingBytes.max) {
      throw this.#unavailable(`${this.#pendingBytes} bytes wait for the disk`);
    }
    return await new Promise((resolve, reject) => {
      this.#pending.push({ texts, bytes, isUrgent: urgent, resolve, reject });
      this.#pendingBytes += bytes;
      // Appends of the same turn of the event loop are written together.
      this.#writing ??= Promise.resolve().then(() => this.#writeAll());
    });
  }

  /** Waits until what was appended is written. */
  close(): Promise<void> {
    this.#isClosed = true;
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#writing;
    await this.#store.close();
    this.#options.onClosed?.();
  }

  #recordOpening(follows: PreviousLog | undefined): void {
    const { key, about } = this.#options;
    const at = this.#clock();
    const data = { ...about, log: this.id, key: key.id, follows: follows && { ...follows } };
    this.#own.push({ kind: 'log.opened', at, actor: null, data });
    for (const torn of this.#stored.torn) {
      this.#own.push({ kind: 'log.repaired', at, actor: null, data: { ...torn } });
    }
  }

  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) await this.#write(this.#take());
    this.#writing = null;
  }

  /** As many as fit into one group. */
  #take(): PendingAppend[] {
    let bytes = ownBytes;
    const end = this.#pending.findIndex((one) => {
      bytes += one.bytes;
      return bytes > limits.auditGroupBytes.max;
    });
    const taken = this.#pending.splice(0, end < 0 ? this.#pending.length : end);
    for (const one of taken) this.#pendingBytes -= one.bytes;
    return taken;
  }

  async #write(group: readonly PendingAppend[]): Promise<void> {
    try {
      await this.#recoverStore();
      // No command may start before there is room to record its end.
      if (!this.#isReserved) this.#store.saveReserve();
      this.#isReserved = true;
      await this.#commit(group);
      this.#setState({ kind: 'ok' });
    } catch (error) {
      const urgent = isDiskFull(error) ? group.filter(({ isUrgent }) => isUrgent) : [];
      this.#fail(error, urgent.length === 0 ? group : group.filter(({ isUrgent }) => !isUrgent));
      if (urgent.length > 0) await this.#writeUrgent(urgent);
    }
  }

  async #writeUrgent(group: readonly PendingAppend[]): Promise<void> {
    try {
      await this.#recoverStore();
      this.#store.spendReserve();
      this.#isReserved = false;
      await this.#commit(group);
    } catch (error) {
      this.#fail(error, group);
    }
  }

  async #recoverStore(): Promise<void> {
    if (!this.#isBroken) return;
    try {
      await this.#store.recover();
    } catch (error) {
      if (!(error instanceof LogLostError)) throw error;
      await this.#continueInNextLog(error);
    }
    this.#isBroken = false;
  }

  async #continueInNextLog(lost: LogLostError): Promise<void> {
    const { openNextLog, key } = this.#options;
    if (openNextLog === undefined) throw lost;
    const follows = { log: this.id, head: this.head(), reason: lost.message };
    const opened = await openNextLog(lost.message);
    await this.#store.close().catch(() => null);
    this.#store = opened.store;
    this.#stored = opened.stored;
    this.#keyHash = noteKeyHash(opened.stored.log, key.rawPublicKey);
    this.#isReserved = false;
    this.#own = [];
    this.#recordOpening(follows);
  }

  async #commit(group: readonly PendingAppend[]): Promise<void> {
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
    this.#isFailureRecorded = true;
    let at = own.length;
    for (const { texts, resolve } of group) {
      resolve(draft.positions.slice(at, at + texts.length));
      at += texts.length;
    }
  }

  #ownTexts(): string[] {
    const own = this.#own.map((event) => canonicalJson(event));
    if (this.#state.kind === 'ok') return own;
    if (this.#isFailureRecorded && this.#refused === 0) return own;
    const { since, reason } = this.#state;
    const data = { since, reason, refused: this.#refused };
    const interrupted = { kind: 'log.interrupted', at: this.#clock(), actor: null, data } as const;
    return [...own, canonicalJson(interrupted)];
  }

  #draft(texts: readonly string[]): GroupDraft {
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

  #fail(error: unknown, group: readonly PendingAppend[]): void {
    const reason = describeWriteFailure(error);
    if (this.#state.kind === 'ok') this.#isFailureRecorded = false;
    const since = this.#state.kind === 'ok' ? this.#clock() : this.#state.since;
    this.#refused += group.reduce((sum, { texts }) => sum + texts.length, 0);
    if (isDiskFull(error)) this.#isReserved = false;
    this.#setState({ kind: 'failing', since, reason });
    const failure = this.#unavailable(reason, error);
    for (const { reject } of group) reject(failure);
  }

  #setState(state: LogState): void {
    const isChange =
      state.kind !== this.#state.kind ||
      (state.kind === 'failing' &&
        this.#state.kind === 'failing' &&
        state.reason !== this.#state.reason);
    this.#state = state;
    if (isChange) this.#options.onState?.(state);
  }

  #unavailable(reason: string, cause?: unknown): TrlError {
    return auditUnavailable(this.#store.location, reason, cause);
  }
}

/** Bytes of a line besides its event, at most. */
const positionBytes = 128;
/** Reserved in each group for events of the log itself, and its head. */
const ownBytes = 64 * 1024;
