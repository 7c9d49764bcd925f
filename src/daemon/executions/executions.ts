/** Every execution the daemon knows: running here, adopted from before, ended, or lost. */

import { approvalReason } from '../../approval/approve.ts';
import type { WorkspaceMode } from '../../change.ts';
import type { ApprovalId, Caller, ExecId, SessionId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { ExecView } from '../../api/receipt.ts';
import type { WireError } from '../../api/answer-fields.ts';
import type { ExecutionRequest } from '../../execution.ts';
import type { StateStore } from '../../session/store.ts';
import { Listeners } from '../listeners.ts';
import type { Masking } from '../secrets/masking.ts';
import { UsedKeys, type UsedKey } from '../used-keys.ts';
import {
  isoTime,
  createReceiptHead,
  type EndedExecution,
  type PlanFacts,
  type ReceiptHead,
} from './receipt.ts';

/** The stored record of an execution: no variable's value, no output. */
export interface ExecRecord {
  readonly id: ExecId;
  readonly sessionId: SessionId;
  readonly mode: 'foreground' | 'detached';
  readonly pty?: true;
  readonly command: string;
  readonly key: string | null;
  /** Identifies the call that the key was given for; absent: no key, or an older record. */
  readonly call?: string;
  /** Keys of later calls that attached to it. */
  readonly also?: readonly ExecKey[];
  /** The script that started it; absent: none. */
  readonly parent?: ExecId;
  /** What happens to its changes; absent: the session's mode. */
  readonly workspaceMode?: WorkspaceMode | null;
  readonly startedAt: number;
  readonly facts: PlanFacts;
  readonly outcome: EndedExecution | null;
  readonly lost: WireError | null;
  /** Unix ms at which it was lost or refused; absent in older records. */
  readonly lostAt?: number;
  /** While it waits for a person: the request, stored without values. */
  readonly parked: QueuedExecution | null;
}

export interface ExecKey {
  readonly key: string;
  readonly call?: string;
}

/** A command that waits for a person. Values of variables and input are only in memory. */
export interface QueuedExecution {
  readonly approval: ApprovalId;
  readonly request: ExecutionRequest;
  readonly caller: Caller;
  /** Whether the request had values, which a restarted daemon does not know. */
  readonly hasValues: boolean;
}

export interface TrackedExecution {
  record: ExecRecord;
  /** Settles with the receipt, or rejects when the execution failed or was lost. */
  readonly settled: Promise<ReceiptHead>;
  /** Settles when the runner has it, or will never have it. */
  readonly started: Promise<unknown>;
}

/** Keys of later calls that one command is known by. */
const alsoMax = 32;

const wireError = (error: unknown): WireError =>
  isTrlError(error)
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL_ERROR', message: 'The runtime failed' };

export class Executions {
  readonly #listeners = new Listeners<[TrackedExecution]>();
  readonly #store: StateStore;
  readonly #masking: Masking;
  readonly #all = new Map<ExecId, TrackedExecution>();
  readonly #keys = new Map<string, ExecId>();
  readonly #used: UsedKeys;
  started = 0;

  /** @param used keys of commands that are no longer held */
  constructor(store: StateStore, masking: Masking, used: UsedKeys = new UsedKeys(store)) {
    this.#store = store;
    this.#masking = masking;
    this.#used = used;
  }

  /** Reports each execution that begins, and each change. The listener must not throw. */
  watch(listener: (tracked: TrackedExecution) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Records of an earlier daemon. */
  stored(): ExecRecord[] {
    return this.#store.all('execs').map(({ json }): ExecRecord => JSON.parse(json));
  }

  /**
   * Follows an execution to its end; `outcome` is what `run.ts` answers.
   *
   * @throws TrlError `BACKEND_UNAVAILABLE` when it cannot be kept: then it is not followed
   */
  track(
    record: ExecRecord,
    outcome: Promise<EndedExecution>,
    started?: Promise<void>,
  ): TrackedExecution {
    // What is not kept must not be followed: nobody would know of it after a crash.
    this.#store.put('execs', record.id, this.#kept(record));
    const settled = outcome.then(
      (done) => {
        this.update(tracked, { outcome: done });
        return createReceiptHead(tracked.record.facts, done);
      },
      (error: unknown) => {
        const lostAt = tracked.record.lostAt ?? Date.now();
        this.update(tracked, { lost: wireError(error), lostAt, parked: null });
        throw error;
      },
    );
    settled.catch(() => {});
    const begun = Promise.race([started, settled]).catch(() => {});
    const tracked: TrackedExecution = { record, settled, started: begun };
    this.#all.set(record.id, tracked);
    for (const { key } of execKeysOf(record)) {
      this.#keys.set(keyOf(record.sessionId, key), record.id);
    }
    this.#prune();
    this.#listeners.emit(tracked);
    return tracked;
  }

  /**
   * One that the runner can be asked about: what is just starting is waited for.
   *
   * @throws TrlError `EXEC_NOT_FOUND`; `APPROVAL_REQUIRED` for one that waits for a person; why it
   *   never ran
   */
  async waitForStart(id: ExecId): Promise<TrackedExecution> {
    const found = this.get(id);
    if (found.record.parked !== null) throw approvalRequiredError(found.record);
    await found.started;
    const { lost } = found.record;
    if (lost !== null && execStateOf(found.record) === 'refused') throw errorFromWire(lost);
    return found;
  }

  /** @throws TrlError `EXEC_NOT_FOUND` */
  get(id: ExecId): TrackedExecution {
    const found = this.#all.get(id);
    if (found === undefined) throw new TrlError('EXEC_NOT_FOUND', `Cannot find execution ${id}`);
    return found;
  }

  find(id: ExecId): TrackedExecution | null {
    return this.#all.get(id) ?? null;
  }

  byKey(session: SessionId, key: string | null): TrackedExecution | null {
    const id = key === null ? undefined : this.#keys.get(keyOf(session, key));
    return id === undefined ? null : (this.#all.get(id) ?? null);
  }

  /** What ran by a key, and is no longer held. */
  findUsedKey(session: SessionId, key: string): UsedKey | null {
    return this.#used.find(session, key);
  }

  /** A session has ended: what ran in it is forgotten, and its keys are nobody's. */
  endSession(session: SessionId): void {
    for (const { record } of this.list(session)) {
      if (record.outcome !== null || record.lost !== null) this.forget(record.id);
    }
    this.#used.endScope(session);
  }

  /** A later call goes on with it, and has a key of its own: on disk when it returns. */
  addKey({ record: { id } }: TrackedExecution, own: ExecKey): void {
    const found = this.get(id);
    const { also = [], sessionId } = found.record;
    if (execKeysOf(found.record).some(({ key }) => key === own.key)) return;
    const [oldest] = also;
    const isFull = also.length >= alsoMax;
    if (isFull && oldest !== undefined) this.#keys.delete(keyOf(sessionId, oldest.key));
    this.#keys.set(keyOf(sessionId, own.key), id);
    this.update(found, { also: [...(isFull ? also.slice(1) : also), own] });
    this.#store.put('execs', id, this.#kept(found.record));
  }

  forget(id: ExecId): void {
    const found = this.#all.get(id);
    this.#all.delete(id);
    if (found !== undefined) {
      const { record } = found;
      for (const { key } of execKeysOf(record)) this.#keys.delete(keyOf(record.sessionId, key));
    }
    this.#store.remove('execs', id);
  }

  list(session: SessionId | null): TrackedExecution[] {
    const all = [...this.#all.values()];
    return session === null ? all : all.filter(({ record }) => record.sessionId === session);
  }

  running(session: SessionId | null): TrackedExecution[] {
    return this.list(session).filter(
      ({ record }) => record.outcome === null && record.lost === null && record.parked === null,
    );
  }

  update(tracked: TrackedExecution, change: Partial<ExecRecord>): void {
    tracked.record = { ...tracked.record, ...change };
    if (this.#all.has(tracked.record.id)) {
      this.#store.putSoon('execs', tracked.record.id, this.#kept(tracked.record));
      this.#listeners.emit(tracked);
    }
  }

  /** As it goes to disk: no value, and no known secret in any text. */
  #kept(record: ExecRecord): ExecRecord {
    return this.#masking.deep(withoutValues(record));
  }

  #useUp(record: ExecRecord): void {
    // What was refused never ran.
    if (execStateOf(record) === 'refused') return;
    const { id: state, sessionId: scope } = record;
    for (const one of execKeysOf(record)) this.#used.put({ ...one, scope, state, at: Date.now() });
  }

  /** Ended executions leave with their journals. */
  #prune(): void {
    const oldest = Date.now() - limits.journalKeepMs.default;
    for (const { record } of this.#all.values()) {
      const ended = endOf(record);
      if (ended === null) continue;
      if (ended > oldest) break;
      this.#useUp(record);
      this.forget(record.id);
    }
  }
}

/** Unix ms, or `null` while it is not over. What waited for a person ends long after it began. */
const endOf = ({ outcome, lost, lostAt, startedAt }: ExecRecord): number | null =>
  outcome?.exit.ended_at ?? (lost === null ? null : (lostAt ?? startedAt));

export const isExecutionOver = ({ record }: TrackedExecution): boolean => endOf(record) !== null;

export const errorFromWire = (lost: WireError | null): TrlError =>
  new TrlError(lost?.code ?? 'BACKEND_UNAVAILABLE', lost?.message ?? 'The execution was lost');

/** The error for a caller whose command waits for a person. */
export function approvalRequiredError({ id, parked, facts }: ExecRecord): TrlError {
  const approval = parked?.approval ?? '';
  const message =
    `${approvalReason(facts.verdict)}. A person must decide ${approval}; ` +
    `it runs as ${id} when approved, so wait for it rather than repeat it`;
  const data = { approval_id: approval, exec_id: id, verdict: facts.verdict };
  return new TrlError('APPROVAL_REQUIRED', message, { data });
}

/** All that stand for it, its own first. */
export function execKeysOf({ key, call, also = [] }: ExecRecord): readonly ExecKey[] {
  return key === null ? also : [call === undefined ? { key } : { key, call }, ...also];
}

const keyOf = (session: SessionId, key: string): string => `${session} ${key}`;

export function execView(
  { record }: TrackedExecution,
  journal: { from: number; bytes: number } | null,
): ExecView {
  const { outcome } = record;
  return {
    exec_id: record.id,
    session_id: record.sessionId,
    state: execStateOf(record),
    ...(record.parked === null ? {} : { approval_id: record.parked.approval }),
    mode: record.mode,
    ...(record.pty === true ? { pty: true } : {}),
    command: record.command,
    started_at: isoTime(record.startedAt),
    journal_from: journal?.from ?? outcome?.exit.journal_from ?? 0,
    journal_bytes: journal?.bytes ?? outcome?.exit.journal_bytes ?? 0,
    ...(record.lost === null ? {} : { error: record.lost }),
    ...(outcome === null
      ? {}
      : { exit_code: outcome.exit.exit_code, receipt: createReceiptHead(record.facts, outcome) }),
  };
}

/** What a person refused, or nobody decided, never ran; what was lost did. */
export function execStateOf({ outcome, lost, parked }: ExecRecord): ExecView['state'] {
  if (parked !== null) return 'waiting';
  if (lost !== null) return /^(APPROVAL|POLICY)_/.test(lost.code) ? 'refused' : 'lost';
  return outcome === null ? 'running' : 'exited';
}

/** A record as it is stored: without the values of a queued command's variables and input. */
function withoutValues(record: ExecRecord): ExecRecord {
  const { parked } = record;
  if (parked === null) return record;
  const { env, stdin } = parked.request;
  const names = Object.fromEntries(Object.keys(env).map((name) => [name, '']));
  const input: typeof stdin = stdin.kind === 'bytes' ? { kind: 'bytes', base64: '' } : stdin;
  return {
    ...record,
    parked: { ...parked, request: { ...parked.request, env: names, stdin: input } },
  };
}
