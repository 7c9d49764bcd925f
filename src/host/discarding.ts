/** Throws away what waits in a layer. */
import type { Change } from '../change.ts';
import { TrlError } from '../errors.ts';
import type { Pending, Waiting } from './pending.ts';
import type { Recording } from './recording.ts';
import type { SessionWorkspaceParts } from './session-parts.ts';

interface DiscardGround extends Pick<SessionWorkspaceParts, 'layer' | 'store' | 'refresh'> {
  readonly pending: Pending;
  readonly recording: Pick<Recording, 'appendWaiting'>;
}

/** @throws TrlError `SESSION_BUSY` while a command runs in the layer */
export async function discardWaiting(
  { layer, store, refresh, pending, recording }: DiscardGround,
  wanted: (waiting: Waiting) => boolean,
  isOccupied: boolean,
): Promise<readonly Change[]> {
  if (isOccupied) {
    const message = 'Cannot discard changes: a command is running in the layer that has them';
    throw new TrlError('SESSION_BUSY', message);
  }
  const waiting = pending.all().filter(wanted);
  const stayed = new Set(await layer?.clearApplied(waiting.map(({ change }) => change.path)));
  const gone = waiting.filter(({ change }) => !stayed.has(change.path));
  pending.drop(gone.map(({ change }) => change.path));
  recording.appendWaiting();
  await store.sync();
  await refresh('all');
  return gone.map(({ change }) => ({ ...change, state: 'discarded' }));
}
