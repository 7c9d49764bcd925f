/** Receipts of commands that ended. The feed tells of them without; each is asked for once. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Client, ExecView } from '../../client/index.ts';
import { currentClient } from './connection.ts';

/** Receipts that are kept; the oldest asked for leave. */
const receiptsMax = 500;

const receipts = signal<ReadonlyMap<string, ExecView>>(new Map());
const asked = new Set<string>();

/** The same execution with its receipt, once that is there. `wanted: false` asks for nothing. */
export function useReceipt(exec: ExecView, wanted = true): ExecView {
  const asks = currentClient.value;
  const id = exec.exec_id;
  const isOver = exec.state === 'exited';
  useEffect(() => {
    if (!wanted || !isOver || asks === null || asked.has(id) || exec.receipt !== undefined) return;
    asked.add(id);
    // Asked for again when the view is opened again.
    read(asks, id).catch(() => asked.delete(id));
  }, [asks, id, isOver, wanted]);
  const found = receipts.value.get(id);
  return isOver && found !== undefined ? found : exec;
}

async function read(asks: Client, id: ExecView['exec_id']): Promise<void> {
  const found = await asks.exec(id);
  const next = new Map(receipts.value).set(id, found);
  const [oldest] = next.keys();
  if (next.size > receiptsMax && oldest !== undefined) {
    next.delete(oldest);
    asked.delete(oldest);
  }
  receipts.value = next;
}
