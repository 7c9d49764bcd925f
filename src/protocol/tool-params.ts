/** Schemas of the methods around registered tools, as `methods.ts` spreads them. */
import * as z from 'zod/mini';
import * as field from './fields.ts';

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

export const toolMethods = {
  'tool.list': z.object({ session_id: z.exactOptional(field.sessionId) }),
  'tool.call': z.object({
    name: toolName,
    arguments: z.exactOptional(anObject),
    session_id: z.exactOptional(field.sessionId),
    exec_key: z.exactOptional(field.execKey),
    wait_ms: z.exactOptional(field.whole(0, waitMsMax)),
  }),
  'tool.register': z.object({
    name: toolName,
    title: z.exactOptional(field.name),
    description,
    input_schema: z.exactOptional(anObject),
    timeout_ms: z.exactOptional(field.whole(1, timeoutMsMax)),
  }),
  'tool.answer': z.object({
    call_id: callId,
    result: z.exactOptional(z.unknown()),
    error: z.exactOptional(description),
  }),
} as const;
