/**
 * The shape of the knowledge base: what the policy knows about commands by name. Data only; the
 * files under `data/` hold it, `shell/` reads it, `check.ts` proves its examples.
 */
import { z } from 'zod/mini';

/**
 * Spellings of options by effect: `{ force: '-f --force', signal: '-s= --signal=' }`. A trailing
 * `=` takes a value (attached or the next word), `[=]` takes one only when attached.
 */
const options = z.record(z.string(), z.string());

/** Conditions of a rule, all of which must hold. Names and values are case-insensitive. */
export const ruleConditionSchema = z.strictObject({
  /** Effects of which all, at least one, or none were given. */
  all: z.optional(z.array(z.string())),
  any: z.optional(z.array(z.string())),
  none: z.optional(z.array(z.string())),
  /** An option whose value is one of these. */
  value: z.optional(z.strictObject({ option: z.string(), equals: z.array(z.string()) })),
  /** An operand (the one at `at`, else any) that equals or starts with one of these. */
  operand: z.optional(
    z.strictObject({
      at: z.optional(z.number()),
      equals: z.optional(z.array(z.string())),
      starts: z.optional(z.array(z.string())),
    }),
  ),
  operands: z.optional(z.enum(['none', 'some'])),
  /** Only without any word after its name. */
  alone: z.optional(z.boolean()),
  /** Only when it starts no other command: `env` alone. */
  starts: z.optional(z.literal('nothing')),
  /** Only when called by its bare name: a builtin of the shell. */
  builtin: z.optional(z.boolean()),
});

export const knowledgeRuleSchema = z.strictObject({
  code: z.string(),
  bound: z.enum(['ask', 'block']),
  /** One clause for people. */
  why: z.string(),
  /** What to do in its place. */
  instead: z.nullable(z.string()),
  when: ruleConditionSchema,
  /**
   * Which findings of the rule are never intended. `machine`: an operand is a tree of the machine
   * (`/`, `/usr`), the home directory or a device.
   */
  never: z.optional(z.literal('machine')),
  /** Command lines in bash that this rule finds, and that it does not. */
  match: z.array(z.string()).check(z.minLength(1)),
  noMatch: z.array(z.string()).check(z.minLength(1)),
});

/** Where the command begins that this one starts. */
export const wrapperSchema = z.strictObject({
  /** How many operands come before it: `timeout 5 …` is 1. */
  skip: z.optional(z.number()),
  /** `NAME=value` words come before it. */
  assignments: z.optional(z.boolean()),
  /** Only what follows this word is it (`--`). */
  after: z.optional(z.string()),
  /** It ends before the first of these words. */
  until: z.optional(z.array(z.string())),
  /** Words (of `find`) that each begin one. */
  at: z.optional(z.array(z.string())),
  /** An effect with which it starts nothing: `command -v`. */
  unless: z.optional(z.string()),
  /** `-c TEXT` in the place of a command is a line for a shell. */
  shell: z.optional(z.boolean()),
  /** An option whose value is a word list put before the rest (`env -S`). */
  split: z.optional(z.string()),
  /** Only those words are a command, and only where the first is one of these; no operand is. */
  splitOnly: z.optional(z.array(z.string())),
  /** Items of its standard input become its last arguments, or stand where `replace` says. */
  input: z.optional(z.boolean()),
  /** A package's name: `vercel@latest` runs `vercel`. */
  packages: z.optional(z.boolean()),
});

export const payloadLanguageSchema = z.enum(['shell', 'config', 'expansion', 'code']);

/** Text that this command runs as a program. */
export const payloadSchema = z.strictObject({
  /**
   * The option that carries it, or which operand: a number, `all` joined by blanks, `each`; `rest`
   * joins those after the first, without options of the program that stand there.
   */
  option: z.optional(z.string()),
  operand: z.optional(z.union([z.number(), z.enum(['all', 'each', 'rest'])])),
  /** Only when one of these effects was given. */
  when: z.optional(z.string()),
  /** `code`: a language in which only literal evidence counts. */
  language: payloadLanguageSchema,
});

/** One command, or one sub-command. */
export interface CommandNode {
  /** What may go wrong, one clause; shown with an approval request. */
  about?: string | undefined;
  /**
   * `gnu`: options anywhere, clusters, unique prefixes. `posix`: the same up to the first operand.
   * `exact`: a short option is a whole word. `windows`: also without regard to case, and `/x` as
   * well as `-x`. Default `gnu`, with sub-commands `posix`.
   */
  style?: 'gnu' | 'posix' | 'exact' | 'windows' | undefined;
  options?: Record<string, string> | undefined;
  rules?: z.infer<typeof knowledgeRuleSchema>[] | undefined;
  wrapper?: z.infer<typeof wrapperSchema> | undefined;
  payloads?: z.infer<typeof payloadSchema>[] | undefined;
  /**
   * Whose content it shows: `operands` all, `rest` all but the first, `joined` also words such as
   * `@file` and `name=file`; `input` only what comes in on its standard input.
   */
  reads?: 'operands' | 'rest' | 'joined' | 'input' | undefined;
  /** Options that make a reader show no content, or that take the place of the first operand. */
  quiet?: string | undefined;
  pattern?: string | undefined;
  /** It writes its operands, values of variables included, to its output. */
  prints?: boolean | undefined;
  /** It shows variables by name: its operands. */
  names?: boolean | undefined;
  /**
   * It gets text from the network, or decodes it (`decoder` with its option `decode`, `decoded`
   * always): its output is no script to run.
   */
  source?: 'download' | 'decoder' | 'decoded' | undefined;
  /** Letter that means `decode` in a first word of letters without a dash: `tar xzOf`. */
  bundled?: string | undefined;
  /** What it starts runs on another machine or in a container: variables there are not ours. */
  elsewhere?: boolean | undefined;
  /** `shell`: without operands or with `-s` it runs its standard input; `code`: likewise. */
  sink?: 'shell' | 'code' | undefined;
  /** It shows names and sizes of files, or none of them: never content. */
  metadata?: boolean | undefined;
  /** The first operand is a file with a program. */
  script?: boolean | undefined;
  /** Sub-commands by name; `x|y|z` lists aliases. */
  subs?: Record<string, CommandNode> | undefined;
  /** All sub-commands of which a unique prefix will do. */
  abbreviates?: string | undefined;
}

export const commandNodeSchema: z.ZodMiniType<CommandNode> = z.lazy(() =>
  z.strictObject({
    about: z.optional(z.string()),
    style: z.optional(z.enum(['gnu', 'posix', 'exact', 'windows'])),
    options: z.optional(options),
    rules: z.optional(z.array(knowledgeRuleSchema)),
    wrapper: z.optional(wrapperSchema),
    payloads: z.optional(z.array(payloadSchema)),
    reads: z.optional(z.enum(['operands', 'rest', 'joined', 'input'])),
    quiet: z.optional(z.string()),
    pattern: z.optional(z.string()),
    prints: z.optional(z.boolean()),
    names: z.optional(z.boolean()),
    source: z.optional(z.enum(['download', 'decoder', 'decoded'])),
    bundled: z.optional(z.string()),
    elsewhere: z.optional(z.boolean()),
    sink: z.optional(z.enum(['shell', 'code'])),
    metadata: z.optional(z.boolean()),
    script: z.optional(z.boolean()),
    subs: z.optional(z.record(z.string(), commandNodeSchema)),
    abbreviates: z.optional(z.string()),
  }),
);

/** Commands by name; `gtimeout|timeout` lists aliases. */
export const commandTableSchema = z.record(z.string(), commandNodeSchema);
export type CommandTable = Record<string, CommandNode>;
export type KnowledgeRule = z.infer<typeof knowledgeRuleSchema>;
export type RuleCondition = z.infer<typeof ruleConditionSchema>;
export type WrapperSpec = z.infer<typeof wrapperSchema>;
export type PayloadSpec = z.infer<typeof payloadSchema>;
