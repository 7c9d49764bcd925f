/** The activity: sessions, and their commands as they start, the newest first. */
import { useComputed, useSignal } from '@preact/signals';
import type { ExecView, SessionView } from '../../client/index.ts';
import {
  sessionLabel,
  heldChanges,
  newestExecs,
  pendingApprovals,
  sessions,
} from '../live/store.ts';
import { useReceipt } from '../live/receipts.ts';
import { EmptyState, DetailSection } from '../components/detail-list.tsx';
import { RunAuthorizationNote } from '../components/command-text.tsx';
import { ExecStateBadge } from '../components/state-badge.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { TimeAgo, currentTimeMs, formatTimeSpan, formatElapsedTime } from '../components/time.tsx';
import { consoleHref } from '../router.ts';
import { toCommandSummary } from '../text/visible.ts';

/** Rows on the page at once; the filter finds the others. */
const rowsMax = 200;
/** Sessions on the page at once: the most recently active ones. */
const sessionsMax = 200;
/** Rows whose receipt is requested. */
const receiptsShown = 40;

export function OverviewPage() {
  const filter = useSignal('');
  const found = useComputed(() => {
    const words = filter.value.toLowerCase().split(/\s+/);
    return newestExecs.value.filter((exec) => {
      const { command, state, session_id: session } = exec;
      const text = `${command} ${state} ${sessionLabel(session)} ${session}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  });
  const shown = found.value.slice(0, rowsMax);
  return (
    <>
      <header class="view-head">
        <h1>Overview</h1>
        <label class="filter">
          <span class="sr-only">Filter commands and sessions</span>
          <input
            type="search"
            data-filter
            placeholder="Filter: command, state, session"
            value={filter.value}
            onInput={(event) => {
              filter.value = event.currentTarget.value;
            }}
          />
        </label>
      </header>
      <Waiting />
      <DetailSection title="Commands" aside={<span class="quiet">{found.value.length}</span>}>
        {shown.length === 0 ? (
          <EmptyState title={filter.value === '' ? 'No command yet' : 'No command matches'}>
            {filter.value === ''
              ? 'Commands of agents appear here as they start.'
              : 'Every word of the filter must be in it.'}
          </EmptyState>
        ) : (
          <ul class="rows commands">
            {shown.map((exec, index) => (
              <Row key={exec.exec_id} told={exec} isNear={index < receiptsShown} />
            ))}
          </ul>
        )}
      </DetailSection>
      <DetailSection title="Sessions" aside={<span class="quiet">{sessions.value.size}</span>}>
        <SessionList />
      </DetailSection>
    </>
  );
}

function Waiting() {
  const count = pendingApprovals.value.length;
  if (count === 0) return null;
  return (
    <a class="banner" href={consoleHref('approvals')}>
      <strong>
        {count === 1 ? 'One command waits' : `${count} commands wait`} for your decision
      </strong>
      <span>Read and decide →</span>
    </a>
  );
}

function Row({ told, isNear }: { readonly told: ExecView; readonly isNear: boolean }) {
  const exec = useReceipt(told, isNear);
  const { receipt } = exec;
  return (
    <li>
      <a data-row href={consoleHref('command', exec.exec_id)}>
        <ExecStateBadge exec={exec} />
        <span class="what mono">
          <VisibleText of={toCommandSummary(exec.command)} mono />
        </span>
        <span class="verdict">
          {receipt !== undefined && <RunAuthorizationNote verdict={receipt.verdict} />}
        </span>
        <span class="quiet session">
          <VisibleText of={sessionLabel(exec.session_id)} />
        </span>
        <span class="quiet took">
          {receipt !== undefined
            ? formatElapsedTime(receipt.duration_ms)
            : exec.state === 'running'
              ? formatTimeSpan(currentTimeMs.value - Date.parse(exec.started_at))
              : ''}
        </span>
        <span class="quiet age">
          <TimeAgo at={exec.started_at} />
        </span>
      </a>
    </li>
  );
}

function SessionList() {
  const all = [...sessions.value.values()].toSorted((a, b) =>
    b.last_activity.localeCompare(a.last_activity),
  );
  if (all.length === 0) {
    return <EmptyState title="No session">An agent creates one with its first command.</EmptyState>;
  }
  const others = all.length - sessionsMax;
  return (
    <>
      <ul class="cards">
        {all.slice(0, sessionsMax).map((session) => (
          <SessionCard key={session.session_id} session={session} />
        ))}
      </ul>
      {others > 0 && <p class="quiet">{others} more, which were active earlier.</p>}
    </>
  );
}

function SessionCard({ session }: { readonly session: SessionView }) {
  const waiting = heldChanges.value.get(session.session_id)?.count ?? 0;
  return (
    <li class="card">
      <p class="title">
        <span class={`dot ${session.state}`} aria-hidden="true" />
        <VisibleText of={session.name ?? session.session_id.slice(0, 10)} />
        <span class="quiet">{session.state}</span>
      </p>
      <p class="mono path">
        <VisibleText of={session.workspace ?? 'private /tmp only'} mono />
      </p>
      <p class="quiet">
        {session.command_count} commands · network {session.network} · {heldBy(session)} ·{' '}
        <TimeAgo at={session.last_activity} />
      </p>
      {waiting > 0 && (
        <a href={consoleHref('changes', session.session_id)}>
          {waiting === 1 ? 'One change is held' : `${waiting} changes are held`}
        </a>
      )}
    </li>
  );
}

function heldBy({ sandbox, assurance }: SessionView): string {
  return sandbox === 'none' ? 'NO SANDBOX' : `sandbox ${assurance?.level ?? 'not probed yet'}`;
}
