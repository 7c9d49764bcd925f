/** Throws away what waits in a layer. */
import type { Change } from '../change.ts';
import { TrlError } from '../errors.ts';
import type { PendingChanges, PendingEntry } from './pending-changes.ts';
import type { ChangeRecorder } from './change-recorder.ts';
import type { SessionWorkspaceDependencies } from './session-dependencies.ts';

interface DiscardGround extends Pick<SessionWorkspaceDependencies, 'layer' | 'store' | 'refresh'> {
  readonly pending: PendingChanges;
  readonly recording: Pick<ChangeRecorder, 'appendPending'>;
}

/** @throws TrlError `SESSION_BUSY` while a command runs in the layer */
export async function discardPending(
  { layer, store, refresh, pending, recording }: DiscardGround,
  wanted: (waiting: PendingEntry) => boolean,
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
  recording.appendPending();
  await store.sync();
  await refresh('all');
  return gone.map(({ change }) => ({ ...change, state: 'discarded' }));
}
