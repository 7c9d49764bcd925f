/** What stands for changes that a person looked at. */
import { createHash } from 'node:crypto';
import type { Change, Entry } from '../../change.ts';

/**
 * SHA-256 (hex) of what changes would bring into the real tree; `null` of none. Who lets them
 * through names it, so that nothing can be put in their place after it was seen.
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

/** Times are no part of what is let through. */
function identity(entry: Entry | null): readonly unknown[] | null {
  if (entry === null) return null;
  if (entry.type === 'symlink') return [entry.type, entry.target];
  if (entry.type !== 'file') return [entry.type, entry.mode];
  // A content that nobody read is told apart by what else is known of it.
  const content = entry.sha256 ?? `${entry.size} ${entry.mtimeMs}`;
  return [entry.type, entry.mode, content];
}
