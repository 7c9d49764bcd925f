/**
 * Tools whose calls a connection answers while it is open. The runtime forwards each call to the
 * client that registered the tool, and runs nothing for it.
 */
import { randomBytes } from 'node:crypto';
import type { ToolDescription } from '../../configuration/tool-file.ts';
import {
  toolInputSchemaProblems,
  toolInputSchema,
  emptyToolInput,
} from '../../configuration/tool-input.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type {
  ToolAnswerParams,
  ToolCallId,
  ToolRegisterParams,
  ToolStreamMessage,
} from '../../api/tool.ts';

const timeoutMsDefault = 30_000;

/** Receives the messages for a connection. Must not throw. */
export type ToolListener = (message: ToolStreamMessage) => void;

export interface RegisteredTool extends ToolDescription {
  readonly timeoutMs: number;
  readonly listener: ToolListener;
  /** The connection that registered the tool: no other one may answer its calls. */
  readonly owner: object;
}

interface ToolInvocation {
  /** The actor that calls. */
  readonly caller: string;
  readonly given: Readonly<Record<string, unknown>>;
  /** Cancels the call. */
  readonly signal: AbortSignal;
}

interface Open {
  readonly tool: RegisteredTool;
  resolve(result: unknown): void;
  reject(error: TrlError): void;
}

export class RegisteredTools {
  readonly #tools = new Map<string, RegisteredTool>();
  readonly #calls = new Map<ToolCallId, Open>();

  all(): readonly RegisteredTool[] {
    return [...this.#tools.values()];
  }

  find(name: string): RegisteredTool | null {
    return this.#tools.get(name) ?? null;
  }

  /**
   * @param owner identifies the connection; {@link leave} removes the tools that it registered
   * @throws TrlError `INVALID_PARAMS` if the name is taken or the schema is invalid;
   *   `QUOTA_EXCEEDED`
   */
  add(
    params: ToolRegisterParams,
    by: {
      readonly owner: object;
      readonly listener: ToolListener;
      readonly taken: ReadonlySet<string>;
    },
  ): void {
    const { name, title = name, description, timeout_ms: timeoutMs = timeoutMsDefault } = params;
    if (this.#tools.has(name) || by.taken.has(name)) {
      const message = `Cannot register the tool "${name}": the name is taken`;
      throw new TrlError('INVALID_PARAMS', message);
    }
    if (this.#tools.size >= limits.toolsRegistered.max) {
      const most = `at most ${limits.toolsRegistered.max} are registered`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot register the tool "${name}": ${most}`);
    }
    const input = inputOf(name, params.input_schema);
    this.#tools.set(name, { name, title, description, input, timeoutMs, ...by });
  }

  /**
   * Notifies the owner if the caller stops waiting: at the time-out, or when `signal` aborts.
   *
   * @throws TrlError with the owner's message, or with the reason why there is no answer
   */
  ask(tool: RegisteredTool, { caller, given, signal }: ToolInvocation): Promise<unknown> {
    if (this.#calls.size >= limits.toolCallsOpen.max) {
      const most = `${limits.toolCallsOpen.max} calls are under way`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot call the tool "${tool.name}": ${most}`);
    }
    const id: ToolCallId = `c-${randomBytes(16).toString('hex')}`;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const leave = (error: TrlError): void => {
      reject(error);
      tool.listener({ cancel: { call_id: id } });
    };
    const late = setTimeout(() => {
      const message = `Cannot call the tool "${tool.name}": no answer in ${tool.timeoutMs} ms`;
      leave(new TrlError('BACKEND_UNAVAILABLE', message));
    }, tool.timeoutMs);
    const cancelled = (): void =>
      leave(new TrlError('COMMAND_FAILED', `The call of the tool "${tool.name}" was cancelled`));
    this.#calls.set(id, { tool, resolve, reject });
    tool.listener({ call: { call_id: id, name: tool.name, arguments: given, caller } });
    signal.addEventListener('abort', cancelled, { once: true });
    if (signal.aborted) cancelled();
    return promise.finally(() => {
      clearTimeout(late);
      signal.removeEventListener('abort', cancelled);
      this.#calls.delete(id);
    });
  }

  /** @throws TrlError `INVALID_PARAMS` if the call is not open, or belongs to another owner */
  answer(owner: object, { call_id: id, result, error }: ToolAnswerParams): void {
    const open = this.#calls.get(id);
    if (open === undefined || open.tool.owner !== owner) {
      throw new TrlError('INVALID_PARAMS', `Cannot answer ${id}: no such call is open here`);
    }
    if (error === undefined) {
      open.resolve(result ?? null);
      return;
    }
    const message = `The tool "${open.tool.name}" failed: ${error}`;
    open.reject(new TrlError('COMMAND_FAILED', message));
  }

  /** Removes the tools of a closed connection; their open calls fail. */
  leave(owner: object): void {
    for (const [name, tool] of this.#tools) if (tool.owner === owner) this.#tools.delete(name);
    for (const open of this.#calls.values()) {
      const { tool } = open;
      if (tool.owner !== owner) continue;
      const message = `Cannot call the tool "${tool.name}": who registered it has left`;
      open.reject(new TrlError('BACKEND_UNAVAILABLE', message));
    }
  }
}

function inputOf(
  name: string,
  given: ToolRegisterParams['input_schema'],
): ToolDescription['input'] {
  if (given === undefined) return emptyToolInput;
  const fail = (why: string): never => {
    throw new TrlError('INVALID_PARAMS', `Cannot register the tool "${name}": ${why}`);
  };
  const parsed = toolInputSchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return fail(`"input_schema" at "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}`);
  }
  if (parsed.data.type !== 'object') return fail('"input_schema" must be of type "object"');
  const [problem] = toolInputSchemaProblems(parsed.data);
  if (problem === undefined) return parsed.data;
  return fail(`"input_schema" at "${problem.path.join('.')}": ${problem.message}`);
}
