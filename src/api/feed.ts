/** The events of `system.watch`. */
import * as z from 'zod/mini';
import { approvalSchema } from './approval.ts';
import { execSchema } from './receipt.ts';
import { secretRequestSchema } from './secrets.ts';
import { sessionSchema } from './session.ts';
import * as shared from './answer-fields.ts';

export const feedIdSchema = shared.createIdSchema('f-');

export const feedMessageSchema = z.object({
  stream_id: feedIdSchema,
  event: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('session'), session: sessionSchema }),
    z.object({ kind: z.literal('session-ended'), session_id: shared.sessionIdSchema }),
    z.object({ kind: z.literal('exec'), exec: execSchema }),
    z.object({ kind: z.literal('approval'), approval: approvalSchema }),
    z.object({ kind: z.literal('secret-requests'), requests: z.array(secretRequestSchema) }),
    z.object({
      kind: z.literal('held'),
      session_id: shared.sessionIdSchema,
      view: z.string(),
      count: shared.countSchema,
    }),
  ]),
});
