/**
 * Lists and calls registered tools. A tool that is a command runs like any other command, judged
 * and recorded by its argument list, in its own session. Calls of a tool that a connection
 * registered go to that connection.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../canonical.ts';
import type { Caller, ExecId, PolicyProfile, SessionId } from '../../command.ts';
import type { ToolDefinition } from '../../configuration/tool-file.ts';
import {
  describeJsonProblem,
  describeInputMismatch,
  type ToolInputSchema,
} from '../../configuration/tool-input.ts';
import {
  fillTemplate,
  fillToolCommand,
  parseToolTemplate,
} from '../../configuration/tool-template.ts';
import { toolManagedNames } from '../../environment/tiers.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { nearestWord } from '../../nearest-word.ts';
import type {
  ToolAnswerParams,
  ToolCallAnswer,
  ToolCallParams,
  ToolListParams,
  ToolRegisterParams,
  ToolView,
} from '../../api/tool.ts';
import type { Receipt } from '../../api/receipt.ts';
import { quoteArgv } from '../../quote.ts';
import type { ToolCommand } from '../../execution.ts';
import type { SessionRecord } from '../../session/record.ts';
import type { DaemonExecutionService } from '../executions/execution-service.ts';
import type { Executions } from '../executions/executions.ts';
import type { ToolService } from '../runtime.ts';
import type { DaemonSessionService } from '../sessions/session-service.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import type { UsedKeys } from '../used-keys.ts';
import { KeyedToolCalls, type ResumableToolCall } from './keyed-tool-calls.ts';
import { findHijackablePath } from './hijackable-path.ts';
import type { RegisteredTools } from './registered-tools.ts';
import type { FileTool, ToolFiles } from './tool-files.ts';

/** Bytes of each stream in an answer; JSON needs more, because it is useless if truncated. */
const outputBytes = { text: 8 * 1024, json: 256 * 1024 } as const;

export interface ToolServiceOptions {
  readonly files: ToolFiles;
  /** Workspaces whose tools are listed if the caller names no session. */
  readonly roots: readonly string[];
  readonly registered: RegisteredTools;
  readonly sessions: Sessions;
  readonly execs: Pick<Executions, 'list' | 'get' | 'addKey'>;
  readonly keys: UsedKeys;
  readonly sessionService: DaemonSessionService;
  readonly executionService: DaemonExecutionService;
  /** Names of variables that commands could get. */
  readonly available: () => Promise<readonly string[]>;
  /** Patterns of names that no command gets. */
  readonly withhold: (workspace: string | null) => Promise<readonly string[]>;
  /** Directories that commands of sessions may write. */
  readonly writable: () => readonly string[];
  /** The `PATH` for programs. */
  readonly path: string;
}

export class DaemonToolService implements ToolService {
  readonly #options: ToolServiceOptions;
  readonly #keyed: KeyedToolCalls;
  /** Commands that wait for approval, by session: an identical call continues there. */
  readonly #waiting = new Map<SessionId, ExecId>();
  /** Open calls that connections answer, by caller and key. */
  readonly #open = new Map<string, Set<AbortController>>();

  constructor(options: ToolServiceOptions) {
    this.#options = options;
    this.#keyed = new KeyedToolCalls(options.keys);
  }

  async list(_: Caller, { session_id: id }: ToolListParams): Promise<readonly ToolView[]> {
    const { files, registered, sessions, roots } = this.#options;
    const workspaces = id === undefined ? roots : [sessions.get(id).record.workspace];
    const own = await builtinNames();
    const tools = [...workspaces, null].flatMap((workspace) => files.all(workspace));
    const found = [...new Map(tools.toReversed().map((one) => [one.definition.name, one])).values()]
      .toReversed()
      .filter(({ definition }) => !own.has(definition.name))
      .map(({ definition, source }) => viewOf(definition, source));
    const taken = new Set(found.map(({ name }) => name));
    const others = registered.all().filter(({ name }) => !taken.has(name));
    return [...found, ...others.map((one) => viewOf(one, 'registered'))];
  }

  /**
   * @throws TrlError `INVALID_PARAMS` if the tool is unknown or the arguments do not match its
   *   schema; the errors of running a command
   */
  async call(caller: Caller, params: ToolCallParams): Promise<ToolCallAnswer> {
    const { name, session_id: id, arguments: given = {} } = params;
    const origin = id === undefined ? null : this.#options.sessions.get(id).record;
    const { files, registered } = this.#options;
    const own = await builtinNames();
    const workspace = origin?.workspace ?? null;
    const file = files.all(workspace).find(({ definition }) => definition.name === name);
    if (file !== undefined && !own.has(name)) {
      checkInput(name, file.definition.input, given);
      const run = (over: () => void) => this.#run(caller, file, { origin, params, given, over });
      return this.#once(caller, params, { run, isResumable: true });
    }
    const handler = registered.find(name);
    if (handler === null) throw await this.#missing(caller, params);
    checkInput(name, handler.input, given);
    const run = async () => {
      using open = this.#cancellable(caller, params.exec_key);
      const invocation = { caller: caller.actor, given, signal: open.signal };
      return { name, result: await registered.ask(handler, invocation) };
    };
    return this.#once(caller, params, { run, isResumable: false });
  }

  /** Cancels calls that connections answer; for commands, see `exec.cancel`. */
  cancel({ actor }: Caller, key: string): void {
    for (const one of this.#open.get(canonicalJson([actor, key])) ?? []) one.abort();
  }

  /** Registers a call for {@link cancel} by its key, until it is disposed. */
  #cancellable({ actor }: Caller, key: string | undefined): Disposable & { signal: AbortSignal } {
    const own = new AbortController();
    const name = canonicalJson([actor, key ?? null]);
    const all = this.#open.get(name) ?? new Set();
    this.#open.set(name, all.add(own));
    const end = (): void => {
      all.delete(own);
      if (all.size === 0) this.#open.delete(name);
    };
    return { signal: own.signal, [Symbol.dispose]: end };
  }

  /** Takes over the sessions of tool calls that an earlier daemon left. */
  adopt(): void {
    for (const { record } of this.#options.sessions.all()) {
      if (record.tool !== undefined) void this.#endLater(record.id);
    }
  }

  #once(
    { actor }: Caller,
    params: ToolCallParams,
    going: ResumableToolCall,
  ): Promise<ToolCallAnswer> {
    const { name, session_id: session, exec_key: key } = params;
    if (key === undefined) return going.run(() => {});
    const keyed = { actor, key: canonicalJson([session ?? null, key]) };
    return this.#keyed.once({ ...keyed, fingerprint: `${name} ${contentHash(params)}` }, going);
  }

  /** @throws TrlError `INVALID_PARAMS` if the name is taken or the schema is invalid */
  async register(
    params: ToolRegisterParams,
    by: Parameters<ToolService['register']>[1],
  ): Promise<void> {
    const { files, registered } = this.#options;
    const taken = files.all(null).map(({ definition }) => definition.name);
    registered.add(params, { ...by, taken: new Set([...(await builtinNames()), ...taken]) });
  }

  answer(owner: object, params: ToolAnswerParams): void {
    this.#options.registered.answer(owner, params);
  }

  leave(owner: object): void {
    this.#options.registered.leave(owner);
  }

  async #missing(caller: Caller, { name, session_id: id }: ToolCallParams): Promise<TrlError> {
    const tools = await this.list(caller, id === undefined ? {} : { session_id: id });
    const names = tools.map((one) => one.name);
    if (names.includes(name)) {
      const wanted = "it is a project's; name a session of that project";
      const message = `Cannot call the tool "${name}" without a session: ${wanted}`;
      return new TrlError('INVALID_PARAMS', message);
    }
    const meant = nearestWord(name, names);
    const hint = meant === null ? '' : `; did you mean "${meant}"?`;
    return new TrlError('INVALID_PARAMS', `Cannot call a tool: none is called "${name}"${hint}`);
  }

  async #run(caller: Caller, file: FileTool, call: ToolCall): Promise<ToolCallAnswer> {
    const { definition } = file;
    const { params, given } = call;
    const command = await this.#commandOf(file, call);
    const stdin =
      definition.stdin === null ? null : fillTemplate(parseToolTemplate(definition.stdin), given);
    const named = { caller, name: definition.name, call: callName(params) };
    const session = await this.#sessionOf(named, definition, call);
    const waiting = this.#waitingIn(session);
    const bounds = { waitMs: params.wait_ms ?? 0, bytesMax: outputBytes[definition.output] };
    const request = {
      session_id: session.record.id,
      command: quoteArgv(command.argv),
      tool: command,
      timeout_ms: definition.timeoutMs,
      output_bytes: bounds.bytesMax,
      wait_ms: bounds.waitMs,
      ...(stdin === null ? {} : { stdin }),
      ...(params.exec_key === undefined ? {} : { exec_key: params.exec_key }),
    };
    const { executionService, execs } = this.#options;
    try {
      const { exec_key: key } = params;
      if (waiting !== null && key !== undefined) execs.addKey(execs.get(waiting), { key });
      const receipt =
        waiting === null
          ? await executionService.run(caller, request)
          : await executionService.finish(waiting, bounds);
      call.over();
      this.#leave(session);
      return { name: definition.name, receipt, ...resultOf(definition, receipt) };
    } catch (error) {
      const exec = isTrlError(error, 'APPROVAL_REQUIRED') ? error.data?.['exec_id'] : null;
      if (!isExecId(exec)) {
        call.over();
        this.#leave(session);
      } else if (!this.#waiting.has(session.record.id)) {
        this.#waiting.set(session.record.id, exec);
        void this.#endLater(session.record.id);
      }
      throw error;
    }
  }

  async #commandOf(file: FileTool, { origin, given }: ToolCall): Promise<ToolCommand> {
    const { definition, sha256 } = file;
    const { name, injectsEnv } = definition;
    const [program = '', ...rest] = fillToolCommand(name, definition.command, given);
    const { path, writable } = this.#options;
    const open = findHijackablePath(program, { path, writable: writable() });
    if (open !== null && injectsEnv.length > 0) {
      const why = `"${open}" lies where commands may write, and it gets variables`;
      throw new TrlError('POLICY_DENIED', `Cannot call the tool "${name}": ${why}`);
    }
    const withhold = await this.#options.withhold(origin?.workspace ?? null);
    const env = toolManagedNames(injectsEnv, await this.#options.available(), withhold);
    const exact = injectsEnv.find((one) => !one.endsWith('*') && !env.includes(one));
    if (exact !== undefined) {
      const way = `a person can give it: trl secrets set ${exact}`;
      const why = `its variable ${exact} is not there; ${way}`;
      throw new TrlError('INVALID_PARAMS', `Cannot call the tool "${name}": ${why}`);
    }
    return { name, sha256, argv: [program, ...rest], env };
  }

  /** The session of an identical call that waits or has the same key; else a new session. */
  async #sessionOf(
    { caller, name, call }: { caller: Caller; name: string; call: string },
    definition: ToolDefinition,
    { origin, params }: ToolCall,
  ): Promise<LiveSession> {
    const isSame = ({ record }: LiveSession): boolean => {
      if (record.tool?.name !== name || record.owner !== caller.actor) return false;
      // An approval is for the content of the call; its key does not matter.
      if (this.#waitingIn({ record }) !== null) return hashIn(record.tool.call) === hashIn(call);
      return params.exec_key !== undefined && record.tool.call === call;
    };
    const before = this.#options.sessions.all().find(isSame);
    return before ?? this.#make(caller, { name, call }, { definition, origin });
  }

  /** The command of a session that was queued for approval and whose result nobody has read. */
  #waitingIn({ record }: Pick<LiveSession, 'record'>): ExecId | null {
    const known = this.#waiting.get(record.id);
    if (known !== undefined) return known;
    // An earlier daemon may have queued it.
    const { execs } = this.#options;
    return execs.list(record.id).find((one) => one.record.parked !== null)?.record.id ?? null;
  }

  async #make(
    caller: Caller,
    tool: { readonly name: string; readonly call: string },
    of: { readonly definition: ToolDefinition; readonly origin: SessionRecord | null },
  ): Promise<LiveSession> {
    const { definition, origin } = of;
    const { files, network, limits: bounds } = definition;
    const deny = origin?.grants.files;
    const view = await this.#options.sessionService.create(
      caller,
      {
        name: `tool ${tool.name}`,
        shell: '/bin/sh',
        working_dir: origin?.workspace ?? '/tmp',
        ...workspaceOf(origin),
        ...policyOf(origin),
        network,
        files: {
          read: { allow: files.read, deny: deny?.read.deny ?? [] },
          write: { allow: files.write, deny: deny?.write.deny ?? [] },
        },
        limits: bounds,
        carry: 'none',
      },
      tool,
    );
    return this.#options.sessions.get(view.session_id);
  }

  #leave({ record }: Pick<LiveSession, 'record'>): void {
    this.#waiting.delete(record.id);
    void this.#options.sessionService.end(record.id, true).catch(() => {});
  }

  /** Keeps the session for a while after its end, since the caller may still fetch the result. */
  async #endLater(id: SessionId): Promise<void> {
    const { execs, sessions } = this.#options;
    const all = execs.list(id).map(({ settled }) => settled);
    await Promise.allSettled(all);
    const end = (): void => {
      const session = sessions.all().find(({ record }) => record.id === id);
      if (session !== undefined) this.#leave(session);
    };
    setTimeout(end, all.length === 0 ? 0 : limits.journalKeepMs.default).unref();
  }
}

interface ToolCall {
  /** The session that the call names, if any. */
  readonly origin: SessionRecord | null;
  readonly params: ToolCallParams;
  readonly given: Readonly<Record<string, unknown>>;
  /** Called when the session is removed, and a repeated call can no longer resume. */
  readonly over: () => void;
}

async function builtinNames(): Promise<ReadonlySet<string>> {
  const { builtinTools } = await import('../../tools/index.ts');
  return new Set(builtinTools.map(({ name }) => name));
}

/** The tool's own file defines its network and file access, the same for every caller. */
function workspaceOf(origin: SessionRecord | null) {
  if (origin === null) return {};
  const { workspaceId, workspaceMode } = origin;
  return {
    ...(isWorkspaceId(workspaceId) ? { workspace_id: workspaceId } : {}),
    ...(workspaceMode === undefined ? {} : { workspace_mode: workspaceMode }),
  };
}

/** The policy of the calling session; `guarded` without a session. */
function policyOf(origin: SessionRecord | null): { policy?: PolicyProfile } {
  const policy = origin === null ? 'guarded' : origin.policy;
  return policy === null ? {} : { policy };
}

const isExecId = (id: unknown): id is ExecId => typeof id === 'string' && id.startsWith('x-');
const isWorkspaceId = (id: string | undefined): id is `w-${string}` =>
  id?.startsWith('w-') === true;

function checkInput(name: string, input: ToolInputSchema, given: object): void {
  const why = describeInputMismatch(input, given) ?? describeJsonProblem(given);
  if (why !== null) throw new TrlError('INVALID_PARAMS', `Cannot call the tool "${name}": ${why}`);
}

/** Distinguishes one call from another by its content and its key. */
const callName = (params: ToolCallParams): string =>
  params.exec_key === undefined
    ? contentHash(params)
    : `${contentHash(params)} key ${params.exec_key}`;

/** The part of a call's name that identifies its content: `says <hash>`. */
const hashIn = (call: string): string => call.split(' ', 2).join(' ');

function contentHash({ arguments: given = {}, session_id: session }: ToolCallParams): string {
  const content = canonicalJson({ given, session: session ?? null });
  return `says ${createHash('sha256').update(content).digest('hex')}`;
}

function resultOf({ output }: ToolDefinition, receipt: Receipt): { result?: unknown } {
  if (output !== 'json' || receipt.exit_code !== 0 || receipt.truncated) return {};
  try {
    const result: unknown = JSON.parse(receipt.stdout);
    return { result };
  } catch {
    // The receipt contains the output.
    return {};
  }
}

function viewOf(
  tool: Pick<ToolDefinition, 'name' | 'title' | 'description' | 'input'>,
  source: ToolView['source'],
): ToolView {
  const { name, title, description, input } = tool;
  const schema = { ...input, additionalProperties: input.additionalProperties ?? false };
  return { name, title, description, input_schema: schema, source };
}
