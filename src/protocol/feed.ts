/** What `system.watch` tells, and who may type into a command (`exec.lease`). */
import type { ExecId, SessionId } from '../command.ts';
import type { ApprovalView } from './approval.ts';
import type { SecretRequestView } from './secrets.ts';
import type { ExecView, SessionView } from './types.ts';

/**
 * The present state first, then each change. Of one session, execution or question only the
 * latest state is told to a reader that is slower than they change.
 */
export type FeedEvent =
  | { readonly kind: 'session'; readonly session: SessionView }
  | { readonly kind: 'session-ended'; readonly session_id: SessionId }
  /** Without the receipt: `exec.info` has it. */
  | { readonly kind: 'exec'; readonly exec: ExecView }
  | { readonly kind: 'approval'; readonly approval: ApprovalView }
  /** All that wait for a person. */
  | { readonly kind: 'secret-requests'; readonly requests: readonly SecretRequestView[] }
  /** Changes that a person must let through; sessions of one `view` have the same ones. */
  | {
      readonly kind: 'held';
      readonly session_id: SessionId;
      readonly view: string;
      readonly count: number;
    };

export type FeedId = `f-${string}`;
/** What `system.watch` answers before the first event. */
export interface FeedAnswer {
  readonly stream_id: FeedId;
}
export interface FeedMessage {
  readonly stream_id: FeedId;
  readonly event: FeedEvent;
}

/** `take` without `lease_id` is a new lease; with it, the same one for longer. */
export interface ExecLeaseParams {
  readonly exec_id: ExecId;
  readonly action: 'take' | 'release';
  readonly lease_id?: string;
  /** Default a minute, at most an hour. */
  readonly ttl_ms?: number;
}
export interface ExecLeaseAnswer {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  /** While it holds, `exec.write` and `exec.resize` need it. */
  readonly lease_id: string;
  /** The actor. */
  readonly holder: string;
  readonly expires_at: string;
}
