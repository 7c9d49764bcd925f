/** The changes of commands in the workspaces: diffs, and pending changes. */
import { batch, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SessionView, WorkspaceDiff, WorkspaceStatus } from '../../client/index.ts';
import { isExecId, consoleHref } from '../router.ts';
import { announce } from '../live/alert.ts';
import { currentClient } from '../live/connection.ts';
import { sessionLabel, execs, heldChanges, sessions } from '../live/store.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { ChangeList, DiffView } from '../components/diff.tsx';
import { EmptyState, DetailSection } from '../components/detail-list.tsx';
import { VisibleText } from '../components/visible-text.tsx';

type SessionId = SessionView['session_id'];

export function ChangesPage({ rest }: { readonly rest: string }) {
  const withTree = [...sessions.value.values()].filter(({ workspace }) => workspace !== null);
  const chosen = withTree.find(({ session_id: id }) => id === rest);
  return (
    <div class="split">
      <div class="list">
        <header class="view-head">
          <h1>Changes</h1>
        </header>
        {withTree.length === 0 ? (
          <EmptyState title="No session has a workspace">
            A session with a working directory has one.
          </EmptyState>
        ) : (
          <ul class="rows asked" aria-label="Workspaces">
            {withTree.map((session) => (
              <Row key={session.session_id} session={session} isRead={session === chosen} />
            ))}
          </ul>
        )}
      </div>
      <div class="read">
        {isExecId(rest) ? (
          <OfExec key={rest} id={rest} />
        ) : chosen === undefined ? (
          <EmptyState title="Choose a workspace" />
        ) : (
          <OfSession key={rest} id={chosen.session_id} />
        )}
      </div>
    </div>
  );
}

function Row({ session, isRead }: { readonly session: SessionView; readonly isRead: boolean }) {
  const count = heldChanges.value.get(session.session_id)?.count ?? 0;
  return (
    <li>
      <a
        data-row
        href={consoleHref('changes', session.session_id)}
        aria-current={isRead ? 'true' : undefined}
      >
        <span class="what">
          <VisibleText of={sessionLabel(session.session_id)} />
          {count > 0 && <span class="pill ask">{count} held</span>}
        </span>
        <span class="quiet meta mono">
          <VisibleText of={session.workspace ?? ''} mono />
        </span>
      </a>
    </li>
  );
}

function OfExec({ id }: { readonly id: `x-${string}` }) {
  const diff = useSignal<WorkspaceDiff | null>(null);
  const { problem, perform: act } = useAction();
  const asks = currentClient.value;
  useEffect(() => {
    if (asks === null) return;
    void act(async () => {
      diff.value = await asks.call('workspace.diff', { exec_id: id });
    });
  }, [asks, id]);
  const command = execs.value.get(id)?.command;
  return (
    <>
      <header class="view-head">
        <h2>What one command changed</h2>
        <a href={consoleHref('command', id)}>
          {command === undefined ? id : <VisibleText of={command.slice(0, 200)} mono />}
        </a>
      </header>
      <Shown diff={diff.value} />
      <ActionError of={problem} />
    </>
  );
}

function OfSession({ id }: { readonly id: SessionId }) {
  const status = useSignal<WorkspaceStatus | null>(null);
  const diff = useSignal<WorkspaceDiff | null>(null);
  const reading = useAction();
  const asks = currentClient.value;
  const session = sessions.value.get(id);
  const read = (): Promise<void> =>
    reading.perform(async () => {
      if (asks === null) return;
      // The digest is older than the diff, and both are shown at once: a person applies by it only
      // what they saw.
      const next = await asks.call('workspace.status', { session_id: id });
      const shown = await asks.call('workspace.diff', { session_id: id });
      batch(() => {
        status.value = next;
        diff.value = shown;
      });
    });
  useEffect(() => {
    void read();
  }, [asks, id, heldChanges.value.get(id)?.count, session?.state, session?.command_count]);
  return (
    <>
      {status.value !== null && (
        <Waiting status={status.value} again={read} isRead={!reading.busy} />
      )}
      <DetailSection title="Diff">
        <Shown diff={diff.value} />
      </DetailSection>
      <ActionError of={reading.problem} />
    </>
  );
}

function Shown({ diff }: { readonly diff: WorkspaceDiff | null }) {
  if (diff === null) return <p class="quiet">Reading…</p>;
  if (diff.files.length === 0 && diff.diff === '') {
    return <EmptyState title="Nothing was changed" />;
  }
  return (
    <>
      {diff.truncated && <p class="hint">Not everything is shown.</p>}
      <DiffView of={diff} />
    </>
  );
}

interface WaitingProps {
  readonly status: WorkspaceStatus;
  readonly again: () => Promise<void>;
  /** Whether the latest state is shown. */
  readonly isRead: boolean;
}

function Waiting({ status, again, isRead }: WaitingProps) {
  const { totals } = status;
  if (totals.held + totals.staged + totals.conflicts === 0) return null;
  return (
    <DetailSection title="Pending changes">
      {totals.held > 0 && (
        <>
          <h3>Held for a person: {totals.held}</h3>
          <ChangeList of={status.held} />
        </>
      )}
      {totals.staged > 0 && (
        <>
          <h3>Staged: {totals.staged}</h3>
          <ChangeList of={status.staged} />
        </>
      )}
      {totals.conflicts > 0 && (
        <>
          <h3>In conflict with what somebody else changed: {totals.conflicts}</h3>
          <ChangeList of={status.conflicts} />
        </>
      )}
      <Decide status={status} again={again} isRead={isRead} />
    </DetailSection>
  );
}

/**
 * Held changes are applied by the digest of what was shown; discarding needs a second confirmation.
 */
function Decide({ status, again, isRead }: WaitingProps) {
  const { busy: acts, problem, perform: act } = useAction();
  const busy = acts || !isRead;
  const sure = useSignal(false);
  const { session_id: id, held_digest: digest, totals } = status;
  const apply = (): Promise<void> =>
    act(async () => {
      const withHeld = totals.held > 0 && digest !== null ? { held: true, digest } : {};
      const done = await currentClient.value?.call('workspace.apply', {
        session_id: id,
        ...withHeld,
      });
      if (done !== undefined) announce(`${done.totals.applied} changes applied`);
      await again();
    });
  const discard = (): Promise<void> =>
    act(async () => {
      const done = await currentClient.value?.call('workspace.discard', { session_id: id });
      if (done !== undefined) announce(`${done.totals.discarded} changes discarded`);
      sure.value = false;
      await again();
    });
  return (
    <>
      <p class="buttons">
        <button type="button" class="approve" disabled={busy} onClick={() => void apply()}>
          {totals.held > 0 ? 'Apply, including held changes' : 'Apply'}
        </button>
        {sure.value ? (
          <button type="button" class="deny" disabled={busy} onClick={() => void discard()}>
            Discard everything permanently
          </button>
        ) : (
          <button
            type="button"
            disabled={busy}
            onClick={() => {
              sure.value = true;
            }}
          >
            Discard…
          </button>
        )}
      </p>
      {digest !== null && (
        <p class="digest">
          <span class="quiet">Digest of the held changes</span> <code>{digest}</code>
        </p>
      )}
      <ActionError of={problem} />
    </>
  );
}
