/** The output of a command, if its journal still exists. */
import { TrlError } from '../../errors.ts';
import type { ExecId } from '../../command.ts';
import type { RunnerLink } from '../../process/runner-link.ts';
import { isExecutionOver, type TrackedExecution } from '../executions/executions.ts';
import { readJournalRange } from '../executions/read-output.ts';
import type { PublicationBudget, OutgoingItem, UnscannedItem } from '../../publish/publication.ts';

const stepBytes = 1024 * 1024;
const readable = 0o644;

/**
 * @throws TrlError `SESSION_BUSY` while the command runs; `STREAM_GAP` if its journal no longer
 *   exists
 */
export async function printedItems(
  link: RunnerLink,
  tracked: TrackedExecution,
  allowance: PublicationBudget,
): Promise<{ readonly items: readonly OutgoingItem[]; readonly unread: readonly UnscannedItem[] }> {
  const { id, outcome } = tracked.record;
  if (!isExecutionOver(tracked)) throw busy(id);
  const total = outcome?.exit.journal_bytes ?? 0;
  const parts = { stdout: new Array<Buffer>(), stderr: new Array<Buffer>() };
  const unread: UnscannedItem[] = [];
  for (let from = 0; from < total;) {
    const found = await readJournalRange(link, id, { from, max: stepBytes, waitMs: 0 });
    if (found.next <= from) break;
    for (const { stream, bytes } of found.pieces) parts[stream].push(bytes);
    if (found.gap !== null) {
      const { from: start, to } = found.gap;
      const reason = `misses bytes ${start} to ${to}, which the journal holds no more`;
      unread.push({ name: `output of ${id}`, reason, key: `${id} ${start} ${to}` });
    }
    from = found.next;
  }
  const items = (['stdout', 'stderr'] as const).flatMap((stream): OutgoingItem[] => {
    const bytes = Buffer.concat(parts[stream]);
    allowance.take(bytes.length);
    const file = { path: stream, type: 'file', mode: readable } as const;
    const item = { name: stream, kind: 'output', bytes, path: null, file, exec: id } as const;
    return bytes.length === 0 ? [] : [item];
  });
  return { items, unread };
}

function busy(id: ExecId): TrlError {
  return new TrlError('SESSION_BUSY', `Cannot read the output of ${id}: it is still running`);
}
