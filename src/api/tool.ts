/** The methods `tool.*`. */
import * as z from 'zod/mini';
import {
  defineMethod,
  getRoute,
  ownershipRules,
  wholeListPaging,
  postRoute,
  permittedRoles,
} from './define-method.ts';
import * as field from './param-fields.ts';
import { receiptSchema } from './receipt.ts';

const waitMsMax = 3_600_000;
const timeoutMsMax = 3_600_000;
const descriptionMax = 4_000;

const nameWanted = 'lower-case letters, digits and "_", at most 64';
const toolName = z
  .string({ error: nameWanted })
  .check(z.regex(/^[a-z][a-z0-9_]{0,63}$/, { error: nameWanted }));
const callWanted = '"c-" and 32 hex digits';
const callId = z
  .templateLiteral(['c-', z.string()], { error: callWanted })
  .check(z.regex(/^c-[0-9a-f]{32}$/, { error: callWanted }));
const anObject = z.record(z.string(), z.unknown(), { error: 'an object' });
const description = z
  .string({ error: `text of at most ${descriptionMax} characters` })
  .check(z.minLength(1), z.maxLength(descriptionMax));

const object = z.record(z.string(), z.unknown());

/** A tool beyond those that every runtime has. */
export const toolSchema = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  input_schema: object,
  source: z.enum(['system', 'directory', 'user', 'project', 'registered']),
});

const callIdAnswer = z.templateLiteral(['c-', z.string()]);
const streamId = z.templateLiteral(['t-', z.string()]);

/** Every `tool` method: its parameters, its answer and its rules. */
export const toolMethods = {
  'tool.list': defineMethod({
    params: z.object({ session_id: z.exactOptional(field.sessionIdParam) }),
    answer: z.object({ tools: z.array(toolSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.session,
    lane: 'beside',
    http: [
      {
        ...getRoute,
        path: '/v1/tools',
        about: 'List the tools that are registered here',
        query: { session_id: 'text' },
        page: { ...wholeListPaging, items: 'tools', key: 'name' },
      },
    ],
    audit: null,
  }),
  'tool.call': defineMethod({
    params: z.object({
      name: toolName,
      arguments: z.exactOptional(anObject),
      session_id: z.exactOptional(field.sessionIdParam),
      exec_key: z.exactOptional(field.execKeyParam),
      wait_ms: z.exactOptional(field.integerParam(0, waitMsMax)),
    }),
    answer: z.object({
      name: z.string(),
      receipt: z.exactOptional(receiptSchema),
      result: z.exactOptional(z.unknown()),
    }),
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'beside',
    http: [
      {
        ...postRoute,
        path: '/v1/tools/{name}',
        about: 'Call a tool',
        idempotency: 'exec_key',
      },
    ],
    audit: { kind: 'call.done', params: ['name'], answer: [] },
  }),
  'tool.register': defineMethod({
    params: z.object({
      name: toolName,
      title: z.exactOptional(field.nameParam),
      description,
      input_schema: z.exactOptional(anObject),
      timeout_ms: z.exactOptional(field.integerParam(1, timeoutMsMax)),
    }),
    answer: z.object({ stream_id: streamId }),
    roles: 'admin',
    owns: ownershipRules.none,
    lane: 'beside',
    http: 'calls come on the connection that registers; GET /rpc',
    audit: { kind: 'call.done', params: ['name', 'description'], answer: [] },
  }),
  'tool.answer': defineMethod({
    params: z.object({
      call_id: callId,
      result: z.exactOptional(z.unknown()),
      error: z.exactOptional(description),
    }),
    answer: z.object({ call_id: callIdAnswer }),
    roles: 'admin',
    owns: ownershipRules.none,
    lane: 'beside',
    http: 'calls come on the connection that registers; GET /rpc',
    audit: null,
  }),
} as const;
