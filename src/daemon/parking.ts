/**
 * Commands that wait for a person. A parked one is an execution with an id and nothing else: it
 * makes no session busy, survives the daemon, and runs once when its question is answered.
 */
import type { Approval } from '../approval/approval.ts';
import { whyNot, type Approvals } from '../approval/approvals.ts';
import { askedDigest } from '../approval/request.ts';
import type { Caller, ExecId } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { Asking, Decided, Question } from '../run.ts';
import type { ExecRecord, Executions, Parked, Tracked } from './executions.ts';
import type { Ended } from './receipt.ts';
import type { Session } from './sessions.ts';

/** How a parked command is looked at again, and run. */
export interface Unparking {
  /** What the command is now: a question again, or allowed by a policy that has changed. */
  prepare(session: Session, parked: Parked, id: ExecId): Promise<Decided | Question>;
  permitted(question: Question, approval: Approval): Decided;
  /** Takes the session for a foreground command: waits until it is free. */
  turn(session: Session): Promise<void>;
  /** Starts it; `started` is called when it runs. */
  run(session: Session, decided: Decided, started: () => void): Promise<Ended>;
  /** The session is the command's until it ends. */
  occupy(session: Session, tracked: Tracked): void;
  release(session: Session): void;
}

interface Waiting {
  readonly session: Session;
  tracked: Tracked;
  parked: Parked;
  /** Whether values are missing that only the caller knows. */
  lacksValues: boolean;
  /** Whether it is on its way to run. */
  leaving: boolean;
  settle: { resolve(done: Ended): void; reject(error: unknown): void; started(): void };
}

export class Parking {
  readonly #approvals: Approvals;
  readonly #execs: Executions;
  readonly #how: Unparking;
  readonly #waiting = new Map<ExecId, Waiting>();
  /** Answered questions whose result nobody took yet, by digest: asking again attaches. */
  readonly #uncollected = new Map<string, ExecId>();

  constructor(approvals: Approvals, execs: Executions, how: Unparking) {
    this.#approvals = approvals;
    this.#execs = execs;
    this.#how = how;
    approvals.watch((approval) => this.#heard(approval));
  }

  /** Asks a person about a command; an equal one that waits already is answered instead. */
  park(
    session: Session,
    question: Question,
    parts: { request: Asking; caller: Caller; record: Omit<ExecRecord, 'parked'> },
  ): Tracked {
    const { request, caller, record } = parts;
    const before = this.#attach(session, question, request);
    if (before !== null) return before;
    const approval = this.#approvals.ask(question.asked, question.verdict, record.id);
    this.#uncollected.set(approval.digest, approval.execId);
    const same = this.#waiting.get(approval.execId);
    if (same !== undefined) return this.supply(same.tracked, request);
    const parked: Parked = {
      approval: approval.id,
      request,
      caller,
      hasValues: hasValues(request),
    };
    return this.#add(session, { ...record, parked }, false);
  }

  /** Takes over one that an earlier daemon had parked, whatever became of its question. */
  restore(session: Session, record: ExecRecord & { readonly parked: Parked }): void {
    const approval = this.#find(record.parked.approval);
    this.#add(session, record, record.parked.hasValues);
    if (approval === null) {
      const gone = new TrlError('APPROVAL_EXPIRED', 'The question to a person is gone');
      this.#reject(record.id, gone);
      return;
    }
    this.#uncollected.set(approval.digest, record.id);
    this.#heard(approval);
  }

  /** The caller said again what it wants to run: with it come the values that are not kept. */
  supply(tracked: Tracked, request: Asking): Tracked {
    const waiting = this.#waiting.get(tracked.record.id);
    if (waiting === undefined || !waiting.lacksValues) return tracked;
    waiting.lacksValues = false;
    waiting.parked = { ...waiting.parked, request };
    const approval = this.#find(waiting.parked.approval);
    if (approval !== null) this.#heard(approval);
    return tracked;
  }

  /** The result was taken: the same command, asked for again, is a new one. */
  collected(id: ExecId): void {
    for (const [digest, exec] of this.#uncollected) {
      if (exec === id && !this.#waiting.has(id)) this.#uncollected.delete(digest);
    }
  }

  /** Answers when the command runs or is over, or after `waitMs` without a decision. */
  async decided(tracked: Tracked, waitMs: number): Promise<void> {
    if (tracked.record.parked === null || waitMs === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    await Promise.race([tracked.started, tracked.settled.catch(() => {}), late]);
    clearTimeout(timer);
  }

  #attach(session: Session, { asked }: Question, request: Asking): Tracked | null {
    const digest = askedDigest(asked);
    const id = this.#uncollected.get(digest);
    const found = id === undefined ? null : this.#execs.find(id);
    if (found === null || found.record.sessionId !== session.record.id) return null;
    // One that was refused may be asked again; one that ran, or will, may not run twice.
    if (found.record.lost !== null) return null;
    return this.supply(found, request);
  }

  #add(session: Session, record: ExecRecord, lacksValues: boolean): Tracked {
    let settle: Waiting['settle'] | undefined;
    let running = (): void => {};
    const started = new Promise<void>((resolve) => {
      running = resolve;
    });
    const outcome = new Promise<Ended>((resolve, reject) => {
      settle = { resolve, reject, started: running };
    });
    const tracked = this.#execs.track(record, outcome, started);
    const { parked } = record;
    if (settle !== undefined && parked !== null) {
      const waiting = { session, tracked, parked, lacksValues, leaving: false, settle };
      this.#waiting.set(record.id, waiting);
    }
    return tracked;
  }

  #find(id: Parked['approval']): Approval | null {
    return this.#approvals.list({}).find((one) => one.id === id) ?? null;
  }

  #heard(approval: Approval): void {
    const waiting = this.#waiting.get(approval.execId);
    if (waiting === undefined || waiting.parked.approval !== approval.id) return;
    switch (approval.state) {
      case 'approved':
        if (!waiting.lacksValues && !waiting.leaving) void this.#leave(waiting);
        return;
      case 'denied':
      case 'cancelled':
      case 'expired':
        this.#reject(approval.execId, whyNot(approval));
        return;
      case 'used':
        if (!waiting.leaving) this.#reject(approval.execId, lost());
        return;
      case 'pending':
      case 'superseded':
    }
  }

  /** Looked at once more, then started: what would run now must be what was approved. */
  async #leave(waiting: Waiting): Promise<void> {
    const { session, tracked, settle } = waiting;
    const { id, mode } = tracked.record;
    const foreground = mode === 'foreground';
    waiting.leaving = true;
    try {
      if (foreground) await this.#how.turn(session);
      const decided = await this.#claim(waiting);
      if (decided === null) {
        if (foreground) this.#how.release(session);
        return;
      }
      this.#waiting.delete(id);
      const facts = { ...tracked.record.facts, digest: decided.approved.digest };
      const record = { parked: null, startedAt: Date.now(), facts };
      this.#execs.update(tracked, record);
      if (foreground) this.#how.occupy(session, tracked);
      settle.resolve(await this.#how.run(session, decided, () => settle.started()));
    } catch (error) {
      if (foreground && session.busy === 'starting') this.#how.release(session);
      this.#approvals.cancel({ exec: id });
      this.#waiting.delete(id);
      settle.reject(error);
    } finally {
      waiting.leaving = false;
    }
  }

  /** `null`: something changed since the yes, and the new question is asked. */
  async #claim(waiting: Waiting): Promise<Decided | null> {
    const { session, tracked, parked } = waiting;
    const { id } = tracked.record;
    const prepared = await this.#how.prepare(session, parked, id);
    if ('approved' in prepared) {
      this.#approvals.cancel({ exec: id });
      return prepared;
    }
    const claim = this.#approvals.claim(parked.approval, prepared.asked);
    if (claim.kind === 'run') return this.#how.permitted(prepared, claim.approval);
    waiting.parked = { ...parked, approval: claim.next.id };
    this.#uncollected.set(claim.next.digest, id);
    this.#execs.update(tracked, { parked: waiting.parked });
    return null;
  }

  #reject(id: ExecId, error: TrlError): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.leaving) return;
    this.#waiting.delete(id);
    waiting.settle.reject(error);
  }
}

const hasValues = ({ env, stdin }: Asking): boolean =>
  Object.keys(env).length > 0 || stdin.kind === 'bytes';

const lost = (): TrlError =>
  new TrlError(
    'BACKEND_UNAVAILABLE',
    'The execution was lost: the runtime ended between the approval and its start',
  );
