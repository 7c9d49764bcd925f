/** A tool whose calls this program answers, over its own connection. */
import { isTrlError } from '../errors.ts';
import type { ToolCallEvent, ToolCallId, ToolRegisterParams } from '../api/tool.ts';
import type { RpcConnection, WatchSink } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';

export interface OfferedTool {
  /** Lower-case letters, digits and `_`; unique. */
  readonly name: string;
  readonly title?: string;
  /** For the model: what it does, and what it answers. */
  readonly description: string;
  /** JSON Schema of an object, of the keywords in docs/tools.md; default: no arguments. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** How long a call may take, in `ms`; default 30 s. */
  readonly timeoutMs?: number;
  /**
   * Runs a call whose arguments fit the schema, and answers a JSON value. If it throws, the call
   * fails with the message of the error.
   */
  handler(args: Readonly<Record<string, unknown>>, call: OfferedCall): unknown;
}

export interface OfferedCall {
  /** The actor that calls. */
  readonly caller: string;
  /** Aborted when the answer is no longer needed: cancelled, too late, or the connection ended. */
  readonly signal: AbortSignal;
}

/** A registered tool, until {@link close} or the end of the connection. */
export interface ToolOffer extends AsyncDisposable {
  /** Settles when the tool is no longer registered. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** @throws TrlError `INVALID_PARAMS` for a name that is in use, or an invalid schema */
export async function offerTool(links: ConnectionPool, tool: OfferedTool): Promise<ToolOffer> {
  const { connection: link, release } = await links.lease();
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const open = new OpenCalls();
  const sink: WatchSink = {
    notify: (message) => {
      if ('cancel' in message) open.cancel(message.cancel.call_id);
      if (!('call' in message)) return;
      const { call } = message;
      const signal = open.begin(call.call_id);
      void answer({ link, tool, signal }, call).then(() => open.end(call.call_id));
    },
    lost: () => {
      open.close();
      end();
    },
  };
  try {
    await link.watch('tool.register', sink, paramsOf(tool));
  } catch (error) {
    release();
    throw error;
  }
  const close = async (): Promise<void> => {
    link.unwatch();
    open.close();
    // The connection owns the registration; a single connection continues, and calls fail.
    if (!links.isSingle) await link.close();
    release();
    end();
  };
  return { ended, close, [Symbol.asyncDispose]: close };
}

function paramsOf(tool: OfferedTool): ToolRegisterParams {
  const { name, title, description, inputSchema, timeoutMs } = tool;
  return {
    name,
    description,
    ...(title === undefined ? {} : { title }),
    ...(inputSchema === undefined ? {} : { input_schema: inputSchema }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
  };
}

/** Running calls. */
class OpenCalls {
  readonly #calls = new Map<ToolCallId, AbortController>();

  begin(id: ToolCallId): AbortSignal {
    const call = new AbortController();
    this.#calls.set(id, call);
    return call.signal;
  }

  end(id: ToolCallId): void {
    this.#calls.delete(id);
  }

  cancel(id: ToolCallId): void {
    const reason = new DOMException('Nobody waits for the call any more', 'AbortError');
    this.#calls.get(id)?.abort(reason);
  }

  close(): void {
    for (const id of this.#calls.keys()) this.cancel(id);
  }
}

interface Answering {
  readonly link: RpcConnection;
  readonly tool: OfferedTool;
  readonly signal: AbortSignal;
}

/** Never rejects: the answer to an expired call is dropped. */
async function answer(
  { link, tool, signal }: Answering,
  call: ToolCallEvent['call'],
): Promise<void> {
  const { call_id: id, arguments: args, caller } = call;
  try {
    const result: unknown = await tool.handler(args, { caller, signal });
    // The call has ended.
    if (signal.aborted) return;
    await link.call('tool.answer', { call_id: id, result: result ?? null });
  } catch (error) {
    if (signal.aborted) return;
    const message = error instanceof Error && error.message !== '' ? error.message : 'it failed';
    const why = isTrlError(error) ? `${error.code}: ${message}` : message;
    const failure = { call_id: id, error: why.slice(0, messageMax) };
    await link.call('tool.answer', failure).catch(() => {});
  }
}

const messageMax = 4_000;
