/** The methods `workspace.*` and `cache.*`. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
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
  gitViewSchema,
  workspaceDiffSchema,
  workspaceModeSchema,
  workspaceStatusSchema,
} from './changes.ts';

const contextMax = 1_000;
const patterns = z.exactOptional(field.patternsParam);
export const workspacePolicyParam = z.strictObject(
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
  // The person who starts an agent decides in which directories it may work.
  'workspace.trust': defineMethod({
    params: z.object({ path: field.pathParam }),
    answer: z.object({
      /** The root that now contains the directory, by real path. */
      path: z.string(),
      /** Whether it is a new root. */
      is_new: z.boolean(),
    }),
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
          /** Real path. */
          path: z.string(),
          /** ISO 8601; `null`: the runtime was started with it. */
          trusted_at: shared.nullableTextSchema,
          is_there: z.boolean(),
          /** Number of sessions in it. */
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
          /** 32 hex digits. */
          cache_id: z.string(),
          /** The project, by real path. */
          path: z.string(),
          bytes: shared.countSchema,
          /** ISO 8601. */
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
  // Without a path: all caches.
  'cache.clear': defineMethod({
    params: z.object({ path: z.exactOptional(field.pathParam) }),
    answer: z.object({
      cleared: shared.countSchema,
      /** Entries that could not be removed. */
      left: shared.countSchema,
      /** Why the first of them could not. */
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
      policy: z.exactOptional(workspacePolicyParam),
      /** Mode of its sessions; default `direct`. */
      mode: z.exactOptional(field.workspaceModeParam),
    }),
    answer: z.object({
      workspace_id: shared.workspaceIdSchema,
      /** Absolute, with links resolved. */
      path: z.string(),
      mode: workspaceModeSchema,
      method: changeMethodSchema,
      /** Paths that do not exist for its commands; `null`: not counted yet. */
      denied: z.nullable(shared.countSchema),
      git: gitViewSchema,
    }),
    roles: permittedRoles.agent,
    owns: ownershipRules.none,
    lane: 'in-turn',
    http: [
      {
        ...createRoute,
        path: '/v1/workspaces',
        about: 'Open a workspace with its own rules',
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
        about: 'The changes of a session, and which of them are pending',
      },
    ],
    audit: null,
  }),
  'workspace.diff': defineMethod({
    params: z
      .object({
        session_id: z.exactOptional(field.sessionIdParam),
        exec_id: z.exactOptional(field.execIdParam),
        /** Lines around a change; default 3. */
        context: z.exactOptional(field.integerParam(0, contextMax)),
        ...field.changedPathParams,
      })
      .check(field.exactlyOneTarget('session_id')),
    answer: workspaceDiffSchema,
    roles: permittedRoles.everybody,
    owns: { own: ['session_id', 'exec_id'], recorded: true },
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: `${sessionRoutePath}/diff`,
        about: 'Pending changes of a session, as a diff',
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
  // Held changes are applied only after approval, which the workspace service checks.
  'workspace.apply': defineMethod({
    params: z
      .extend(field.sessionParamsObject, {
        /** Also changes that the commit filter holds; a person decides. */
        held: z.exactOptional(field.booleanParam),
        /** With `held`: the first 8 or more digits of `held_digest` that the person saw. */
        digest: z.exactOptional(field.digestPrefixParam),
        /** Authenticates the person, if one is enrolled. */
        passphrase: z.exactOptional(field.passphraseParam),
        ...field.changedPathParams,
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
        about: 'Apply pending changes to the real tree',
      },
    ],
    audit: {
      kind: 'workspace.committed',
      params: ['paths', 'held', 'digest'],
      answer: ['totals'],
    },
  }),
  'workspace.discard': defineMethod({
    params: z.extend(field.sessionParamsObject, field.changedPathParams),
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
        about: 'Discard pending changes',
      },
    ],
    audit: { kind: 'workspace.committed', params: ['paths'], answer: ['totals'] },
  }),
} as const;

export type WorkspaceTrustAnswer = AnswerOf<typeof workspaceMethods, 'workspace.trust'>;
/** A directory in which sessions may work. */
export type WorkspaceRoot = AnswerOf<
  typeof workspaceMethods,
  'workspace.list'
>['workspaces'][number];
/** What programs store in HOME for later commands of one project, with one set of rules. */
export type CacheView = AnswerOf<typeof workspaceMethods, 'cache.list'>['caches'][number];
/** Rules that only add to the runtime's policy: paths or globs, relative to the workspace. */
export type WorkspacePolicy = TypeOf<typeof workspacePolicyParam>;
export type WorkspaceOpenParams = ParamsOf<typeof workspaceMethods, 'workspace.open'>;
export type WorkspaceOpenAnswer = AnswerOf<typeof workspaceMethods, 'workspace.open'>;
/** Exactly one of `session_id` (all that its commands changed, net) and `exec_id`. */
export type WorkspaceDiffParams = ParamsOf<typeof workspaceMethods, 'workspace.diff'>;
export type WorkspaceApplyParams = ParamsOf<typeof workspaceMethods, 'workspace.apply'>;
/** At most `limits.changesListed` in each list. */
export type WorkspaceApplyAnswer = AnswerOf<typeof workspaceMethods, 'workspace.apply'>;
export type WorkspaceDiscardParams = ParamsOf<typeof workspaceMethods, 'workspace.discard'>;
export type WorkspaceDiscardAnswer = AnswerOf<typeof workspaceMethods, 'workspace.discard'>;
/** Which paths are selected: these and what is below them; absent: all. */
export type PathsParams = Pick<WorkspaceDiscardParams, 'paths' | 'paths_base64'>;
