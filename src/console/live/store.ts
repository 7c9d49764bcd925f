/** The last state that the runtime reported, as signals that views read. Only the feed fills it. */
import { batch, computed, signal } from '@preact/signals';
import type { ApprovalView, ExecView, SecretRequestView, SessionView } from '../../client/index.ts';
import type { FeedEvent } from '../../api/system.ts';

/** Limit of commands and decided approvals; older ones are removed. */
const execsMax = 2_000;
const approvalsMax = 300;

export const sessions = signal<ReadonlyMap<string, SessionView>>(new Map());
export const execs = signal<ReadonlyMap<string, ExecView>>(new Map());
export const approvals = signal<ReadonlyMap<string, ApprovalView>>(new Map());
export const secretRequests = signal<readonly SecretRequestView[]>([]);
/** Number of held changes, by session. */
export const heldChanges = signal<ReadonlyMap<string, HeldIn>>(new Map());

interface HeldIn {
  readonly count: number;
  /** Sessions of the same view have the same changes. */
  readonly view: string;
}

/** Oldest first: the one that waits longest is decided first. */
export const pendingApprovals = computed(() =>
  [...approvals.value.values()]
    .filter(({ state }) => state === 'pending')
    .toSorted((a, b) => a.created_at.localeCompare(b.created_at)),
);
/** Newest first. */
export const newestExecs = computed(() =>
  [...execs.value.values()].toSorted((a, b) => b.started_at.localeCompare(a.started_at)),
);
/** Each change once: by the first session of each view. */
export const heldChangesByView = computed(() => {
  const views = new Set<string>();
  return [...heldChanges.value].filter(([, { view }]) => !views.has(view) && views.add(view));
});
export const heldChangeCount = computed(() =>
  heldChangesByView.value.reduce((sum, [, { count }]) => sum + count, 0),
);

/** The runtime reports everything again: what it does not report has ended. */
export function resetStore(): void {
  sessions.value = new Map();
  execs.value = new Map();
  secretRequests.value = [];
  heldChanges.value = new Map();
  // Decided ones stay: the runtime reports only pending ones.
  const known = [...approvals.value].filter(([, { state }]) => state !== 'pending');
  approvals.value = new Map(known);
}

/**
 * Takes the events since the last time, in order. Copies each changed map once, because thousands
 * of events may come in a burst.
 */
export function applyFeedEvents(events: readonly FeedEvent[]): void {
  const next = {
    sessions: new Map(sessions.peek()),
    execs: new Map(execs.peek()),
    approvals: new Map(approvals.peek()),
    held: new Map(heldChanges.peek()),
  };
  let requests = secretRequests.peek();
  for (const event of events) {
    switch (event.kind) {
      case 'session':
        next.sessions.set(event.session.session_id, event.session);
        break;
      case 'session-ended':
        next.sessions.delete(event.session_id);
        next.held.delete(event.session_id);
        break;
      case 'exec':
        next.execs.set(event.exec.exec_id, event.exec);
        break;
      case 'approval':
        next.approvals.set(event.approval.approval_id, event.approval);
        break;
      case 'secret-requests':
        ({ requests } = event);
        break;
      case 'held':
        if (event.count === 0) next.held.delete(event.session_id);
        else next.held.set(event.session_id, event);
    }
  }
  batch(() => {
    sessions.value = next.sessions;
    execs.value = bounded(next.execs, execsMax);
    approvals.value = bounded(next.approvals, approvalsMax);
    heldChanges.value = next.held;
    secretRequests.value = requests;
  });
}

/** A pending approval always stays: no other event repeats it. */
function bounded<T extends { readonly state: string }>(
  map: Map<string, T>,
  most: number,
): Map<string, T> {
  for (const [key, { state }] of map) {
    if (map.size <= most) break;
    if (state !== 'pending' && state !== 'waiting') map.delete(key);
  }
  return map;
}

/** Label of a session: its name, else the beginning of its id. */
export function sessionLabel(id: string): string {
  return sessions.value.get(id)?.name ?? id.slice(0, 10);
}
