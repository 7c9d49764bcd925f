/** Schemas of the methods around the audit log, as `methods.ts` spreads them into its table. */
import * as z from 'zod/mini';
import { limits } from '../limits.ts';
import * as field from './fields.ts';

const kindsMax = 64;
const headsMax = 256;
const headBytesMax = 16 * 1024;

const time = z.exactOptional(z.iso.datetime({ error: 'a time like "2026-11-22T09:30:00Z"' }));
const kindWanted = 'a list of kinds like "exec.ended" or "exec.*"';
const kind = z
  .string({ error: kindWanted })
  .check(z.regex(/^[a-z-]+\.(?:[a-z-]+|\*)$/, { error: kindWanted }));
const headWanted = 'a list of signed heads';
const passphrase = z.exactOptional(field.passphrase);
const session = z.exactOptional(field.sessionId);

/** One row a method: the schema of its `params`. */
export const auditMethods = {
  'audit.list': z.object({
    session_id: session,
    exec_id: z.exactOptional(field.execId),
    kinds: z.exactOptional(
      z.array(kind, { error: kindWanted }).check(z.minLength(1), z.maxLength(kindsMax)),
    ),
    actor: z.exactOptional(field.name),
    since: time,
    until: time,
    limit: z.exactOptional(field.whole(1, limits.auditListed.max)),
    passphrase,
  }),
  'audit.get': z.object({
    log: z
      .string({ error: 'the id of a log' })
      .check(z.regex(/^[0-9a-f]{32}$/, { error: 'the id of a log, 32 hex digits' })),
    seq: field.whole(0),
    session_id: session,
    passphrase,
  }),
  'audit.verify': z.object({
    heads: z.exactOptional(
      z
        .array(
          z.string({ error: headWanted }).check(z.maxLength(headBytesMax, { error: headWanted })),
          { error: headWanted },
        )
        .check(z.maxLength(headsMax, { error: `at most ${headsMax} heads` })),
    ),
    passphrase,
  }),
} as const;
