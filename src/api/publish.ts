/** The methods `publish.check` and `publish`. */
import * as z from 'zod/mini';
import {
  createRoute,
  defineMethod,
  ownershipRules,
  postRoute,
  permittedRoles,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { limits } from '../limits.ts';
import { publishKinds, type PublishKind } from '../protocol/publish.ts';

const refsMax = 10_000;
const objectIdWanted = 'an object id of git';
const objectId = z
  .string({ error: objectIdWanted })
  .check(z.regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, { error: objectIdWanted }));
const pushedRef = z.strictObject(
  {
    local_ref: field.pathParam,
    local_id: objectId,
    remote_ref: field.pathParam,
    remote_id: objectId,
  },
  { error: 'an object with "local_ref", "local_id", "remote_ref", "remote_id"' },
);

const dataWanted = `base64 of at most ${limits.publicationTextBytes.max} bytes`;
const dataCharacters = Math.ceil(limits.publicationTextBytes.max / 3) * 4;

/** What each kind must be given, and what only it may be given. */
const ownFields = {
  paths: [],
  changes: [],
  exec: ['exec_id', 'output'],
  git: ['range', 'refs', 'remote'],
  staged: [],
  text: ['data', 'name'],
} as const satisfies Record<PublishKind, readonly string[]>;
const needed: ReadonlyMap<string, string> = new Map([
  ['exec', 'exec_id'],
  ['text', 'data'],
]);

type Given = Readonly<Record<string, unknown>> & { readonly kind: PublishKind };

const belongsTogether = (name: PublishKind) =>
  z.refine<Given>(
    ({ kind, ...given }) =>
      kind === name || ownFields[name].every((one) => given[one] === undefined),
    { path: ['kind'], error: `"${name}", which ${quoted(ownFields[name])} are for` },
  );

function quoted(names: readonly string[]): string {
  return names.map((one) => `"${one}"`).join(', ');
}

const isGiven = z.refine<Given>(
  ({ kind, ...given }) => {
    const name = needed.get(kind);
    return name === undefined || given[name] !== undefined;
  },
  { path: ['kind'], error: 'given with "exec_id" for "exec", and "data" for "text"' },
);

const oneOfGit = z.refine<Given>(
  ({ kind, ...given }) =>
    kind !== 'git' || (given['range'] === undefined) !== (given['refs'] === undefined),
  { path: ['range'], error: 'given for "git", or "refs", and not both' },
);

const oneWorkspace = z.refine<Given>(
  (given) =>
    ['path', 'workspace_id', 'session_id'].filter((name) => given[name] !== undefined).length <= 1,
  { path: ['path'], error: 'given, or "workspace_id", or "session_id": one of them' },
);

const checked = {
  audience: z.exactOptional(field.nameParam),
  path: z.exactOptional(field.pathParam),
  workspace_id: z.exactOptional(field.workspaceIdParam),
  session_id: z.exactOptional(field.sessionIdParam),
  exec_id: z.exactOptional(field.execIdParam),
  output: z.exactOptional(field.booleanParam),
  paths: z.exactOptional(field.changedPathsParam),
  paths_base64: z.exactOptional(field.changedPathsBase64Param),
  range: z.exactOptional(field.nameParam),
  refs: z.exactOptional(
    z
      .array(pushedRef, { error: 'a list of refs' })
      .check(z.maxLength(refsMax, `a list of at most ${refsMax} refs`)),
  ),
  remote: z.exactOptional(field.nameParam),
  data: z.exactOptional(
    z
      .string({ error: dataWanted })
      .check(
        z.refine(
          (text) =>
            text.length <= dataCharacters &&
            text.length % 4 === 0 &&
            /^[A-Za-z0-9+/]*={0,2}$/.test(text),
          dataWanted,
        ),
      ),
  ),
  name: z.exactOptional(field.nameParam),
  accept: z.exactOptional(field.digestPrefixParam),
  passphrase: z.exactOptional(field.passphraseParam),
};
const checks = [...publishKinds.map(belongsTogether), isGiven, oneOfGit, oneWorkspace] as const;

/** Commits leave by a push. */
const leaving = ['paths', 'changes', 'exec', 'text'] as const satisfies readonly PublishKind[];

const decision = z.enum(['pass', 'review', 'block']);
const range = z.nullable(z.tuple([shared.countSchema, shared.countSchema]));

const evidence = z.object({
  score: z.nullable(z.number()),
  source: z.string(),
  span: range,
  lines: range,
  via: shared.nameListSchema,
  text: shared.nullableTextSchema,
});

export const publishFindingSchema = z.object({
  rule: z.string(),
  decision,
  item: shared.nullableTextSchema,
  trace: z.string(),
  evidence: z.exactOptional(evidence),
});

/** What the gate says of what is to leave. */
export const publishVerdictSchema = z.object({
  decision,
  basis: z.enum(['non-interference', 'scan']),
  audience: z.string(),
  policy_version: z.string(),
  items: shared.countSchema,
  bytes: shared.countSchema,
  digest: shared.sha256Schema,
  findings: z.array(publishFindingSchema),
});

const published = z.extend(publishVerdictSchema, {
  publication_id: shared.createIdSchema('p-'),
  directory: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      path_base64: z.exactOptional(z.string()),
      type: z.enum(['file', 'symlink']),
      mode: z.string(),
      size: shared.countSchema,
      sha256: shared.sha256Schema,
    }),
  ),
});

/** Every `publish` method: its parameters, its answer and its rules. */
export const publishMethods = {
  'publish.check': defineMethod({
    params: z
      .object({
        kind: z.enum(publishKinds, { error: quoted(publishKinds) }),
        ...checked,
        evidence: z.exactOptional(field.booleanParam),
      })
      .check(...checks),
    answer: publishVerdictSchema,
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.publication,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: '/v1/publications/check',
        about: 'Whether something may leave, and why not',
      },
    ],
    audit: null,
  }),
  publish: defineMethod({
    params: z
      .object({ kind: z.enum(leaving, { error: quoted(leaving) }), ...checked })
      .check(...checks),
    answer: published,
    roles: permittedRoles.agent,
    owns: ownershipRules.publication,
    lane: 'beside',
    http: [
      {
        ...createRoute,
        path: '/v1/publications',
        about: 'Lay out what was checked, so that it can leave',
      },
    ],
    audit: null,
  }),
} as const;
