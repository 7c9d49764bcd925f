/** The shape of a rule that allows a command to run without approval. */
import { z } from 'zod/mini';

/**
 * `none`; `file` exactly one, inside the workspace; `listed` any path; `revisions` of git, or
 * paths inside; `listing` patterns, only where a `selecting` option makes git list; `search` a
 * pattern and paths inside; `packages` names of npm; or exactly these words.
 */
export const operandKindSchema = z.union([
  z.enum(['none', 'file', 'listed', 'revisions', 'listing', 'search', 'packages']),
  z.strictObject({ exactly: z.array(z.string()) }),
]);

/** How the accepted argv is changed before it is started; see `shell/harden.ts`. */
export const hardeningRecipeSchema = z.enum([
  'plain',
  'version',
  'git',
  'git-show',
  'git-tree',
  'rg',
  'npm',
  'npx',
]);

export const allowRuleSchema = z.strictObject({
  id: z.string(),
  /** The words it begins with, exactly. */
  words: z.array(z.string()),
  /** Accepted spellings; `data/allowed.ts` says how they are written. */
  options: z.string(),
  /** Options without which operands would mean something else. */
  selecting: z.optional(z.string()),
  /** An option that must be given. */
  required: z.optional(z.string()),
  /** Whether `-la` is `-l -a`. */
  clusters: z.optional(z.boolean()),
  operands: operandKindSchema,
  harden: hardeningRecipeSchema,
  packageScript: z.optional(z.string()),
  match: z.array(z.string()).check(z.minLength(1)),
  noMatch: z.array(z.string()).check(z.minLength(1)),
});

export type AllowRule = z.infer<typeof allowRuleSchema>;
export type OperandKind = z.infer<typeof operandKindSchema>;
