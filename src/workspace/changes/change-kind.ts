/** What kind of change leads from one entry to another. */
import { createHash } from 'node:crypto';
import type { Change, ChangeKind, Entry } from '../../change.ts';

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

// The digest of changes that a person reviewed.

/**
 * SHA-256 (hex) of the result of changes in the real tree; `null`: there are none. An approval
 * names it, so that nothing can replace the changes after the review.
 */
export function changesDigest(changes: readonly Change[]): string | null {
  if (changes.length === 0) return null;
  const lines = changes
    .map(({ path: name, kind, before, after, reason }) =>
      JSON.stringify([name, kind, identity(before), identity(after), reason]),
    )
    .toSorted();
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

/** Times are not part of what a person approves. */
function identity(entry: Entry | null): readonly unknown[] | null {
  if (entry === null) return null;
  if (entry.type === 'symlink') return [entry.type, entry.target];
  if (entry.type !== 'file') return [entry.type, entry.mode];
  // Contents without a hash differ by what else is known of them.
  const content = entry.sha256 ?? `${entry.size} ${entry.mtimeMs}`;
  return [entry.type, entry.mode, content];
}
