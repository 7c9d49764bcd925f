/**
 * Fields that several answers share: ids, verdicts, what was hidden. Objects are open: an answer
 * may hold more fields than its schema names, as the protocol permits.
 */
import * as z from 'zod/mini';
import { cacheTools } from '../caches.ts';
import { errorTable, type ErrorCode } from '../errors.ts';

/** A count, an offset or a size: 0 or more. */
export const count = z.int().check(z.gte(0));
/** ISO 8601, UTC. */
export const time = z.string();
/** 64 lower-case hex digits. */
export const sha256 = z.string();
export const names = z.array(z.string());
export const nullableText = z.nullable(z.string());

export const sessionId = id('s-');
export const execId = id('x-');
export const approvalId = id('a-');
export const workspaceId = id('w-');
export const treeId = id('tree:sha256:');

/** An id on the wire: `prefix` and lower-case hex digits. */
export function id<const Prefix extends string>(prefix: Prefix) {
  return z.templateLiteral([prefix, z.string()]).check(z.regex(new RegExp(`^${prefix}[0-9a-f]+$`)));
}

export const errorCode = z.enum(Object.keys(errorTable).filter(isErrorCode));
/** The failure part of an answer. */
export const wireError = z.object({ code: errorCode, message: z.string() });

export const decision = z.enum(['allow', 'ask', 'block']);
/** Programs whose caches of the host's user are seen. */
export const sharedCaches = z.array(z.enum(cacheTools));
export const sandboxKind = z.enum(['bubblewrap', 'none']);
export const network = z.enum(['off', 'on']);
export const assuranceLevel = z.enum(['full', 'root-uid', 'none']);
export const assurance = z.object({
  level: assuranceLevel,
  checks: z.array(z.object({ name: z.string(), enforced: z.boolean() })),
});

const decidingRule = z.object({
  id: z.string(),
  decision,
  reason: z.string(),
  span: z.nullable(z.tuple([count, count])),
  via: names,
  evidence: nullableText,
  instead: nullableText,
});
/** What policy says of a command. */
export const verdict = z.object({
  decision,
  rules: z.array(decidingRule),
  policy: z.object({ name: z.string(), version: z.string() }),
  runs: z.nullable(names),
  notes: names,
});

const redactionEntry = z.object({
  tag: z.string(),
  kind: z.enum(['known', 'format', 'context', 'score']),
  rule: z.string(),
  score: z.number(),
  key: nullableText,
  length: z.nullable(count),
  count,
  digest: nullableText,
});
/** What was hidden in the output of one execution. */
export const redactions = z.object({
  count,
  forced_flushes: count,
  entries: z.array(redactionEntry),
  omitted: count,
});

const pathRules = z.object({ allow: names, deny: names });
export const fileGrants = z.object({ read: pathRules, write: pathRules });

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}
