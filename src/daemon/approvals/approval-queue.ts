/**
 * Commands that wait for a person. A parked one is an execution with an id and nothing else: it
 * makes no session busy, survives the daemon, and runs once when its question is answered.
 */
import type { Approval } from '../../approval/approval.ts';
import { canonicalJson } from '../../canonical.ts';
import type { ApprovalRegistry } from '../../approval/registry.ts';
import { approvalNotUsableError } from '../../approval/approval-errors.ts';
import { subjectDigest } from '../../approval/subject.ts';
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ExecutionRequest, AuthorizedExecution, PendingApproval } from '../../run.ts';
import type {
  ExecRecord,
  Executions,
  QueuedExecution,
  TrackedExecution,
} from '../executions/executions.ts';
import type { EndedExecution } from '../executions/receipt.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** How a parked command is looked at again, and run. */
export interface QueuedExecutionActions {
  /** What the command is now: a question again, or allowed by a policy that has changed. */
  prepare(
    session: LiveSession,
    parked: QueuedExecution,
    id: ExecId,
  ): Promise<AuthorizedExecution | PendingApproval>;
  authorizeByApproval(question: PendingApproval, approval: Approval): AuthorizedExecution;
  /** Whether the session was not destroyed meanwhile. */
  hasSession(session: LiveSession): boolean;
  /**
   * Takes the session for a foreground command: waits until it is free.
   *
   * @throws the reason of `signal` when it comes first
   */
  lockSession(session: LiveSession, signal: AbortSignal): Promise<SessionLock>;
  /** Starts it; `started` is called when it runs. */
  run(
    session: LiveSession,
    decided: AuthorizedExecution,
    started: () => void,
  ): Promise<EndedExecution>;
  /** The session is the command's until it ends. */
  occupy(session: LiveSession, tracked: TrackedExecution): void;
}

/** A session that is taken for a command which starts. */
export interface SessionLock {
  /** It has started, or never will. May be called again. */
  release(): void;
}

interface Waiting {
  readonly session: LiveSession;
  tracked: TrackedExecution;
  parked: QueuedExecution;
  /** Whether values are missing that only the caller knows. */
  lacksValues: boolean;
  /** Whether it waits for its turn or is looked at once more; `claimed`: its yes is used up. */
  leaving: 'no' | 'yes' | 'claimed';
  /** Aborts when it is over before it ran; its reason is why. */
  readonly over: AbortController;
  settle: { resolve(done: EndedExecution): void; reject(error: unknown): void; started(): void };
}

export class ApprovalQueue {
  readonly #approvals: ApprovalRegistry;
  readonly #execs: Executions;
  readonly #how: QueuedExecutionActions;
  readonly #waiting = new Map<ExecId, Waiting>();
  /** Answered questions whose result nobody took yet, by digest: asking again attaches. */
  readonly #uncollected = new Uncollected();

  constructor(approvals: ApprovalRegistry, execs: Executions, how: QueuedExecutionActions) {
    this.#approvals = approvals;
    this.#execs = execs;
    this.#how = how;
    approvals.watch((approval) => this.#heard(approval));
  }

  /** Asks a person about a command; an equal one that waits already is answered instead. */
  enqueue(
    session: LiveSession,
    question: PendingApproval,
    parts: { request: ExecutionRequest; caller: Caller; record: Omit<ExecRecord, 'parked'> },
  ): TrackedExecution {
    const { request, caller, record } = parts;
    const before = this.#attach(session, question, request);
    if (before !== null) return before;
    const approval = this.#approvals.ask(question.subject, question.verdict, record.id);
    this.#uncollected.set(approval.digest, approval.execId);
    const same = this.#waiting.get(approval.execId);
    if (same !== undefined) return this.resupplyValues(same.tracked, request);
    const parked: QueuedExecution = {
      approval: approval.id,
      request,
      caller,
      hasValues: hasValues(request),
    };
    return this.#add(session, { ...record, parked }, false);
  }

  /** Takes over one that an earlier daemon had parked, whatever became of its question. */
  restore(session: LiveSession, before: ExecRecord & { readonly parked: QueuedExecution }): void {
    // The daemon may have ended before it had noted down the question that took its place.
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
    this.#heard(approval);
  }

  /** When all were taken over: a question that nothing waits for must not look open. */
  cancelOrphans(): void {
    this.#approvals.cancelAllBut((id) => this.#waiting.has(id));
  }

  /**
   * The caller said again what it wants to run: with it come the values that are not kept. Other
   * values are another question, which the claim sees; another command brings none.
   */
  resupplyValues(tracked: TrackedExecution, request: ExecutionRequest): TrackedExecution {
    const waiting = this.#waiting.get(tracked.record.id);
    if (waiting === undefined || !waiting.lacksValues) return tracked;
    if (shapeOf(request) !== shapeOf(waiting.parked.request)) return tracked;
    waiting.lacksValues = false;
    waiting.parked = { ...waiting.parked, request };
    const approval = this.#find(waiting.parked.approval);
    if (approval !== null) this.#heard(approval);
    return tracked;
  }

  /** The result was taken: the same command, asked for again, is a new one. */
  markCollected(id: ExecId): void {
    if (!this.#waiting.has(id)) this.#uncollected.forget(id);
  }

  /** Answers when the command runs or is over, or after `waitMs` without a decision. */
  async waitForDecision(tracked: TrackedExecution, waitMs: number): Promise<void> {
    if (tracked.record.parked === null || waitMs === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    await Promise.race([tracked.started, tracked.settled.catch(() => {}), late]);
    clearTimeout(timer);
  }

  #attach(
    session: LiveSession,
    { subject: asked }: PendingApproval,
    request: ExecutionRequest,
  ): TrackedExecution | null {
    const digest = subjectDigest(asked);
    const id = this.#uncollected.get(digest);
    const found = id === undefined ? null : this.#execs.find(id);
    if (id !== undefined && found === null) this.#uncollected.forget(id);
    if (found === null || found.record.sessionId !== session.record.id) return null;
    // One that was refused may be asked again; one that ran, or will, may not run twice.
    if (found.record.lost !== null) return null;
    return this.resupplyValues(found, request);
  }

  #add(session: LiveSession, record: ExecRecord, lacksValues: boolean): TrackedExecution {
    let settle: Waiting['settle'] | undefined;
    let running = (): void => {};
    const started = new Promise<void>((resolve) => {
      running = resolve;
    });
    const outcome = new Promise<EndedExecution>((resolve, reject) => {
      settle = { resolve, reject, started: running };
    });
    const tracked = this.#execs.track(record, outcome, started);
    const { parked } = record;
    if (settle !== undefined && parked !== null) {
      const state = { lacksValues, leaving: 'no', over: new AbortController() } as const;
      this.#waiting.set(record.id, { session, tracked, parked, settle, ...state });
    }
    return tracked;
  }

  #find(id: QueuedExecution['approval']): Approval | null {
    return this.#approvals.list({}).find((one) => one.id === id) ?? null;
  }

  #heard(approval: Approval): void {
    const waiting = this.#waiting.get(approval.execId);
    if (waiting === undefined || waiting.parked.approval !== approval.id) return;
    switch (approval.state) {
      case 'approved':
        if (!waiting.lacksValues && waiting.leaving === 'no') void this.#leave(waiting);
        return;
      case 'denied':
      case 'cancelled':
      case 'expired':
        this.#reject(approval.execId, approvalNotUsableError(approval));
        return;
      case 'used':
        if (waiting.leaving === 'no') this.#reject(approval.execId, lost());
        return;
      case 'pending':
      case 'superseded':
    }
  }

  /** Looked at once more, then started: what would run must be what was approved. Never rejects. */
  async #leave(waiting: Waiting): Promise<void> {
    const { session, tracked, settle, over } = waiting;
    const foreground = tracked.record.mode === 'foreground';
    let turn: SessionLock | null = null;
    waiting.leaving = 'yes';
    try {
      if (foreground) turn = await this.#how.lockSession(session, over.signal);
      const decided = await this.#claim(waiting);
      if (decided === null) return;
      this.#waiting.delete(tracked.record.id);
      const facts = { ...tracked.record.facts, digest: decided.approved.digest };
      this.#execs.update(tracked, { parked: null, startedAt: Date.now(), facts });
      if (foreground) this.#how.occupy(session, tracked);
      const started = (): void => {
        turn?.release();
        settle.started();
      };
      settle.resolve(await this.#how.run(session, decided, started));
    } catch (error) {
      this.#fail(waiting, error);
    } finally {
      turn?.release();
      if (waiting.leaving === 'yes') waiting.leaving = 'no';
    }
  }

  /** `null`: something changed since the yes, and the new question is asked. */
  async #claim(waiting: Waiting): Promise<AuthorizedExecution | null> {
    const { session, tracked, parked, over } = waiting;
    const { id } = tracked.record;
    over.signal.throwIfAborted();
    const prepared = await this.#how.prepare(session, parked, id);
    // While it was looked at, it may have been cancelled, or its session destroyed.
    over.signal.throwIfAborted();
    if (!this.#how.hasSession(session)) throw sessionGone();
    if ('approved' in prepared) {
      waiting.leaving = 'claimed';
      this.#approvals.cancel({ exec: id });
      return prepared;
    }
    const claim = this.#approvals.claim(parked.approval, prepared.subject);
    if (claim.kind === 'run') {
      waiting.leaving = 'claimed';
      return this.#how.authorizeByApproval(prepared, claim.approval);
    }
    waiting.parked = { ...parked, approval: claim.next.id };
    this.#uncollected.set(claim.next.digest, id);
    this.#execs.update(tracked, { parked: waiting.parked });
    return null;
  }

  #reject(id: ExecId, error: TrlError): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.leaving === 'claimed') return;
    waiting.over.abort(error);
    this.#settle(waiting, error);
  }

  /** Its question is closed too, if that can be written: nothing waits for an answer any more. */
  #fail(waiting: Waiting, error: unknown): void {
    const { id } = waiting.tracked.record;
    this.#settle(waiting, error);
    try {
      this.#approvals.cancel({ exec: id });
    } catch {
      // It stays open on disk; the next daemon finds no command for it and closes it.
    }
  }

  #settle({ tracked, settle }: Waiting, error: unknown): void {
    this.#waiting.delete(tracked.record.id);
    this.#uncollected.forget(tracked.record.id);
    settle.reject(error);
  }
}

/** Executions by the digests of the questions that were asked about them. */
class Uncollected {
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

/** All of a request but the values, which are not kept. */
function shapeOf(request: ExecutionRequest): string {
  const { env, stdin } = request;
  const names = Object.keys(env).toSorted();
  return canonicalJson({ ...request, env: names, stdin: stdin.kind, execKey: null });
}

const hasValues = ({ env, stdin }: ExecutionRequest): boolean =>
  Object.keys(env).length > 0 || stdin.kind === 'bytes';

const lost = (): TrlError =>
  new TrlError(
    'BACKEND_UNAVAILABLE',
    'The execution was lost: the runtime ended between the approval and its start',
  );

const sessionGone = (): TrlError =>
  new TrlError('SESSION_NOT_FOUND', 'The session was destroyed before the command could start');
