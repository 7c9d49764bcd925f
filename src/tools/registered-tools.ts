/** Tools that were registered with the runtime, by files or by connections. */
import { randomKey } from '../client/bytes.ts';
import { isTrlError } from '../errors.ts';
import type { Client } from '../client/index.ts';
import type { ToolCallAnswer, ToolCallParams, ToolView } from '../api/tool.ts';
import type { Receipt } from '../api/receipt.ts';
import { endedCommandResult, waitingForApprovalResult } from './command-results.ts';
import { submitApprovalDecision, findPendingApproval } from './approval-prompts.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';

/** How often a person is asked again because something changed since the approval. */
const attemptsMax = 4;
/** How often, and after how many ms, a cancelled call checks whether its command has started. */
const [cancelTries, cancelPollMs] = [20, 100];
/** From the approval to the end of the call. */
const startMs = 10_000;

export async function listRegisteredTools(client: Client): Promise<readonly Tool[]> {
  try {
    return (await client.call('tool.list', {})).tools.map(toolOfView);
  } catch (error) {
    // An older runtime has none, and does not know the method.
    if (isTrlError(error, 'INVALID_PARAMS')) return [];
    throw error;
  }
}

export async function findRegisteredTool(client: Client, name: string): Promise<Tool | null> {
  return (await listRegisteredTools(client)).find((tool) => tool.name === name) ?? null;
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
  const key = callKey ?? randomKey();
  for (let asked = 0; ; asked += 1) {
    try {
      const params = {
        name,
        arguments: given,
        session_id: session,
        wait_ms: asked === 0 ? approvalWaitMs : startMs,
        exec_key: key,
      };
      return resultOf(await callRegisteredTool(client, params, signal));
    } catch (error) {
      const late = lateReceipt(error);
      if (late !== null) return resultOf({ name, receipt: late });
      const pending = await findPendingApproval(client, error);
      if (pending === null) throw error;
      if (signal.aborted) {
        await client.cancel({ exec_id: pending.exec_id }).catch(() => {});
        throw signal.reason;
      }
      // Approved, and about to start: do not ask again.
      if (pending.state !== 'pending' && asked < attemptsMax) continue;
      const answer = asked < attemptsMax ? ((await context.ask?.(pending)) ?? 'later') : 'later';
      if (answer === 'later') return waitingForApprovalResult(pending);
      await submitApprovalDecision(client, pending, { decision: answer });
    }
  }
}

/**
 * Calls a registered tool. When `signal` aborts, its command is ended, even if it is still
 * starting; the program that answers the tool is notified.
 *
 * @throws the signal's reason; what `tool.call` throws
 */
export async function callRegisteredTool(
  client: Client,
  params: ToolCallParams,
  signal: AbortSignal,
): Promise<ToolCallAnswer> {
  signal.throwIfAborted();
  const { exec_key: key = randomKey() } = params;
  const answer = client.call('tool.call', { ...params, exec_key: key });
  const gone = Promise.withResolvers<never>();
  const stop = (): void => gone.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([answer, gone.promise]);
  } catch (error) {
    if (!signal.aborted) throw error;
    const over = new AbortController();
    const end = (): void => over.abort();
    void answer.then(end, end);
    for (let tries = 0; tries < cancelTries; tries += 1) {
      // Once more after its end: the approval request that it ended with is withdrawn.
      const isOver = over.signal.aborted;
      const stopped = await client.cancel({ exec_key: key }).catch(() => []);
      if (stopped.length > 0 || isOver) break;
      await new Promise((resolve) => {
        setTimeout(resolve, cancelPollMs);
      });
    }
    throw signal.reason;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function resultOf({ receipt, result }: ToolCallAnswer): ToolResult {
  if (receipt === undefined) return { data: { result }, text: textOf(result) };
  const timeoutSeconds = Math.round(receipt.duration_ms / 1_000);
  const ended = endedCommandResult(receipt, { timeoutSeconds, notes: [] });
  return result === undefined ? ended : { ...ended, data: { ...ended.data, result } };
}

const textOf = (result: unknown): string =>
  typeof result === 'string' ? result : JSON.stringify(result ?? null);

/** At a time-out, the output until then is the data of the error. */
function lateReceipt(error: unknown): Receipt | null {
  if (!isTrlError(error, 'COMMAND_TIMEOUT')) return null;
  const { data } = error;
  return isReceipt(data) ? data : null;
}

const isReceipt = (data: unknown): data is Receipt =>
  typeof data === 'object' && data !== null && 'exec_id' in data && 'stdout' in data;
