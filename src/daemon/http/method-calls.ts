/** Runs one HTTP request as a wire method, with a stand-in for the method's connection. */
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ChunkEncoding } from '../../protocol/chunks.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { MethodName } from '../../api/methods.ts';
import type { ReplyContext } from '../transport/reply-messages.ts';
import { callMethod } from '../transport/methods.ts';
import type { ConnectionContext } from '../transport/methods.ts';
import type { Runtime } from '../runtime.ts';

/** The parts that all HTTP handlers share. */
export interface HttpTransportParts {
  readonly runtime: Runtime;
  readonly version: string;
  readonly replyContext: ReplyContext;
}

/** A stream that a method starts after its answer. */
export interface FollowTarget {
  readonly execId: ExecId;
  readonly from: number;
  readonly form: ChunkEncoding;
}

export type StreamingMethods = Pick<ConnectionContext, 'follow' | 'watch' | 'feed'>;

const noStreams = {
  follow: (execId: ExecId): never => {
    throw notHere(`follow ${execId}`);
  },
  watch: (): never => {
    throw notHere('watch approvals');
  },
  feed: (): never => {
    throw notHere('watch the runtime');
  },
  registerTool: (): never => {
    throw notHere('register a tool');
  },
  answerToolCall: (): never => {
    throw notHere('answer for a tool');
  },
  // A token already identifies the caller.
  joinClient: (): void => {},
  markGreeted: (): void => {},
  hasGreeted: true,
  switchToFrames: (): never => {
    throw notHere('switch to frames');
  },
} as const;

/** Methods whose answer is followed by events or concerns a connection. */
const streaming: ReadonlySet<string> = new Set([
  'exec.stream',
  'exec.attach',
  'approval.watch',
  'system.watch',
  'system.hello',
  'tool.register',
  'tool.answer',
]);

/** @throws TrlError `INVALID_PARAMS` if the method needs more than one answer */
export function refuseStreaming(method: MethodName): void {
  if (streaming.has(method)) throw notHere(`run ${method}`);
}

/**
 * Calls a method like any other transport: checks and records it; the caller masks the answer.
 *
 * @throws TrlError of the check, or of the runtime
 */
export function callMethodAs(
  { runtime, version }: HttpTransportParts,
  caller: Caller,
  request: { readonly method: MethodName; readonly params: JsonObject },
  streams: Partial<StreamingMethods> = {},
): Promise<unknown> {
  const { method, params } = request;
  const context: ConnectionContext = {
    runtime,
    caller,
    version,
    ...noStreams,
    ...streams,
  };
  return callMethod<MethodName>(method, params, context);
}

function notHere(what: string): TrlError {
  const way = 'GET /rpc over a WebSocket does, and GET /v1/execs/{exec_id}/stream';
  return new TrlError('INVALID_PARAMS', `Cannot ${what}: one answer carries no events; ${way}`);
}
