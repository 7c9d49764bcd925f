/** What the runtime told last, as signals that views read. Filled by the feed alone. */
import { computed, signal } from '@preact/signals';
import type { ApprovalView, ExecView, SecretRequestView, SessionView } from '../../client/index.ts';
import type { FeedEvent } from '../../protocol/feed.ts';

/** Commands and answered questions that are kept; older ones leave. */
const execsMax = 2_000;
const approvalsMax = 300;

export const sessions = signal<ReadonlyMap<string, SessionView>>(new Map());
export const execs = signal<ReadonlyMap<string, ExecView>>(new Map());
export const approvals = signal<ReadonlyMap<string, ApprovalView>>(new Map());
export const secretRequests = signal<readonly SecretRequestView[]>([]);
/** Changes that wait for a person, by session. */
export const held = signal<ReadonlyMap<string, number>>(new Map());

/** Oldest first: who waits longest is answered first. */
export const pending = computed(() =>
  [...approvals.value.values()]
    .filter(({ state }) => state === 'pending')
    .toSorted((a, b) => a.created_at.localeCompare(b.created_at)),
);
/** Newest first. */
export const newestExecs = computed(() =>
  [...execs.value.values()].toSorted((a, b) => b.started_at.localeCompare(a.started_at)),
);
export const heldCount = computed(() =>
  [...held.value.values()].reduce((sum, count) => sum + count, 0),
);

/** The runtime tells everything anew: what it does not tell is gone. */
export function forgetAll(): void {
  sessions.value = new Map();
  execs.value = new Map();
  secretRequests.value = [];
  held.value = new Map();
  // Answered ones stay: the runtime tells the pending ones only.
  const known = [...approvals.value].filter(([, { state }]) => state !== 'pending');
  approvals.value = new Map(known);
}

export function take(event: FeedEvent): void {
  switch (event.kind) {
    case 'session':
      sessions.value = put(sessions.value, event.session.session_id, event.session);
      return;
    case 'session-ended':
      sessions.value = without(sessions.value, event.session_id);
      held.value = without(held.value, event.session_id);
      return;
    case 'exec':
      execs.value = bounded(put(execs.value, event.exec.exec_id, event.exec), execsMax);
      return;
    case 'approval': {
      const { approval } = event;
      const all = put(approvals.value, approval.approval_id, approval);
      approvals.value = bounded(all, approvalsMax);
      return;
    }
    case 'secret-requests':
      secretRequests.value = event.requests;
      return;
    case 'held':
      held.value =
        event.count === 0
          ? without(held.value, event.session_id)
          : put(held.value, event.session_id, event.count);
  }
}

function put<T>(map: ReadonlyMap<string, T>, key: string, value: T): ReadonlyMap<string, T> {
  return new Map(map).set(key, value);
}
function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  const next = new Map(map);
  next.delete(key);
  return next;
}
/** A question that waits stays whatever else came: nobody else asks it. */
function bounded<T extends { readonly state: string }>(
  map: ReadonlyMap<string, T>,
  most: number,
): ReadonlyMap<string, T> {
  if (map.size <= most) return map;
  const spare = [...map].filter(([, { state }]) => !['pending', 'waiting'].includes(state));
  const next = new Map(map);
  for (const [key] of spare.slice(0, map.size - most)) next.delete(key);
  return next;
}
