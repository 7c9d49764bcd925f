/**
 * Changes of the whole runtime, for the readers of `system.watch`. Each entry names the thing that
 * changed; its state is read when the reader can receive it. A slow reader therefore costs one
 * entry per thing, and misses intermediate states but never the last one.
 */
import type { ApprovalId, Caller, SessionId } from '../command.ts';
import type { FeedEvent } from '../api/system.ts';
import type { ExecView } from '../api/receipt.ts';
import type { SecretRequests } from '../secrets/requests.ts';
import type { DaemonApprovalService } from './approvals/approval-service.ts';
import { execView, type Executions, type TrackedExecution } from './executions/executions.ts';
import { requestView } from './secrets/secret-service.ts';
import { sessionViewOf, type Sessions } from './sessions/sessions.ts';
import type { WorkspaceViews } from '../host/port.ts';

/** Which callers can see which changes. */
export interface FeedVisibility {
  canSeeSession(caller: Caller, method: 'system.watch', session: SessionId): boolean;
  canSeeActor(caller: Caller, method: 'system.watch', actor: string): boolean;
}

/**
 * Receives the key of a changed thing. `look` returns its current state; `null`: there is nothing
 * to report any more. The listener must not throw.
 */
export type FeedListener = (key: string, look: () => Look) => void;
type Look = FeedEvent | null | Promise<FeedEvent | null>;

export interface FeedParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly approvalService: DaemonApprovalService;
  readonly requests: SecretRequests;
  readonly views: Pick<WorkspaceViews, 'find'>;
  readonly visibility: FeedVisibility;
}

interface Reader {
  readonly caller: Caller;
  readonly tell: FeedListener;
  /**
   * Sessions that were reported to this reader: the owner of a session is unknown after its end.
   */
  readonly seen: Set<SessionId>;
}

export class Feed {
  readonly #parts: FeedParts;
  readonly #readers = new Set<Reader>();
  #expiry: NodeJS.Timeout | undefined;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    const { sessions, execs, requests } = parts;
    const { approvals } = parts.approvalService;
    sessions.watch(({ record }) =>
      this.#forEachReader((reader) => this.#reportSession(reader, record.id)),
    );
    execs.watch((tracked) =>
      this.#forEachReader((reader) => this.#reportExecution(reader, tracked)),
    );
    approvals.watch(({ id, asked }) => {
      this.#forEachReader((reader) => this.#reportApproval(reader, id, asked.session));
    });
    requests.watch(() => {
      this.#forEachReader((reader) => this.#reportRequests(reader));
      this.#awaitExpiry();
    });
  }

  /** Reports that the pending changes in a session's view have changed. */
  reportPendingChanges(id: SessionId): void {
    this.#forEachReader((reader) => this.#reportPending(reader, id));
  }

  /**
   * Reports everything that exists, then each change. `tell` must not throw.
   *
   * @returns a function that ends the watch
   */
  watch(caller: Caller, tell: FeedListener): () => void {
    const reader: Reader = { caller, tell, seen: new Set() };
    const { sessions, execs } = this.#parts;
    const { approvals } = this.#parts.approvalService;
    for (const { record } of sessions.all()) {
      this.#reportSession(reader, record.id);
      this.#reportPending(reader, record.id);
    }
    for (const tracked of execs.list(null)) this.#reportExecution(reader, tracked);
    for (const { id, asked } of approvals.list({ state: 'pending' })) {
      this.#reportApproval(reader, id, asked.session);
    }
    this.#reportRequests(reader);
    this.#readers.add(reader);
    this.#awaitExpiry();
    return () => {
      this.#readers.delete(reader);
      this.#awaitExpiry();
    };
  }

  #forEachReader(tell: (reader: Reader) => void): void {
    for (const reader of this.#readers) tell(reader);
  }

  #canSee({ caller }: Reader, session: SessionId): boolean {
    return this.#parts.visibility.canSeeSession(caller, 'system.watch', session);
  }

  #reportSession(reader: Reader, id: SessionId): void {
    const { sessions } = this.#parts;
    const isThere = sessions.find(id) !== null;
    if (isThere ? !this.#canSee(reader, id) : !reader.seen.delete(id)) return;
    if (isThere) reader.seen.add(id);
    reader.tell(`session ${id}`, () => {
      const found = sessions.find(id);
      if (found === null) return { kind: 'session-ended', session_id: id };
      return { kind: 'session', session: sessionViewOf(found) };
    });
  }

  #reportExecution(reader: Reader, { record }: TrackedExecution): void {
    if (!this.#canSee(reader, record.sessionId)) return;
    reader.tell(`exec ${record.id}`, () => {
      const found = this.#parts.execs.find(record.id);
      return found === null ? null : { kind: 'exec', exec: briefly(found) };
    });
  }

  #reportApproval(reader: Reader, id: ApprovalId, session: SessionId): void {
    if (!this.#canSee(reader, session)) return;
    reader.tell(`approval ${id}`, () => {
      const { approvalService: approving } = this.#parts;
      const found = approving.approvals.list({}).find((one) => one.id === id);
      return found === undefined ? null : { kind: 'approval', approval: approving.view(found) };
    });
  }

  #reportRequests({ caller, tell }: Reader): void {
    const { requests, visibility } = this.#parts;
    tell('secret-requests', () => {
      const seen = requests
        .list()
        .filter(({ requester }) => visibility.canSeeActor(caller, 'system.watch', requester));
      return { kind: 'secret-requests', requests: seen.map(requestView) };
    });
  }

  #reportPending(reader: Reader, id: SessionId): void {
    if (!this.#canSee(reader, id)) return;
    const { views } = this.#parts;
    const look = async (): Promise<FeedEvent | null> => {
      const found = await views.find(id)?.catch(() => null);
      if (found == null) return null;
      const { length: count } = await found.pendingChanges('held');
      return { kind: 'held', session_id: id, view: found.facts().view, count };
    };
    reader.tell(`held ${id}`, look);
  }

  /** A request expires without an event from its list, so the feed checks it when it is due. */
  #awaitExpiry(): void {
    clearTimeout(this.#expiry);
    if (this.#readers.size === 0) return;
    const due = Math.min(...this.#parts.requests.list().map(({ expiresAt }) => expiresAt));
    if (!Number.isFinite(due)) return;
    this.#expiry = setTimeout(
      () => {
        this.#forEachReader((reader) => this.#reportRequests(reader));
        this.#awaitExpiry();
      },
      Math.max(0, due - Date.now()) + 1,
    );
    this.#expiry.unref();
  }
}

/** Omits the receipt: a reader that needs it requests it. */
function briefly(tracked: TrackedExecution): ExecView {
  const { receipt: _, ...brief } = execView(tracked, null);
  return brief;
}
