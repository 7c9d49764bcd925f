/** Answers of `tool.*`, and the event of `tool.register`. */
import * as z from 'zod/mini';
import { receipt } from './exec.ts';

const object = z.record(z.string(), z.unknown());

/** A tool beyond those that every runtime has. */
export const tool = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  input_schema: object,
  source: z.enum(['system', 'directory', 'user', 'project', 'registered']),
});

const callId = z.templateLiteral(['c-', z.string()]);
const streamId = z.templateLiteral(['t-', z.string()]);

export const toolAnswers = {
  'tool.list': z.object({ tools: z.array(tool) }),
  'tool.call': z.object({
    name: z.string(),
    receipt: z.exactOptional(receipt),
    result: z.exactOptional(z.unknown()),
  }),
  'tool.register': z.object({ stream_id: streamId }),
  'tool.answer': z.object({ call_id: callId }),
} as const;
