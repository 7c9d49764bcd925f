/** Which sessions have the same caches in HOME. */
import { createHash } from 'node:crypto';
import type { SessionRecord } from './record.ts';
import { sessionWorkspaceMode } from './views.ts';

/**
 * The id (32 hex digits) of a session's caches; `null`: it has none.
 *
 * Sessions have the same caches where they are of one actor, in one project, and may see and write
 * the same: the contents of a cache reveal what was seen. Staged or discarded changes must leave
 * nothing that affects a later command, so such sessions have no cache.
 */
export function sessionCacheId(record: SessionRecord): string | null {
  const { workspace, owner, grants, workspaceRules, shareCache } = record;
  if (
    workspace === null ||
    grants.sandbox === 'none' ||
    sessionWorkspaceMode(record) !== 'direct'
  ) {
    return null;
  }
  const { read, write } = grants.files;
  const files = [read.allow, read.deny, write.allow, write.deny];
  const shared = shareCache === undefined ? [] : [shareCache];
  const text = JSON.stringify([workspace, owner ?? '', files, workspaceRules ?? null, ...shared]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
