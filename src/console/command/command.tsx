/** One command: its text, its output as it comes, and its receipt. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExecView } from '../../client/index.ts';
import { client, reasonOf } from '../live/connection.ts';
import { sessionName } from '../live/names.ts';
import { useReceipt } from '../live/receipts.ts';
import { execs } from '../live/store.ts';
import { Problem, useActing } from '../parts/act.tsx';
import { CommandText } from '../parts/command-text.tsx';
import { Empty } from '../parts/facts.tsx';
import { ExecState } from '../parts/pill.tsx';
import { Text } from '../parts/pieces.tsx';
import { Ago } from '../parts/time.tsx';
import { addressOf } from '../router.ts';
import { isExecId } from './exec-id.ts';
import { Output } from './output.tsx';
import { ReceiptView } from './receipt.tsx';
import { TerminalPane } from './terminal-pane.tsx';

export function Command({ rest }: { readonly rest: string }) {
  const problem = useSignal<string | null>(null);
  const older = useSignal<ExecView | null>(null);
  const found = execs.value.get(rest) ?? (older.value?.exec_id === rest ? older.value : null);
  const asks = client.value;
  const id = isExecId(rest) ? rest : null;
  useEffect(() => {
    if (found !== null || asks === null || id === null) return;
    const read = async (): Promise<void> => {
      older.value = await asks.exec(id);
    };
    read().catch((error: unknown) => {
      problem.value = reasonOf(error);
    });
  }, [rest, asks, found === null]);
  if (id === null) return <Empty title="This address names no command" />;
  if (found === null) {
    return problem.value === null ? <Empty title="…" /> : <Problem of={problem.value} />;
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
        <ReceiptView exec={exec} />
      </aside>
    </div>
  );
}

function Head({ exec }: { readonly exec: ExecView }) {
  const { busy, problem, act } = useActing();
  const stop = (): Promise<void> =>
    act(async () => {
      await client.value?.cancel({ exec_id: exec.exec_id });
    });
  return (
    <header class="view-head">
      <h1>
        Command <ExecState exec={exec} />
      </h1>
      <p class="quiet">
        in <Text of={sessionName(exec.session_id)} />, <Ago at={exec.started_at} />
        {exec.mode === 'detached' && ', in the background'}
      </p>
      {exec.state === 'running' && (
        <button type="button" class="deny" disabled={busy} onClick={() => void stop()}>
          Stop it
        </button>
      )}
      {exec.approval_id !== undefined && exec.state === 'waiting' && (
        <a class="button" href={addressOf('approvals', exec.approval_id)}>
          Read and decide
        </a>
      )}
      <Problem of={problem} />
    </header>
  );
}

function Printed({ exec }: { readonly exec: ExecView }) {
  if (exec.state === 'waiting' || exec.state === 'refused') {
    const never = exec.state === 'refused' ? 'It was refused and never ran.' : '';
    return <Empty title="No output">{never || 'It starts when somebody says yes.'}</Empty>;
  }
  return exec.pty === true ? <TerminalPane exec={exec} /> : <Output exec={exec} />;
}
