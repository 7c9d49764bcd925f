/** One command: its text, its output as it comes, and its receipt. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExecView } from '../../client/index.ts';
import { currentClient, describeError } from '../live/connection.ts';
import { sessionLabel, execs } from '../live/store.ts';
import { useReceipt } from '../live/receipts.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { CommandText } from '../components/command-text.tsx';
import { EmptyState } from '../components/detail-list.tsx';
import { ExecStateBadge } from '../components/state-badge.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { TimeAgo } from '../components/time.tsx';
import { consoleHref, isExecId } from '../router.ts';
import { OutputPane } from './output.tsx';
import { ReceiptPane } from './receipt.tsx';
import { TerminalPane } from './terminal-pane.tsx';

export function CommandPage({ rest }: { readonly rest: string }) {
  const problem = useSignal<string | null>(null);
  const older = useSignal<ExecView | null>(null);
  const found = execs.value.get(rest) ?? (older.value?.exec_id === rest ? older.value : null);
  const asks = currentClient.value;
  const id = isExecId(rest) ? rest : null;
  useEffect(() => {
    if (found !== null || asks === null || id === null) return;
    const read = async (): Promise<void> => {
      older.value = await asks.exec(id);
    };
    read().catch((error: unknown) => {
      problem.value = describeError(error);
    });
  }, [rest, asks, found === null]);
  if (id === null) return <EmptyState title="This address names no command" />;
  if (found === null) {
    return problem.value === null ? <EmptyState title="…" /> : <ActionError of={problem.value} />;
  }
  return <Known key={rest} told={found} />;
}

function Known({ told }: { readonly told: ExecView }) {
  const exec = useReceipt(told);
  return (
    <div class="one-command">
      <div class="main-column">
        <Head exec={exec} />
        <div class="asked-command">
          <CommandText command={exec.command} rules={exec.receipt?.verdict.rules ?? []} />
        </div>
        <Printed exec={exec} />
      </div>
      <aside aria-label="Receipt">
        <ReceiptPane exec={exec} />
      </aside>
    </div>
  );
}

function Head({ exec }: { readonly exec: ExecView }) {
  const { busy, problem, perform: act } = useAction();
  const stop = (): Promise<void> =>
    act(async () => {
      await currentClient.value?.cancel({ exec_id: exec.exec_id });
    });
  return (
    <header class="view-head">
      <h1>
        Command <ExecStateBadge exec={exec} />
      </h1>
      <p class="quiet">
        in <VisibleText of={sessionLabel(exec.session_id)} />, <TimeAgo at={exec.started_at} />
        {exec.mode === 'detached' && ', in the background'}
      </p>
      {exec.state === 'running' && (
        <button type="button" class="deny" disabled={busy} onClick={() => void stop()}>
          Stop
        </button>
      )}
      {exec.approval_id !== undefined && exec.state === 'waiting' && (
        <a class="button" href={consoleHref('approvals', exec.approval_id)}>
          Read and decide
        </a>
      )}
      <ActionError of={problem} />
    </header>
  );
}

function Printed({ exec }: { readonly exec: ExecView }) {
  if (exec.state === 'waiting' || exec.state === 'refused') {
    const never = exec.state === 'refused' ? 'It was refused and never ran.' : '';
    return <EmptyState title="No output">{never || 'It starts after approval.'}</EmptyState>;
  }
  return exec.pty === true ? <TerminalPane exec={exec} /> : <OutputPane exec={exec} />;
}
