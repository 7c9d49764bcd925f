/**
 * The form of a policy file. `docs/policy.schema.json` is made from it, so what an editor offers
 * and what is read are the same.
 */
import { hostRulesMax, parseHostRule } from '../../network/host-rules.ts';
import { expandPreset } from '../../network/presets.ts';
import * as z from 'zod/mini';
import { judgedShells } from '../../command.ts';
import { schemaKeysAt } from '../../yaml/schema-problems.ts';
import { policyBaseNames, policyDecisions } from '../policy.ts';
import { publicationSchema } from './publication.ts';
import {
  durationPattern,
  policyDurationMessage,
  sizePattern,
  policySizeMessage,
} from './quantities.ts';

const textLengthMax = 500;
const wordLengthMax = 1_000;
const globLengthMax = 256;
const entriesMax = 1_000;

const about = (description: string) => z.describe<string>(description);
const text = () => z.string().check(z.minLength(1), z.maxLength(textLengthMax));
const word = () => z.string().check(z.maxLength(wordLengthMax));
const duration = (description: string) =>
  z
    .string()
    .check(z.regex(durationPattern, { error: policyDurationMessage }), z.describe(description));
const size = (description: string) =>
  z.string().check(z.regex(sizePattern, { error: policySizeMessage }), z.describe(description));
const count = (description: string) =>
  z
    .int({ error: 'must be a whole number of at least 1' })
    .check(
      z.minimum(1, { error: 'must be a whole number of at least 1' }),
      z.describe(description),
    );
const paths = (description: string) =>
  z
    .array(z.string().check(z.minLength(1), z.maxLength(wordLengthMax)))
    .check(z.maxLength(entriesMax), z.describe(description));
const base = (description: string) => z.enum(policyBaseNames).check(z.describe(description));

const wordPattern = z.union(
  [
    word(),
    z.strictObject({
      any: z
        .array(word())
        .check(z.minLength(1), z.maxLength(entriesMax), z.describe('One of these.')),
    }),
    z.strictObject({
      glob: z
        .string()
        .check(
          z.minLength(1),
          z.maxLength(globLengthMax),
          z.describe('`*` any text without "/", `**` any text, `?` one character.'),
        ),
    }),
  ],
  { error: 'must be a text, {any: […]} or {glob: …}' },
);

const example = z.union([text(), z.array(word()).check(z.minLength(1))]);

const commandRule = z.strictObject({
  id: z.optional(
    z.string().check(
      z.regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, {
        error: 'must be lower-case letters, digits, ".", "_" and "-", such as "deploys"',
      }),
      about('A name for the rule; shown as `rule.NAME` when it decides.'),
    ),
  ),
  decision: z
    .enum(policyDecisions)
    .check(about('`allow` widens what would be asked; it never lifts a block.')),
  match: z
    .array(wordPattern)
    .check(
      z.minLength(1),
      z.maxLength(64),
      z.describe('The whole argument list. "..." matches any number of arguments.'),
    ),
  reason: text().check(about('One clause for people and agents.')),
  instead: z.optional(text().check(about('What to do in its place, one sentence.'))),
  examples: z.optional(
    z
      .strictObject({
        match: z.optional(z.array(example).check(z.maxLength(entriesMax))),
        no_match: z.optional(z.array(example).check(z.maxLength(entriesMax))),
      })
      .check(z.describe('Checked whenever the file is read: one that fails is an error.')),
  ),
});

const caller = z.strictObject({
  actor: z.optional(text().check(about('The exact name of who asks.'))),
  kind: z.optional(z.enum(['agent', 'person'])),
  role: z.optional(z.enum(['agent', 'approver', 'auditor', 'admin'])),
  base: base('The base for those callers.'),
});

const limits = z.strictObject({
  timeout: z.optional(duration('Run time of a command.')),
  detached_timeout: z.optional(duration('Run time of `exec.start`.')),
  idle_timeout: z.optional(duration('Time without output.')),
  cpu_seconds: z.optional(count('CPU time of a process, in seconds.')),
  processes: z.optional(count('Processes of a command.')),
  open_files: z.optional(count('Open files of a process.')),
  file_size: z.optional(size('Size of a written file.')),
  memory: z.optional(size('Memory of a command; refused where it cannot be enforced.')),
  address_space: z.optional(size('Address space of a process.')),
  journal: z.optional(size('Output of a command that is kept.')),
});

const testCase = z.strictObject({
  command: z.string().check(z.maxLength(65_536)),
  shell: z.optional(z.enum(judgedShells)),
  expect: z.enum(policyDecisions),
});

const hosts = (description: string) =>
  z
    .array(
      z.string().check(
        z.refine((text) => expandPreset(text).every((one) => parseHostRule(one) !== null), {
          error: 'must be a host ("example.com", "*.example.com", "example.com:8443") or a preset',
        }),
      ),
    )
    .check(z.maxLength(hostRulesMax), z.describe(description));

const names = (description: string) =>
  z
    .array(
      z.string().check(
        z.regex(/^[A-Za-z_][A-Za-z0-9_]*\*?$/, {
          error: 'must be the name of a variable; a final "*" matches any suffix',
        }),
      ),
    )
    .check(z.maxLength(entriesMax), z.describe(description));

const grants = (description: string) =>
  z
    .strictObject({
      allow: z.optional(names('Without asking; it lifts what the base says, and no other layer.')),
      ask: z.optional(names('A person decides.')),
      block: z.optional(names('Never.')),
    })
    .check(z.describe(description));

export const policySchema = z
  .strictObject({
    name: z.optional(
      z.string().check(
        z.regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/, {
          error: 'must be 1 to 64 letters, digits, " ", ".", "_" and "-"',
        }),
        about('What the policy is called. Default: the name of the file.'),
      ),
    ),
    base: z.optional(base('The shipped profile that decides what no rule names.')),
    extends: z.optional(
      z
        .union([text(), z.array(text()).check(z.minLength(1), z.maxLength(16))])
        .check(z.describe('Files, relative to this one, whose rules hold too.')),
    ),
    callers: z.optional(
      z.array(caller).check(z.maxLength(entriesMax), z.describe('Callers that get another base.')),
    ),
    commands: z.optional(
      z
        .array(commandRule)
        .check(z.maxLength(entriesMax), z.describe('The strictest rule that fits decides.')),
    ),
    files: z.optional(
      z.strictObject({
        read: z.optional(paths('What sessions may be granted for reading beyond the workspace.')),
        write: z.optional(paths('What sessions may be granted for writing beyond the workspace.')),
        deny: z.optional(paths('Never read and never written, whatever is granted.')),
      }),
    ),
    network: z.optional(
      z.strictObject({
        mode: z.optional(
          z.enum(['off', 'ask', 'on']).check(about('The most that a session may be given.')),
        ),
        allow: z.optional(hosts('Reached without approval by sessions with rules for hosts.')),
        deny: z.optional(hosts('Never reached through the bridge.')),
        private: z.optional(hosts('Names that may lead to private addresses.')),
      }),
    ),
    environment: z.optional(
      z.strictObject({
        withhold: z.optional(names('Variables that no command gets.')),
        grants: z.optional(
          grants('What becomes of variables of the runtime that a command asks for by name.'),
        ),
      }),
    ),
    secrets: z.optional(grants('What becomes of secrets that a command asks for by name.')),
    limits: z.optional(limits.check(z.describe('The most that a caller may ask for.'))),
    approvals: z.optional(
      z.strictObject({
        expires: z.optional(duration('After so long without an answer it is a no. Default 15m.')),
        same_uid: z.optional(
          z.boolean().check(z.describe('Whether to decide without a passphrase. Default true.')),
        ),
        session_scope: z.optional(
          z
            .boolean()
            .check(z.describe('Whether an answer may hold for the session. Default true.')),
        ),
      }),
    ),
    publication: z.optional(publicationSchema),
    cases: z.optional(
      z
        .array(testCase)
        .check(z.maxLength(10_000), z.describe('What `trl policy test` tries with the file.')),
    ),
  })
  .check(
    z.meta({ title: 'Policy of the Terminal Runtime Layer', description: 'See docs/policy.md.' }),
  );

export type PolicyDocument = z.infer<typeof policySchema>;

let jsonSchema: Readonly<Record<string, unknown>> | null = null;

/** The JSON Schema of a policy file, in draft 7: the one that editors' YAML support knows. */
export function policyJsonSchema(): Readonly<Record<string, unknown>> {
  jsonSchema ??= { ...z.toJSONSchema(policySchema, { io: 'input', target: 'draft-7' }) };
  return jsonSchema;
}

/**
 * Keys that a policy will have and that this version does not enforce, by path. They are refused
 * by name: a rule that is written and not held is worse than none.
 */
export const unenforcedPolicyKeys: ReadonlySet<string> = new Set([
  'approvals.who',
  'approvals.passphrase',
]);

type Path = readonly (string | number)[];

/** The keys that the mapping at `path` of a file may have; empty where there is no mapping. */
export function policyKeysAt(path: Path): readonly string[] {
  return schemaKeysAt(policyJsonSchema(), path);
}
