/**
 * Commands that wait for a person. A queued command is an execution with an id and nothing else: it
 * makes no session busy, survives the daemon, and starts once when its approval is given. The state
 * of the approval is the registry's alone.
 */
import type { Approval } from '../../approval/approval.ts';
import { approvalNotUsableError } from '../../approval/approval-errors.ts';
import type { ApprovalRegistry } from '../../approval/registry.ts';
import { subjectDigest } from '../../approval/subject.ts';
import { authorizeByApproval } from '../../authorize.ts';
import { canonicalJson } from '../../canonical.ts';
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { AuthorizedExecution, ExecutionRequest, PendingApproval } from '../../execution.ts';
import type {
  ExecRecord,
  Executions,
  QueuedExecution,
  TrackedExecution,
} from '../executions/executions.ts';
import type { EndedExecution } from '../executions/receipt.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** A queued command whose approval was given, for the one who starts it. */
export interface QueueEntry {
  readonly session: LiveSession;
  readonly tracked: TrackedExecution;
  /** Aborts when the command is cancelled, denied or expired before it runs. */
  readonly signal: AbortSignal;
  /**
   * Uses the approval up for what would start now. `null`: that is not what was approved, and the
   * person is asked about the new subject.
   */
  claim(result: AuthorizedExecution | PendingApproval): AuthorizedExecution | null;
  /** The command runs. */
  started(): void;
}

/** Starts an approved command; resolves at its end. `null`: it goes on waiting. */
export type StartApproved = (entry: QueueEntry) => Promise<EndedExecution | null>;

interface WaitingCommand {
  readonly session: LiveSession;
  readonly tracked: TrackedExecution;
  /** Whether values are missing that only the caller knows. */
  lacksValues: boolean;
  /** `starting`: it is being authorized again; `claimed`: its approval is used up. */
  phase: 'waiting' | 'starting' | 'claimed';
  /** Aborts when it is over before it ran; its reason is why. */
  readonly over: AbortController;
  readonly started: () => void;
  readonly outcome: PromiseWithResolvers<EndedExecution>;
}

export class ApprovalQueue {
  readonly #approvals: ApprovalRegistry;
  readonly #execs: Executions;
  readonly #startApproved: StartApproved;
  readonly #waiting = new Map<ExecId, WaitingCommand>();
  /** Commands whose result nobody took yet, by the digest of their subject: a repeat attaches. */
  readonly #uncollected = new UncollectedResults();

  constructor(approvals: ApprovalRegistry, execs: Executions, startApproved: StartApproved) {
    this.#approvals = approvals;
    this.#execs = execs;
    this.#startApproved = startApproved;
    approvals.watch((approval) => this.#follow(approval));
  }

  /** Requests an approval; an identical command that waits already is returned instead. */
  enqueue(
    session: LiveSession,
    { subject, verdict }: PendingApproval,
    parts: { request: ExecutionRequest; caller: Caller; record: Omit<ExecRecord, 'parked'> },
  ): TrackedExecution {
    const { request, caller, record } = parts;
    const before = this.#findUncollected(session, subjectDigest(subject));
    if (before !== null) return this.resupplyValues(before, request);
    const approval = this.#approvals.ask(subject, verdict, record.id);
    this.#uncollected.set(approval.digest, approval.execId);
    const same = this.#waiting.get(approval.execId);
    if (same !== undefined) return this.resupplyValues(same.tracked, request);
    const parked = { approval: approval.id, request, caller, hasValues: hasValues(request) };
    return this.#add(session, { ...record, parked }, false);
  }

  /** Takes over a command that an earlier daemon queued, whatever became of its approval. */
  restore(session: LiveSession, before: ExecRecord & { readonly parked: QueuedExecution }): void {
    // The earlier daemon may have ended before it stored the approval that superseded this one.
    let approval = this.#find(before.parked.approval);
    while (approval?.supersededBy != null) approval = this.#find(approval.supersededBy);
    const parked = { ...before.parked, approval: approval?.id ?? before.parked.approval };
    const record = { ...before, parked };
    this.#add(session, record, parked.hasValues);
    if (approval === null) {
      const gone = new TrlError('APPROVAL_EXPIRED', 'The question to a person is gone');
      this.#reject(record.id, gone);
      return;
    }
    this.#uncollected.set(approval.digest, record.id);
    this.#follow(approval);
  }

  /** After all were restored: closes approvals that no command waits for. */
  cancelOrphans(): void {
    this.#approvals.cancelAllBut((id) => this.#waiting.has(id));
  }

  /**
   * Takes the values that were not stored, when the caller sends its command again. Other values
   * make another subject, which the claim notices; another command supplies none.
   */
  resupplyValues(tracked: TrackedExecution, request: ExecutionRequest): TrackedExecution {
    const waiting = this.#waiting.get(tracked.record.id);
    const parked = waiting?.tracked.record.parked ?? null;
    if (waiting === undefined || parked === null || !waiting.lacksValues) return tracked;
    if (withoutValues(request) !== withoutValues(parked.request)) return tracked;
    waiting.lacksValues = false;
    this.#execs.update(waiting.tracked, { parked: { ...parked, request } });
    const approval = this.#find(parked.approval);
    if (approval !== null) this.#follow(approval);
    return tracked;
  }

  /** The result was taken: the same command, sent again, is a new one. */
  markCollected(id: ExecId): void {
    if (!this.#waiting.has(id)) this.#uncollected.forget(id);
  }

  /** Resolves when the command runs or is over, or after `waitMs` without a decision. */
  async waitForDecision(tracked: TrackedExecution, waitMs: number): Promise<void> {
    if (tracked.record.parked === null || waitMs === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    await Promise.race([tracked.started, tracked.settled.catch(() => {}), late]);
    clearTimeout(timer);
  }

  /** A refused command may be requested again; one that ran, or will, may not run twice. */
  #findUncollected(session: LiveSession, digest: string): TrackedExecution | null {
    const id = this.#uncollected.get(digest);
    const found = id === undefined ? null : this.#execs.find(id);
    if (id !== undefined && found === null) this.#uncollected.forget(id);
    if (found === null || found.record.sessionId !== session.record.id) return null;
    return found.record.lost === null ? found : null;
  }

  #add(session: LiveSession, record: ExecRecord, lacksValues: boolean): TrackedExecution {
    const outcome = Promise.withResolvers<EndedExecution>();
    const started = Promise.withResolvers<void>();
    const tracked = this.#execs.track(record, outcome.promise, started.promise);
    this.#waiting.set(record.id, {
      session,
      tracked,
      lacksValues,
      phase: 'waiting',
      over: new AbortController(),
      started: started.resolve,
      outcome,
    });
    return tracked;
  }

  #find(id: QueuedExecution['approval']): Approval | null {
    return this.#approvals.list({}).find((one) => one.id === id) ?? null;
  }

  #follow(approval: Approval): void {
    const waiting = this.#waiting.get(approval.execId);
    if (waiting?.tracked.record.parked?.approval !== approval.id) return;
    switch (approval.state) {
      case 'approved':
        if (!waiting.lacksValues && waiting.phase === 'waiting') void this.#start(waiting);
        return;
      case 'denied':
      case 'cancelled':
      case 'expired':
        this.#reject(approval.execId, approvalNotUsableError(approval));
        return;
      case 'used':
        if (waiting.phase === 'waiting') this.#reject(approval.execId, lostError());
        return;
      case 'pending':
      case 'superseded':
    }
  }

  /** Never rejects. */
  async #start(waiting: WaitingCommand): Promise<void> {
    const { session, tracked, over, started, outcome } = waiting;
    waiting.phase = 'starting';
    try {
      const claim: QueueEntry['claim'] = (result) => this.#claim(waiting, result);
      const { signal } = over;
      const ended = await this.#startApproved({ session, tracked, signal, claim, started });
      if (ended !== null) outcome.resolve(ended);
    } catch (error) {
      this.#fail(waiting, error);
    } finally {
      if (waiting.phase === 'starting') waiting.phase = 'waiting';
    }
  }

  #claim(
    waiting: WaitingCommand,
    result: AuthorizedExecution | PendingApproval,
  ): AuthorizedExecution | null {
    const { tracked } = waiting;
    const { id, parked } = tracked.record;
    if (parked === null) return null;
    if ('approved' in result) {
      // Policy has changed meanwhile and allows it.
      waiting.phase = 'claimed';
      this.#waiting.delete(id);
      this.#approvals.cancel({ exec: id });
      return result;
    }
    const claim = this.#approvals.claim(parked.approval, result.subject);
    if (claim.kind === 'run') {
      waiting.phase = 'claimed';
      this.#waiting.delete(id);
      return authorizeByApproval(result, claim.approval);
    }
    this.#uncollected.set(claim.next.digest, id);
    this.#execs.update(tracked, { parked: { ...parked, approval: claim.next.id } });
    return null;
  }

  #reject(id: ExecId, error: TrlError): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.phase === 'claimed') return;
    waiting.over.abort(error);
    this.#settle(waiting, error);
  }

  /** Closes the approval too, if that can be written: no command waits for it any more. */
  #fail(waiting: WaitingCommand, error: unknown): void {
    const { id } = waiting.tracked.record;
    this.#settle(waiting, error);
    try {
      this.#approvals.cancel({ exec: id });
    } catch {
      // It stays open on disk; the next daemon finds no command for it and closes it.
    }
  }

  #settle({ tracked, outcome }: WaitingCommand, error: unknown): void {
    this.#waiting.delete(tracked.record.id);
    this.#uncollected.forget(tracked.record.id);
    outcome.reject(error);
  }
}

/** Executions by the digests of their subjects. */
class UncollectedResults {
  readonly #execs = new Map<string, ExecId>();
  readonly #digests = new Map<ExecId, string[]>();

  get(digest: string): ExecId | undefined {
    return this.#execs.get(digest);
  }

  set(digest: string, id: ExecId): void {
    this.#execs.set(digest, id);
    this.#digests.set(id, [...(this.#digests.get(id) ?? []), digest]);
  }

  forget(id: ExecId): void {
    for (const digest of this.#digests.get(id) ?? []) {
      if (this.#execs.get(digest) === id) this.#execs.delete(digest);
    }
    this.#digests.delete(id);
  }
}

/** All of a request except the values, which are not stored. */
function withoutValues(request: ExecutionRequest): string {
  const { env, stdin } = request;
  const names = Object.keys(env).toSorted();
  return canonicalJson({ ...request, env: names, stdin: stdin.kind, execKey: null });
}

const hasValues = ({ env, stdin }: ExecutionRequest): boolean =>
  Object.keys(env).length > 0 || stdin.kind === 'bytes';

const lostError = (): TrlError =>
  new TrlError(
    'BACKEND_UNAVAILABLE',
    'The execution was lost: the runtime ended between the approval and its start',
  );
