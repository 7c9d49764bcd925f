/**
 * Calls that Python scripts make while they run. A script acts on behalf of the caller who started
 * it, in its own session, over a client within the daemon: each call is judged, approved, masked
 * and recorded as if that caller had made it, and the log names the script.
 */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { isJsonObject, parseJsonObject } from '../../protocol/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Client } from '../../client/index.ts';
import type { ToolContext, ToolResult } from '../../tools/index.ts';
import type { QueuedExecution, TrackedExecution } from '../executions/executions.ts';

export interface ScriptCallsOptions {
  /** A client within the daemon, for one call. */
  client(caller: Caller): Promise<Client>;
  /** Passes an answer to the runner. */
  answer(id: ExecId, call: number, text: string): Promise<unknown>;
  /** Cancels the pending approvals of a script's calls. Must not throw. */
  cancelApprovals(script: ExecId): void;
}

interface Script {
  readonly caller: Caller;
  readonly session: SessionId;
  /** Aborts when the script ends: nothing waits for its calls any more. */
  readonly over: AbortController;
  /** The number of its calls that are running. */
  calls: number;
}

/** How often late approval requests of a script that has ended are looked for, in ms. */
const lateMs = 200;

export class ScriptCalls {
  readonly #options: ScriptCallsOptions;
  readonly #scripts = new Map<ExecId, Script>();

  constructor(options: ScriptCallsOptions) {
    this.#options = options;
  }

  /** Registers a script that is about to start or waits for approval: its caller is `caller`. */
  expect(id: ExecId, caller: Caller, session: SessionId): void {
    const over = new AbortController();
    this.#scripts.set(id, { caller: { ...caller, within: id }, session, over, calls: 0 });
  }

  /** Ends the script's calls when the script ends. */
  watch({ record, settled }: TrackedExecution): void {
    const end = (): void => this.end(record.id);
    void settled.then(end, end);
  }

  /** Restores a script, or a command of a script, that an earlier daemon queued for approval. */
  restored({ caller, request }: QueuedExecution, tracked: TrackedExecution): void {
    const { id, sessionId, parent } = tracked.record;
    // The script already got an error for this call, so a later approval must not run the command.
    if (parent !== undefined) this.#options.cancelApprovals(parent);
    if (request.language !== 'python') return;
    this.expect(id, caller, sessionId);
    this.watch(tracked);
  }

  end(id: ExecId): void {
    const script = this.#scripts.get(id);
    if (script === undefined) return;
    this.#scripts.delete(id);
    script.over.abort(new TrlError('BACKEND_UNAVAILABLE', 'The script that called has ended'));
    this.#options.cancelApprovals(id);
    if (script.calls === 0) return;
    // A call that was about to request approval would otherwise leave a request without a reader.
    const late = setInterval(() => {
      this.#options.cancelApprovals(id);
      if (script.calls === 0) clearInterval(late);
    }, lateMs);
    late.unref();
  }

  /** Handles a call from a script, which may be malformed. Never rejects. */
  async called(id: ExecId, call: number, text: string): Promise<void> {
    const answer = await this.#answerTo(id, text);
    // A script or a runner that has ended meanwhile accepts no answer.
    await this.#options.answer(id, call, answer).catch(() => {});
  }

  async #answerTo(id: ExecId, text: string): Promise<string> {
    try {
      const script = this.#scripts.get(id);
      if (script === undefined) throw unknownScript();
      return await this.#do(script, requestIn(text));
    } catch (error) {
      const known = isTrlError(error);
      const code = known ? error.code : 'INTERNAL_ERROR';
      return failureText(code, known ? error.message : 'The call failed', {});
    }
  }

  async #do(script: Script, request: Requested): Promise<string> {
    script.calls += 1;
    try {
      return await this.#call(script, request);
    } finally {
      script.calls -= 1;
    }
  }

  async #call({ caller, session, over }: Script, request: Requested): Promise<string> {
    await using client = await this.#options.client(caller);
    const { callTool, listTools } = await import('../../tools/index.ts');
    if (request.kind === 'list') {
      const tools = (await listTools(client)).map(({ name, title, description, input }) => ({
        name,
        title,
        description,
        input_schema: input,
      }));
      return JSON.stringify({ ok: true, result: tools });
    }
    const context = await contextOf(client, session, over.signal);
    return resultText(await callTool(context, request.tool, request.arguments));
  }
}

type Requested =
  | { readonly kind: 'list' }
  | { readonly kind: 'call'; readonly tool: string; readonly arguments: JsonObject };

/** @throws TrlError `INVALID_PARAMS` if `rpc.call` cannot have written the text */
function requestIn(text: string): Requested {
  const { list, tool, arguments: given } = parseJsonObject(Buffer.from(text));
  if (list === true) return { kind: 'list' };
  if (typeof tool === 'string' && isJsonObject(given)) {
    return { kind: 'call', tool, arguments: given };
  }
  const wanted = 'the name of a tool and an object of arguments are wanted';
  throw new TrlError('INVALID_PARAMS', `Cannot call a tool: ${wanted}`);
}

async function contextOf(
  client: Client,
  session: SessionId,
  signal: AbortSignal,
): Promise<ToolContext> {
  const info = await client.session(session).info();
  const root = info.workspace ?? info.working_dir;
  const { createConversation } = await import('../../tools/index.ts');
  const policy = 'guarded';
  const others = createConversation({ client, root, name: `script in ${session}`, policy });
  return {
    client,
    signal,
    progress: () => {},
    workspace: { root },
    policy,
    sessions: {
      session: () => Promise.resolve(session),
      cachedSession: () => Promise.resolve(session),
      newSession: () => others.newSession(),
      networkSession: () => others.networkSession(),
      hostsSession: () => others.hostsSession(),
      queuedExecutions: new Map(),
    },
    // The script waits for approval as long as it may run.
    approvalWaitMs: limits.approvalMs.default,
  };
}

function resultText({ data, error, approval }: ToolResult): string {
  const { error: _, ...rest } = data;
  if (error !== undefined) return failureText(error.code, error.message, rest);
  if (approval === undefined) return JSON.stringify({ ok: true, result: data });
  const { approval_id: id, exec_id: exec } = approval;
  const message = 'Cannot run the command yet: a person must decide first';
  return failureText('APPROVAL_REQUIRED', message, { approval_id: id, exec_id: exec });
}

function failureText(code: string, message: string, data: object): string {
  return JSON.stringify({ ok: false, error: { code, message }, data });
}

const unknownScript = (): TrlError =>
  new TrlError(
    'BACKEND_UNAVAILABLE',
    'Cannot call a tool: the runtime was restarted while the script ran; run the script again',
  );

/**
 * A script must not run another script, because each would wait for the one it started.
 *
 * @throws TrlError `POLICY_DENIED`
 */
export function refuseNestedScript(language: string | undefined, { within }: Caller): void {
  if (language !== 'python' || within === undefined) return;
  const way = 'do its work in this one, or run it by itself';
  throw new TrlError('POLICY_DENIED', `Cannot run a script within the script ${within}: ${way}`);
}
