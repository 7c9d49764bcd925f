/** The methods `secrets.*`: no value and no length of one is in any answer. */
import * as z from 'zod/mini';
import { define, get, ownership, pages, post, put, remove, roles, sessionPath } from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';

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
  origin: shared.nullableText,
  last_used: z.nullable(shared.time),
});

export const secretRequest = z.object({
  name: z.string(),
  reason: z.string(),
  requester: z.string(),
  requested_at: shared.time,
  expires_at: shared.time,
});

/** Every `secrets` method: its parameters, its answer and its rules. */
export const secretsMethods = {
  'secrets.list': define({
    params: field.noParams,
    answer: z.object({
      secrets: z.array(secret),
      problems: z.array(
        z.object({ source: secretSource, origin: shared.nullableText, problem: z.string() }),
      ),
    }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/secrets',
        about: 'List secrets by their names',
        page: { ...pages, items: 'secrets', key: 'name' },
      },
    ],
    audit: null,
  }),
  'secrets.check': define({
    params: z.object({ name: field.secretName }),
    answer: z.object({
      name: z.string(),
      state: z.enum(['ready', 'unread', 'missing', 'unreadable', 'unusable']),
      source: z.nullable(secretSource),
      origin: shared.nullableText,
      expires_at: z.nullable(shared.time),
      problem: shared.nullableText,
    }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/secrets/{name}',
        about: 'Whether a secret can be given to a command',
      },
    ],
    audit: null,
  }),
  'secrets.request': define({
    params: z.object({
      name: field.secretName,
      reason: field.answerWords,
      wait_ms: z.exactOptional(field.whole(0, field.approvalWaitMsMax)),
    }),
    answer: z.object({
      name: z.string(),
      state: z.enum(['ready', 'pending', 'refused']),
      expires_at: z.exactOptional(shared.time),
    }),
    roles: roles.agent,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...post,
        path: '/v1/secret-requests',
        about: 'Ask a person for a secret',
      },
    ],
    audit: { kind: 'secret.requested', params: ['name'], answer: ['state'] },
  }),
  'secrets.requests': define({
    params: field.noParams,
    answer: z.object({ requests: z.array(secretRequest) }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/secret-requests',
        about: 'List the secrets that people are asked for',
      },
    ],
    audit: null,
  }),
  'secrets.set': define({
    params: z.object({
      name: field.secretName,
      value: field.secretValue,
      passphrase: z.exactOptional(field.passphrase),
    }),
    answer: z.object({ name: z.string(), warning: shared.nullableText }),
    roles: roles.approver,
    owns: ownership.none,
    lane: 'beside',
    http: [
      {
        ...put,
        path: '/v1/secrets/{name}',
        about: 'Give the value of a secret; nothing ever answers it',
      },
    ],
    audit: { kind: 'secret.set', params: ['name'], answer: [] },
  }),
  'secrets.inject': define({
    params: z.extend(field.ofSession, { names: field.secretNames }),
    answer: z.object({ session_id: shared.sessionId, names: shared.names }),
    roles: roles.agent,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      {
        ...post,
        path: `${sessionPath}/secrets`,
        about: 'Give secrets, by their names, to each later command of a session',
      },
    ],
    audit: { kind: 'secret.granted', params: ['names'], answer: ['names'] },
  }),
  // An agent takes an injection into its own session back; see `onlyOfSession`.
  'secrets.delete': define({
    params: z.object({
      name: field.secretName,
      session_id: z.exactOptional(field.sessionId),
      passphrase: z.exactOptional(field.passphrase),
    }),
    answer: z.object({
      name: z.string(),
      session_id: z.nullable(shared.sessionId),
      remains: z.nullable(secretSource),
    }),
    roles: roles.agentAndApprover,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      {
        ...remove,
        path: `${sessionPath}/secrets/{name}`,
        about: 'Give a secret to no later command of a session',
      },
      {
        ...remove,
        path: '/v1/secrets/{name}',
        about: 'Forget the value of a secret',
      },
    ],
    audit: {
      kind: 'secret.deleted',
      params: ['name'],
      answer: ['remains'],
      ends: true,
    },
  }),
} as const;
