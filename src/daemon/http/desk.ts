/** One request of HTTP as a call of the wire: what a method sees in place of a connection. */
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ChunkForm } from '../../protocol/chunks.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { MethodName } from '../../api/methods.ts';
import type { Says } from '../door/answer.ts';
import { call } from '../door/methods.ts';
import type { Desk } from '../door/methods.ts';
import type { Runtime } from '../runtime.ts';

/** What everything behind this door shares. */
export interface DoorParts {
  readonly runtime: Runtime;
  readonly version: string;
  readonly says: Says;
}

/** What a method wants sent on when its answer has left. */
export interface Followed {
  readonly execId: ExecId;
  readonly from: number;
  readonly form: ChunkForm;
}

export type Streaming = Pick<Desk, 'follow' | 'watch' | 'feed'>;

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
  answerCalls: (): never => {
    throw notHere('register a tool');
  },
  answerCall: (): never => {
    throw notHere('answer for a tool');
  },
  // Who has a token is known by it.
  belongTo: (): void => {},
  greets: (): void => {},
  hasGreeted: true,
  switchToFrames: (): never => {
    throw notHere('switch to frames');
  },
} as const;

/** Methods whose answer is followed by events, or is about a connection. */
const streaming: ReadonlySet<string> = new Set([
  'exec.stream',
  'exec.attach',
  'approval.watch',
  'system.watch',
  'system.hello',
  'tool.register',
  'tool.answer',
]);

/** @throws TrlError `INVALID_PARAMS` for a method that one answer cannot carry */
export function refuseStreaming(method: MethodName): void {
  if (streaming.has(method)) throw notHere(`run ${method}`);
}

/**
 * Calls a method as any door does: checked, recorded, masked later.
 *
 * @throws TrlError of the check, or of the runtime
 */
export function callAs(
  { runtime, version }: DoorParts,
  caller: Caller,
  request: { readonly method: MethodName; readonly params: JsonObject },
  streams: Partial<Streaming> = {},
): Promise<unknown> {
  const { method, params } = request;
  const desk: Desk = {
    runtime,
    caller,
    version,
    ...noStreams,
    ...streams,
  };
  return call<MethodName>(method, params, desk);
}

function notHere(what: string): TrlError {
  const way = 'GET /rpc over a WebSocket does, and GET /v1/execs/{exec_id}/stream';
  return new TrlError('INVALID_PARAMS', `Cannot ${what}: one answer carries no events; ${way}`);
}
