/** The methods `publish.check` and `publish`. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
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

/**
 * What to publish. `paths`: files of the workspace as they are now. `changes`: what the commands
 * of a session left, net. `exec`: what one command left. `git`: commits that a push would send.
 * `staged`: the index of git compared with its last commit. `text`: bytes in `data`.
 */
export const publishKinds = ['paths', 'changes', 'exec', 'git', 'staged', 'text'] as const;
type PublishKind = (typeof publishKinds)[number];

const refsMax = 10_000;
const objectIdWanted = 'an object id of git';
const objectId = z
  .string({ error: objectIdWanted })
  .check(z.regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, { error: objectIdWanted }));
export const pushedRefParam = z.strictObject(
  {
    local_ref: field.pathParam,
    /** Object ids, 40 or 64 hex digits; all zeros: none. */
    local_id: objectId,
    remote_ref: field.pathParam,
    remote_id: objectId,
  },
  { error: 'an object with "local_ref", "local_id", "remote_ref", "remote_id"' },
);

const dataWanted = `base64 of at most ${limits.publicationTextBytes.max} bytes`;
const dataCharacters = Math.ceil(limits.publicationTextBytes.max / 3) * 4;

/** Parameters that belong to one kind only. */
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
  /** The audience, by its name in policy; default `public`. */
  audience: z.exactOptional(field.nameParam),
  /**
   * The workspace: at most one of a directory, an opened workspace, a session. Default: that of the
   * command, else the runtime's only root.
   */
  path: z.exactOptional(field.pathParam),
  workspace_id: z.exactOptional(field.workspaceIdParam),
  session_id: z.exactOptional(field.sessionIdParam),
  /** With `exec`. */
  exec_id: z.exactOptional(field.execIdParam),
  /** With `exec`: also its output. */
  output: z.exactOptional(field.booleanParam),
  /** With `paths`, `changes` and `exec`: these and what is below them. */
  paths: z.exactOptional(field.changedPathsParam),
  paths_base64: z.exactOptional(field.changedPathsBase64Param),
  /** With `git`, either `range` or `refs`: `A..B`, or one revision: what no remote has of it. */
  range: z.exactOptional(field.nameParam),
  refs: z.exactOptional(
    z
      .array(pushedRefParam, { error: 'a list of refs' })
      .check(z.maxLength(refsMax, `a list of at most ${refsMax} refs`)),
  ),
  /** With `git`: the remote whose branches are already published; default: all remotes. */
  remote: z.exactOptional(field.nameParam),
  /** With `text`: base64, and its name; default `stdin`. */
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
  /**
   * A person approves a publication that needs review, now and for the same bytes later: the first
   * 8 or more digits of the verdict's `digest` that the person saw.
   */
  accept: z.exactOptional(field.digestPrefixParam),
  /** With `evidence` and `accept`: authenticates the person, if one is enrolled. */
  passphrase: z.exactOptional(field.passphraseParam),
};
const checks = [...publishKinds.map(belongsTogether), isGiven, oneOfGit, oneWorkspace] as const;

/** Commits are published by a push. */
const leaving = ['paths', 'changes', 'exec', 'text'] as const satisfies readonly PublishKind[];

const decision = z.enum(['pass', 'review', 'block']);
const range = z.nullable(z.tuple([shared.countSchema, shared.countSchema]));

const evidence = z.object({
  /** Novel characters of denied content; `null` for exact rules. */
  score: z.nullable(z.number()),
  /** The denied file, the name of the secret, or why the item cannot be scanned. */
  source: z.string(),
  /** Bytes `[from, to)` of the item; `null`: inside decoded content. */
  span: range,
  /** Lines `[from, to]` of the denied file, from 1. */
  lines: range,
  /** How it was decoded, outermost first. */
  via: shared.nameListSchema,
  text: shared.nullableTextSchema,
});

export const publishFindingSchema = z.object({
  /** `denied.content`, `secret.known`, …: docs/publication.md has all of them. */
  rule: z.string(),
  decision,
  /** The item, and the member within it; `null` if the name itself reveals too much. */
  item: shared.nullableTextSchema,
  /** Identifies the evidence in the audit log. */
  trace: z.string(),
  /** Only for an authenticated person who requested it. */
  evidence: z.exactOptional(evidence),
});

/** The gate's decision on a publication. */
export const publishVerdictSchema = z.object({
  decision,
  /**
   * `non-interference`: no command that made it could read content that the audience may not read.
   * `scan`: this is not known; the scan found nothing.
   */
  basis: z.enum(['non-interference', 'scan']),
  audience: z.string(),
  policy_version: z.string(),
  items: shared.countSchema,
  bytes: shared.countSchema,
  /** SHA-256 (hex) of all that was scanned, the audience, and the findings. */
  digest: shared.sha256Schema,
  /** Strictest first. */
  findings: z.array(publishFindingSchema),
});

const published = z.extend(publishVerdictSchema, {
  publication_id: shared.createIdSchema('p-'),
  /**
   * A directory of the runtime, private to the user: the file at index N of `files` is in it as N.
   * The caller copies it from there with its own rights; it is removed after some minutes.
   */
  directory: z.string(),
  files: z.array(
    z.object({
      /** Relative path. */
      path: z.string(),
      /** The path's bytes, if they are not valid UTF-8. */
      path_base64: z.exactOptional(z.string()),
      type: z.enum(['file', 'symlink']),
      /** The permission bits in four octal digits. */
      mode: z.string(),
      size: shared.countSchema,
      /** Lower-case hex; for a link that of its target. */
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
        /** Report where denied content comes from; for an authenticated person. */
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
        about: 'Whether something may be published, and why not',
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
        about: 'Lay out checked files for publication',
      },
    ],
    audit: null,
  }),
} as const;

export type PublishCheckParams = ParamsOf<typeof publishMethods, 'publish.check'>;
export type PublishParams = ParamsOf<typeof publishMethods, 'publish'>;
/** One line of a pre-push hook: what becomes of one ref of the remote. */
export type PushedRef = TypeOf<typeof pushedRefParam>;
export type PublishVerdict = TypeOf<typeof publishVerdictSchema>;
export type FindingView = TypeOf<typeof publishFindingSchema>;
export type Publication = AnswerOf<typeof publishMethods, 'publish'>;
/** `p-` and 32 lower-case hex digits. */
export type PublicationId = Publication['publication_id'];
export type PublishedFile = Publication['files'][number];
