/** Pending approval requests, oldest first, and the open one. */
import { useEffect } from 'preact/hooks';
import type { ApprovalView } from '../../client/index.ts';
import { useKeyBindings } from '../keys.ts';
import { sessionLabel, approvals, heldChangesByView, pendingApprovals } from '../live/store.ts';
import { EmptyState } from '../components/detail-list.tsx';
import { ApprovalStateBadge } from '../components/state-badge.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { TimeAgo } from '../components/time.tsx';
import { consoleHref, navigateTo } from '../router.ts';
import { toCommandSummary } from '../text/visible.ts';
import { PendingApprovalDetail } from './pending-approval.tsx';

/** Decided requests that are listed. */
const answeredMax = 12;

export function ApprovalsPage({ rest }: { readonly rest: string }) {
  const waiting = pendingApprovals.value;
  const answered = [...approvals.value.values()]
    .filter(({ state }) => state !== 'pending')
    .toSorted((a, b) => (b.decided_at ?? '').localeCompare(a.decided_at ?? ''))
    .slice(0, answeredMax);
  const [first] = waiting;
  const read = approvals.value.get(rest);
  useEffect(() => {
    // The address names the open request: one that leaves the list is not replaced by another,
    // which the person opens themselves. A person who has left the view meanwhile stays there.
    const isHere = location.hash === consoleHref('approvals');
    if (rest === '' && isHere && first !== undefined) {
      location.replace(consoleHref('approvals', first.approval_id));
    }
  }, [rest, first?.approval_id]);
  const step = (by: 1 | -1): void => {
    const at = waiting.findIndex(({ approval_id: id }) => id === rest);
    const next = at === -1 ? 0 : Math.min(waiting.length - 1, Math.max(0, at + by));
    const found = waiting[next];
    if (found !== undefined) navigateTo('approvals', found.approval_id);
  };
  useKeyBindings({ j: () => step(1), k: () => step(-1) });
  return (
    <div class="split">
      <div class="list">
        <header class="view-head">
          <h1>Approvals</h1>
        </header>
        {waiting.length === 0 ? (
          <EmptyState title="Nothing waits for you">
            A command that needs approval appears here.
          </EmptyState>
        ) : (
          <ul class="rows asked" aria-label="Waiting">
            {waiting.map((each) => (
              <Row key={each.approval_id} approval={each} isRead={each.approval_id === rest} />
            ))}
          </ul>
        )}
        <HeldChanges />
        {answered.length > 0 && (
          <>
            <h2 class="list-title">Answered</h2>
            <ul class="rows asked" aria-label="Decided">
              {answered.map((each) => (
                <Row key={each.approval_id} approval={each} isRead={each.approval_id === rest} />
              ))}
            </ul>
          </>
        )}
      </div>
      <div class="read">
        {read === undefined ? (
          rest !== '' && <EmptyState title="This approval request no longer exists" />
        ) : (
          <PendingApprovalDetail key={`${read.approval_id} ${read.digest}`} approval={read} />
        )}
      </div>
    </div>
  );
}

function Row({ approval, isRead }: { readonly approval: ApprovalView; readonly isRead: boolean }) {
  return (
    <li>
      <a
        data-row
        href={consoleHref('approvals', approval.approval_id)}
        aria-current={isRead ? 'true' : undefined}
      >
        <span class="what mono">
          <VisibleText of={toCommandSummary(approval.asked.command)} mono />
        </span>
        <span class="quiet meta">
          {approval.state !== 'pending' && <ApprovalStateBadge of={approval.state} />}
          <span>
            <VisibleText of={sessionLabel(approval.session_id)} />
          </span>
          <TimeAgo at={approval.decided_at ?? approval.created_at} />
        </span>
      </a>
    </li>
  );
}

function HeldChanges() {
  const all = heldChangesByView.value;
  if (all.length === 0) return null;
  return (
    <>
      <h2 class="list-title">Held changes</h2>
      <ul class="rows asked" aria-label="Held changes">
        {all.map(([session, { count }]) => (
          <li key={session}>
            <a data-row href={consoleHref('changes', session)}>
              <span class="what">{count === 1 ? 'One change' : `${count} changes`} to decide</span>
              <span class="quiet meta">
                <VisibleText of={sessionLabel(session)} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
