/** The methods `secrets.*`: no value and no length of one is in any answer. */
import * as z from 'zod/mini';
import {
  defineMethod,
  getRoute,
  ownershipRules,
  wholeListPaging,
  postRoute,
  putRoute,
  deleteRoute,
  permittedRoles,
  sessionRoutePath,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';

export const secretSourceSchema = z.enum([
  'environment',
  'dotenv',
  'keyring',
  'systemd',
  'command',
  'person',
]);

export const secretSchema = z.object({
  name: z.string(),
  source: secretSourceSchema,
  origin: shared.nullableTextSchema,
  last_used: z.nullable(shared.timestampSchema),
});

export const secretRequestSchema = z.object({
  name: z.string(),
  reason: z.string(),
  requester: z.string(),
  requested_at: shared.timestampSchema,
  expires_at: shared.timestampSchema,
});

/** Every `secrets` method: its parameters, its answer and its rules. */
export const secretsMethods = {
  'secrets.list': defineMethod({
    params: field.emptyParams,
    answer: z.object({
      secrets: z.array(secretSchema),
      problems: z.array(
        z.object({
          source: secretSourceSchema,
          origin: shared.nullableTextSchema,
          problem: z.string(),
        }),
      ),
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/secrets',
        about: 'List secrets by their names',
        page: { ...wholeListPaging, items: 'secrets', key: 'name' },
      },
    ],
    audit: null,
  }),
  'secrets.check': defineMethod({
    params: z.object({ name: field.secretNameParam }),
    answer: z.object({
      name: z.string(),
      state: z.enum(['ready', 'unread', 'missing', 'unreadable', 'unusable']),
      source: z.nullable(secretSourceSchema),
      origin: shared.nullableTextSchema,
      expires_at: z.nullable(shared.timestampSchema),
      problem: shared.nullableTextSchema,
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/secrets/{name}',
        about: 'Whether a secret can be given to a command',
      },
    ],
    audit: null,
  }),
  'secrets.request': defineMethod({
    params: z.object({
      name: field.secretNameParam,
      reason: field.answerWordsParam,
      wait_ms: z.exactOptional(field.integerParam(0, field.approvalWaitMsMax)),
    }),
    answer: z.object({
      name: z.string(),
      state: z.enum(['ready', 'pending', 'refused']),
      expires_at: z.exactOptional(shared.timestampSchema),
    }),
    roles: permittedRoles.agent,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: '/v1/secret-requests',
        about: 'Ask a person for a secret',
      },
    ],
    audit: { kind: 'secret.requested', params: ['name'], answer: ['state'] },
  }),
  'secrets.requests': defineMethod({
    params: field.emptyParams,
    answer: z.object({ requests: z.array(secretRequestSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/secret-requests',
        about: 'List the secrets that people are asked for',
      },
    ],
    audit: null,
  }),
  'secrets.set': defineMethod({
    params: z.object({
      name: field.secretNameParam,
      value: field.secretValueParam,
      passphrase: z.exactOptional(field.passphraseParam),
    }),
    answer: z.object({ name: z.string(), warning: shared.nullableTextSchema }),
    roles: permittedRoles.approver,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...putRoute,
        path: '/v1/secrets/{name}',
        about: 'Give the value of a secret; nothing ever answers it',
      },
    ],
    audit: { kind: 'secret.set', params: ['name'], answer: [] },
  }),
  'secrets.inject': defineMethod({
    params: z.extend(field.sessionParamsObject, { names: field.secretNamesParam }),
    answer: z.object({ session_id: shared.sessionIdSchema, names: shared.nameListSchema }),
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/secrets`,
        about: 'Give secrets, by their names, to each later command of a session',
      },
    ],
    audit: { kind: 'secret.granted', params: ['names'], answer: ['names'] },
  }),
  // An agent takes an injection into its own session back; see `onlyOfSession`.
  'secrets.delete': defineMethod({
    params: z.object({
      name: field.secretNameParam,
      session_id: z.exactOptional(field.sessionIdParam),
      passphrase: z.exactOptional(field.passphraseParam),
    }),
    answer: z.object({
      name: z.string(),
      session_id: z.nullable(shared.sessionIdSchema),
      remains: z.nullable(secretSourceSchema),
    }),
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...deleteRoute,
        path: `${sessionRoutePath}/secrets/{name}`,
        about: 'Give a secret to no later command of a session',
      },
      {
        ...deleteRoute,
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
