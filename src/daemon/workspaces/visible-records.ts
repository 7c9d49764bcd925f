/**
 * Which recorded changes policy permits a caller to see, regardless of whose commands made them.
 */
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
  /** The current policies: they also apply to older records. */
  readonly policies: Pick<Policies, 'of'>;
  readonly home: string;
}

export interface ContentViewParts {
  readonly redaction: Omit<DiffRedaction, 'index'>;
  readonly masking: Pick<Masking, 'index'>;
  readonly host: Pick<WorkspaceHost, 'history'>;
}

/** @throws as `Policies.of`: nothing is reported then */
async function hiddenIn(
  { policies, home }: VisibleRecordParts,
  root: string,
): Promise<(path: BytePath) => boolean> {
  const { deny } = (await policies.of(root)).files;
  if (deny.length === 0) return () => false;
  const visibility = readVisibility({ allow: [], deny }, { root, home });
  return (path) => visibility.hides(path);
}

/** A record without the changes that are hidden now. */
export async function visibleRecord(
  parts: VisibleRecordParts,
  record: ChangeRecord,
): Promise<ChangeRecord> {
  const isHidden = await hiddenIn(parts, record.root);
  const changes = record.changes.filter((change) => !isHidden(change.path) || isOwn(change));
  return changes.length === record.changes.length ? record : { ...record, changes };
}

/** A change at a path where the command saw nothing reveals only the command's own data. */
function isOwn({ state, before, reached }: RecordedChange): boolean {
  return state === 'held' && before === null && reached === undefined;
}

/** The content that a command left at the given path; `null`: no file, or no path is given. */
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
