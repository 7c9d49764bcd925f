/** Shapes of changes: paths, trees and what a receipt reports of the workspace. */
import * as z from 'zod/mini';
import type { TypeOf } from './define-method.ts';
import * as shared from './answer-fields.ts';
import { changeKinds, changeMarks, changeStates, workspaceModes } from '../change.ts';

/**
 * How git is seen: `real`: its own files. `projected`: a read-only repository of what is visible
 * replaces it. `hidden`: it is not visible. `none`: the workspace has none.
 */
export const gitViewSchema = z.enum(['real', 'projected', 'hidden', 'none']);
export const changeKindSchema = z.enum(changeKinds);
export const changeStateSchema = z.enum(changeStates);
export const changeMethodSchema = z.enum(['overlay', 'index']);
export const workspaceModeSchema = z.enum(workspaceModes);

export const entrySchema = z.object({
  type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
  /** The permission bits in four octal digits: `0644`; for a link `null`. */
  mode: shared.nullableTextSchema,
  /** Bytes; of a file only. */
  size: z.exactOptional(shared.countSchema),
  /** Lower-case hex; of a file only. `null`: the file was not read. */
  sha256: z.exactOptional(z.nullable(shared.sha256Schema)),
  /** The target of a link. */
  target: z.exactOptional(z.string()),
  /** Present if the target is not valid UTF-8. */
  target_base64: z.exactOptional(z.string()),
  /** Of a directory with thousands of entries that is reported as one change. */
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
  /** Relative to the workspace; bytes that are not UTF-8 appear as U+FFFD. */
  path: z.string(),
  /** The path's bytes, if they are not valid UTF-8. */
  path_base64: z.exactOptional(z.string()),
  kind: changeKindSchema,
  before: z.nullable(entrySchema),
  after: z.nullable(entrySchema),
  marks: z.array(z.enum(changeMarks)),
  state: changeStateSchema,
  /** Why it is held or in conflict, one stable word. */
  reason: shared.nullableTextSchema,
  /** Concurrent commands of the session: any of them may have made the change. */
  concurrent_with: z.array(shared.execIdSchema),
  /** Of a conflict: the name of the command's own version (`trl snapshot show`); else `null`. */
  kept_as: shared.nullableTextSchema,
});
export const changeListSchema = z.array(changeSchema);

/** The workspace before a command and after it. */
export const treePairSchema = z.object({
  before: shared.treeIdSchema,
  after: shared.treeIdSchema,
  method: changeMethodSchema,
});

/** What a receipt reports of the workspace. */
export const receiptChangesSchema = z.object({
  /** `null`: nothing was recorded, as without a workspace. */
  snapshot: z.nullable(treePairSchema),
  /** At most `limits.receiptChanges`; the rest is in `snapshot.get`. */
  changes: changeListSchema,
  changes_omitted: shared.countSchema,
  /** `null`: nothing was recorded. */
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
  /** SHA-256 (hex) of all held changes; the person who applies them names what they saw by it. */
  held_digest: shared.nullableTextSchema,
  store: z.object({
    bytes: shared.countSchema,
    bytes_max: shared.countSchema,
    /** Distinct contents, and commands whose changes are recorded. */
    contents: shared.countSchema,
    records: shared.countSchema,
    /** Contents that were dropped because of the limit: what needs them cannot be undone. */
    dropped: shared.countSchema,
  }),
  denied: z.nullable(shared.countSchema),
  git: gitViewSchema,
  /** Writable trees besides the workspace: changes there are not recorded. */
  unrecorded: shared.nameListSchema,
});

export const workspaceDiffSchema = z.object({
  /** Unified, with the headers of git; secrets are hidden, so it may not apply. */
  diff: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      path_base64: z.exactOptional(z.string()),
      kind: changeKindSchema,
      state: changeStateSchema,
      /** `null`: not counted, because the file is binary or too large. */
      added_lines: z.nullable(shared.countSchema),
      removed_lines: z.nullable(shared.countSchema),
      binary: z.boolean(),
    }),
  ),
  /** Whether files are missing from `diff` or `files` because of a limit. */
  truncated: z.boolean(),
});

/** One command whose changes are recorded. */
export const snapshotSchema = z.object({
  exec_id: shared.execIdSchema,
  session_id: shared.sessionIdSchema,
  /** The workspace. */
  path: z.string(),
  /** Known secrets in it are masked. */
  command: z.string(),
  before: shared.treeIdSchema,
  after: shared.treeIdSchema,
  /** ISO 8601: when the command ended. */
  at: shared.timestampSchema,
  method: changeMethodSchema,
  mode: workspaceModeSchema,
  counts: z.record(changeKindSchema, shared.countSchema),
  states: z.record(changeStateSchema, shared.countSchema),
  /** Whether everything that it changed was undone. */
  undone: z.boolean(),
});

export const restoreAnswerSchema = z.object({
  /** `before`: the entry before the restore, `after`: the entry now. */
  restored: changeListSchema,
  /** The path was changed externally since: that version is kept. */
  conflicts: changeListSchema,
  /** The old content was not stored. */
  impossible: changeListSchema,
  totals: z.object({
    restored: shared.countSchema,
    conflicts: shared.countSchema,
    impossible: shared.countSchema,
  }),
  /** The commands that were undone. */
  exec_ids: z.array(shared.execIdSchema),
  dry_run: z.boolean(),
  /** Why there was nothing to do; `null` if something was done. */
  nothing: shared.nullableTextSchema,
});

export type GitView = TypeOf<typeof gitViewSchema>;
/** The entry at a path. */
export type EntryView = TypeOf<typeof entrySchema>;
/** One path that a command changed. */
export type ChangeView = TypeOf<typeof changeSchema>;
/** What a receipt reports of the workspace. */
export type ReceiptChanges = TypeOf<typeof receiptChangesSchema>;
/** Lists hold at most `limits.changesListed` changes each; `totals` counts all of them. */
export type WorkspaceStatus = TypeOf<typeof workspaceStatusSchema>;
/** What is stored for diffs and undo. */
export type StoreView = WorkspaceStatus['store'];
export type WorkspaceDiff = TypeOf<typeof workspaceDiffSchema>;
export type DiffFile = WorkspaceDiff['files'][number];
export type SnapshotView = TypeOf<typeof snapshotSchema>;
/** At most `limits.changesListed` in each list. */
export type RestoreAnswer = TypeOf<typeof restoreAnswerSchema>;
