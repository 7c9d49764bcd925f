/** The methods `secrets.*`: no value and no length of one is in any answer. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
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
  'file',
  'person',
]);

export const secretSchema = z.object({
  name: z.string(),
  source: secretSourceSchema,
  /** A file's path, a command's program; `null`: there is only one of its kind. */
  origin: shared.nullableTextSchema,
  /** ISO 8601; `null`: not since the runtime started. */
  last_used: z.nullable(shared.timestampSchema),
});

export const secretRequestSchema = z.object({
  name: z.string(),
  /** The requester's message: untrusted text. */
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
      /** Sources that could not be read, and what to do. */
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
      /** `unread`: a source has the name, and is read when policy permits it to a command. */
      state: z.enum(['ready', 'unread', 'missing', 'unreadable', 'unusable']),
      source: z.nullable(secretSourceSchema),
      origin: shared.nullableTextSchema,
      /** Until when the value is used; `null`: it has no known end. */
      expires_at: z.nullable(shared.timestampSchema),
      /** Why it is not `ready`. */
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
      /** How long to wait for the person; default 0: answers at once. */
      wait_ms: z.exactOptional(field.integerParam(0, field.approvalWaitMsMax)),
    }),
    answer: z.object({
      name: z.string(),
      /** `ready`: it is there. `pending`: a person has not set it. `refused`: no person will. */
      state: z.enum(['ready', 'pending', 'refused']),
      /** Present while `pending`. */
      expires_at: z.exactOptional(shared.timestampSchema),
    }),
    roles: permittedRoles.agent,
    owns: ownershipRules.none,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: '/v1/secret-requests',
        about: 'Request a secret from a person',
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
        about: 'List the secrets that are requested from people',
      },
    ],
    audit: null,
  }),
  'secrets.set': defineMethod({
    params: z.object({
      name: field.secretNameParam,
      /** At most 64 KiB. */
      value: field.secretValueParam,
      /** Authenticates the person, if one is enrolled. */
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
        about: 'Set the value of a secret; no answer ever contains it',
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
        about: 'Inject secrets, by their names, into each later command of a session',
      },
    ],
    audit: { kind: 'secret.granted', params: ['names'], answer: ['names'] },
  }),
  // An agent may revoke an injection into its own session; see `onlyOfSession`.
  'secrets.delete': defineMethod({
    params: z.object({
      name: field.secretNameParam,
      /** Revokes an injection; without a session, deletes the stored value. */
      session_id: z.exactOptional(field.sessionIdParam),
      /** Authenticates the person, if one is enrolled; not needed for an injection. */
      passphrase: z.exactOptional(field.passphraseParam),
    }),
    answer: z.object({
      name: z.string(),
      session_id: z.nullable(shared.sessionIdSchema),
      /** The source that still has it, from which it is read again when needed. */
      remains: z.nullable(secretSourceSchema),
    }),
    roles: permittedRoles.agentAndApprover,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...deleteRoute,
        path: `${sessionRoutePath}/secrets/{name}`,
        about: 'Revoke the injection of a secret into a session',
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

/** A secret as every caller may see it; no value and no length of one is in any answer. */
export type SecretEntry = TypeOf<typeof secretSchema>;
/** What a person is asked for. */
export type SecretRequestView = TypeOf<typeof secretRequestSchema>;
export type SecretListAnswer = AnswerOf<typeof secretsMethods, 'secrets.list'>;
export type SecretCheckAnswer = AnswerOf<typeof secretsMethods, 'secrets.check'>;
export type SecretRequestParams = ParamsOf<typeof secretsMethods, 'secrets.request'>;
export type SecretRequestAnswer = AnswerOf<typeof secretsMethods, 'secrets.request'>;
export type SecretSetParams = ParamsOf<typeof secretsMethods, 'secrets.set'>;
export type SecretInjectParams = ParamsOf<typeof secretsMethods, 'secrets.inject'>;
export type SecretDeleteParams = ParamsOf<typeof secretsMethods, 'secrets.delete'>;
