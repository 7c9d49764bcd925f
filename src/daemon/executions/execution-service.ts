/** What callers do with commands: start, follow, read, write to, end and list them. */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type {
  ExecLeaseAnswer,
  ExecLeaseParams,
  ExecParams,
  ExecReadParams,
} from '../../api/exec.ts';
import type { Receipt } from '../../api/receipt.ts';
import type { RunnerLink } from '../../process/runner-link.ts';
import type { SecretStore } from '../../secrets/secret-store.ts';
import type { DaemonApprovalService } from '../approvals/approval-service.ts';
import type { InputAudit } from '../auditing/input-audit.ts';
import type { Runners } from '../runners.ts';
import type { CommandExecutor } from './execute.ts';
import {
  execView,
  errorFromWire,
  isExecutionOver,
  execKeysOf,
  approvalRequiredError,
  type Executions,
  type TrackedExecution,
} from './executions.ts';
import { waitForOutputText } from './wait-for-output.ts';
import { Leases } from './leases.ts';
import { toStreamChunks } from './stream-chunks.ts';
import {
  collectOutput,
  waitOrAbort,
  readJournalRange,
  streamOutput,
  totalOutput,
} from './read-output.ts';
import { createReceipt } from './receipt.ts';
import type { CommandParams } from './requests.ts';
import type { ExecutionService } from '../runtime.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { Semaphore } from './semaphore.ts';

export interface ExecutionServiceParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly executor: CommandExecutor;
  readonly inputs: InputAudit;
  readonly runners: Runners;
  readonly secrets: Pick<SecretStore, 'load'>;
  readonly approvalService: Pick<DaemonApprovalService, 'approvals'>;
}

const readBytesDefault = 256 * 1024;
/** How many hold the output of one command for an answer at once: many may be attached to it. */
const gatheringMax = 4;
/** How many ranges of output are read for one caller at once. */
const rangesMax = 16;

export class DaemonExecutionService implements ExecutionService {
  readonly #parts: ExecutionServiceParts;
  readonly #leases = new Leases();
  readonly #gathering = new Semaphore(gatheringMax);
  readonly #ranges = new Semaphore(rangesMax);

  constructor(parts: ExecutionServiceParts) {
    this.#parts = parts;
  }

  async run(caller: Caller, params: CommandParams): Promise<Receipt> {
    const tracked = await this.#begin(caller, params, 'foreground');
    return this.#receiptOf(tracked, params.output_bytes ?? limits.outputBytes.default);
  }

  /**
   * As {@link run}, for a command that was started before.
   *
   * @throws TrlError `APPROVAL_REQUIRED` when a person must decide and nobody did in `waitMs`
   */
  async finish(
    id: ExecId,
    { waitMs, bytesMax }: { readonly waitMs: number; readonly bytesMax: number },
  ): Promise<Receipt> {
    const tracked = this.#parts.execs.get(id);
    await this.#parts.executor.queue.waitForDecision(tracked, waitMs);
    if (tracked.record.parked !== null) throw approvalRequiredError(tracked.record);
    await tracked.started;
    return this.#receiptOf(tracked, bytesMax);
  }

  async #receiptOf(tracked: TrackedExecution, bytesMax: number): Promise<Receipt> {
    const { runners } = this.#parts;
    const link = await runners.link();
    const { id } = tracked.record;
    const [head, output] = await this.#gathering.run(id, () =>
      Promise.all([tracked.settled, collectOutput(link, id, bytesMax)]),
    );
    this.#parts.executor.queue.markCollected(tracked.record.id);
    const answer = createReceipt(
      head,
      totalOutput(output.stdout, head.stdout_bytes),
      totalOutput(output.stderr, head.stderr_bytes),
    );
    if (!answer.timed_out) return answer;
    const after = `${answer.duration_ms} ms`;
    throw new TrlError('COMMAND_TIMEOUT', `The command was ended after ${after}`, {
      data: { ...answer },
    });
  }

  async openStream(caller: Caller, params: ExecParams): Promise<ExecId> {
    return (await this.#begin(caller, params, 'foreground')).record.id;
  }

  async start(caller: Caller, params: ExecParams): Promise<ExecId> {
    const { record } = await this.#begin(caller, params, 'detached');
    // Found by its key, or after a wait: it was refused or lost, and does not run.
    if (record.lost !== null) throw errorFromWire(record.lost);
    return record.id;
  }

  /** @throws TrlError `APPROVAL_REQUIRED` when a person must decide and nobody did in `wait_ms` */
  async #begin(
    caller: Caller,
    params: CommandParams,
    mode: 'foreground' | 'detached',
  ): Promise<TrackedExecution> {
    // New secrets in files are known before anybody can read output that shows them.
    await this.#parts.secrets.load();
    const tracked = await this.#parts.executor.execute(caller, params, mode);
    await this.#parts.executor.queue.waitForDecision(tracked, params.wait_ms ?? 0);
    if (tracked.record.parked !== null) throw approvalRequiredError(tracked.record);
    // A command that this call attached to may still be starting.
    await tracked.started;
    return tracked;
  }

  async follow(
    _: Caller,
    id: ExecId,
    { from, sink, signal }: Parameters<ExecutionService['follow']>[2],
  ): Promise<void> {
    const tracked = this.#parts.execs.get(id);
    await waitOrAbort(tracked.started, signal);
    if (signal.aborted) return;
    const { runners } = this.#parts;
    const stop = runners.onWaiting(id, (info) => sink.waiting(info));
    try {
      await streamOutput(() => runners.link(), tracked, { from, sink, signal });
      this.#parts.executor.queue.markCollected(id);
    } finally {
      stop();
    }
  }

  async read(
    caller: Caller,
    params: Parameters<ExecutionService['read']>[1],
  ): ReturnType<ExecutionService['read']> {
    const tracked = this.#parts.execs.get(params.exec_id);
    const ends = AbortSignal.timeout(params.wait_ms ?? 0);
    await this.#parts.executor.queue.waitForDecision(tracked, params.wait_ms ?? 0);
    const ask = {
      from: params.from ?? 0,
      max: params.max ?? readBytesDefault,
      waitMs: params.wait_ms ?? 0,
      within: <T>(read: () => Promise<T>) => this.#ranges.run(caller.actor, read),
    };
    const { state: before } = execView(tracked, null);
    if (before === 'waiting' || before === 'refused') {
      return { exec_id: params.exec_id, from: ask.from, next: ask.from, chunks: [], state: before };
    }
    await tracked.started;
    const link = await this.#parts.runners.link();
    const { grep = null, tail = null, until } = params;
    const found = until === undefined ? {} : await this.#await(link, tracked, { ...params, ends });
    const filter = grep === null && tail === null ? {} : { filter: { grep, tail, max: ask.max } };
    const waitMs = until === undefined ? ask.waitMs : 0;
    const read = await readJournalRange(link, tracked.record.id, { ...ask, waitMs, ...filter });
    const view = execView(this.#parts.execs.get(params.exec_id), null);
    return {
      exec_id: params.exec_id,
      from: ask.from,
      next: read.next,
      chunks: toStreamChunks(read.pieces),
      ...(read.gap === null ? {} : { gap: read.gap }),
      ...(read.omitted ? { omitted_lines: read.omitted } : {}),
      ...found,
      state: view.state,
      ...(view.exit_code === undefined ? {} : { exit_code: view.exit_code }),
    };
  }

  /** Waits as `until` says, at most `wait_ms`. */
  async #await(
    link: RunnerLink,
    tracked: TrackedExecution,
    { from = 0, until = '', ends }: ExecReadParams & { readonly ends: AbortSignal },
  ): Promise<{ readonly found?: boolean }> {
    const ended = tracked.settled.catch(() => null);
    if (until === '') {
      await waitOrAbort(ended, ends);
      return {};
    }
    const { id } = tracked.record;
    const found = await waitForOutputText(link, id, { from, text: until, signal: ends }).catch(
      noOutput,
    );
    // What it changed is known then, too.
    if (!found) await waitOrAbort(ended, ends);
    return { found };
  }

  async write(
    caller: Caller,
    id: ExecId,
    { bytes: data, eof, lease }: Parameters<ExecutionService['write']>[2],
  ): Promise<void> {
    const { record } = await this.#parts.execs.waitForStart(id);
    this.#leases.check(id, lease);
    this.#parts.inputs.recordInput(caller, record, { data, eof });
    const link = await this.#parts.runners.link();
    const base64 = Buffer.from(data).toString('base64');
    await link.request('stdin', { exec_id: id, base64, eof });
  }

  async resize(
    _: Caller,
    id: ExecId,
    { columns, rows, lease }: Parameters<ExecutionService['resize']>[2],
  ): Promise<void> {
    await this.#parts.execs.waitForStart(id);
    this.#leases.check(id, lease);
    const link = await this.#parts.runners.link();
    await link.request('resize', { exec_id: id, columns, rows });
  }

  /** @throws TrlError `INVALID_PARAMS` for a command that has ended; as {@link Leases} */
  async lease(caller: Caller, params: ExecLeaseParams): Promise<ExecLeaseAnswer> {
    const tracked = await this.#parts.execs.waitForStart(params.exec_id);
    const of = { session_id: tracked.record.sessionId } as const;
    if (params.action === 'release') return { ...this.#leases.release(params), ...of };
    if (isExecutionOver(tracked)) {
      const message = `Cannot take ${params.exec_id}: it has ended`;
      throw new TrlError('INVALID_PARAMS', message);
    }
    const lease = this.#leases.take(caller, params);
    const end = (): void => this.#leases.end(params.exec_id);
    void tracked.settled.then(end, end);
    return { ...lease, ...of };
  }

  async cancel(
    caller: Caller,
    target: { exec_id: ExecId } | { session_id: SessionId } | { exec_key: string },
    signal: string | null,
  ): Promise<{ stopped: readonly ExecId[] }> {
    if ('exec_key' in target) return this.#cancelKeyed(caller, target.exec_key, signal);
    const cancelled = this.#parts.approvalService.approvals.cancel(
      'exec_id' in target ? { exec: target.exec_id } : { session: target.session_id },
    );
    const waiting = cancelled.map(({ execId }) => execId);
    if ('exec_id' in target && waiting.length > 0) return { stopped: waiting };
    const found = await this.#targets(target);
    const running = found.filter(({ record }) => record.outcome === null && record.lost === null);
    const link = await this.#parts.runners.link();
    for (const { record } of running) {
      const { id: exec_id } = record;
      if (signal === null) await link.request('stop', { exec_id, reason: 'cancelled' });
      else await link.request('signal', { exec_id, signal });
    }
    return { stopped: [...waiting, ...running.map(({ record }) => record.id)] };
  }

  /** In the caller's own sessions: another's key may be the same. */
  async #cancelKeyed(caller: Caller, key: string, signal: string | null) {
    const { execs, sessions } = this.#parts;
    const own = new Set(
      sessions.all().flatMap(({ record }) => (record.owner === caller.actor ? [record.id] : [])),
    );
    const found = execs
      .list(null)
      .filter(
        ({ record }) =>
          own.has(record.sessionId) && execKeysOf(record).some((one) => one.key === key),
      );
    const each = found.map(({ record }) => this.cancel(caller, { exec_id: record.id }, signal));
    return { stopped: (await Promise.all(each)).flatMap(({ stopped }) => stopped) };
  }

  /** A command that is just starting is waited for: a cancel must not miss it. */
  async #targets(
    target: { exec_id: ExecId } | { session_id: SessionId },
  ): Promise<TrackedExecution[]> {
    if ('exec_id' in target) {
      const found = this.#parts.execs.get(target.exec_id);
      return isExecutionOver(found) ? [] : [await this.#parts.execs.waitForStart(found.record.id)];
    }
    const session = this.#parts.sessions.get(target.session_id);
    await session.starting;
    const found = this.#parts.execs.running(session.record.id);
    await Promise.all(found.map(({ started }) => started));
    return found;
  }

  list(_: Caller, session: SessionId | null): ReturnType<ExecutionService['list']> {
    return Promise.resolve(
      this.#parts.execs.list(session).map((tracked) => execView(tracked, null)),
    );
  }

  async info(_: Caller, id: ExecId): ReturnType<ExecutionService['info']> {
    const tracked = this.#parts.execs.get(id);
    const link = await this.#parts.runners.link();
    const info = await link.request('info', { exec_id: id }).catch(() => null);
    const journal = info === null ? null : { from: info.journal_from, bytes: info.journal_bytes };
    return execView(tracked, journal);
  }
}

/** The read that follows says that it is gone. */
function noOutput(error: unknown): boolean {
  if (isTrlError(error, 'EXEC_NOT_FOUND')) return false;
  throw error;
}
