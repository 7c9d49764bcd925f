/**
 * One MCP server over one client, for both eras of the protocol: with a hand-shake (2025) and
 * without (2026-07-28). One is created for a connection on stdio, and for each request of HTTP.
 */
import { createHash } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  Server,
  TRACEPARENT_META_KEY,
} from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  InputRequiredResult,
  RequestStateCodec,
  ServerContext,
  Tool as ListedTool,
} from '@modelcontextprotocol/server';
import { fieldOf } from '../json-shape.ts';
import { canonicalJson } from '../canonical.ts';
import type { Client } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import {
  builtinTools,
  callTool,
  submitApprovalDecision,
  toFailedResult,
  listTools,
  acceptsUnprovenAnswers,
} from '../tools/index.ts';
import type { Conversation, Tool, ToolContext, ToolResult } from '../tools/index.ts';
import { readFormAnswer, approvalFormResult, supportsForms } from './approval-form.ts';
import type { ApprovalFormAnswer, ApprovalRequestState } from './approval-form.ts';
import { isInToolSet } from './tool-sets.ts';
import type { ToolSet } from './tool-sets.ts';

export interface McpServerOptions {
  /** Calls as the caller that is served. */
  readonly client: Client;
  /**
   * The project's directory, absolute; requested by each call.
   *
   * @throws TrlError `INVALID_PARAMS` if there is none
   */
  readonly root: () => Promise<string>;
  readonly sessions: Conversation;
  /** Default `all`. */
  readonly tools?: ToolSet;
  /** The version of this program. */
  readonly version: string;
  /** Whether the caller may decide its own requests. */
  readonly mayDecide: boolean;
  /** Seals what passes through the client between a form and its answer. */
  readonly codec: RequestStateCodec<ApprovalRequestState>;
  /** Finds a permanent key of the call, if there is one: see {@link CallKeyResolver}. */
  readonly keyOf: CallKeyResolver;
  /** Notified of each list; with it the server announces changes. */
  readonly onListed?: (tools: readonly Tool[]) => void;
  /** A signal that ends a call besides its connection; `null`: there is none. */
  readonly signalOf?: (id: string | number, digest: string) => AbortSignal | null;
}

/**
 * A key for a call: identical calls with identical keys run once. `null`: there is no stable key.
 */
export type CallKeyResolver = (call: {
  readonly id: string | number;
  /** SHA-256 of the tool's name and arguments. */
  readonly digest: string;
  /** The client's name for it, by `_meta["trl/call-key"]`; at most 256 characters. */
  readonly given: string | null;
  /** The session that it runs in. */
  readonly sessions: Conversation;
}) => Promise<string | null>;

const callKeyMeta = 'trl/call-key';
const callKeyMax = 256;
/** How long to wait for a decision that a person confirms to have made, in `ms`. */
const doneMs = 1_000;
/** The built-in tools that run something. */
const namedTools: ReadonlySet<string> = new Set([
  'terminal',
  'terminal_exec',
  'python_rpc',
  'write',
  'edit',
]);
const traceForm = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const instructions =
  'Commands run in a sandbox, under a policy. `terminal` keeps a ' +
  'session; `terminal_exec` runs in ' +
  'the project. An answer with status "waiting" needs a person: tell them, then call again with ' +
  'equal arguments. Secrets are named, never shown.';

export function createMcpServer(options: McpServerOptions): Server {
  const server = new Server(
    { name: 'trl', title: 'Terminal Runtime Layer', version: options.version },
    {
      capabilities: { tools: options.onListed === undefined ? {} : { listChanged: true } },
      instructions,
      requestState: { verify: (state, ctx) => options.codec.verify(state, ctx) },
    },
  );
  server.setRequestHandler('tools/list', async () => {
    const { client, tools: set = 'all' } = options;
    const tools = (await listTools(client)).filter(({ name }) => isInToolSet(set, name));
    options.onListed?.(tools);
    return { tools: tools.map(toListedTool) };
  });
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const { name, arguments: args = {} } = params;
    // Without a hand-shake each request declares the client's capabilities.
    const { envelope } = ctx.mcpReq;
    const said = fieldOf(envelope, CLIENT_CAPABILITIES_META_KEY);
    const capabilities = said ?? server.getClientCapabilities();
    return answer(options, { name, args, ctx, asks: supportsForms(capabilities) });
  });
  return server;
}

export const toListedTool = (tool: Tool): ListedTool => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: { ...tool.input, type: 'object' },
  outputSchema: { ...tool.output, type: 'object' },
  annotations: { ...tool.annotations },
});

interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly ctx: ServerContext;
  /** Whether the client shows forms to its person. */
  readonly asks: boolean;
}

async function answer(
  options: McpServerOptions,
  call: Call,
): Promise<CallToolResult | InputRequiredResult> {
  const { client, codec, tools: set = 'all' } = options;
  const { name, args, ctx } = call;
  const digest = callDigest(name, args);
  if (!isInToolSet(set, name)) {
    const message = `Cannot call ${name}: this server offers the general tools alone`;
    return toCallToolResult(toFailedResult(new TrlError('INVALID_PARAMS', message)));
  }
  try {
    const before = ctx.mcpReq.requestState<ApprovalRequestState>();
    // State of another call is ignored.
    const asked = before?.call === digest ? before : undefined;
    const none = { decision: 'later' } as const;
    const said = asked === undefined ? none : readFormAnswer(ctx.mcpReq.inputResponses);
    if (asked !== undefined) await follow(client, asked, said);
    const result = await called(options, call, { digest, asked, isDone: said.decision === 'done' });
    const { approval } = result;
    // A closed form is not shown again at once: the answer reports what is pending.
    const asks = approval !== undefined && call.asks && approval.approval_id !== asked?.approval_id;
    if (!asks) return toCallToolResult(result);
    const decides = options.mayDecide && (await acceptsUnprovenAnswers(client));
    const { approval_id, exec_id } = approval;
    const state = { approval_id, exec_id, digest: approval.digest, call: digest, decides };
    return approvalFormResult(approval, decides, await codec.mint(state, ctx));
  } catch (error) {
    if (ctx.mcpReq.signal.aborted) throw error;
    return toCallToolResult(toFailedResult(error));
  }
}

interface Round {
  readonly digest: string;
  readonly asked: ApprovalRequestState | undefined;
  /** Whether a person confirms that they have decided elsewhere. */
  readonly isDone: boolean;
}

/**
 * Calls the tool in the conversation's last session. If that session has ended, nothing was
 * started, and the call is repeated once in its replacement and with its key.
 */
async function called(options: McpServerOptions, call: Call, round: Round): Promise<ToolResult> {
  const { sessions } = options;
  const attempt = async (own: Conversation): Promise<ToolResult> => {
    const found = await contextOf(options, call, { ...round, sessions: own });
    const context = round.isDone ? { ...found, approvalWaitMs: doneMs } : found;
    return callTool(context, call.name, call.args);
  };
  const result = await attempt({ ...sessions, session: () => sessions.cachedSession() });
  const isGone = result.error?.code === 'SESSION_NOT_FOUND' && !('session_id' in call.args);
  return isGone ? attempt(sessions) : result;
}

/**
 * A person's answer to an approval request: it is decided, or withdrawn if it cannot be decided
 * here.
 */
async function follow(
  client: Client,
  asked: ApprovalRequestState,
  said: ApprovalFormAnswer,
): Promise<void> {
  const { decision } = said;
  if (decision === 'later' || decision === 'done') return;
  if (asked.decides) await submitApprovalDecision(client, asked, { ...said, decision });
  else if (decision === 'deny') await client.cancel({ exec_id: asked.exec_id });
}

async function contextOf(
  options: McpServerOptions,
  { name, ctx, asks }: Call,
  of: Pick<Round, 'digest' | 'asked'> & { readonly sessions: Conversation },
): Promise<ToolContext> {
  const { client, root, keyOf } = options;
  const { sessions } = of;
  const { id, _meta: meta } = ctx.mcpReq;
  const also = options.signalOf?.(id, of.digest) ?? null;
  const signal = also === null ? ctx.mcpReq.signal : AbortSignal.any([ctx.mcpReq.signal, also]);
  const given: unknown = meta?.[callKeyMeta];
  const key = given === undefined ? null : checkedKey(given);
  const named = { id, digest: of.digest, given: key, sessions };
  // A retry follows the execution that its first round queued; reads may be repeated.
  const isNamed = isRegistered(name) || (of.asked === undefined && namedTools.has(name));
  const callKey = isNamed ? await keyOf(named) : null;
  const trace: unknown = meta?.[TRACEPARENT_META_KEY];
  return {
    client,
    signal,
    sessions,
    workspace: { root: await root() },
    ...(options.tools === 'strict' ? { policy: 'guarded' } : {}),
    progress: progressOf(ctx),
    isAnswered: asks || !client.ownsDaemon,
    ...(callKey === null ? {} : { callKey }),
    ...(of.asked === undefined ? {} : { resume: of.asked.exec_id }),
    ...(typeof trace === 'string' && traceForm.test(trace) ? { traceparent: trace } : {}),
  };
}

const isRegistered = (name: string): boolean => !builtinTools.some((tool) => tool.name === name);

/** An ignored key would be one that its client relies on. */
function checkedKey(given: unknown): string {
  const isKey = typeof given === 'string' && given !== '' && given.length <= callKeyMax;
  if (isKey && given.isWellFormed()) return given;
  const wanted = `text of 1 to ${callKeyMax} characters`;
  throw new TrlError('INVALID_PARAMS', `Cannot call a tool: "${callKeyMeta}" must be ${wanted}`);
}

/** Reports progress to a client that requested it; one that has disconnected gets nothing. */
function progressOf({ mcpReq }: ServerContext): ToolContext['progress'] {
  const token = mcpReq._meta?.progressToken;
  if (token === undefined) return () => {};
  let last = -1;
  return (count, message) => {
    // A repeated attempt counts from the start; the client sees it grow.
    last = Math.max(count, last + 1);
    const params = { progressToken: token, progress: last, message };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

export function toCallToolResult({ text, data, error }: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    structuredContent: { ...data },
    ...(error === undefined ? {} : { isError: true }),
  };
}

/** SHA-256 of a tool's name and arguments; without arguments, of none. */
export const callDigest = (name: unknown, args: unknown): string =>
  createHash('sha256')
    .update(callText({ name, args: args ?? {} }))
    .digest('hex');

function callText(call: object): string {
  try {
    return canonicalJson(call);
  } catch {
    // Half of a character: the tool refuses it, with the reason.
    return JSON.stringify(call);
  }
}
