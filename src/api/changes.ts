/** Shapes of changes: paths, trees and what a receipt says of the workspace. */
import * as z from 'zod/mini';
import * as shared from './shared.ts';
import { changeKinds, changeMarks, changeStates, workspaceModes } from '../change.ts';
import { gitViews } from '../protocol/workspace.ts';

export const changeKind = z.enum(changeKinds);
export const changeState = z.enum(changeStates);
export const changeMethod = z.enum(['overlay', 'index']);
export const workspaceMode = z.enum(workspaceModes);

export const entry = z.object({
  type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
  mode: shared.nullableText,
  size: z.exactOptional(shared.count),
  sha256: z.exactOptional(z.nullable(shared.sha256)),
  target: z.exactOptional(z.string()),
  target_base64: z.exactOptional(z.string()),
  entries: z.exactOptional(
    z.object({
      files: shared.count,
      directories: shared.count,
      links: shared.count,
      bytes: shared.count,
    }),
  ),
});

/** One path that a command changed. */
export const change = z.object({
  path: z.string(),
  path_base64: z.exactOptional(z.string()),
  kind: changeKind,
  before: z.nullable(entry),
  after: z.nullable(entry),
  marks: z.array(z.enum(changeMarks)),
  state: changeState,
  reason: shared.nullableText,
  concurrent_with: z.array(shared.execId),
  kept_as: shared.nullableText,
});
export const changes = z.array(change);

/** The workspace before a command and after it. */
export const trees = z.object({
  before: shared.treeId,
  after: shared.treeId,
  method: changeMethod,
});

/** What a receipt tells of the workspace. */
export const receiptChanges = z.object({
  snapshot: z.nullable(trees),
  changes,
  changes_omitted: shared.count,
  workspace_mode: z.nullable(workspaceMode),
});

export const workspaceStatus = z.object({
  session_id: shared.sessionId,
  path: z.string(),
  mode: workspaceMode,
  method: changeMethod,
  staged: changes,
  held: changes,
  conflicts: changes,
  totals: z.object({ staged: shared.count, held: shared.count, conflicts: shared.count }),
  held_digest: shared.nullableText,
  store: z.object({
    bytes: shared.count,
    bytes_max: shared.count,
    contents: shared.count,
    records: shared.count,
    dropped: shared.count,
  }),
  denied: z.nullable(shared.count),
  git: z.enum(gitViews),
  unrecorded: shared.names,
});

export const workspaceDiff = z.object({
  diff: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      path_base64: z.exactOptional(z.string()),
      kind: changeKind,
      state: changeState,
      added_lines: z.nullable(shared.count),
      removed_lines: z.nullable(shared.count),
      binary: z.boolean(),
    }),
  ),
  truncated: z.boolean(),
});

/** One command whose changes are recorded. */
export const snapshot = z.object({
  exec_id: shared.execId,
  session_id: shared.sessionId,
  path: z.string(),
  command: z.string(),
  before: shared.treeId,
  after: shared.treeId,
  at: shared.time,
  method: changeMethod,
  mode: workspaceMode,
  counts: z.record(changeKind, shared.count),
  states: z.record(changeState, shared.count),
  undone: z.boolean(),
});

export const restored = z.object({
  restored: changes,
  conflicts: changes,
  impossible: changes,
  totals: z.object({ restored: shared.count, conflicts: shared.count, impossible: shared.count }),
  exec_ids: z.array(shared.execId),
  dry_run: z.boolean(),
  nothing: shared.nullableText,
});
