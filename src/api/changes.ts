/** Shapes of changes: paths, trees and what a receipt says of the workspace. */
import * as z from 'zod/mini';
import * as shared from './answer-fields.ts';
import { changeKinds, changeMarks, changeStates, workspaceModes } from '../change.ts';
import { gitViews } from '../protocol/workspace.ts';

export const changeKindSchema = z.enum(changeKinds);
export const changeStateSchema = z.enum(changeStates);
export const changeMethodSchema = z.enum(['overlay', 'index']);
export const workspaceModeSchema = z.enum(workspaceModes);

export const entrySchema = z.object({
  type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
  mode: shared.nullableTextSchema,
  size: z.exactOptional(shared.countSchema),
  sha256: z.exactOptional(z.nullable(shared.sha256Schema)),
  target: z.exactOptional(z.string()),
  target_base64: z.exactOptional(z.string()),
  entries: z.exactOptional(
    z.object({
      files: shared.countSchema,
      directories: shared.countSchema,
      links: shared.countSchema,
      bytes: shared.countSchema,
    }),
  ),
});

/** One path that a command changed. */
export const changeSchema = z.object({
  path: z.string(),
  path_base64: z.exactOptional(z.string()),
  kind: changeKindSchema,
  before: z.nullable(entrySchema),
  after: z.nullable(entrySchema),
  marks: z.array(z.enum(changeMarks)),
  state: changeStateSchema,
  reason: shared.nullableTextSchema,
  concurrent_with: z.array(shared.execIdSchema),
  kept_as: shared.nullableTextSchema,
});
export const changeListSchema = z.array(changeSchema);

/** The workspace before a command and after it. */
export const treePairSchema = z.object({
  before: shared.treeIdSchema,
  after: shared.treeIdSchema,
  method: changeMethodSchema,
});

/** What a receipt tells of the workspace. */
export const receiptChangesSchema = z.object({
  snapshot: z.nullable(treePairSchema),
  changes: changeListSchema,
  changes_omitted: shared.countSchema,
  workspace_mode: z.nullable(workspaceModeSchema),
});

export const workspaceStatusSchema = z.object({
  session_id: shared.sessionIdSchema,
  path: z.string(),
  mode: workspaceModeSchema,
  method: changeMethodSchema,
  staged: changeListSchema,
  held: changeListSchema,
  conflicts: changeListSchema,
  totals: z.object({
    staged: shared.countSchema,
    held: shared.countSchema,
    conflicts: shared.countSchema,
  }),
  held_digest: shared.nullableTextSchema,
  store: z.object({
    bytes: shared.countSchema,
    bytes_max: shared.countSchema,
    contents: shared.countSchema,
    records: shared.countSchema,
    dropped: shared.countSchema,
  }),
  denied: z.nullable(shared.countSchema),
  git: z.enum(gitViews),
  unrecorded: shared.nameListSchema,
});

export const workspaceDiffSchema = z.object({
  diff: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      path_base64: z.exactOptional(z.string()),
      kind: changeKindSchema,
      state: changeStateSchema,
      added_lines: z.nullable(shared.countSchema),
      removed_lines: z.nullable(shared.countSchema),
      binary: z.boolean(),
    }),
  ),
  truncated: z.boolean(),
});

/** One command whose changes are recorded. */
export const snapshotSchema = z.object({
  exec_id: shared.execIdSchema,
  session_id: shared.sessionIdSchema,
  path: z.string(),
  command: z.string(),
  before: shared.treeIdSchema,
  after: shared.treeIdSchema,
  at: shared.timestampSchema,
  method: changeMethodSchema,
  mode: workspaceModeSchema,
  counts: z.record(changeKindSchema, shared.countSchema),
  states: z.record(changeStateSchema, shared.countSchema),
  undone: z.boolean(),
});

export const restoreAnswerSchema = z.object({
  restored: changeListSchema,
  conflicts: changeListSchema,
  impossible: changeListSchema,
  totals: z.object({
    restored: shared.countSchema,
    conflicts: shared.countSchema,
    impossible: shared.countSchema,
  }),
  exec_ids: z.array(shared.execIdSchema),
  dry_run: z.boolean(),
  nothing: shared.nullableTextSchema,
});
