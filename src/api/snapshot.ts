/** The methods `snapshot.*` and `exec.undo`. */
import * as z from 'zod/mini';
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
import { exactlyOneTarget, changedPathParams } from './changed-paths.ts';

const snapshotsMax = 1_000;
const listed = z.exactOptional(field.integerParam(1, limits.changesListed.max));
const dryRun = z.exactOptional(field.booleanParam);

/** Every `snapshot` method: its parameters, its answer and its rules. */
export const snapshotMethods = {
  'snapshot.list': defineMethod({
    params: z.object({
      session_id: z.exactOptional(field.sessionIdParam),
      path: z.exactOptional(field.pathParam),
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
        from: z.exactOptional(field.integerParam(0)),
        limit: listed,
        content: z.exactOptional(field.pathParam),
      })
      .check(exactlyOneTarget('id')),
    answer: z.extend(snapshotSchema, {
      changes: changeListSchema,
      changes_total: shared.countSchema,
      next: z.nullable(shared.countSchema),
      content: z.nullable(
        z.object({ size: shared.countSchema, base64: shared.nullableTextSchema }),
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
        dry_run: dryRun,
        ...changedPathParams,
      })
      .check(exactlyOneTarget('id')),
    answer: restoreAnswerSchema,
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.recorded,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/restore`,
        about: 'Restore what stood there before a command ran',
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
    params: z.object({ exec_id: field.execIdParam, dry_run: dryRun, ...changedPathParams }),
    answer: restoreAnswerSchema,
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.recorded,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${execRoutePath}/undo`,
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
