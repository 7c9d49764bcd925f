/**
 * The daemon's way to the audit log: texts are masked before they get there, and what need not be
 * waited for comes with the next that is.
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

/** An event as the rest of the daemon tells it. */
export interface AuditRecord {
  readonly kind: EventKind;
  /** Default: the runtime itself. */
  readonly actor?: string;
  readonly session?: SessionId;
  readonly exec?: ExecId;
  readonly data: AuditEvent['data'];
}

/** What of an event may lack masking: what was masked or made by the runtime already. */
export interface AuditingOptions {
  readonly sink: AuditSink;
  /** Whether nothing may happen that cannot be recorded. */
  readonly required: boolean;
  readonly masking: Pick<Masking, 'deep'>;
  /** Hides also what is likely: messages quote what callers wrote. Default: the known alone. */
  readonly maskText?: MaskText;
  /** Must not throw. */
  readonly log: (text: string) => void;
  /** Commands of earlier runtimes whose end the log does not tell. Default: none. */
  readonly unended?: () => Promise<readonly UnendedExecution[]>;
  /** How commands ended, as the log says. Default: it says nothing. */
  readonly ends?: (
    execs: ReadonlySet<string>,
    since: number,
  ) => Promise<ReadonlyMap<ExecId, RecordedEnd>>;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
}

const retryMs = 1_000;
/** Events that wait to be written, at most; more than these are counted. */
const lateMax = 10_000;
const lateBytesMax = 64 * 1024 * 1024;
/** Of what waited, at once: a log that was away for a while takes it in parts. */
const groupBytesMax = limits.auditGroupBytes.max / 4;
/** What goes with the end of a command into the room that is put by. */
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
   * Answers when the events, and all that were noted before, are on disk under a signed head.
   *
   * @returns where the last of them lies; `null`: it could not be written, and need not be
   * @throws TrlError `AUDIT_UNAVAILABLE`: what they permit must not happen
   */
  record(...told: readonly AuditRecord[]): Promise<AuditMark | null> {
    return this.#record(told, false);
  }

  /** The same for the end of what runs already: a full disk has room put by for it. */
  recordEnd(...told: readonly AuditRecord[]): Promise<AuditMark | null> {
    return this.#record(told, true);
  }

  async #record(told: readonly AuditRecord[], urgent: boolean): Promise<AuditMark | null> {
    const own = told.map((one) => this.#event(one));
    let late = this.#takeLate();
    if (urgent && own.length > 0 && fittedBytes(late) > withEndBytesMax) {
      this.#putBack(late);
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
      this.#putBack(late);
      if (!isTrlError(error, 'AUDIT_UNAVAILABLE')) throw error;
      const isNews = !this.#isFailing;
      this.#isFailing = true;
      if (isNews) log(error.message);
      // What has happened is told when it can be; what was to happen must not.
      if (urgent || !this.required) this.#keep(own);
      if (!this.required) return null;
      if (isNews) this.#failures.emit();
      throw error;
    }
  }

  /** Reports each event, masked, when it is recorded. The listener must not throw. */
  watch(listener: (event: AuditEvent) => void): () => void {
    return this.#events.add(listener);
  }

  /** Reports when the log can no longer be written, so that nothing may go on unrecorded. */
  watchFailures(listener: () => void): () => void {
    return this.#failures.add(listener);
  }

  /** Records an event that nobody waits for. It stays in memory until it is on disk. */
  note(told: AuditRecord): void {
    this.#timer ??= setImmediate(() => this.#flush());
    this.#keep([this.#event(told)]);
  }

  noteAll(told: readonly AuditRecord[]): void {
    for (const one of told) this.note(one);
  }

  /**
   * Answers when the events are on disk; where they cannot be written they are kept until they can
   * be. For what permits nothing.
   */
  async append(told: readonly AuditRecord[]): Promise<void> {
    try {
      await this.record(...told);
    } catch (error) {
      if (!isTrlError(error, 'AUDIT_UNAVAILABLE')) throw error;
      this.noteAll(told);
    }
  }

  /** Commands of earlier runtimes whose end the log does not tell. */
  async unended(): Promise<readonly UnendedExecution[]> {
    return (await this.#options.unended?.()) ?? [];
  }

  /** How those of `execs` ended, none before `since` (Unix ms), as the log says. */
  async ends(execs: ReadonlySet<string>, since: number): Promise<ReadonlyMap<ExecId, RecordedEnd>> {
    return (await this.#options.ends?.(execs, since)) ?? new Map();
  }

  /** Writes what was noted, as far as it can be written. */
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
      data: maskValues(this.#quoting(data), this.#options.masking),
    });
    this.#events.emit(made.event);
    return made;
  }

  #quoting(data: AuditRecord['data']): AuditRecord['data'] {
    const { maskText: shown } = this.#options;
    const { message, why } = data;
    if (shown === undefined) return data;
    return {
      ...data,
      ...(typeof message === 'string' && { message: shown(message) }),
      ...(typeof why === 'string' && { why: shown(why) }),
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

  #keep(events: readonly FittedEvent[]): void {
    let bytes = fittedBytes(this.#late);
    for (const one of events) {
      bytes += one.bytes;
      if (this.#late.length < lateMax && bytes <= lateBytesMax) this.#late.push(one);
      else this.#dropped += 1;
    }
    this.#later();
  }

  /** Before what came meanwhile. */
  #putBack(late: readonly FittedEvent[]): void {
    if (late.length === 0) return;
    this.#late = [...late, ...this.#late];
    this.#later();
  }

  #later(): void {
    this.#timer ??= setTimeout(() => this.#flush(), retryMs).unref();
  }

  #flush(): void {
    this.#timer = null;
    void this.record().catch(() => this.#later());
  }
}

const eventsOf = (all: readonly FittedEvent[]): AuditEvent[] => all.map(({ event }) => event);

function clearTimer(timer: NodeJS.Timeout | NodeJS.Immediate | null): void {
  if (timer === null) return;
  if ('hasRef' in timer && 'refresh' in timer) clearTimeout(timer);
  else clearImmediate(timer);
}

/** What is told of a failure: its code and its sentence. */
export function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  const known = error instanceof TrlError ? error : diskFailure('go on', error);
  return known === null
    ? { code: 'INTERNAL_ERROR', message: 'The runtime failed' }
    : { code: known.code, message: known.message };
}
