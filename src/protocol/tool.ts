/** The wire of registered tools: what they are, calls of them, and who answers calls. */
import type { SessionId } from '../command.ts';
import type { Receipt } from './types.ts';

/** `c-` and 32 lower-case hex digits. */
export type ToolCallId = `c-${string}`;
/** `t-` and 32 lower-case hex digits. */
export type ToolStreamId = `t-${string}`;

export interface ToolAnswers {
  readonly 'tool.list': { readonly tools: readonly ToolView[] };
  readonly 'tool.call': ToolCallAnswer;
  readonly 'tool.register': { readonly stream_id: ToolStreamId };
  readonly 'tool.answer': { readonly call_id: ToolCallId };
}

/** A tool beyond those that every runtime has. */
export interface ToolView {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema 2020-12 of an object. */
  readonly input_schema: Readonly<Record<string, unknown>>;
  /** Where its file lies; `registered`: a connection answers its calls. */
  readonly source: 'system' | 'directory' | 'user' | 'project' | 'registered';
}

/** `receipt`: of the command that it was; `result`: what it answered, where that is a value. */
export interface ToolCallAnswer {
  readonly name: string;
  readonly receipt?: Receipt;
  readonly result?: unknown;
}

export interface ToolListParams {
  /** Adds the tools of the session's project. */
  readonly session_id?: SessionId;
}

export interface ToolCallParams {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Its workspace and rules are the tool's; default: no workspace, policy `guarded`. */
  readonly session_id?: SessionId;
  /** Makes the call idempotent: a repeated key answers the first call. */
  readonly exec_key?: string;
  /** How long to wait for a person when one must decide; default 0: answers at once. */
  readonly wait_ms?: number;
}

/** A tool whose calls this connection answers, as long as it lasts. */
export interface ToolRegisterParams {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly input_schema?: Readonly<Record<string, unknown>>;
  /** Default 30 s. */
  readonly timeout_ms?: number;
}

export interface ToolAnswerParams {
  readonly call_id: ToolCallId;
  readonly result?: unknown;
  /** Why it was not done; in place of a result. */
  readonly error?: string;
}

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

/** Nobody waits for the answer to a call any more: it was cancelled, or took too long. */
export interface ToolCancelEvent {
  readonly stream_id: ToolStreamId;
  readonly cancel: { readonly call_id: ToolCallId };
}

export type ToolEvent = ToolCallEvent | ToolCancelEvent;
/** What its connection is told of a tool, without the stream's name. */
export type ToolStreamMessage = Pick<ToolCallEvent, 'call'> | Pick<ToolCancelEvent, 'cancel'>;
