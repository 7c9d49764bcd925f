/** The methods `workspace.*` and `cache.*`. */
import * as z from 'zod/mini';
import {
  createRoute,
  defineMethod,
  execRoutePath,
  getRoute,
  ownershipRules,
  postRoute,
  permittedRoles,
  sessionRoutePath,
  socketOnlyReason,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import {
  changeListSchema,
  changeMethodSchema,
  workspaceDiffSchema,
  workspaceModeSchema,
  workspaceStatusSchema,
} from './changes.ts';
import { exactlyOneTarget, changedPathParams } from './changed-paths.ts';
import { gitViews } from '../protocol/workspace.ts';

const contextMax = 1_000;
const patterns = z.exactOptional(field.patternsParam);
const policy = z.strictObject(
  {
    read: z.exactOptional(
      z.strictObject(
        { allow: patterns, deny: patterns },
        { error: 'an object with "allow", "deny"' },
      ),
    ),
    write: z.exactOptional(z.strictObject({ deny: patterns }, { error: 'an object with "deny"' })),
  },
  { error: 'an object with "read" and "write"' },
);

/** Every `workspace` method: its parameters, its answer and its rules. */
export const workspaceMethods = {
  // Which directories an agent may work in is said by who starts it.
  'workspace.trust': defineMethod({
    params: z.object({ path: field.pathParam }),
    answer: z.object({ path: z.string(), is_new: z.boolean() }),
    roles: 'socket',
    owns: ownershipRules.none,
    lane: 'in-turn',
    http: socketOnlyReason,
    audit: { kind: 'workspace.trusted', params: ['path'], answer: ['path', 'is_new'] },
  }),
  'workspace.forget': defineMethod({
    params: z.object({ path: field.pathParam }),
    answer: z.object({ forgotten: z.boolean() }),
    roles: 'socket',
    owns: ownershipRules.none,
    lane: 'in-turn',
    http: socketOnlyReason,
    audit: { kind: 'workspace.forgotten', params: ['path'], answer: ['forgotten'] },
  }),
  'workspace.list': defineMethod({
    params: field.emptyParams,
    answer: z.object({
      workspaces: z.array(
        z.object({
          path: z.string(),
          trusted_at: shared.nullableTextSchema,
          is_there: z.boolean(),
          sessions: shared.countSchema,
        }),
      ),
    }),
    roles: 'socket',
    owns: ownershipRules.none,
    lane: 'beside',
    http: socketOnlyReason,
    audit: null,
  }),
  'cache.list': defineMethod({
    params: field.emptyParams,
    answer: z.object({
      caches: z.array(
        z.object({
          cache_id: z.string(),
          path: z.string(),
          bytes: shared.countSchema,
          used_at: z.string(),
        }),
      ),
    }),
    roles: 'socket',
    owns: ownershipRules.none,
    lane: 'beside',
    http: socketOnlyReason,
    audit: null,
  }),
  // Without a path: all of them.
  'cache.clear': defineMethod({
    params: z.object({ path: z.exactOptional(field.pathParam) }),
    answer: z.object({
      cleared: shared.countSchema,
      left: shared.countSchema,
      why: z.exactOptional(z.string()),
    }),
    roles: 'socket',
    owns: ownershipRules.none,
    lane: 'in-turn',
    http: socketOnlyReason,
    audit: { kind: 'call.done', params: ['path'], answer: ['cleared'] },
  }),
  'workspace.open': defineMethod({
    params: z.object({
      path: field.pathParam,
      policy: z.exactOptional(policy),
      mode: z.exactOptional(field.workspaceModeParam),
    }),
    answer: z.object({
      workspace_id: shared.workspaceIdSchema,
      path: z.string(),
      mode: workspaceModeSchema,
      method: changeMethodSchema,
      denied: z.nullable(shared.countSchema),
      git: z.enum(gitViews),
    }),
    roles: permittedRoles.agent,
    owns: ownershipRules.none,
    lane: 'in-turn',
    http: [
      {
        ...createRoute,
        path: '/v1/workspaces',
        about: 'Open a workspace with rules of its own',
      },
    ],
    audit: {
      kind: 'workspace.opened',
      params: ['path', 'mode', 'policy'],
      answer: ['workspace_id', 'path'],
    },
  }),
  'workspace.status': defineMethod({
    params: field.sessionParamsObject,
    answer: workspaceStatusSchema,
    roles: permittedRoles.everybody,
    owns: ownershipRules.session,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${sessionRoutePath}/workspace`,
        about: 'What commands of a session changed and what of it waits',
      },
    ],
    audit: null,
  }),
  'workspace.diff': defineMethod({
    params: z
      .object({
        session_id: z.exactOptional(field.sessionIdParam),
        exec_id: z.exactOptional(field.execIdParam),
        context: z.exactOptional(field.integerParam(0, contextMax)),
        ...changedPathParams,
      })
      .check(exactlyOneTarget('session_id')),
    answer: workspaceDiffSchema,
    roles: permittedRoles.everybody,
    owns: { own: ['session_id', 'exec_id'], recorded: true },
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${sessionRoutePath}/diff`,
        about: 'What waits in a session, as a diff',
        query: { context: 'integer', paths: 'list', paths_base64: 'list' },
      },
      {
        ...getRoute,
        path: `${execRoutePath}/diff`,
        about: 'What a command changed, as a diff',
        query: { context: 'integer', paths: 'list', paths_base64: 'list' },
      },
    ],
    audit: null,
  }),
  // What is held only a person lets through, which its desk asks for.
  'workspace.apply': defineMethod({
    params: z
      .extend(field.sessionParamsObject, {
        held: z.exactOptional(field.booleanParam),
        digest: z.exactOptional(field.digestPrefixParam),
        passphrase: z.exactOptional(field.passphraseParam),
        ...changedPathParams,
      })
      .check(
        z.refine(({ held, digest }) => held !== true || digest !== undefined, {
          path: ['digest'],
          error: 'given with "held": the first 8 or more digits of "held_digest"',
        }),
      ),
    answer: z.object({
      applied: changeListSchema,
      conflicts: changeListSchema,
      held: changeListSchema,
      totals: z.object({
        applied: shared.countSchema,
        conflicts: shared.countSchema,
        held: shared.countSchema,
      }),
    }),
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/apply`,
        about: 'Let what waits reach the real tree',
      },
    ],
    audit: {
      kind: 'workspace.committed',
      params: ['paths', 'held', 'digest'],
      answer: ['totals'],
    },
  }),
  'workspace.discard': defineMethod({
    params: z.extend(field.sessionParamsObject, changedPathParams),
    answer: z.object({
      discarded: changeListSchema,
      totals: z.object({ discarded: shared.countSchema }),
    }),
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/discard`,
        about: 'Throw away what waits',
      },
    ],
    audit: { kind: 'workspace.committed', params: ['paths'], answer: ['totals'] },
  }),
} as const;
