/** Answers of `secrets.*`: no value and no length of one is in any. */
import * as z from 'zod/mini';
import * as word from './words.ts';

export const secretSource = z.enum([
  'environment',
  'dotenv',
  'keyring',
  'systemd',
  'command',
  'person',
]);

export const secret = z.object({
  name: z.string(),
  source: secretSource,
  origin: word.nullableText,
  last_used: z.nullable(word.time),
});

export const secretRequest = z.object({
  name: z.string(),
  reason: z.string(),
  requester: z.string(),
  requested_at: word.time,
  expires_at: word.time,
});

export const secretAnswers = {
  'secrets.list': z.object({
    secrets: z.array(secret),
    problems: z.array(
      z.object({ source: secretSource, origin: word.nullableText, problem: z.string() }),
    ),
  }),
  'secrets.check': z.object({
    name: z.string(),
    state: z.enum(['ready', 'unread', 'missing', 'unreadable', 'unusable']),
    source: z.nullable(secretSource),
    origin: word.nullableText,
    expires_at: z.nullable(word.time),
    problem: word.nullableText,
  }),
  'secrets.request': z.object({
    name: z.string(),
    state: z.enum(['ready', 'pending', 'refused']),
    expires_at: z.exactOptional(word.time),
  }),
  'secrets.requests': z.object({ requests: z.array(secretRequest) }),
  'secrets.set': z.object({ name: z.string(), warning: word.nullableText }),
  'secrets.inject': z.object({ session_id: word.sessionId, names: word.names }),
  'secrets.delete': z.object({
    name: z.string(),
    session_id: z.nullable(word.sessionId),
    remains: z.nullable(secretSource),
  }),
} as const;
