/** Schemas of the methods around workspaces, as `methods.ts` spreads them into its table. */
import * as z from 'zod/mini';
import { workspaceModes } from '../change.ts';
import { limits } from '../limits.ts';
import * as field from './fields.ts';

const contextMax = 1_000;
const snapshotsMax = 1_000;
const session = z.object({ session_id: field.sessionId });

export const workspaceMode = z.enum(workspaceModes, {
  error: '"direct", "staged" or "discard"',
});
export const workspaceId = z.templateLiteral(['w-', z.string()], { error: 'a workspace id' });

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

const paths = {
  paths: z.exactOptional(field.changedPaths),
  paths_base64: z.exactOptional(field.changedPathsBase64),
};
const listed = z.exactOptional(field.whole(1, limits.changesListed.max));
const dryRun = z.exactOptional(field.flag);

/** Exactly one of `exec_id` and `other`. */
const oneTarget = (other: 'session_id' | 'id') =>
  z.refine<Readonly<Record<string, unknown>>>(
    (given) => (given['exec_id'] === undefined) !== (given[other] === undefined),
    { path: ['exec_id'], error: `given, or "${other}", and not both` },
  );

/** One row a method: the schema of its `params`. */
export const workspaceMethods = {
  'workspace.trust': z.object({ path: field.path }),
  'workspace.forget': z.object({ path: field.path }),
  'workspace.list': z.object({}),
  'cache.list': z.object({}),
  // Without a path: all of them.
  'cache.clear': z.object({ path: z.exactOptional(field.path) }),
  'workspace.open': z.object({
    path: field.path,
    policy: z.exactOptional(policy),
    mode: z.exactOptional(workspaceMode),
  }),
  'workspace.status': session,
  'workspace.diff': z
    .object({
      session_id: z.exactOptional(field.sessionId),
      exec_id: z.exactOptional(field.execId),
      context: z.exactOptional(field.whole(0, contextMax)),
      ...paths,
    })
    .check(oneTarget('session_id')),
  'workspace.apply': z
    .extend(session, {
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
  'workspace.discard': z.extend(session, paths),
  'snapshot.list': z.object({
    session_id: z.exactOptional(field.sessionId),
    path: z.exactOptional(field.path),
    limit: z.exactOptional(field.whole(1, snapshotsMax)),
  }),
  'snapshot.get': z
    .object({
      exec_id: z.exactOptional(field.execId),
      id: z.exactOptional(field.treeId),
      from: z.exactOptional(field.whole(0)),
      limit: listed,
      content: z.exactOptional(field.path),
    })
    .check(oneTarget('id')),
  'snapshot.restore': z
    .object({
      exec_id: z.exactOptional(field.execId),
      id: z.exactOptional(field.treeId),
      dry_run: dryRun,
      ...paths,
    })
    .check(oneTarget('id')),
  'exec.undo': z.object({ exec_id: field.execId, dry_run: dryRun, ...paths }),
} as const;
