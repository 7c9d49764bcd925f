/**
 * Fields that several answers share: ids, verdicts, redactions. Objects are open: an answer
 * may hold more fields than its schema names, as the protocol permits.
 */
import { requestedNetworkModes } from '../network-access.ts';
import * as z from 'zod/mini';
import type { TypeOf } from './define-method.ts';
import { cacheTools } from '../caches.ts';
import { errorTable, type ErrorCode } from '../errors.ts';

/** A count, an offset or a size: 0 or more. */
export const countSchema = z.int().check(z.gte(0));
/** ISO 8601, UTC. */
export const timestampSchema = z.string();
/** 64 lower-case hex digits. */
export const sha256Schema = z.string();
export const nameListSchema = z.array(z.string());
export const nullableTextSchema = z.nullable(z.string());

export const sessionIdSchema = createIdSchema('s-');
export const execIdSchema = createIdSchema('x-');
export const approvalIdSchema = createIdSchema('a-');
export const workspaceIdSchema = createIdSchema('w-');
export const treeIdSchema = createIdSchema('tree:sha256:');

/** An id on the wire: `prefix` and lower-case hex digits. */
export function createIdSchema<const Prefix extends string>(prefix: Prefix) {
  return z.templateLiteral([prefix, z.string()]).check(z.regex(new RegExp(`^${prefix}[0-9a-f]+$`)));
}

export const errorCodeSchema = z.enum(Object.keys(errorTable).filter(isErrorCode));
/** The failure part of an answer. */
export const wireErrorSchema = z.object({ code: errorCodeSchema, message: z.string() });

export const decisionSchema = z.enum(['allow', 'ask', 'block']);
/** Programs whose caches of the host's user are visible to commands. */
export const sharedCachesSchema = z.array(z.enum(cacheTools));
export const sandboxKindSchema = z.enum(['bubblewrap', 'none']);
/** `on`: what an earlier version wrote for `host`. */
export const networkSchema = z.enum(requestedNetworkModes);
export const assuranceLevelSchema = z.enum(['full', 'root-uid', 'none']);
export const assuranceSchema = z.object({
  level: assuranceLevelSchema,
  checks: z.array(z.object({ name: z.string(), enforced: z.boolean() })),
});

const decidingRule = z.object({
  id: z.string(),
  decision: decisionSchema,
  reason: z.string(),
  span: z.nullable(z.tuple([countSchema, countSchema])),
  via: nameListSchema,
  evidence: nullableTextSchema,
  instead: nullableTextSchema,
});
/** The decision of policy on a command. */
export const verdictSchema = z.object({
  decision: decisionSchema,
  rules: z.array(decidingRule),
  policy: z.object({ name: z.string(), version: z.string() }),
  runs: z.nullable(nameListSchema),
  notes: nameListSchema,
});

const redactionEntry = z.object({
  tag: z.string(),
  kind: z.enum(['known', 'format', 'context', 'score']),
  rule: z.string(),
  score: z.number(),
  key: nullableTextSchema,
  length: z.nullable(countSchema),
  count: countSchema,
  digest: nullableTextSchema,
});
/** What was hidden in the output of one execution. */
export const redactionsSchema = z.object({
  count: countSchema,
  forced_flushes: countSchema,
  entries: z.array(redactionEntry),
  omitted: countSchema,
});

const pathRules = z.object({ allow: nameListSchema, deny: nameListSchema });
export const fileGrantsSchema = z.object({ read: pathRules, write: pathRules });

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

export type WireError = TypeOf<typeof wireErrorSchema>;
/** `w-` and 32 lower-case hex digits. */
export type WorkspaceId = TypeOf<typeof workspaceIdSchema>;
