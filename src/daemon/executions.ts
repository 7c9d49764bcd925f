/** Every execution the daemon knows: running here, adopted from before, ended, or lost. */
import type { ExecId, SessionId } from '../command.ts';
import { isTrlError, TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { WireError } from '../protocol/types.ts';
import type { ExecView } from '../protocol/types.ts';
import type { Store } from '../session/store.ts';
import { isoTime, receiptHead, type Ended, type PlanFacts, type ReceiptHead } from './receipt.ts';

/** What is kept of an execution, on disk as well: no variable's value, no output. */
export interface ExecRecord {
  readonly id: ExecId;
  readonly sessionId: SessionId;
  readonly mode: 'foreground' | 'detached';
  readonly command: string;
  readonly key: string | null;
  readonly startedAt: number;
  readonly facts: PlanFacts;
  readonly outcome: Ended | null;
  readonly lost: WireError | null;
}

export interface Tracked {
  record: ExecRecord;
  /** Settles with the receipt, or rejects when the execution failed or was lost. */
  readonly settled: Promise<ReceiptHead>;
  /** Settles when the runner has it, or will never have it. */
  readonly started: Promise<unknown>;
}

const wireError = (error: unknown): WireError =>
  isTrlError(error)
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL_ERROR', message: 'The runtime failed' };

export class Executions {
  readonly #store: Store;
  readonly #all = new Map<ExecId, Tracked>();
  readonly #keys = new Map<string, ExecId>();
  started = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Records of an earlier daemon. */
  stored(): ExecRecord[] {
    return this.#store.all('execs').map(({ json }): ExecRecord => JSON.parse(json));
  }

  /** Follows an execution to its end; `outcome` is what `run.ts` answers. */
  track(record: ExecRecord, outcome: Promise<Ended>, started?: Promise<void>): Tracked {
    const settled = outcome.then(
      (done) => {
        this.#update(tracked, { outcome: done });
        return receiptHead(record.facts, done);
      },
      (error: unknown) => {
        this.#update(tracked, { lost: wireError(error) });
        throw error;
      },
    );
    settled.catch(() => {});
    const begun = Promise.race([started, settled]).catch(() => {});
    const tracked: Tracked = { record, settled, started: begun };
    this.#all.set(record.id, tracked);
    if (record.key !== null) this.#keys.set(keyOf(record.sessionId, record.key), record.id);
    this.#store.put('execs', record.id, record);
    this.#prune();
    return tracked;
  }

  /**
   * One that the runner can be asked about: what is just starting is waited for.
   *
   * @throws TrlError `EXEC_NOT_FOUND`
   */
  async begun(id: ExecId): Promise<Tracked> {
    await this.get(id).started;
    return this.get(id);
  }

  /** @throws TrlError `EXEC_NOT_FOUND` */
  get(id: ExecId): Tracked {
    const found = this.#all.get(id);
    if (found === undefined) throw new TrlError('EXEC_NOT_FOUND', `Cannot find execution ${id}`);
    return found;
  }

  byKey(session: SessionId, key: string | null): Tracked | null {
    const id = key === null ? undefined : this.#keys.get(keyOf(session, key));
    return id === undefined ? null : (this.#all.get(id) ?? null);
  }

  forget(id: ExecId): void {
    const found = this.#all.get(id);
    this.#all.delete(id);
    if (found?.record.key != null) {
      this.#keys.delete(keyOf(found.record.sessionId, found.record.key));
    }
    this.#store.remove('execs', id);
  }

  of(session: SessionId | null): Tracked[] {
    const all = [...this.#all.values()];
    return session === null ? all : all.filter(({ record }) => record.sessionId === session);
  }

  running(session: SessionId | null): Tracked[] {
    return this.of(session).filter(({ record }) => record.outcome === null && record.lost === null);
  }

  #update(tracked: Tracked, change: Partial<ExecRecord>): void {
    tracked.record = { ...tracked.record, ...change };
    if (this.#all.has(tracked.record.id)) {
      this.#store.putSoon('execs', tracked.record.id, tracked.record);
    }
  }

  /** Ended executions leave with their journals. */
  #prune(): void {
    const oldest = Date.now() - limits.journalKeepMs.default;
    for (const { record } of this.#all.values()) {
      const ended =
        record.outcome?.exit.ended_at ?? (record.lost === null ? null : record.startedAt);
      if (ended === null) continue;
      if (ended > oldest) break;
      this.forget(record.id);
    }
  }
}

const keyOf = (session: SessionId, key: string): string => `${session} ${key}`;

export function execView(
  { record }: Tracked,
  journal: { from: number; bytes: number } | null,
): ExecView {
  const { outcome, lost } = record;
  return {
    exec_id: record.id,
    session_id: record.sessionId,
    state: lost !== null ? 'lost' : outcome === null ? 'running' : 'exited',
    mode: record.mode,
    command: record.command,
    started_at: isoTime(record.startedAt),
    journal_from: journal?.from ?? outcome?.exit.journal_from ?? 0,
    journal_bytes: journal?.bytes ?? outcome?.exit.journal_bytes ?? 0,
    ...(outcome === null
      ? {}
      : { exit_code: outcome.exit.exit_code, receipt: receiptHead(record.facts, outcome) }),
  };
}
