/**
 * What an agent is offered: named functions over a client, with schemas of what they take and
 * answer. MCP, HTTP, the command line and scripts show the same ones.
 */
import * as z from 'zod/mini';
import type { ApprovalView } from '../protocol/approval.ts';
import { endedCommandsField } from './background-commands.ts';
import type { Client, ErrorCode, ExecId, SessionId } from '../client/index.ts';

export interface Tool {
  /** Lower-case words joined by `_`; unique. */
  readonly name: string;
  readonly title: string;
  /** For the model: what it does, its bounds, and what to call next. */
  readonly description: string;
  readonly input: ToolSchema;
  readonly output: ToolSchema;
  readonly annotations: ToolAnnotations;
  /**
   * Checks `given` and does it.
   *
   * @throws TrlError `INVALID_PARAMS` for arguments that do not fit, and whatever the runtime
   *   answers; `callTool` turns both into a result.
   */
  call(given: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolResult>;
}

/** JSON Schema 2020-12 of an object. */
export type ToolSchema = Readonly<Record<string, unknown>>;

/** Hints of MCP: what a client may tell a person; nothing relies on them. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Of a tool that only looks. */
export const readOnlyAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const satisfies ToolAnnotations;

/**
 * A profile that commands of tools must pass besides the policies of the runtime and the session.
 * `auto`: asked is what reaches beyond the sandbox. `guarded`: all but a short list.
 */
export type ToolPolicy = 'auto' | 'guarded';

/** What a tool is called with besides its arguments. */
export interface ToolContext {
  /** Calls as the one who asked: what they may not do, no tool does for them. */
  readonly client: Client;
  /** Ends the call, and the command that it waits for. */
  readonly signal: AbortSignal;
  /**
   * Told while a command runs. `count` grows with each call of it: bytes of output so far, and one
   * more for each two seconds of silence. Must not throw.
   */
  readonly progress: (count: number, message: string) => void;
  /** `root`: the project's directory, absolute; where commands start, and what they stay in. */
  readonly workspace: { readonly root: string };
  /** The session of calls that name none. */
  readonly sessions: Conversation;
  /** For the general tools, default `auto`; for the strict ones it is always `guarded`. */
  readonly policy?: ToolPolicy;
  /**
   * Names this call for good: made again with the same key in the same session, it attaches to
   * the first execution and nothing runs twice. Default: every call is another one.
   */
  readonly callKey?: string;
  /** The execution that an earlier round of this very call was parked as: it is followed. */
  readonly resume?: ExecId;
  /** W3C Trace Context (`00-…`) of the call; commands get it as `TRACEPARENT`. */
  readonly traceparent?: string;
  /** How long to wait for a person when one must decide, in `ms`; default 0: not at all. */
  readonly approvalWaitMs?: number;
  /**
   * Whether somebody may answer a question: by a form, or by `trl approvals` and the console of a
   * runtime that others reach. Then what is seen to need the network is asked about beforehand.
   */
  readonly isAnswered?: boolean;
  /** Asks a person at once; without it, what must be asked is answered as `waiting`. */
  readonly ask?: (approval: ApprovalView) => Promise<'approve' | 'deny' | 'later'>;
}

/** The sessions of one conversation of an agent. */
export interface Conversation {
  /** The default session: found, or made at its first use; one that has ended is replaced. */
  session(): Promise<SessionId>;
  /** The same without a look whether it is still there, where one was known before. */
  cachedSession(): Promise<SessionId>;
  /** Another session like it. */
  newSession(): Promise<SessionId>;
  /** One of which each command has network, once a person has agreed; found or made. */
  networkSession(): Promise<SessionId>;
  /** Whether calls may name a session; default: any that the client may use. */
  readonly mayUse?: (session: SessionId) => Promise<boolean>;
  /** Commands that wait for a person, by the calls that asked for them; the tools keep it. */
  readonly queuedExecutions: Map<string, ExecId>;
  /** Files by session and path, as the conversation last saw them; default: it does not know. */
  readonly files?: Map<string, string>;
  /** Commands in the background, with what they are called; default: their ends are not said. */
  readonly background?: Map<ExecId, string>;
}

export interface ToolResult {
  /** A compact form for people and models. */
  readonly text: string;
  /** As the tool's `output` says. Field names are the protocol's own. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Why the call was not done. A command's non-zero exit and its time-out are no failures. */
  readonly error?: ToolFailure;
  /** A person must decide first. Calling again with equal arguments attaches to it. */
  readonly approval?: ApprovalView;
}

export interface ToolFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Whether the same call may be tried again. */
  readonly retry: boolean;
}

/** Schemas of what tools answer say the same of failures. */
const failure = z.object({
  code: z.string().check(z.describe('a code of docs/errors.md')),
  message: z.string(),
  retry: z.boolean().check(z.describe('whether the same call may be tried again')),
});

interface ToolSpec<Input> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodMiniType<Input>;
  /** Fields of the answer. */
  readonly output: Readonly<Record<string, z.ZodMiniType>>;
  readonly annotations: ToolAnnotations;
  readonly run: (args: Input, context: ToolContext) => Promise<ToolResult>;
}

/** A tool of a schema and a function. `check` turns what was given into what it takes. */
export function defineTool<Input>(
  spec: ToolSpec<Input>,
  check: (name: string, schema: z.ZodMiniType<Input>, given: unknown) => Input,
): Tool {
  const { name, title, description, annotations } = spec;
  // An answer is one of both: what was asked for, or why not.
  const fields = Object.entries(spec.output).map(([key, one]) => [key, z.optional(one)] as const);
  const output = z.object({
    ...Object.fromEntries(fields),
    ended: z.optional(endedCommandsField),
    error: z.optional(failure),
  });
  return {
    name,
    title,
    description,
    annotations,
    input: jsonSchema(spec.input, 'input'),
    output: jsonSchema(output, 'output'),
    call: async (given, context) => spec.run(check(name, spec.input, given), context),
  };
}

function jsonSchema(schema: z.ZodMiniType, io: 'input' | 'output'): ToolSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  // Answers may have more fields than are named.
  return io === 'output' ? { ...rest, additionalProperties: true } : rest;
}
