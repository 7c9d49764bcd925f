/** The methods `tool.*`. */
import * as z from 'zod/mini';
import type { AnswerOf, ParamsOf, TypeOf } from './define-method.ts';
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

/** A tool besides the built-in ones. */
export const toolSchema = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  /** JSON Schema 2020-12 of an object. */
  input_schema: object,
  /** Location of its file; `registered`: a connection answers its calls. */
  source: z.enum(['system', 'directory', 'user', 'project', 'registered']),
});

const callIdAnswer = z.templateLiteral(['c-', z.string()]);
const streamId = z.templateLiteral(['t-', z.string()]);

/** Every `tool` method: its parameters, its answer and its rules. */
export const toolMethods = {
  'tool.list': defineMethod({
    params: z.object({
      /** Adds the tools of the session's project. */
      session_id: z.exactOptional(field.sessionIdParam),
    }),
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
      /** The tool gets its workspace and rules; default: no workspace, policy `guarded`. */
      session_id: z.exactOptional(field.sessionIdParam),
      /** Makes the call idempotent: a repeated key answers the first call. */
      exec_key: z.exactOptional(field.execKeyParam),
      /** How long to wait for a person's decision; default 0: answers at once. */
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
      /** Default 30 s. */
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
      /** Why the call failed; instead of a result. */
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

/** `c-` and 32 lower-case hex digits. */
export type ToolCallId = ToolAnswerParams['call_id'];
/** `t-` and 32 lower-case hex digits. */
export type ToolStreamId = AnswerOf<typeof toolMethods, 'tool.register'>['stream_id'];
export type ToolView = TypeOf<typeof toolSchema>;
export type ToolListParams = ParamsOf<typeof toolMethods, 'tool.list'>;
export type ToolCallParams = ParamsOf<typeof toolMethods, 'tool.call'>;
/** `receipt`: of the command that it was; `result`: what it answered, if that is a value. */
export type ToolCallAnswer = AnswerOf<typeof toolMethods, 'tool.call'>;
/** A tool whose calls this connection answers while it lasts. */
export type ToolRegisterParams = ParamsOf<typeof toolMethods, 'tool.register'>;
export type ToolAnswerParams = ParamsOf<typeof toolMethods, 'tool.answer'>;

/** What the connection that registered a tool is sent for each call of it. */
export interface ToolCallEvent {
  readonly stream_id: ToolStreamId;
  readonly call: {
    readonly call_id: ToolCallId;
    readonly name: string;
    readonly arguments: Readonly<Record<string, unknown>>;
    /** The actor that calls. */
    readonly caller: string;
  };
}
/** The caller no longer waits for the answer to a call: it was cancelled, or took too long. */
export interface ToolCancelEvent {
  readonly stream_id: ToolStreamId;
  readonly cancel: { readonly call_id: ToolCallId };
}
export type ToolEvent = ToolCallEvent | ToolCancelEvent;
/** What the connection of a tool is sent, without the stream's name. */
export type ToolStreamMessage = Pick<ToolCallEvent, 'call'> | Pick<ToolCancelEvent, 'cancel'>;
