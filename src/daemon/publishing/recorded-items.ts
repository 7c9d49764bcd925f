/** Recorded results of commands: staged, held and applied changes. */
import type { BytePath, Change } from '../../change.ts';
import { pathText } from '../../workspace/byte-path.ts';
import {
  makeLinkItem,
  type PublicationBudget,
  type OutgoingItem,
  type UnscannedItem,
} from '../../publish/publication.ts';

interface RecordedItemsContext {
  readonly read: (sha256: string) => Promise<Buffer | null>;
  readonly isMeant: (path: BytePath) => boolean;
  readonly allowance: PublicationBudget;
  readonly turn: () => Promise<void>;
}

/**
 * The files that exist after these changes. Removed files do not leave, and a directory is only a
 * name.
 */
export async function recordedItems(
  changes: readonly Change[],
  { read, isMeant, allowance, turn }: RecordedItemsContext,
): Promise<{ readonly items: readonly OutgoingItem[]; readonly unread: readonly UnscannedItem[] }> {
  const items: OutgoingItem[] = [];
  const unread: UnscannedItem[] = [];
  for (const { path, after, state } of changes) {
    const isOver = state === 'conflict' || state === 'discarded';
    if (after === null || after.type === 'directory' || isOver || !isMeant(path)) continue;
    await turn();
    const name = pathText(path);
    const refuse = (reason: string, key: string): void => {
      allowance.take(0);
      unread.push({ name, reason, key: `${path}\0${key}` });
    };
    if (after.type === 'symlink') {
      const target = Buffer.from(after.target, 'latin1');
      allowance.take(target.length);
      items.push(makeLinkItem(path, target));
      continue;
    }
    if (after.type !== 'file') {
      refuse(after.type === 'fifo' ? 'is a FIFO' : `is a ${after.type}`, after.type);
      continue;
    }
    const { sha256, mode, size } = after;
    if (size > allowance.bytes) allowance.take(size);
    const bytes = sha256 === null ? null : await read(sha256);
    if (bytes === null) {
      refuse('was too large to keep, or is kept no more', `${sha256} ${size}`);
      continue;
    }
    allowance.take(bytes.length);
    items.push({ name, kind: 'file', bytes, path, file: { path, type: 'file', mode } });
  }
  return { items, unread };
}
