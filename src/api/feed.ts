/** The events of `system.watch`. */
import * as z from 'zod/mini';
import { approval } from './approval.ts';
import { exec } from './receipt.ts';
import { secretRequest } from './secrets.ts';
import { session } from './session.ts';
import * as shared from './shared.ts';

export const feedId = shared.id('f-');

export const feedMessage = z.object({
  stream_id: feedId,
  event: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('session'), session }),
    z.object({ kind: z.literal('session-ended'), session_id: shared.sessionId }),
    z.object({ kind: z.literal('exec'), exec }),
    z.object({ kind: z.literal('approval'), approval }),
    z.object({ kind: z.literal('secret-requests'), requests: z.array(secretRequest) }),
    z.object({
      kind: z.literal('held'),
      session_id: shared.sessionId,
      view: z.string(),
      count: shared.count,
    }),
  ]),
});
