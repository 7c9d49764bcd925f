/**
 * The predicate of a command: what a statement says of it. `docs/schemas/command-v1.json` is made
 * from this, so what is published and what is written are the same. Only who checks a statement
 * loads it; who writes one takes the types.
 */
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
  'Path in the workspace. What begins with `bytes:` is base64 of a path that is no UTF-8, or ' +
    'that begins so itself.',
);
const id = (letter: string) => z.string().check(z.regex(new RegExp(`^${letter}-[0-9a-f]+$`)));
const pathRules = z.object({ allow: z.array(z.string()), deny: z.array(z.string()) });
const mark = z.enum(changeMarks);

/** in-toto `ResourceDescriptor`, as far as it is used. */
const resource = z.object({
  name: z.string(),
  uri: z.optional(z.string()),
  digest: z.optional(z.object({ sha256 })),
  annotations: z.optional(z.record(z.string(), z.json())),
});

const stream = z.object({
  sha256: z.nullable(sha256).check(z.describe('Of the redacted bytes; null: not known.')),
  bytes: count,
});

const other = z.object({
  name,
  kind: z.enum(changeKinds),
  state: z.enum(changeStates),
  type: z.nullable(z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device'])),
  before: z.nullable(sha256).check(z.describe('Of the content that was there, where it is known.')),
  target: z.optional(text('Where a link leads; written as a name is.')),
  marks: z.optional(z.array(mark)),
  masked: z.optional(z.literal(true)),
});

export const predicateSchema = z.object({
  exec_id: id('x'),
  session_id: id('s'),
  actor: text('Who asked.'),
  command: z.object({
    text: text('As the caller wrote it; secrets are masked, and what is very long is cut.'),
    bytes: count.check(z.describe('Of the text as it was given.')),
    shell: z.string(),
    cwd: z.nullable(z.string()).check(z.describe('Null: where the session stood.')),
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
      digest: sha256.check(z.describe('Of the question that was answered.')),
      scope: z.enum(['once', 'session', 'project']),
      by: text('Who said yes.'),
      proof: text('How it was proved who that was: passphrase, same_uid.'),
      at: time,
    }),
  ),
  environment: z.object({
    names: z.array(z.string()).check(z.describe('Names of variables; no value is told.')),
  }),
  sandbox: z.object({
    kind: z.enum(['bubblewrap', 'none']),
    level: z.enum(['full', 'root-uid', 'none']),
    network: z.enum(['off', 'on']),
    box_digest: sha256,
  }),
  grants: z.object({
    read: pathRules,
    write: pathRules,
    beyond: z.array(z.string()).check(z.describe('What was granted besides, one clause each.')),
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
      z.describe('The projection, the shell, and what the text names as far as it was looked up.'),
    ),
  materials_missing: z
    .array(z.string())
    .check(z.describe('What the text names and nothing was found for.')),
  omitted: count.check(
    z.describe('Entries of lists that are left out, as the lists are too long.'),
  ),
  reads: z
    .literal('projection')
    .check(z.describe('An upper bound, never a list of what was read.')),
  reads_complete: z
    .boolean()
    .check(z.describe('Whether the sandbox kept everything else out of reach.')),
  reads_about: text('The same as a sentence.'),
  projection: z.object({
    tree: z.nullable(tree).check(z.describe('The workspace before the command.')),
    mask: z.nullable(sha256).check(z.describe('What of it was hidden; null: nothing.')),
    policy: z.string(),
    scope: sha256.check(z.describe('What the sandbox showed besides.')),
    network: z.enum(['off', 'on']),
    concurrent_with: z
      .array(id('x'))
      .check(
        z.describe(
          'Commands that ran in the workspace or the session meanwhile: ' +
            'what they wrote could be read.',
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
        .check(z.describe('Changes that left no content: deletions, links, directories.')),
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

/** The published form. Fields that it does not know are allowed, as in-toto asks of a reader. */
export function statementJsonSchema(): Readonly<Record<string, unknown>> {
  const made = z.toJSONSchema(statementSchema, { io: 'input', target: 'draft-7' });
  return { ...made, $id: predicateType, title: 'Provenance of a command, an in-toto Statement v1' };
}
