/** Which of the recorded changes policy lets a caller see, whoever's commands made them. */
import type { BytePath } from '../../change.ts';
import { limits } from '../../limits.ts';
import type { ContentView, SnapshotGetParams } from '../../api/snapshot.ts';
import { readVisibility } from '../../workspace/projection/visibility.ts';
import { redactContent, type DiffRedaction } from '../diffs/diff-redaction.ts';
import type { Policies } from '../policies.ts';
import type { Masking } from '../secrets/masking.ts';
import type { ChangeRecord, RecordedChange, WorkspaceHost } from '../../host/port.ts';
import { requestedPaths } from './change-views.ts';

export interface VisibleRecordParts {
  /** As they are now: what was recorded under others is told under these. */
  readonly policies: Pick<Policies, 'of'>;
  readonly home: string;
}

export interface ContentViewParts {
  readonly redaction: Omit<DiffRedaction, 'index'>;
  readonly masking: Pick<Masking, 'index'>;
  readonly host: Pick<WorkspaceHost, 'history'>;
}

/** @throws as `Policies.of`: then nothing is told */
async function hiddenIn(
  { policies, home }: VisibleRecordParts,
  root: string,
): Promise<(path: BytePath) => boolean> {
  const { deny } = (await policies.of(root)).files;
  if (deny.length === 0) return () => false;
  const visibility = readVisibility({ allow: [], deny }, { root, home });
  return (path) => visibility.hides(path);
}

/** A record without what is hidden now. */
export async function visibleRecord(
  parts: VisibleRecordParts,
  record: ChangeRecord,
): Promise<ChangeRecord> {
  const isHidden = await hiddenIn(parts, record.root);
  const changes = record.changes.filter((change) => !isHidden(change.path) || isOwn(change));
  return changes.length === record.changes.length ? record : { ...record, changes };
}

/** What a command put where it saw nothing tells of nothing but the command. */
function isOwn({ state, before, reached }: RecordedChange): boolean {
  return state === 'held' && before === null && reached === undefined;
}

/** What a command left at the path that is named; `null`: no file, or none is named. */
export async function changeContentView(
  { redaction, masking, host }: ContentViewParts,
  { content: name }: SnapshotGetParams,
  { root, changes }: ChangeRecord,
): Promise<ContentView | null> {
  if (name === undefined) return null;
  const [path] = requestedPaths({ paths: [name] }, root) ?? [];
  const after = changes.find((change) => change.path === path)?.after;
  if (path === undefined || after?.type !== 'file') return null;
  const { size, sha256 } = after;
  const isSmall = sha256 !== null && size <= limits.diffFileBytes.max;
  const bytes = isSmall ? await (await host.history.contents()).read(sha256) : null;
  if (bytes === null) return { size, base64: null };
  const shown = await redactContent(path, bytes, { ...redaction, index: masking.index });
  return { size, base64: shown.toString('base64') };
}
