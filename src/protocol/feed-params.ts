/** Schemas of the methods around the feed and leases, as `methods.ts` spreads them in. */
import * as z from 'zod/mini';
import { limits } from '../limits.ts';
import * as field from './fields.ts';

/** What a lease is named by; `exec.write` and `exec.resize` take it, too. */
export const leaseId = z.exactOptional(field.name);

/** One row a method: the schema of its `params`. */
export const feedMethods = {
  'system.watch': z.object({}),
  'exec.lease': z.object({
    exec_id: field.execId,
    action: z.enum(['take', 'release'], { error: '"take" or "release"' }),
    lease_id: leaseId,
    ttl_ms: z.exactOptional(field.whole(1_000, limits.leaseMs.max)),
  }),
} as const;
