/**
 * The tools of an agent: named functions over a client, with schemas of their arguments and
 * answers. MCP, HTTP, the command line and scripts offer the same ones.
 */
import * as z from 'zod/mini';
import type { ApprovalView } from '../api/approval.ts';
import { endedCommandsField } from './background-commands.ts';
import type { Client, ErrorCode, ExecId, SessionId } from '../client/index.ts';

export interface Tool {
  /** Lower-case words joined by `_`; unique. */
  readonly name: string;
  readonly title: string;
  /** For the model: what it does, its limits, and what to call next. */
  readonly description: string;
  readonly input: ToolSchema;
  readonly output: ToolSchema;
  readonly annotations: ToolAnnotations;
  /**
   * Checks `given` and runs the tool.
   *
   * @throws TrlError `INVALID_PARAMS` for invalid arguments, and errors of the runtime; `callTool`
   *   turns both into a result.
   */
  call(given: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolResult>;
}

/** JSON Schema 2020-12 of an object. */
export type ToolSchema = Readonly<Record<string, unknown>>;

/** Hints of MCP that a client may show to a person; nothing relies on them. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Of a tool that only reads. */
export const readOnlyAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const satisfies ToolAnnotations;

/**
 * A profile that commands of tools must pass besides the policies of the runtime and the session.
 * `auto`: approval is needed for what goes beyond the sandbox. `guarded`: for all but a short list.
 */
export type ToolPolicy = 'auto' | 'guarded';

/** The context of a call, besides its arguments. */
export interface ToolContext {
  /** Calls as the requester: a tool may do nothing that the requester may not. */
  readonly client: Client;
  /** Ends the call, and the command that it waits for. */
  readonly signal: AbortSignal;
  /**
   * Called while a command runs. `count` grows with each call: bytes of output so far, and one more
   * for each two seconds of silence. Must not throw.
   */
  readonly progress: (count: number, message: string) => void;
  /** `root`: the project's directory, absolute; commands start there and stay inside. */
  readonly workspace: { readonly root: string };
  /** The session of calls that name none. */
  readonly sessions: Conversation;
  /** For the general tools, default `auto`; for the strict ones it is always `guarded`. */
  readonly policy?: ToolPolicy;
  /**
   * A permanent key of this call: repeated with the same key in the same session, it attaches to
   * the first execution and nothing runs twice. Default: every call is a new one.
   */
  readonly callKey?: string;
  /** The execution that an earlier round of this call was queued as: it is followed. */
  readonly resume?: ExecId;
  /** W3C Trace Context (`00-…`) of the call; commands get it as `TRACEPARENT`. */
  readonly traceparent?: string;
  /** How long to wait for a person's decision, in `ms`; default 0: not at all. */
  readonly approvalWaitMs?: number;
  /**
   * Whether a person may answer an approval request: by a form, or by `trl approvals` and the
   * console of a shared runtime. Then approval for the network is requested beforehand if the text
   * shows the need.
   */
  readonly isAnswered?: boolean;
  /** Asks a person at once; without it, a command that needs approval is answered as `waiting`. */
  readonly ask?: (approval: ApprovalView) => Promise<'approve' | 'deny' | 'later'>;
}

/** The sessions of one conversation of an agent. */
export interface Conversation {
  /** The default session: found, or created at its first use; one that has ended is replaced. */
  session(): Promise<SessionId>;
  /** The same without a check that it still exists, if it was known before. */
  cachedSession(): Promise<SessionId>;
  /** Another session like it. */
  newSession(): Promise<SessionId>;
  /** A session whose commands have network, each after approval; found or created. */
  networkSession(): Promise<SessionId>;
  /** One that reaches the hosts that somebody allows, beside it. */
  hostsSession(): Promise<SessionId>;
  /** Whether calls may name a session; default: any that the client may use. */
  readonly mayUse?: (session: SessionId) => Promise<boolean>;
  /** Commands that wait for a person, by the calls that started them; the tools maintain it. */
  readonly queuedExecutions: Map<string, ExecId>;
  /** Files by session and path, as the conversation last saw them; default: unknown. */
  readonly files?: Map<string, string>;
  /** Background commands with their names; default: their ends are not reported. */
  readonly background?: Map<ExecId, string>;
}

export interface ToolResult {
  /** A compact form for people and models. */
  readonly text: string;
  /** As the tool's `output` describes. Field names are those of the protocol. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Why the call failed. A command's non-zero exit and its time-out are not failures. */
  readonly error?: ToolFailure;
  /** A person must decide first. A call with identical arguments attaches to it. */
  readonly approval?: ApprovalView;
}

export interface ToolFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** Whether the same call may be tried again. */
  readonly retry: boolean;
}

/** Schemas of answers describe failures in the same way. */
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

/** A tool from a schema and a function. `check` parses the arguments. */
export function defineTool<Input>(
  spec: ToolSpec<Input>,
  check: (name: string, schema: z.ZodMiniType<Input>, given: unknown) => Input,
): Tool {
  const { name, title, description, annotations } = spec;
  // An answer is either the result or the failure.
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
  // Answers may have more fields than the schema names.
  return io === 'output' ? { ...rest, additionalProperties: true } : rest;
}
