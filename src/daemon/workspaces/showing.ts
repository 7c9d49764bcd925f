/** Which of the recorded changes policy lets a caller see, whoever's commands made them. */
import type { BytePath } from '../../change.ts';
import { readVisibility } from '../../workspace/projection/visibility.ts';
import type { Policies } from '../policies.ts';
import type { ChangeRecord, RecordedChange } from './record.ts';

export interface ShowingParts {
  /** As they are now: what was recorded under others is told under these. */
  readonly policies: Pick<Policies, 'of'>;
  readonly home: string;
}

/** @throws as `Policies.of`: then nothing is told */
export async function hiddenIn(
  { policies, home }: ShowingParts,
  root: string,
): Promise<(path: BytePath) => boolean> {
  const { deny } = (await policies.of(root)).files;
  if (deny.length === 0) return () => false;
  const visibility = readVisibility({ allow: [], deny }, { root, home });
  return (path) => visibility.hides(path);
}

/** A record without what is hidden now. */
export async function shownOf(parts: ShowingParts, record: ChangeRecord): Promise<ChangeRecord> {
  const isHidden = await hiddenIn(parts, record.root);
  const changes = record.changes.filter((change) => !isHidden(change.path) || isOwn(change));
  return changes.length === record.changes.length ? record : { ...record, changes };
}

/** What a command put where it saw nothing tells of nothing but the command. */
function isOwn({ state, before, reached }: RecordedChange): boolean {
  return state === 'held' && before === null && reached === undefined;
}
