/**
 * The predicate of a statement about a command. `docs/schemas/command-v1.json` is generated from
 * it, so that the published and the written form are the same. Only verifiers load this module; the
 * signer needs only its types.
 */
import { requestedNetworkModes } from '../network-access.ts';
import * as z from 'zod/mini';
import { changeKinds, changeMarks, changeStates, workspaceModes } from '../change.ts';

export const statementType = 'https://in-toto.io/Statement/v1';
export const predicateType = 'https://trl.dev/provenance/command/v1';

const about = (description: string) => z.describe<string>(description);
const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/), about('SHA-256 in lower-case hex.'));
const tree = z.string().check(z.regex(/^tree:sha256:[0-9a-f]{64}$/), about('Identity of a tree.'));
const time = z.iso.datetime().check(about('ISO 8601, UTC.'));
const count = z.int().check(z.minimum(0));
const text = (description: string) => z.string().check(about(description));
const name = text(
  'Path in the workspace. A name with the prefix `bytes:` is base64 of a path that is not UTF-8, ' +
    'or that has this prefix itself.',
);
const id = (letter: string) => z.string().check(z.regex(new RegExp(`^${letter}-[0-9a-f]+$`)));
const pathRules = z.object({ allow: z.array(z.string()), deny: z.array(z.string()) });
const mark = z.enum(changeMarks);

/** The fields of an in-toto `ResourceDescriptor` that are used. */
const resource = z.object({
  name: z.string(),
  uri: z.optional(z.string()),
  digest: z.optional(z.object({ sha256 })),
  annotations: z.optional(z.record(z.string(), z.json())),
});

const stream = z.object({
  sha256: z.nullable(sha256).check(z.describe('Of the redacted bytes; null: unknown.')),
  bytes: count,
});

const other = z.object({
  name,
  kind: z.enum(changeKinds),
  state: z.enum(changeStates),
  type: z.nullable(z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device'])),
  before: z.nullable(sha256).check(z.describe('Of the earlier content, if it is known.')),
  target: z.optional(text('The target of a link, in the form of a name.')),
  marks: z.optional(z.array(mark)),
  masked: z.optional(z.literal(true)),
});

export const predicateSchema = z.object({
  exec_id: id('x'),
  session_id: id('s'),
  actor: text('Who requested the command.'),
  command: z.object({
    text: text('As the caller wrote it; secrets are masked, and a very long text is truncated.'),
    bytes: count.check(z.describe('Of the original text.')),
    shell: z.string(),
    cwd: z.nullable(z.string()).check(z.describe('Null: the directory of the session.')),
    mode: z.enum(['foreground', 'detached']),
    stdin: z.enum(['closed', 'bytes', 'open']),
    pty: z.boolean(),
  }),
  plan_digest: sha256,
  verdict: z.object({
    decision: z.enum(['allow', 'ask', 'block']),
    policy: z.object({ name: z.string(), version: z.string() }),
    rules: z.array(z.string()).check(z.describe('Ids of the rules that decided.')),
  }),
  approval: z.nullable(
    z.object({
      id: id('a'),
      digest: sha256.check(z.describe('Of the approval request.')),
      scope: z.enum(['once', 'session', 'project']),
      by: text('Who approved it.'),
      proof: text('How that person was authenticated: passphrase, same_uid.'),
      at: time,
    }),
  ),
  environment: z.object({
    names: z.array(z.string()).check(z.describe('Names of variables, without values.')),
  }),
  sandbox: z.object({
    kind: z.enum(['bubblewrap', 'none']),
    level: z.enum(['full', 'root-uid', 'none']),
    network: z.enum(requestedNetworkModes),
    box_digest: sha256,
  }),
  grants: z.object({
    read: pathRules,
    write: pathRules,
    beyond: z.array(z.string()).check(z.describe('Extra grants, one clause each.')),
  }),
  limits: z.array(
    z.object({
      name: z.string(),
      value: z.number(),
      by: z.string(),
      hit: z.nullable(z.boolean()),
    }),
  ),
  result: z.object({
    exit_code: z.int(),
    signal: z.nullable(z.string()),
    timed_out: z.boolean(),
    stopped: z.nullable(z.string()),
    started_at: time,
    ended_at: time,
    ended_background: count,
    survivors: count,
  }),
  materials: z
    .array(resource)
    .check(
      z.describe('The projection, the shell, and the programs that the text names, if found.'),
    ),
  materials_missing: z
    .array(z.string())
    .check(z.describe('Programs that the text names and that were not found.')),
  omitted: count.check(z.describe('Entries that are omitted because their lists are too long.')),
  reads: z
    .literal('projection')
    .check(z.describe('An upper bound, never a list of what was read.')),
  reads_complete: z
    .boolean()
    .check(z.describe('Whether the sandbox kept everything else out of reach.')),
  reads_about: text('The same as a sentence.'),
  projection: z.object({
    tree: z.nullable(tree).check(z.describe('The workspace before the command.')),
    mask: z.nullable(sha256).check(z.describe('What was hidden of it; null: nothing.')),
    policy: z.string(),
    scope: sha256.check(z.describe('What else the sandbox showed.')),
    network: z.enum(requestedNetworkModes),
    concurrent_with: z
      .array(id('x'))
      .check(
        z.describe(
          'Commands that ran in the workspace or the session at the same time: ' +
            'this command could read what they wrote.',
        ),
      ),
  }),
  changes: z.nullable(
    z.object({
      before: tree,
      after: tree,
      method: z.enum(['overlay', 'index']),
      mode: z.enum(workspaceModes),
      complete: z.boolean(),
      total: count,
      kinds: z.partialRecord(z.enum(changeKinds), count),
      states: z.partialRecord(z.enum(changeStates), count),
      others: z
        .array(other)
        .check(z.describe('Changes without a content afterwards: deletions, links, directories.')),
      subjects_omitted: count,
      others_omitted: count,
    }),
  ),
  logs: z.object({
    stdout: stream,
    stderr: stream,
    raw_log: z.nullable(
      z.object({
        sha256: sha256.check(z.describe('Of the sealed file.')),
        bytes: count,
        complete: z.boolean(),
        recipients: z.array(z.string()),
      }),
    ),
  }),
  redactions: z.nullable(z.object({ count, distinct: count })),
  builder: z.object({
    id: z.literal('https://trl.dev/runtime'),
    version: z.string(),
    host: text('Platform and architecture: linux-x64.'),
  }),
});
export type CommandPredicate = z.infer<typeof predicateSchema>;
export type OtherChange = z.infer<typeof other>;
export type ResourceDescriptor = z.infer<typeof resource>;

export const statementSchema = z.object({
  _type: z.literal(statementType),
  subject: z
    .array(z.extend(resource, { name, digest: z.object({ sha256 }) }))
    .check(z.minLength(1)),
  predicateType: z.literal(predicateType),
  predicate: predicateSchema,
});
export type ProvenanceStatement = z.infer<typeof statementSchema>;
export type StatementSubject = ProvenanceStatement['subject'][number];

/** The published form. It allows unknown fields, as in-toto requires of a reader. */
export function statementJsonSchema(): Readonly<Record<string, unknown>> {
  const made = z.toJSONSchema(statementSchema, { io: 'input', target: 'draft-7' });
  return { ...made, $id: predicateType, title: 'Provenance of a command, an in-toto Statement v1' };
}
