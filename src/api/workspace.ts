/** The methods `workspace.*` and `cache.*`. */
import * as z from 'zod/mini';
import {
  created,
  define,
  execPath,
  get,
  ownership,
  post,
  roles,
  sessionPath,
  socketOnly,
} from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { changes, changeMethod, workspaceDiff, workspaceMode, workspaceStatus } from './changes.ts';
import { oneTarget, paths } from './changed-paths.ts';
import { gitViews } from '../protocol/workspace.ts';

const contextMax = 1_000;
const patterns = z.exactOptional(field.patterns);
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
  'workspace.trust': define({
    params: z.object({ path: field.path }),
    answer: z.object({ path: z.string(), is_new: z.boolean() }),
    roles: 'socket',
    owns: ownership.none,
    lane: 'in-turn',
    http: socketOnly,
    audit: { kind: 'workspace.trusted', params: ['path'], answer: ['path', 'is_new'] },
  }),
  'workspace.forget': define({
    params: z.object({ path: field.path }),
    answer: z.object({ forgotten: z.boolean() }),
    roles: 'socket',
    owns: ownership.none,
    lane: 'in-turn',
    http: socketOnly,
    audit: { kind: 'workspace.forgotten', params: ['path'], answer: ['forgotten'] },
  }),
  'workspace.list': define({
    params: field.noParams,
    answer: z.object({
      workspaces: z.array(
        z.object({
          path: z.string(),
          trusted_at: shared.nullableText,
          is_there: z.boolean(),
          sessions: shared.count,
        }),
      ),
    }),
    roles: 'socket',
    owns: ownership.none,
    lane: 'beside',
    http: socketOnly,
    audit: null,
  }),
  'cache.list': define({
    params: field.noParams,
    answer: z.object({
      caches: z.array(
        z.object({
          cache_id: z.string(),
          path: z.string(),
          bytes: shared.count,
          used_at: z.string(),
        }),
      ),
    }),
    roles: 'socket',
    owns: ownership.none,
    lane: 'beside',
    http: socketOnly,
    audit: null,
  }),
  // Without a path: all of them.
  'cache.clear': define({
    params: z.object({ path: z.exactOptional(field.path) }),
    answer: z.object({
      cleared: shared.count,
      left: shared.count,
      why: z.exactOptional(z.string()),
    }),
    roles: 'socket',
    owns: ownership.none,
    lane: 'in-turn',
    http: socketOnly,
    audit: { kind: 'call.done', params: ['path'], answer: ['cleared'] },
  }),
  'workspace.open': define({
    params: z.object({
      path: field.path,
      policy: z.exactOptional(policy),
      mode: z.exactOptional(field.workspaceMode),
    }),
    answer: z.object({
      workspace_id: shared.workspaceId,
      path: z.string(),
      mode: workspaceMode,
      method: changeMethod,
      denied: z.nullable(shared.count),
      git: z.enum(gitViews),
    }),
    roles: roles.agent,
    owns: ownership.none,
    lane: 'in-turn',
    http: [
      {
        ...created,
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
  'workspace.status': define({
    params: field.ofSession,
    answer: workspaceStatus,
    roles: roles.everybody,
    owns: ownership.session,
    lane: 'beside',
    http: [
      {
        ...get,
        path: `${sessionPath}/workspace`,
        about: 'What commands of a session changed and what of it waits',
      },
    ],
    audit: null,
  }),
  'workspace.diff': define({
    params: z
      .object({
        session_id: z.exactOptional(field.sessionId),
        exec_id: z.exactOptional(field.execId),
        context: z.exactOptional(field.whole(0, contextMax)),
        ...paths,
      })
      .check(oneTarget('session_id')),
    answer: workspaceDiff,
    roles: roles.everybody,
    owns: { own: ['session_id', 'exec_id'], recorded: true },
    lane: 'beside',
    http: [
      {
        ...get,
        path: `${sessionPath}/diff`,
        about: 'What waits in a session, as a diff',
        query: { context: 'integer', paths: 'list', paths_base64: 'list' },
      },
      {
        ...get,
        path: `${execPath}/diff`,
        about: 'What a command changed, as a diff',
        query: { context: 'integer', paths: 'list', paths_base64: 'list' },
      },
    ],
    audit: null,
  }),
  // What is held only a person lets through, which its desk asks for.
  'workspace.apply': define({
    params: z
      .extend(field.ofSession, {
        held: z.exactOptional(field.flag),
        digest: z.exactOptional(field.digestStart),
        passphrase: z.exactOptional(field.passphrase),
        ...paths,
      })
      .check(
        z.refine(({ held, digest }) => held !== true || digest !== undefined, {
          path: ['digest'],
          error: 'given with "held": the first 8 or more digits of "held_digest"',
        }),
      ),
    answer: z.object({
      applied: changes,
      conflicts: changes,
      held: changes,
      totals: z.object({ applied: shared.count, conflicts: shared.count, held: shared.count }),
    }),
    roles: roles.agentAndApprover,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      {
        ...post,
        path: `${sessionPath}/apply`,
        about: 'Let what waits reach the real tree',
      },
    ],
    audit: {
      kind: 'workspace.committed',
      params: ['paths', 'held', 'digest'],
      answer: ['totals'],
    },
  }),
  'workspace.discard': define({
    params: z.extend(field.ofSession, paths),
    answer: z.object({
      discarded: changes,
      totals: z.object({ discarded: shared.count }),
    }),
    roles: roles.agentAndApprover,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      {
        ...post,
        path: `${sessionPath}/discard`,
        about: 'Throw away what waits',
      },
    ],
    audit: { kind: 'workspace.committed', params: ['paths'], answer: ['totals'] },
  }),
} as const;
