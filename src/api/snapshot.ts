/** The methods `snapshot.*` and `exec.undo`. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf } from './define-method.ts';
import {
  defineMethod,
  execRoutePath,
  getRoute,
  ownershipRules,
  postRoute,
  permittedRoles,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { limits } from '../limits.ts';
import { changeListSchema, restoreAnswerSchema, snapshotSchema } from './changes.ts';

const snapshotsMax = 1_000;
const listed = z.exactOptional(field.integerParam(1, limits.changesListed.max));
const dryRun = z.exactOptional(field.booleanParam);

/** Every `snapshot` method: its parameters, its answer and its rules. */
export const snapshotMethods = {
  'snapshot.list': defineMethod({
    params: z.object({
      session_id: z.exactOptional(field.sessionIdParam),
      /** The workspace, or a path in it. */
      path: z.exactOptional(field.pathParam),
      /** Newest first; default 50. */
      limit: z.exactOptional(field.integerParam(1, snapshotsMax)),
    }),
    answer: z.object({ snapshots: z.array(snapshotSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.listed,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/snapshots',
        about: 'List what commands changed',
        query: { session_id: 'text', path: 'text' },
        page: { items: 'snapshots', key: 'exec_id', by: 'limited', usual: 50, max: 1_000 },
      },
    ],
    audit: null,
  }),
  'snapshot.get': defineMethod({
    params: z
      .object({
        exec_id: z.exactOptional(field.execIdParam),
        id: z.exactOptional(field.treeIdParam),
        /** Index of the first change; default 0. */
        from: z.exactOptional(field.integerParam(0)),
        /** Default and maximum: `limits.changesListed`. */
        limit: listed,
        /** A path whose content, as the command left it, shall be in the answer. */
        content: z.exactOptional(field.pathParam),
      })
      .check(field.exactlyOneTarget('id')),
    answer: z.extend(snapshotSchema, {
      changes: changeListSchema,
      changes_total: shared.countSchema,
      /** Index of the next change; `null`: there are no more. */
      next: z.nullable(shared.countSchema),
      /** Of the path `content`; `null`: none was given, or the command left no file there. */
      content: z.nullable(
        z.object({
          /** Bytes as the command left them. */
          size: shared.countSchema,
          /** `null`: it is larger than `limits.diffFileBytes`, or was not stored. */
          base64: shared.nullableTextSchema,
        }),
      ),
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.recorded,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${execRoutePath}/snapshot`,
        about: 'What a command changed, path by path',
        query: { from: 'integer', limit: 'integer', content: 'text' },
      },
      {
        ...getRoute,
        path: '/v1/snapshots/{id}',
        about: 'Look at a snapshot, path by path',
        query: { from: 'integer', limit: 'integer', content: 'text' },
      },
    ],
    audit: null,
  }),
  'snapshot.restore': defineMethod({
    params: z
      .object({
        exec_id: z.exactOptional(field.execIdParam),
        id: z.exactOptional(field.treeIdParam),
        /** Report what would be done, and do nothing. */
        dry_run: dryRun,
        ...field.changedPathParams,
      })
      .check(field.exactlyOneTarget('id')),
    answer: restoreAnswerSchema,
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.recorded,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/restore`,
        about: 'Restore the state before a command ran',
      },
      {
        ...postRoute,
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
  'exec.undo': defineMethod({
    params: z.object({ exec_id: field.execIdParam, dry_run: dryRun, ...field.changedPathParams }),
    answer: restoreAnswerSchema,
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.recorded,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/undo`,
        about: 'Undo what a command changed',
      },
    ],
    audit: {
      kind: 'workspace.committed',
      params: ['exec_id', 'paths', 'dry_run'],
      answer: ['totals', 'exec_ids'],
    },
  }),
} as const;

export type SnapshotListParams = ParamsOf<typeof snapshotMethods, 'snapshot.list'>;
/** Exactly one of `exec_id` and `id`; of an id the newest command that left it. */
export type SnapshotGetParams = ParamsOf<typeof snapshotMethods, 'snapshot.get'>;
export type SnapshotRecord = AnswerOf<typeof snapshotMethods, 'snapshot.get'>;
/** Secrets are hidden in it as in output. */
export type ContentView = NonNullable<SnapshotRecord['content']>;
/** Exactly one: to the state before `exec_id` ran, or to the state `id`. */
export type SnapshotRestoreParams = ParamsOf<typeof snapshotMethods, 'snapshot.restore'>;
export type ExecUndoParams = ParamsOf<typeof snapshotMethods, 'exec.undo'>;
