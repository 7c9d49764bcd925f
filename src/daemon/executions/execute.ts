/**
 * The path of one command, from its request to its receipt:
 *
 *   execute → authorize → (queue, until a person approves) → start → finish
 *
 * Each step is one call: `authorize.ts` decides, `approvals/approval-queue.ts` waits for a person,
 * `start.ts` and `run.ts` start the command and record its end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { RefusalBackoff } from '../../approval/refusal-backoff.ts';
import { authorize } from '../../authorize.ts';
import type { Caller, CommandRequest, ExecId } from '../../command.ts';
import { isTrlError } from '../../errors.ts';
import type {
  AuthorizedExecution,
  ExecutionContext,
  ExecutionRequest,
  PendingApproval,
  RunDependencies,
} from '../../execution.ts';
import type { Policy } from '../../policy/policy.ts';
import { newExecId } from '../../session/record.ts';
import { ApprovalQueue } from '../approvals/approval-queue.ts';
import type { QueueEntry } from '../approvals/approval-queue.ts';
import type { DaemonApprovalService } from '../approvals/approval-service.ts';
import { authorizeByEarlierAnswer } from '../approvals/earlier-answers.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { MaskText } from '../auditing/exec-basis.ts';
import { pendingApprovalEvents, refusalEvents } from '../auditing/exec-recorder.ts';
import type { Masking } from '../secrets/masking.ts';
import { recordTypedSecrets, refuseSecretInCommand } from '../secrets/typed-secrets.ts';
import type { ContextCache } from '../sessions/context-cache.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import { refuseNestedScript, type ScriptCalls } from '../tools/script-calls.ts';
import { refuseToolSession } from '../tools/tool-session.ts';
import type { CommandShares } from './command-shares.ts';
import { createExecRecord, type LaunchOrigin } from './create-record.ts';
import { execKeysOf } from './executions.ts';
import type { ExecRecord, Executions, TrackedExecution } from './executions.ts';
import type { ExecKeys } from './keys.ts';
import type { EndedExecution } from './receipt.ts';
import { createSessionRequest, type CommandParams } from './requests.ts';
import { acquireSessionLock, takeForeground } from './session-lock.ts';
import type { CommandStarter } from './start.ts';

export interface ExecutorParts {
  readonly dependencies: RunDependencies;
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly contexts: ContextCache;
  readonly keys: ExecKeys;
  readonly shares: CommandShares;
  readonly scripts: ScriptCalls;
  readonly starter: CommandStarter;
  readonly approvalService: DaemonApprovalService;
  readonly auditing: Auditing;
  readonly masking: Masking;
  readonly maskText: MaskText;
  readonly log: (text: string) => void;
}

/** A command that a person must approve before it can start. */
interface NeedsApproval {
  readonly pending: PendingApproval;
  readonly request: ExecutionRequest;
  readonly record: Omit<ExecRecord, 'parked'>;
}

export class CommandExecutor {
  readonly queue: ApprovalQueue;
  readonly #parts: ExecutorParts;
  readonly #backoff = new RefusalBackoff();

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    const { approvals } = parts.approvalService;
    this.queue = new ApprovalQueue(approvals, parts.execs, (entry) => this.#startApproved(entry));
    // A person's denial counts as a refusal by policy does.
    approvals.watch(({ state, asked }) => {
      if (state === 'denied') this.#backoff.recordRefusal(asked.session);
    });
  }

  /** Takes a request; resolves when the command runs, or waits for a person. */
  async execute(
    caller: Caller,
    params: CommandParams,
    asked: CommandRequest['mode'],
  ): Promise<TrackedExecution> {
    const { sessions, shares, keys, contexts } = this.#parts;
    refuseNestedScript(params.language, caller);
    const session = sessions.get(params.session_id);
    if (params.tool === undefined) refuseToolSession(session.record);
    // A running script has its session's foreground, so that its calls run beside it.
    const isBeside = caller.within !== undefined && session.busy === caller.within;
    const mode = isBeside ? 'detached' : asked;
    const keyed = keys.of(params);
    const origin: LaunchOrigin = { mode, caller, call: keyed?.call ?? null };
    const start = (): Promise<TrackedExecution> =>
      shares.start(caller, session, () => this.#startOrQueue(session, params, origin));
    if (keyed === null) return start();
    // A repeated key attaches to the first execution.
    const known = keys.find(keyed);
    if (known === null) return keys.start(keyed, start);
    const policy = await contexts.policyOf(session);
    const request = createSessionRequest(session, params, { mode, policy });
    return this.queue.resupplyValues(known, request);
  }

  async #startOrQueue(
    session: LiveSession,
    params: CommandParams,
    origin: LaunchOrigin,
  ): Promise<TrackedExecution> {
    const isForeground = origin.mode === 'foreground';
    if (isForeground) takeForeground(session);
    const starting = this.#authorizeAndStart(session, params, origin);
    if (isForeground) session.starting = starting.catch(() => {});
    let result: TrackedExecution | NeedsApproval;
    try {
      result = await starting;
    } catch (error) {
      if (isForeground) session.busy = null;
      // The layers of a session go when it ends, and what needs them fails.
      if (!isTrlError(error)) this.#parts.sessions.refuseEnded(session.record.id);
      // Each refusal delays the next one, so that trying spellings gains nothing.
      if (isTrlError(error, 'POLICY_DENIED')) {
        await sleep(this.#backoff.recordRefusal(session.record.id));
      }
      throw error;
    }
    const tracked = 'pending' in result ? await this.#enqueue(session, result, origin) : result;
    this.#parts.scripts.watch(tracked);
    return tracked;
  }

  async #authorizeAndStart(
    session: LiveSession,
    params: CommandParams,
    { mode, caller, call }: LaunchOrigin,
  ): Promise<TrackedExecution | NeedsApproval> {
    const { masking, contexts, execs, scripts, approvalService, starter, sessions } = this.#parts;
    const { names: typedSecrets } = masking.look(params.command);
    if (typedSecrets.length > 0) recordTypedSecrets(session, typedSecrets, this.#parts);
    const policy = await contexts.policyOf(session);
    const request = createSessionRequest(session, params, { mode, policy });
    contexts.separate(session, request, execs.running(session.record.id));
    const id = newExecId();
    const { context, result } = await this.#authorize(session, request, { policy, caller, id });
    // It may have been destroyed meanwhile.
    sessions.refuseEnded(session.record.id);
    const decided =
      'approved' in result ? result : (authorizeByEarlierAnswer(approvalService, result) ?? result);
    const record = createExecRecord({ id, session, request, context, result, call, decided });
    if (request.language === 'python') scripts.expect(id, caller, session.record.id);
    if ('approved' in decided) {
      this.#backoff.reset(session.record.id);
      return starter.start(session, context, decided, record);
    }
    refuseSecretInCommand(typedSecrets);
    if (mode === 'foreground') session.busy = null;
    return { pending: decided, request, record };
  }

  /** A refusal is recorded before the caller hears of it. */
  async #authorize(
    session: LiveSession,
    request: ExecutionRequest,
    of: { readonly policy: Policy; readonly caller: Caller; readonly id: ExecId },
  ): Promise<{ context: ExecutionContext; result: AuthorizedExecution | PendingApproval }> {
    const { contexts, dependencies, auditing, maskText } = this.#parts;
    const { caller, id } = of;
    try {
      const circumstances = await contexts.circumstances(session, { ...of, request });
      const result = await authorize(dependencies, circumstances, request, id);
      return { context: circumstances.context, result };
    } catch (error) {
      const { actor, within: parent = null } = caller;
      const refused = { id, parent, session: session.record.id, actor, request };
      await auditing.append(refusalEvents(refused, error, maskText));
      throw error;
    }
  }

  async #enqueue(
    session: LiveSession,
    { pending, request, record }: NeedsApproval,
    { caller }: LaunchOrigin,
  ): Promise<TrackedExecution> {
    const { sessions, scripts, execs, auditing, maskText } = this.#parts;
    // The backoff slows its own caller only: the session is free by now.
    const waitMs = this.#backoff.remainingMs(session.record.id);
    if (waitMs > 0) await sleep(waitMs);
    sessions.get(session.record.id);
    const tracked = this.queue.enqueue(session, pending, { request, caller, record });
    if (tracked.record.id === record.id) {
      auditing.noteAll(pendingApprovalEvents(record.id, pending, maskText));
      return tracked;
    }
    // An identical command waits already: this call goes on with it.
    scripts.end(record.id);
    const [own] = execKeysOf({ ...record, parked: null });
    if (own !== undefined) execs.addKey(tracked, own);
    return tracked;
  }

  /** Starts a queued command: it is authorized again, since it must be what was approved. */
  async #startApproved(entry: QueueEntry): Promise<EndedExecution | null> {
    const { sessions, execs, contexts, dependencies, starter } = this.#parts;
    const { session, tracked, signal } = entry;
    const { id, mode, parked } = tracked.record;
    if (parked === null) return null;
    const lock =
      mode === 'foreground' ? await acquireSessionLock(session, execs, signal) : undefined;
    try {
      signal.throwIfAborted();
      const { request, caller } = parked;
      const policy = await contexts.policyOf(session);
      const circumstances = await contexts.circumstances(session, { policy, caller, request });
      const result = await authorize(dependencies, circumstances, request, id);
      // It may have been cancelled meanwhile, or its session destroyed.
      signal.throwIfAborted();
      sessions.refuseEnded(session.record.id);
      const authorized = entry.claim(result);
      if (authorized === null) return null;
      const started = (): void => {
        lock?.release();
        entry.started();
      };
      return await starter.startQueued(session, tracked, authorized, started);
    } finally {
      lock?.release();
    }
  }
}
