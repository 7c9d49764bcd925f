/**
 * All approvals and their answers. Every change of state is one compare-and-swap that is on disk
 * before it takes effect: an approval survives the daemon, and starts one process at most.
 */
import type { ApprovalId, ApprovalState, ExecId, SessionId, Verdict } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits, fairShareRefusal } from '../limits.ts';
import {
  approvalDueAt,
  isSessionGrant,
  isApprovalOpen,
  newApprovalId,
  parseApproval,
} from './approval.ts';
import type { Approval, ApprovalProof } from './approval.ts';
import { diffSubjects, isOnlyWorkspaceChange } from './subject-diff.ts';
import { subjectDigest, rebindSubject, orderSubject, withoutWorkspaceState } from './subject.ts';
import type { RuleSubject } from './lasting-rules.ts';
import type { ApprovalSubject } from './subject.ts';
import { approvalExpiredError, approvalNotUsableError } from './approval-errors.ts';

/** Where approvals are kept. `put` must be durable when it returns, and throw when it is not. */
export interface ApprovalStore {
  put(id: string, json: string): void;
  remove(id: string): void;
  all(): Iterable<{ readonly id: string; readonly json: string }>;
}

export interface ApprovalRegistryOptions {
  readonly store: ApprovalStore;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
  /** What policy permits for a subject; looked up at every step. */
  readonly permits: (asked: ApprovalSubject) => ApprovalPermissions;
  /** Whether the actor that asked may decide, given a proof that is its own. */
  readonly allowSamePerson: boolean;
  /** Whose share of the pending approvals a subject takes; default: its requester's. */
  readonly shareHolderOf?: (subject: ApprovalSubject) => string;
  /** Stores a person's rule; it is on disk when this returns. Throws if it is not. */
  readonly keepRule: (of: RuleSubject, by: string) => void;
}

export interface ApprovalPermissions {
  /** After so long without an answer it is a no. */
  readonly expiresMs: number;
  /** Whether a decision counts that nothing but the user's uid proves. */
  readonly sameUid: boolean;
  /** Whether an answer may hold for equal plans of the same session. */
  readonly sessionScope: boolean;
}

export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny';
  /** Default `once`. */
  readonly scope?: 'once' | 'session' | 'project';
  readonly words?: string;
  /** The first 8 or more hex digits of the digest that was seen. */
  readonly digest: string;
  readonly by: { readonly actor: string; readonly proof: ApprovalProof };
}

/** `run`: the one start that was approved is the caller's now. Else `next` has to be answered. */
export type ApprovalClaim =
  | { readonly kind: 'run'; readonly approval: Approval }
  | {
      readonly kind: 'superseded';
      readonly next: Approval;
      readonly changes: readonly string[];
    };

export interface ApprovalFilter {
  readonly state?: ApprovalState;
  readonly session?: SessionId;
}

export class ApprovalRegistry {
  readonly #options: ApprovalRegistryOptions;
  readonly #clock: () => number;
  readonly #all = new Map<ApprovalId, Approval>();
  /** Length of each as JSON. */
  readonly #bytes = new Map<ApprovalId, number>();
  readonly #listeners = new Set<(approval: Approval) => void>();

  constructor(options: ApprovalRegistryOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
  }

  /**
   * Takes over what an earlier daemon left: pending ones stay, what is overdue expires, and what
   * was approved but not used may still start once.
   */
  load(): void {
    const found = [...this.#options.store.all()].flatMap(({ id, json }) => {
      const approval = parseApproval(id, json);
      if (approval !== null) this.#bytes.set(approval.id, json.length);
      return approval ?? [];
    });
    for (const approval of found.toSorted((a, b) => a.createdAt - b.createdAt)) {
      this.#all.set(approval.id, approval);
    }
    this.expire();
  }

  /**
   * Asks a person. A question that waits already is not asked twice: its approval is answered,
   * whose `execId` is then another.
   *
   * @throws TrlError `POLICY_DENIED` for a block, which nobody can approve; `QUOTA_EXCEEDED`
   *   when 32 of the session or 256 in all wait, or the share of the caller is taken
   */
  ask(asked: ApprovalSubject, verdict: Verdict, execId: ExecId): Approval {
    if (verdict.decision === 'block') {
      throw new TrlError('POLICY_DENIED', 'Cannot ask for approval: policy blocks the command');
    }
    this.expire();
    const digest = subjectDigest(asked);
    const pending = this.list({ state: 'pending' });
    const equal = pending.find((one) => one.digest === digest);
    if (equal !== undefined) return equal;
    const own = pending.filter((one) => one.asked.session === asked.session);
    const [ownMax, allMax] = [limits.approvalsOfSession.default, limits.approvalsPending.default];
    if (own.length >= ownMax || pending.length >= allMax) {
      const held =
        own.length >= ownMax ? `${own.length} of the session` : `${pending.length} commands`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot ask for approval: ${held} wait for one already`);
    }
    const { shareHolderOf = ({ requester }: ApprovalSubject) => requester } = this.#options;
    const holders = pending.map((one) => shareHolderOf(one.asked));
    const taken = fairShareRefusal(holders, shareHolderOf(asked), allMax);
    if (taken !== null) {
      const message = `Cannot ask for approval: ${taken} questions that wait`;
      throw new TrlError('QUOTA_EXCEEDED', message);
    }
    return this.#open({ asked, verdict, execId }, []);
  }

  /**
   * Takes a person's answer.
   *
   * @throws TrlError `INVALID_PARAMS` when there is no such approval, it was answered already, or
   *   the digest is another; `APPROVAL_EXPIRED` when it is too late; `AUTH_FAILED` when the
   *   decider may not decide
   */
  decide(id: ApprovalId, decision: ApprovalDecision): Approval {
    this.expire();
    const { digest, by, words = null } = decision;
    const approval = this.get(id);
    this.#checkDecider(approval, by);
    if (!/^[0-9a-f]{8,64}$/i.test(digest) || !approval.digest.startsWith(digest.toLowerCase())) {
      const reason = 'the digest is not its own; look at it again';
      throw new TrlError('INVALID_PARAMS', `Cannot decide ${id}: ${reason}`);
    }
    if (approval.state === 'expired') throw approvalExpiredError(approval);
    const scope = decision.scope ?? 'once';
    const { asked } = approval;
    if (scope !== 'once' && !this.#options.permits(asked).sessionScope) {
      const message = `Cannot decide ${id} for the ${scope}: policy takes answers for once only`;
      throw new TrlError('POLICY_DENIED', message);
    }
    const at = this.#clock();
    if (scope === 'project' && asked.rule === undefined) {
      const message = `Cannot decide ${id} for the project: no rule can say what it is about`;
      throw new TrlError('POLICY_DENIED', message);
    }
    const answer = { decision: decision.decision, scope, at, by, words };
    if (decision.decision === 'deny') {
      return this.#move(approval, ['pending'], { state: 'denied', answer, closedAt: at });
    }
    this.#checkOpen(approval, 'approved', ['pending']);
    if (scope === 'project' && asked.rule !== undefined) {
      this.#options.keepRule(asked.rule, by.actor);
    }
    const grants = scope === 'session';
    return this.#move(approval, ['pending'], { state: 'approved', answer, grants });
  }

  /**
   * The last step before the start: uses the approval up, if what would start now is what was
   * approved. When this answers `run`, no other call ever does for this approval.
   *
   * @throws TrlError `APPROVAL_REQUIRED` while nobody decided; `APPROVAL_EXPIRED`;
   *   `APPROVAL_DENIED` when a person said no, it was cancelled, or it was used already
   */
  claim(id: ApprovalId, found: ApprovalSubject): ApprovalClaim {
    this.expire();
    const approval = this.get(id);
    if (approval.state !== 'approved') throw approvalNotUsableError(approval);
    const now = rebindSubject(approval.asked, found);
    if (subjectDigest(now) === approval.digest) {
      const closedAt = this.#clock();
      const used = this.#move(approval, ['approved'], { state: 'used', closedAt });
      // One that a crash left behind, asked about what is not so any more.
      this.#close(this.list({}).filter((one) => isApprovalOpen(one) && one.execId === used.execId));
      return { kind: 'run', approval: used };
    }
    const changes = diffSubjects(approval.asked, now).map(({ text }) => text);
    const { execId, verdict } = approval;
    // The second time in a row it would go on for ever.
    const isRestless = isOnlyWorkspaceChange(changes) && isOnlyWorkspaceChange(approval.changes);
    const asked = isRestless ? withoutWorkspaceState(now) : now;
    // The new approval comes first: after a crash in between, the old one still does not fit.
    const next =
      this.list({ state: 'pending' }).find(
        (one) => one.execId === execId && one.digest === subjectDigest(asked),
      ) ?? this.#open({ asked, verdict, execId }, changes);
    this.#move(approval, ['approved'], {
      state: 'superseded',
      grants: false,
      supersededBy: next.id,
      closedAt: this.#clock(),
    });
    return { kind: 'superseded', next, changes };
  }

  /** The approval by which an equal plan of the session runs at `now` without asking. */
  sessionGrant(session: SessionId, digest: string, now = this.#clock()): Approval | null {
    const found = this.list({ session }).find(
      (one) => one.digest === digest && isSessionGrant(one, now),
    );
    return found ?? null;
  }

  /** Uses up an answer that starts nothing: a running command goes on by it. */
  use(id: ApprovalId): Approval {
    return this.#move(this.get(id), ['approved'], { state: 'used', closedAt: this.#clock() });
  }

  /** Host rules that answers for the session let its commands reach. */
  sessionHosts(session: SessionId, now = this.#clock()): readonly string[] {
    const granted = this.list({ session }).filter((one) => isSessionGrant(one, now));
    const isOfHosts = ({ verdict: { rules } }: Approval): boolean =>
      rules.every(({ id, decision }) => decision !== 'ask' || id === 'reach.hosts');
    return granted.filter(isOfHosts).flatMap(({ asked }) => asked.hosts ?? []);
  }

  /** Who asked no longer wants it. Answers what was cancelled; what is over stays as it is. */
  cancel(target: { readonly exec: ExecId } | { readonly session: SessionId }): readonly Approval[] {
    const mine = (one: Approval): boolean =>
      'exec' in target ? one.execId === target.exec : one.asked.session === target.session;
    return this.#close(this.list({}).filter((one) => isApprovalOpen(one) && mine(one)));
  }

  /** Ends what no execution waits for: a crash came before the execution was kept. */
  cancelAllBut(waits: (execId: ExecId) => boolean): void {
    this.#close(this.list({}).filter((one) => isApprovalOpen(one) && !waits(one.execId)));
  }

  /** The session is gone: nothing of it waits any more, and nothing is granted to it. */
  endSession(session: SessionId): void {
    this.cancel({ session });
    for (const one of this.list({ session })) {
      if (one.grants) this.#put({ ...one, grants: false });
    }
  }

  /** Ends what is overdue and forgets what was over long ago. Answers what expired. */
  expire(now = this.#clock()): readonly Approval[] {
    const overdue = this.list({}).filter((one) => (approvalDueAt(one) ?? Infinity) <= now);
    const ended = overdue.map((one) =>
      this.#move(one, ['pending', 'approved'], { state: 'expired', grants: false, closedAt: now }),
    );
    this.#forget(now);
    return ended;
  }

  /** Unix ms at which {@link expire} has something to do next, or `null`. */
  nextDue(): number | null {
    const due = this.list({}).flatMap((one) => approvalDueAt(one) ?? []);
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Oldest first. */
  list({ state, session }: ApprovalFilter): readonly Approval[] {
    return [...this.#all.values()].filter(
      (one) =>
        (state === undefined || one.state === state) &&
        (session === undefined || one.asked.session === session),
    );
  }

  /** @throws TrlError `INVALID_PARAMS` when there is none of this id */
  get(id: ApprovalId): Approval {
    const found = this.#all.get(id);
    if (found !== undefined) return found;
    throw new TrlError('INVALID_PARAMS', `Cannot find approval ${id.slice(0, 64)}`);
  }

  /**
   * Calls `listener` after each change, when it is on disk. `listener` must not throw.
   *
   * @returns a function that stops it
   */
  watch(listener: (approval: Approval) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #checkDecider({ id, asked }: Approval, { actor, proof }: ApprovalDecision['by']): void {
    const refuse = (reason: string): TrlError =>
      new TrlError('AUTH_FAILED', `Cannot decide ${id}: ${reason}`);
    if (proof === 'same_uid') {
      if (this.#options.permits(asked).sameUid) return;
      throw refuse('nothing proves that a person decides; set a passphrase: trl approvals enroll');
    }
    if (actor === asked.requester && !this.#options.allowSamePerson) {
      throw refuse('who asked may not decide');
    }
  }

  #open(
    { asked, verdict, execId }: Pick<Approval, 'asked' | 'verdict' | 'execId'>,
    changes: readonly string[],
  ): Approval {
    const createdAt = this.#clock();
    return this.#put({
      v: 1,
      id: newApprovalId(),
      execId,
      state: 'pending',
      asked: orderSubject(asked),
      digest: subjectDigest(asked),
      verdict,
      createdAt,
      expiresAt: createdAt + this.#options.permits(asked).expiresMs,
      answer: null,
      grants: false,
      closedAt: null,
      supersededBy: null,
      changes,
    });
  }

  #close(open: readonly Approval[]): readonly Approval[] {
    const change = { state: 'cancelled', grants: false, closedAt: this.#clock() } as const;
    return open.map((one) => this.#move(one, ['pending', 'approved'], change));
  }

  /** The compare-and-swap: from one of `from` only, and nothing changes unless it is on disk. */
  #move(
    { id }: Approval,
    from: readonly ApprovalState[],
    change: Partial<Approval> & { readonly state: ApprovalState },
  ): Approval {
    const current = this.get(id);
    this.#checkOpen(current, change.state, from);
    return this.#put({ ...current, ...change });
  }

  #checkOpen({ id, state }: Approval, next: ApprovalState, from: readonly ApprovalState[]): void {
    if (from.includes(state)) return;
    throw new TrlError('INVALID_PARAMS', `Cannot make ${id} ${next}: it is ${state}`);
  }

  #put(approval: Approval): Approval {
    const json = JSON.stringify(approval);
    stored(() => this.#options.store.put(approval.id, json));
    this.#all.set(approval.id, approval);
    this.#bytes.set(approval.id, json.length);
    for (const listener of this.#listeners) listener(approval);
    return approval;
  }

  /** What is over leaves after a day, or when there are too many; what still grants, last. */
  #forget(now: number): void {
    const over = this.list({}).filter((one) => !isApprovalOpen(one));
    const old = now - limits.approvalKeepMs.default;
    const useless = over.filter((one) => !isSessionGrant(one, now));
    const aged = useless.filter(({ closedAt }) => (closedAt ?? 0) < old);
    const rest = over.filter((one) => isSessionGrant(one, now));
    const size = ({ id }: Approval): number => this.#bytes.get(id) ?? 0;
    let count = over.length - limits.approvalRecords.default;
    // A question holds its whole command, which may be a mebibyte.
    let bytes = over.reduce((sum, one) => sum + size(one), 0) - overBytesMax;
    const many = [...useless, ...rest].filter((one) => {
      const isTooMuch = count > 0 || bytes > 0;
      count -= 1;
      bytes -= size(one);
      return isTooMuch;
    });
    for (const { id } of new Set([...aged, ...many])) {
      stored(() => this.#options.store.remove(id));
      this.#all.delete(id);
      this.#bytes.delete(id);
    }
  }
}

/** What was asked and is over may take so much, as JSON. */
const overBytesMax = 16 * 1_024 * 1_024;

/** A disk that is full, say, is no failure of the runtime, and changes nothing. */
function stored(write: () => void): void {
  try {
    write();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TrlError('BACKEND_UNAVAILABLE', `Cannot keep approvals: ${why}`, { cause });
  }
}
