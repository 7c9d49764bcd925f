/** What kind of change leads from one entry to another. */
import type { ChangeKind, Entry } from '../../change.ts';

const specials: ReadonlySet<Entry['type']> = new Set(['fifo', 'socket', 'device']);

/**
 * `null`: nothing to tell. Owners are compared where both are known. Directories' times and
 * extended attributes are not compared; a file that was opened for writing and not written, or
 * whose mode came back, is no change.
 */
export function changeKindOf(
  before: Entry | null,
  after: Entry | null,
  hasSameOwner: boolean,
): ChangeKind | null {
  if (after === null) return before === null ? null : 'deleted';
  if (before?.type !== after.type) {
    if (specials.has(after.type)) return 'special';
    return before === null ? 'added' : 'type';
  }
  if (before.type === 'symlink' || after.type === 'symlink') {
    const target = before.type === 'symlink' ? before.target : null;
    return after.type === 'symlink' && target !== after.target ? 'symlink' : null;
  }
  if (before.type === 'file' && after.type === 'file') {
    const isKnown = before.sha256 !== null && after.sha256 !== null;
    if (!isKnown || before.sha256 !== after.sha256) return 'modified';
    if (before.mode !== after.mode) return 'mode';
    return before.mtimeMs === after.mtimeMs && hasSameOwner ? null : 'metadata-only';
  }
  return before.mode === after.mode ? null : 'mode';
}

/** What became of a path that is not as before; where nothing else shows, its times or owner. */
export function netChangeKindOf(before: Entry | null, after: Entry | null): ChangeKind {
  return after === null ? 'deleted' : (changeKindOf(before, after, false) ?? 'metadata-only');
}
