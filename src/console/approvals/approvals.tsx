/** Questions that wait for a person, oldest first, and the one that is read. */
import { useEffect } from 'preact/hooks';
import type { ApprovalView } from '../../client/index.ts';
import { useKeys } from '../keys.ts';
import { sessionName } from '../live/names.ts';
import { approvals, heldByView, pending } from '../live/store.ts';
import { Empty } from '../parts/facts.tsx';
import { ApprovalState } from '../parts/pill.tsx';
import { Text } from '../parts/pieces.tsx';
import { Ago } from '../parts/time.tsx';
import { addressOf, go } from '../router.ts';
import { oneLine } from '../text/visible.ts';
import { Question } from './question.tsx';

/** Answered ones that are listed. */
const answeredMax = 12;

export function Approvals({ rest }: { readonly rest: string }) {
  const waiting = pending.value;
  const answered = [...approvals.value.values()]
    .filter(({ state }) => state !== 'pending')
    .toSorted((a, b) => (b.decided_at ?? '').localeCompare(a.decided_at ?? ''))
    .slice(0, answeredMax);
  const [first] = waiting;
  const read = approvals.value.get(rest);
  useEffect(() => {
    // The address names what is read, so that a question which leaves the list puts no other one
    // in its place: the next is the person's own step.
    // Who has gone elsewhere meanwhile, before this is drawn anew, stays there.
    const isHere = location.hash === addressOf('approvals');
    if (rest === '' && isHere && first !== undefined) {
      location.replace(addressOf('approvals', first.approval_id));
    }
  }, [rest, first?.approval_id]);
  const step = (by: 1 | -1): void => {
    const at = waiting.findIndex(({ approval_id: id }) => id === rest);
    const next = at === -1 ? 0 : Math.min(waiting.length - 1, Math.max(0, at + by));
    const found = waiting[next];
    if (found !== undefined) go('approvals', found.approval_id);
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  return (
    <div class="split">
      <div class="list">
        <header class="view-head">
          <h1>Approvals</h1>
        </header>
        {waiting.length === 0 ? (
          <Empty title="Nothing waits for you">
            A command that policy does not allow on its own is asked about here.
          </Empty>
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
            <ul class="rows asked" aria-label="Answered">
              {answered.map((each) => (
                <Row key={each.approval_id} approval={each} isRead={each.approval_id === rest} />
              ))}
            </ul>
          </>
        )}
      </div>
      <div class="read">
        {read === undefined ? (
          rest !== '' && <Empty title="This question is not there any more" />
        ) : (
          <Question key={`${read.approval_id} ${read.digest}`} approval={read} />
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
        href={addressOf('approvals', approval.approval_id)}
        aria-current={isRead ? 'true' : undefined}
      >
        <span class="what mono">
          <Text of={oneLine(approval.asked.command)} mono />
        </span>
        <span class="quiet meta">
          {approval.state !== 'pending' && <ApprovalState of={approval.state} />}
          <span>
            <Text of={sessionName(approval.session_id)} />
          </span>
          <Ago at={approval.decided_at ?? approval.created_at} />
        </span>
      </a>
    </li>
  );
}

function HeldChanges() {
  const all = heldByView.value;
  if (all.length === 0) return null;
  return (
    <>
      <h2 class="list-title">Held changes</h2>
      <ul class="rows asked" aria-label="Held changes">
        {all.map(([session, { count }]) => (
          <li key={session}>
            <a data-row href={addressOf('changes', session)}>
              <span class="what">{count === 1 ? 'One change' : `${count} changes`} to decide</span>
              <span class="quiet meta">
                <Text of={sessionName(session)} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
