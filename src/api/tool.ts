/** The methods `tool.*`. */
import * as z from 'zod/mini';
import { define, get, ownership, pages, post, roles } from './define.ts';
import * as field from './fields.ts';
import { receipt } from './receipt.ts';

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
export const tool = z.object({
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
  'tool.list': define({
    params: z.object({ session_id: z.exactOptional(field.sessionId) }),
    answer: z.object({ tools: z.array(tool) }),
    roles: roles.everybody,
    owns: ownership.session,
    lane: 'beside',
    http: [
      {
        ...get,
        path: '/v1/tools',
        about: 'List the tools that are registered here',
        query: { session_id: 'text' },
        page: { ...pages, items: 'tools', key: 'name' },
      },
    ],
    audit: null,
  }),
  'tool.call': define({
    params: z.object({
      name: toolName,
      arguments: z.exactOptional(anObject),
      session_id: z.exactOptional(field.sessionId),
      exec_key: z.exactOptional(field.execKey),
      wait_ms: z.exactOptional(field.whole(0, waitMsMax)),
    }),
    answer: z.object({
      name: z.string(),
      receipt: z.exactOptional(receipt),
      result: z.exactOptional(z.unknown()),
    }),
    roles: roles.agent,
    owns: ownership.session,
    lane: 'beside',
    http: [
      {
        ...post,
        path: '/v1/tools/{name}',
        about: 'Call a tool',
        idempotency: 'exec_key',
      },
    ],
    audit: { kind: 'call.done', params: ['name'], answer: [] },
  }),
  'tool.register': define({
    params: z.object({
      name: toolName,
      title: z.exactOptional(field.name),
      description,
      input_schema: z.exactOptional(anObject),
      timeout_ms: z.exactOptional(field.whole(1, timeoutMsMax)),
    }),
    answer: z.object({ stream_id: streamId }),
    roles: 'admin',
    owns: ownership.none,
    lane: 'beside',
    http: 'calls come on the connection that registers; GET /rpc',
    audit: { kind: 'call.done', params: ['name', 'description'], answer: [] },
  }),
  'tool.answer': define({
    params: z.object({
      call_id: callId,
      result: z.exactOptional(z.unknown()),
      error: z.exactOptional(description),
    }),
    answer: z.object({ call_id: callIdAnswer }),
    roles: 'admin',
    owns: ownership.none,
    lane: 'beside',
    http: 'calls come on the connection that registers; GET /rpc',
    audit: null,
  }),
} as const;
