/**
 * Tools whose calls a connection answers, as long as it lasts. What a call asks for goes to whoever
 * registered the tool; the runtime runs nothing for it.
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

/** What a connection is told. Must not throw. */
export type ToolListener = (told: ToolStreamMessage) => void;

export interface RegisteredTool extends ToolDescription {
  readonly timeoutMs: number;
  readonly listener: ToolListener;
  /** Of who registered it: nobody else answers its calls. */
  readonly owner: object;
}

interface Asked {
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
   * @param owner stands for the connection; {@link leave} ends what it registered
   * @throws TrlError `INVALID_PARAMS` for a name that is taken or a schema that cannot be;
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
      const message = `Cannot register the tool "${name}": there is one of this name`;
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
   * The owner is told when nobody waits any more: at the time-out, or when `signal` aborts.
   *
   * @throws TrlError with what the owner says, or why nobody answers
   */
  ask(tool: RegisteredTool, { caller, given, signal }: Asked): Promise<unknown> {
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

  /** @throws TrlError `INVALID_PARAMS` for a call that is not open, or is another's to answer */
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

  /** The connection is gone: its tools are, and nobody answers what was asked of them. */
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
