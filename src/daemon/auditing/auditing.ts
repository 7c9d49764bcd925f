/**
 * The daemon's access to the audit log: it masks texts before they reach the log. Events for which
 * no caller waits are written together with the next one for which a caller waits.
 */
import type { AuditEvent, AuditSink, EventKind } from '../../audit/event.ts';
import type { ExecId, SessionId } from '../../command.ts';
import { diskFailure, isTrlError, TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { AuditMark } from '../../execution.ts';
import type { Masking } from '../secrets/masking.ts';
import { countFitting, fitEvent, fittedBytes, type FittedEvent } from './event-size.ts';
import { maskValues } from './mask-values.ts';
import type { MaskText } from './exec-basis.ts';
import type { RecordedEnd } from './recorded-ends.ts';
import type { UnendedExecution } from './unended.ts';
import { Listeners } from '../listeners.ts';

/** An event as the other parts of the daemon report it. */
export interface AuditRecord {
  readonly kind: EventKind;
  /** Default: the runtime itself. */
  readonly actor?: string;
  readonly session?: SessionId;
  readonly exec?: ExecId;
  readonly data: AuditEvent['data'];
}

/**
 * The parts of an event that need no masking: those that are masked already, or that the runtime
 * wrote.
 */
export interface AuditingOptions {
  readonly sink: AuditSink;
  /** Whether actions that cannot be recorded are refused. */
  readonly required: boolean;
  readonly masking: Pick<Masking, 'deep'>;
  /** Hides known and likely secrets in messages, which quote callers. */
  readonly maskText: MaskText;
  /** Must not throw. */
  readonly log: (text: string) => void;
  /** Commands of earlier runtimes without a recorded end. Default: none. */
  readonly unended?: () => Promise<readonly UnendedExecution[]>;
  /** Recorded ends of commands. Default: none. */
  readonly ends?: (
    execs: ReadonlySet<string>,
    since: number,
  ) => Promise<ReadonlyMap<ExecId, RecordedEnd>>;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
}

const retryMs = 1_000;
/** The most events that may wait for the disk; further ones are only counted. */
const lateMax = 10_000;
const lateBytesMax = 64 * 1024 * 1024;
/**
 * The most bytes of waiting events in one write: after an outage, the log receives them in parts.
 */
const groupBytesMax = limits.auditGroupBytes.max / 4;
/** The most bytes that are written with a command's end into the reserved disk space. */
const withEndBytesMax = limits.auditReserveBytes.default / 4;

export class Auditing {
  readonly #failures = new Listeners<[]>();
  readonly #events = new Listeners<[AuditEvent]>();
  readonly required: boolean;
  readonly #options: AuditingOptions;
  readonly #clock: () => number;
  #late: FittedEvent[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | NodeJS.Immediate | null = null;
  #isFailing = false;

  constructor(options: AuditingOptions) {
    this.#options = options;
    this.required = options.required;
    this.#clock = options.clock ?? Date.now;
  }

  /**
   * Resolves when the events, and all earlier noted ones, are on disk under a signed head.
   *
   * @returns the position of the last event; `null`: it could not be written, and recording is not
   *   required
   * @throws TrlError `AUDIT_UNAVAILABLE`: the actions that they permit must not happen
   */
  record(...records: readonly AuditRecord[]): Promise<AuditMark | null> {
    return this.#record(records, false);
  }

  /**
   * Does the same for the end of a running command: the disk space reserved for it is available
   * even on a full disk.
   */
  recordEnd(...records: readonly AuditRecord[]): Promise<AuditMark | null> {
    return this.#record(records, true);
  }

  async #record(records: readonly AuditRecord[], urgent: boolean): Promise<AuditMark | null> {
    const own = records.map((one) => this.#event(one));
    let late = this.#takeLate();
    if (urgent && own.length > 0 && fittedBytes(late) > withEndBytesMax) {
      this.#requeue(late);
      late = [];
    }
    const { sink, log } = this.#options;
    try {
      while (fittedBytes(late) > groupBytesMax) {
        const count = countFitting(late, groupBytesMax);
        await sink.append(eventsOf(late.slice(0, count)), { urgent });
        late = late.slice(count);
      }
      const places = await sink.append(eventsOf([...late, ...own]), { urgent });
      this.#isFailing = false;
      const last = places.at(-1);
      return last === undefined ? null : { ...last, head: sink.head() ?? '' };
    } catch (error) {
      this.#requeue(late);
      if (!isTrlError(error, 'AUDIT_UNAVAILABLE')) throw error;
      const isNews = !this.#isFailing;
      this.#isFailing = true;
      if (isNews) log(error.message);
      // A past event is recorded as soon as possible; a future action must not happen without its
      // record.
      if (urgent || !this.required) this.#enqueue(own);
      if (!this.required) return null;
      if (isNews) this.#failures.emit();
      throw error;
    }
  }

  /** Reports each event, masked, when it is recorded. The listener must not throw. */
  watch(listener: (event: AuditEvent) => void): () => void {
    return this.#events.add(listener);
  }

  /**
   * Reports when the log can no longer be written, so that no action continues without a record.
   */
  watchFailures(listener: () => void): () => void {
    return this.#failures.add(listener);
  }

  /** Records an event for which no caller waits. It stays in memory until it is on disk. */
  note(record: AuditRecord): void {
    this.#timer ??= setImmediate(() => this.#flush());
    this.#enqueue([this.#event(record)]);
  }

  noteAll(records: readonly AuditRecord[]): void {
    for (const one of records) this.note(one);
  }

  /**
   * Resolves when the events are on disk; keeps events in memory while they cannot be written. Only
   * for events that permit no action.
   */
  async append(records: readonly AuditRecord[]): Promise<void> {
    try {
      await this.record(...records);
    } catch (error) {
      if (!isTrlError(error, 'AUDIT_UNAVAILABLE')) throw error;
      this.noteAll(records);
    }
  }

  /** Commands of earlier runtimes whose end the log does not tell. */
  async unended(): Promise<readonly UnendedExecution[]> {
    return (await this.#options.unended?.()) ?? [];
  }

  /** Recorded ends of those commands in `execs` that ended at or after `since` (Unix ms). */
  async ends(execs: ReadonlySet<string>, since: number): Promise<ReadonlyMap<ExecId, RecordedEnd>> {
    return (await this.#options.ends?.(execs, since)) ?? new Map();
  }

  /** Writes the noted events if possible. */
  async close(): Promise<void> {
    clearTimer(this.#timer);
    this.#timer = null;
    if (this.#late.length > 0) await this.recordEnd().catch(() => null);
  }

  #event({ kind, actor, session, exec, data }: AuditRecord): FittedEvent {
    const at = this.#clock();
    const made = fitEvent({
      kind,
      at,
      actor: actor ?? null,
      session,
      exec,
      data: maskValues(this.#maskQuotes(data), this.#options.masking),
    });
    this.#events.emit(made.event);
    return made;
  }

  #maskQuotes(data: AuditRecord['data']): AuditRecord['data'] {
    const { maskText } = this.#options;
    const { message, why } = data;
    return {
      ...data,
      ...(typeof message === 'string' && { message: maskText(message) }),
      ...(typeof why === 'string' && { why: maskText(why) }),
    };
  }

  #takeLate(): readonly FittedEvent[] {
    const late = this.#late;
    this.#late = [];
    if (this.#dropped === 0) return late;
    const dropped = this.#dropped;
    this.#dropped = 0;
    return [...late, this.#event({ kind: 'log.interrupted', data: { dropped } })];
  }

  #enqueue(events: readonly FittedEvent[]): void {
    let bytes = fittedBytes(this.#late);
    for (const one of events) {
      bytes += one.bytes;
      if (this.#late.length < lateMax && bytes <= lateBytesMax) this.#late.push(one);
      else this.#dropped += 1;
    }
    this.#scheduleFlush();
  }

  /** Puts the events before those that arrived meanwhile. */
  #requeue(late: readonly FittedEvent[]): void {
    if (late.length === 0) return;
    this.#late = [...late, ...this.#late];
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    this.#timer ??= setTimeout(() => this.#flush(), retryMs).unref();
  }

  #flush(): void {
    this.#timer = null;
    void this.record().catch(() => this.#scheduleFlush());
  }
}

const eventsOf = (all: readonly FittedEvent[]): AuditEvent[] => all.map(({ event }) => event);

function clearTimer(timer: NodeJS.Timeout | NodeJS.Immediate | null): void {
  if (timer === null) return;
  if ('hasRef' in timer && 'refresh' in timer) clearTimeout(timer);
  else clearImmediate(timer);
}

/** The code and the message of a failure, for its record. */
export function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  const known = error instanceof TrlError ? error : diskFailure('go on', error);
  return known === null
    ? { code: 'INTERNAL_ERROR', message: 'The runtime failed' }
    : { code: known.code, message: known.message };
}
