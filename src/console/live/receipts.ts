/**
 * Receipts of commands that ended. The feed reports commands without receipts; each is requested
 * once.
 */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Client, ExecView } from '../../client/index.ts';
import { currentClient } from './connection.ts';

/** Limit of receipts; the oldest requests are removed. */
const receiptsMax = 500;

const receipts = signal<ReadonlyMap<string, ExecView>>(new Map());
const requested = new Set<string>();

/** The same execution with its receipt, if available. `wanted: false` requests nothing. */
export function useReceipt(exec: ExecView, wanted = true): ExecView {
  const asks = currentClient.value;
  const id = exec.exec_id;
  const isOver = exec.state === 'exited';
  useEffect(() => {
    if (!wanted || !isOver || exec.receipt !== undefined) return;
    if (asks === null || requested.has(id)) return;
    requested.add(id);
    // Requested again when the view is opened again.
    read(asks, id).catch(() => requested.delete(id));
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
    requested.delete(oldest);
  }
  receipts.value = next;
}
