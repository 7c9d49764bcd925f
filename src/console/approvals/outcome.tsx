/** The outcome of an approval request. */
import type { ApprovalView } from '../../client/index.ts';
import { VisibleText } from '../components/visible-text.tsx';
import { TimeAgo } from '../components/time.tsx';
import { consoleHref } from '../router.ts';

const outcomes = {
  pending: '',
  approved: 'Approved. The command starts in its turn.',
  used: 'Approved, and started.',
  denied: 'Denied. It never ran.',
  expired: 'Nobody decided in time. It never ran.',
  cancelled: 'The requester withdrew it. It never ran.',
  superseded: 'Something changed before it started, so it needs approval again.',
} as const satisfies Record<ApprovalView['state'], string>;

export function ApprovalOutcome({ approval }: { readonly approval: ApprovalView }) {
  const { state, decided_by: by, decided_at: at, words, superseded_by: next } = approval;
  const kind = state === 'approved' || state === 'used' ? 'allow' : 'block';
  return (
    <div class={`outcome ${kind}`} role="status">
      <p>
        <strong>{outcomes[state]}</strong>
        {approval.scope === 'project' && ' By its rule it runs without approval from now on.'}
        {approval.scope === 'session' &&
          ' Identical commands in this session run without approval.'}
      </p>
      {by !== undefined && (
        <p class="quiet">
          by <VisibleText of={by} mono />
          {approval.same_uid === true && ', authenticated by the uid only'}
          {at !== undefined && (
            <>
              {', '}
              <TimeAgo at={at} />
            </>
          )}
        </p>
      )}
      {words !== undefined && (
        <p>
          “<VisibleText of={words} />”
        </p>
      )}
      <p class="links">
        <a href={consoleHref('command', approval.exec_id)}>The command and its output</a>
        {next !== undefined && <a href={consoleHref('approvals', next)}>The new request</a>}
      </p>
    </div>
  );
}
