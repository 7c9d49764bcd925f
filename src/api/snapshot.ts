/** The methods `snapshot.*` and `exec.undo`. */
import * as z from 'zod/mini';
import { define, execPath, get, ownership, post, roles } from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { limits } from '../limits.ts';
import { changes, restored, snapshot } from './changes.ts';
import { oneTarget, paths } from './changed-paths.ts';

const snapshotsMax = 1_000;
const listed = z.exactOptional(field.whole(1, limits.changesListed.max));
const dryRun = z.exactOptional(field.flag);

/** Every `snapshot` method: its parameters, its answer and its rules. */
export const snapshotMethods = {
  'snapshot.list': define({
    params: z.object({
      session_id: z.exactOptional(field.sessionId),
      path: z.exactOptional(field.path),
      limit: z.exactOptional(field.whole(1, snapshotsMax)),
    }),
    answer: z.object({ snapshots: z.array(snapshot) }),
    roles: roles.everybody,
    owns: ownership.listed,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/snapshots',
        about: 'List what commands changed',
        query: { session_id: 'text', path: 'text' },
        page: { items: 'snapshots', key: 'exec_id', by: 'limited', usual: 50, max: 1_000 },
      },
    ],
    audit: null,
  }),
  'snapshot.get': define({
    params: z
      .object({
        exec_id: z.exactOptional(field.execId),
        id: z.exactOptional(field.treeId),
        from: z.exactOptional(field.whole(0)),
        limit: listed,
        content: z.exactOptional(field.path),
      })
      .check(oneTarget('id')),
    answer: z.extend(snapshot, {
      changes,
      changes_total: shared.count,
      next: z.nullable(shared.count),
      content: z.nullable(z.object({ size: shared.count, base64: shared.nullableText })),
    }),
    roles: roles.everybody,
    owns: ownership.recorded,
    lane: 'beside',
    http: [
      {
        ...get,
        path: `${execPath}/snapshot`,
        about: 'What a command changed, path by path',
        query: { from: 'integer', limit: 'integer', content: 'text' },
      },
      {
        ...get,
        path: '/v1/snapshots/{id}',
        about: 'Look at a snapshot, path by path',
        query: { from: 'integer', limit: 'integer', content: 'text' },
      },
    ],
    audit: null,
  }),
  'snapshot.restore': define({
    params: z
      .object({
        exec_id: z.exactOptional(field.execId),
        id: z.exactOptional(field.treeId),
        dry_run: dryRun,
        ...paths,
      })
      .check(oneTarget('id')),
    answer: restored,
    roles: roles.agentAndApprover,
    owns: ownership.recorded,
    lane: 'in-turn',
    http: [
      {
        ...post,
        path: `${execPath}/restore`,
        about: 'Restore what stood there before a command ran',
      },
      {
        ...post,
        path: '/v1/snapshots/{id}/restore',
        about: 'Restore a snapshot',
      },
    ],
    audit: {
      kind: 'workspace.committed',
      params: ['id', 'exec_id', 'paths', 'dry_run'],
      answer: ['totals', 'exec_ids'],
    },
  }),
  'exec.undo': define({
    params: z.object({ exec_id: field.execId, dry_run: dryRun, ...paths }),
    answer: restored,
    roles: roles.agentAndApprover,
    owns: ownership.recorded,
    lane: 'in-turn',
    http: [
      {
        ...post,
        path: `${execPath}/undo`,
        about: 'Take back what a command changed',
      },
    ],
    audit: {
      kind: 'workspace.committed',
      params: ['exec_id', 'paths', 'dry_run'],
      answer: ['totals', 'exec_ids'],
    },
  }),
} as const;
