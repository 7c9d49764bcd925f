/** Answers of `system.watch` and `exec.lease`, and the events of the former. */
import * as z from 'zod/mini';
import { approval } from './approval.ts';
import { exec } from './exec.ts';
import { secretRequest } from './secrets.ts';
import { session } from './session.ts';
import * as word from './words.ts';

const feedId = word.id('f-');

export const feedMessage = z.object({
  stream_id: feedId,
  event: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('session'), session }),
    z.object({ kind: z.literal('session-ended'), session_id: word.sessionId }),
    z.object({ kind: z.literal('exec'), exec }),
    z.object({ kind: z.literal('approval'), approval }),
    z.object({ kind: z.literal('secret-requests'), requests: z.array(secretRequest) }),
    z.object({
      kind: z.literal('held'),
      session_id: word.sessionId,
      view: z.string(),
      count: word.count,
    }),
  ]),
});

export const feedAnswers = {
  'system.watch': z.object({ stream_id: feedId }),
  'exec.lease': z.object({
    exec_id: word.execId,
    session_id: word.sessionId,
    lease_id: z.string(),
    holder: z.string(),
    expires_at: word.time,
  }),
} as const;
