/** Answers of `workspace.*`, `snapshot.*` and `exec.undo`. */
import * as z from 'zod/mini';
import { changeKinds, changeMarks, changeStates, workspaceModes } from '../../change.ts';
import { gitViews } from '../workspace.ts';
import * as word from './words.ts';

const changeKind = z.enum(changeKinds);
const changeState = z.enum(changeStates);
const changeMethod = z.enum(['overlay', 'index']);
const workspaceMode = z.enum(workspaceModes);

const entry = z.object({
  type: z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device']),
  mode: word.nullableText,
  size: z.exactOptional(word.count),
  sha256: z.exactOptional(z.nullable(word.sha256)),
  target: z.exactOptional(z.string()),
  target_base64: z.exactOptional(z.string()),
  entries: z.exactOptional(
    z.object({
      files: word.count,
      directories: word.count,
      links: word.count,
      bytes: word.count,
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
  reason: word.nullableText,
  concurrent_with: z.array(word.execId),
  kept_as: word.nullableText,
});
const changes = z.array(change);

/** The workspace before a command and after it. */
export const trees = z.object({ before: word.treeId, after: word.treeId, method: changeMethod });

/** What a receipt tells of the workspace. */
export const receiptChanges = z.object({
  snapshot: z.nullable(trees),
  changes,
  changes_omitted: word.count,
  workspace_mode: z.nullable(workspaceMode),
});

const workspaceStatus = z.object({
  session_id: word.sessionId,
  path: z.string(),
  mode: workspaceMode,
  method: changeMethod,
  staged: changes,
  held: changes,
  conflicts: changes,
  totals: z.object({ staged: word.count, held: word.count, conflicts: word.count }),
  held_digest: word.nullableText,
  store: z.object({
    bytes: word.count,
    bytes_max: word.count,
    contents: word.count,
    records: word.count,
    dropped: word.count,
  }),
  denied: z.nullable(word.count),
  git: z.enum(gitViews),
  unrecorded: word.names,
});

const workspaceDiff = z.object({
  diff: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      path_base64: z.exactOptional(z.string()),
      kind: changeKind,
      state: changeState,
      added_lines: z.nullable(word.count),
      removed_lines: z.nullable(word.count),
      binary: z.boolean(),
    }),
  ),
  truncated: z.boolean(),
});

/** One command whose changes are recorded. */
export const snapshot = z.object({
  exec_id: word.execId,
  session_id: word.sessionId,
  path: z.string(),
  command: z.string(),
  before: word.treeId,
  after: word.treeId,
  at: word.time,
  method: changeMethod,
  mode: workspaceMode,
  counts: z.record(changeKind, word.count),
  states: z.record(changeState, word.count),
  undone: z.boolean(),
});

export const restored = z.object({
  restored: changes,
  conflicts: changes,
  impossible: changes,
  totals: z.object({ restored: word.count, conflicts: word.count, impossible: word.count }),
  exec_ids: z.array(word.execId),
  dry_run: z.boolean(),
  nothing: word.nullableText,
});

export const workspaceAnswers = {
  'workspace.trust': z.object({ path: z.string(), is_new: z.boolean() }),
  'workspace.forget': z.object({ forgotten: z.boolean() }),
  'workspace.list': z.object({
    workspaces: z.array(
      z.object({
        path: z.string(),
        trusted_at: word.nullableText,
        is_there: z.boolean(),
        sessions: word.count,
      }),
    ),
  }),
  'cache.list': z.object({
    caches: z.array(
      z.object({
        cache_id: z.string(),
        path: z.string(),
        bytes: word.count,
        used_at: z.string(),
      }),
    ),
  }),
  'cache.clear': z.object({
    cleared: word.count,
    left: word.count,
    why: z.exactOptional(z.string()),
  }),
  'workspace.open': z.object({
    workspace_id: word.workspaceId,
    path: z.string(),
    mode: workspaceMode,
    method: changeMethod,
    denied: z.nullable(word.count),
    git: z.enum(gitViews),
  }),
  'workspace.status': workspaceStatus,
  'workspace.diff': workspaceDiff,
  'workspace.apply': z.object({
    applied: changes,
    conflicts: changes,
    held: changes,
    totals: z.object({ applied: word.count, conflicts: word.count, held: word.count }),
  }),
  'workspace.discard': z.object({
    discarded: changes,
    totals: z.object({ discarded: word.count }),
  }),
  'snapshot.list': z.object({ snapshots: z.array(snapshot) }),
  'snapshot.get': z.extend(snapshot, {
    changes,
    changes_total: word.count,
    next: z.nullable(word.count),
    content: z.nullable(z.object({ size: word.count, base64: word.nullableText })),
  }),
  'snapshot.restore': restored,
  'exec.undo': restored,
} as const;
