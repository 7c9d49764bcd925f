/** Tools that were registered with the runtime, by files or by connections. */
import { isTrlError } from '../errors.ts';
import type { Client } from '../client/index.ts';
import type { ToolCallAnswer, ToolView } from '../protocol/tool.ts';
import type { Receipt } from '../protocol/types.ts';
import { endedResult, waitingResult } from './answers.ts';
import { decideFor, pendingOf } from './asking.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';

/** A person is asked anew where something changed since the yes; not for ever. */
const questionsMax = 4;
/** From a person's yes to the end of the call. */
const startMs = 10_000;

export async function registeredTools(client: Client): Promise<readonly Tool[]> {
  try {
    return (await client.call('tool.list', {})).tools.map(toolOfView);
  } catch (error) {
    // A runtime of before has none, and does not know the method.
    if (isTrlError(error, 'INVALID_PARAMS')) return [];
    throw error;
  }
}

export async function registeredTool(client: Client, name: string): Promise<Tool | null> {
  return (await registeredTools(client)).find((tool) => tool.name === name) ?? null;
}

function toolOfView({ name, title, description, input_schema: input }: ToolView): Tool {
  return {
    name,
    title,
    description,
    input,
    output: { type: 'object', additionalProperties: true },
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    call: (given, context) => callRegistered(name, given, context),
  };
}

async function callRegistered(
  name: string,
  given: Readonly<Record<string, unknown>>,
  context: ToolContext,
): Promise<ToolResult> {
  const { client, sessions, signal, callKey, approvalWaitMs = 0 } = context;
  const session = await sessions.session();
  for (let asked = 0; ; asked += 1) {
    try {
      const params = {
        name,
        arguments: given,
        session_id: session,
        wait_ms: asked === 0 ? approvalWaitMs : startMs,
        ...(callKey === undefined ? {} : { exec_key: callKey }),
      };
      return resultOf(await client.call('tool.call', params, { signal }));
    } catch (error) {
      const late = lateReceipt(error);
      if (late !== null) return resultOf({ name, receipt: late });
      const pending = await pendingOf(client, error);
      if (pending === null) throw error;
      const answer = asked < questionsMax ? ((await context.ask?.(pending)) ?? 'later') : 'later';
      if (answer === 'later') return waitingResult(pending);
      await decideFor(client, pending, answer);
    }
  }
}

function resultOf({ receipt, result }: ToolCallAnswer): ToolResult {
  if (receipt === undefined) return { data: { result }, text: textOf(result) };
  const timeoutSeconds = Math.round(receipt.duration_ms / 1_000);
  const ended = endedResult(receipt, { timeoutSeconds, notes: [] });
  return result === undefined ? ended : { ...ended, data: { ...ended.data, result } };
}

const textOf = (result: unknown): string =>
  typeof result === 'string' ? result : JSON.stringify(result ?? null);

/** At its time-out, what the command wrote until then is the data of the error. */
function lateReceipt(error: unknown): Receipt | null {
  if (!isTrlError(error, 'COMMAND_TIMEOUT')) return null;
  const { data } = error;
  return isReceipt(data) ? data : null;
}

const isReceipt = (data: unknown): data is Receipt =>
  typeof data === 'object' && data !== null && 'exec_id' in data && 'stdout' in data;
