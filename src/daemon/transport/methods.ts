/** Maps each wire method to a call of the runtime. */
import type { JsonObject } from '../../protocol/json.ts';
import { fieldOf } from '../../json-shape.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { Masking } from '../secrets/masking.ts';
import type { Caller, ExecId } from '../../command.ts';
import type { ChunkEncoding } from '../../protocol/chunks.ts';
import {
  parseParams,
  type MethodAnswers,
  type MethodName,
  type MethodParams,
} from '../../api/methods.ts';
import type { ApprovalWatchAnswer } from '../../api/approval.ts';
import type { ToolAnswerParams, ToolRegisterParams } from '../../api/tool.ts';
import type { FeedAnswer } from '../../api/system.ts';
import type { StreamAnswer } from '../../api/exec.ts';
import type { Receipt } from '../../api/receipt.ts';
import type { ExecutionService, Runtime } from '../runtime.ts';

/** The part of a connection that methods use. */
export interface ConnectionContext {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly version: string;
  /**
   * Follows an execution on this connection after the answer is sent.
   *
   * @throws TrlError `INVALID_PARAMS` if this connection already follows it; `QUOTA_EXCEEDED` if
   *   it follows the maximum number
   */
  follow(execId: ExecId, from: number, form: ChunkEncoding): StreamAnswer;
  /**
   * Reports approvals to this connection after the answer is sent.
   *
   * @throws TrlError `INVALID_PARAMS` if this connection already watches approvals
   */
  watch(): ApprovalWatchAnswer;
  /** Like {@link watch}, for every change. */
  feed(): FeedAnswer;
  /**
   * Sends calls of a tool to this connection after the answer is sent.
   *
   * @throws TrlError `INVALID_PARAMS` if the name is taken or the schema is invalid
   */
  registerTool(params: ToolRegisterParams): Promise<MethodAnswers['tool.register']>;
  /** @throws TrlError `INVALID_PARAMS` if the call is not open on this connection */
  answerToolCall(params: ToolAnswerParams): MethodAnswers['tool.answer'];
  /**
   * @param windowBytes output bytes that may be unacknowledged; `null`: only the stream limits them
   * @throws TrlError `INVALID_PARAMS` if other requests or streams are active on this connection
   */
  switchToFrames(windowBytes: number | null): void;
  /** Counts this connection as one of client `id`. */
  joinClient(id: string): void;
  /** Records that the client knows the features beyond the first protocol. */
  markGreeted(): void;
  readonly hasGreeted: boolean;
}

/** Features beyond the first protocol that a client may rely on. */
const features = [
  'exec.stream',
  'exec.attach',
  'exec.read',
  'exec.key',
  'exec.python',
  'tool.call',
  'frames.bin',
  'frames.stdin',
  'frames.window',
  'system.watch',
  'exec.lease',
  'timeout_ms',
  'approval',
  'secrets',
  'workspace',
  'snapshot',
  'publish',
  'audit',
] as const;

type Handlers = {
  readonly [M in MethodName]: (
    context: ConnectionContext,
    params: MethodParams[M],
  ) => MethodAnswers[M] | Promise<MethodAnswers[M]>;
};

const handlers: Handlers = {
  'session.create': ({ runtime, caller }, params) => runtime.sessions.create(caller, params),
  'session.list': ({ runtime, caller }) => ({ sessions: runtime.sessions.list(caller) }),
  'session.info': ({ runtime, caller }, { session_id: id }) => runtime.sessions.info(caller, id),
  'session.destroy': async ({ runtime, caller }, { session_id: id, force }) => {
    await runtime.sessions.destroy(caller, id, force ?? false);
    return { session_id: id, state: 'terminated' };
  },
  'session.update': ({ runtime, caller }, params) => runtime.sessions.update(caller, params),
  'session.fork': ({ runtime, caller }, { session_id: id, name }) =>
    runtime.sessions.fork(caller, id, name ?? null),
  'session.connections': ({ runtime }, { session_id: id }) => runtime.sessions.connections(id),
  'session.block_host': ({ runtime }, { session_id: id, host }) =>
    runtime.sessions.blockHost(id, host),
  'session.show_port': ({ runtime }, { session_id: id, port }) =>
    runtime.sessions.showPort(id, port),
  'session.hide_port': ({ runtime }, { session_id: id, port }) =>
    runtime.sessions.hidePort(id, port),
  'session.state': ({ runtime, caller }, { session_id: id }) => runtime.sessions.state(caller, id),

  'exec.run': ({ runtime, caller, hasGreeted }, params) => {
    const ran = runtime.execs.run(caller, params);
    return hasGreeted ? ran : toTextReceipt(ran);
  },
  'exec.stream': async (context, { from, enc, ...params }) =>
    context.follow(
      await context.runtime.execs.openStream(context.caller, params),
      from ?? 0,
      enc ?? 'text',
    ),
  'exec.start': async ({ runtime, caller }, params) => ({
    exec_id: await runtime.execs.start(caller, params),
    session_id: params.session_id,
  }),
  'exec.attach': async (context, { exec_id: id, from, enc }) => {
    // Refuses an unknown execution before a stream is announced.
    await context.runtime.execs.info(context.caller, id);
    return context.follow(id, from ?? 0, enc ?? 'text');
  },
  'exec.read': ({ runtime, caller }, params) => runtime.execs.read(caller, params),
  'exec.write': async ({ runtime, caller }, { exec_id: id, data, encoding, eof, lease_id: by }) => {
    const bytes = Buffer.from(data ?? '', encoding ?? 'utf8');
    await runtime.execs.write(caller, id, { bytes, eof: eof ?? false, lease: by ?? null });
    return { exec_id: id, bytes: bytes.length };
  },
  'exec.resize': async ({ runtime, caller }, { exec_id: id, columns, rows, lease_id: by }) => {
    await runtime.execs.resize(caller, id, { columns, rows, lease: by ?? null });
    return { exec_id: id };
  },
  'exec.cancel': ({ runtime, caller }, { signal, ...target }) => {
    if (target.exec_key !== undefined) runtime.tools.cancel(caller, target.exec_key);
    return runtime.execs.cancel(caller, targetOf(target), signal ?? null);
  },
  'exec.lease': ({ runtime, caller }, params) => runtime.execs.lease(caller, params),
  'policy.explain': ({ runtime, caller }, params) => runtime.explain(caller, params),
  'exec.list': async ({ runtime, caller }, { session_id: id }) => ({
    execs: await runtime.execs.list(caller, id ?? null),
  }),
  'exec.info': ({ runtime, caller }, { exec_id: id }) => runtime.execs.info(caller, id),

  'system.ping': ({ runtime, version }) => ({ uptime_s: runtime.stats().uptime_s, version }),
  'system.stats': ({ runtime }) => runtime.stats(),
  'system.metrics': ({ runtime }) => runtime.metrics(),
  'system.hello': (context, { client, frames = 'lines', window_bytes: windowBytes = null }) => {
    if (client !== undefined) context.joinClient(client);
    context.markGreeted();
    const answer = { version: context.version, protocol: 'trl/2', features, frames } as const;
    if (frames !== 'bin') return answer;
    context.switchToFrames(windowBytes);
    return windowBytes === null ? answer : { ...answer, window_bytes: windowBytes };
  },
  'system.watch': (context) => context.feed(),
  'runtime.list': ({ runtime, version }) => {
    const { active_sessions: sessions, uptime_s: uptime } = runtime.stats();
    return {
      runtimes: [
        {
          runtime_id: 'local',
          kind: 'local',
          platform: `${process.platform}-${process.arch}`,
          version,
          uptime_s: uptime,
          active_sessions: sessions,
        },
      ],
    };
  },

  'approval.list': ({ runtime, caller }, params) => ({
    approvals: runtime.approvals.listApprovals(caller, params),
  }),
  'approval.get': ({ runtime, caller }, { approval_id: id }) =>
    runtime.approvals.getApproval(caller, id),
  'approval.decide': ({ runtime, caller }, params) =>
    runtime.approvals.decideApproval(caller, params),
  'approval.watch': (context) => context.watch(),
  'approval.status': ({ runtime, caller }) => runtime.approvals.approvalStatus(caller),

  'secrets.list': ({ runtime, caller }) => runtime.secrets.list(caller),
  'secrets.check': ({ runtime, caller }, { name }) => runtime.secrets.check(caller, name),
  'secrets.request': ({ runtime, caller }, params) => runtime.secrets.request(caller, params),
  'secrets.requests': ({ runtime, caller }) => runtime.secrets.requests(caller),
  'secrets.set': ({ runtime, caller }, params) => runtime.secrets.set(caller, params),
  'secrets.inject': ({ runtime, caller }, params) => runtime.secrets.inject(caller, params),
  'secrets.delete': ({ runtime, caller }, params) => runtime.secrets.delete(caller, params),

  'workspace.trust': ({ runtime, caller }, { path }) => runtime.projects.trust(caller, path),
  'workspace.forget': ({ runtime }, { path }) => runtime.projects.forget(path),
  'workspace.list': ({ runtime }) => runtime.projects.list(),
  'cache.list': ({ runtime }) => runtime.projects.caches(),
  'cache.clear': ({ runtime }, { path = null }) => runtime.projects.clearCaches(path),
  'workspace.open': ({ runtime, caller }, params) => runtime.workspaces.open(caller, params),
  'workspace.status': ({ runtime, caller }, { session_id: id }) =>
    runtime.workspaces.status(caller, id),
  'workspace.diff': ({ runtime, caller }, params) => runtime.workspaces.diff(caller, params),
  'workspace.apply': ({ runtime, caller }, params) => runtime.workspaces.apply(caller, params),
  'workspace.discard': ({ runtime, caller }, params) => runtime.workspaces.discard(caller, params),
  'snapshot.list': ({ runtime, caller }, params) => runtime.workspaces.snapshots(caller, params),
  'snapshot.get': ({ runtime, caller }, params) => runtime.workspaces.snapshot(caller, params),
  'snapshot.restore': ({ runtime, caller }, params) => runtime.workspaces.restore(caller, params),
  'exec.undo': ({ runtime, caller }, params) => runtime.workspaces.undo(caller, params),
  'publish.check': ({ runtime, caller }, params) => runtime.publications.check(caller, params),
  publish: ({ runtime, caller }, params) => runtime.publications.publish(caller, params),

  'audit.list': ({ runtime, caller }, params) => runtime.audit.list(caller, params),
  'audit.get': ({ runtime, caller }, params) => runtime.audit.get(caller, params),
  'audit.verify': ({ runtime, caller }, params) => runtime.audit.verify(caller, params),
  'tool.list': async ({ runtime, caller }, params) => ({
    tools: await runtime.tools.list(caller, params),
  }),
  'tool.call': ({ runtime, caller }, params) => runtime.tools.call(caller, params),
  'tool.register': (context, params) => context.registerTool(params),
  'tool.answer': (context, params) => context.answerToolCall(params),
  'console.login': ({ runtime, caller }, params) => runtime.console.login(caller, params),
};

/**
 * Checks `params` and the caller's permission, then calls the runtime. The audit log records both.
 *
 * @throws TrlError of the check or of the runtime; `AUDIT_UNAVAILABLE` before the runtime acts
 */
export async function callMethod<M extends MethodName>(
  method: M,
  params: JsonObject,
  context: ConnectionContext,
): Promise<MethodAnswers[M]> {
  const handler: Handlers[M] = handlers[method];
  const { runtime, caller } = context;
  const methodCall = { caller, method, params };
  const admitted = await runtime.checkAudited(methodCall, () => {
    runtime.gate.requireRole(method, params, caller);
    const parsed = parseParams(method, params);
    refuseSecrets(parsed, runtime.masking);
    return runtime.gate.authorizeParams(method, parsed, caller);
  });
  const answer = await runtime.runAudited(methodCall, () => handler(context, admitted));
  return runtime.gate.filterAnswer(method, answer, { caller, params: admitted });
}

/** Parameters that may contain a secret: they are masked when stored, or never stored. */
const mayHoldSecrets: ReadonlySet<string> = new Set([
  'command',
  'env',
  'stdin',
  'data',
  'value',
  'passphrase',
]);

/** Names, paths and keys are stored and shown, so they must not contain a known secret. */
function refuseSecrets(params: object, masking: Masking): void {
  for (const [name, value] of Object.entries(params)) {
    if (mayHoldSecrets.has(name)) continue;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const [secret] = masking.look(text).names;
    if (secret === undefined) continue;
    throw new TrlError('INVALID_PARAMS', `Cannot take "${name}": it holds the secret ${secret}`);
  }
}

type Target = Parameters<ExecutionService['cancel']>[1];

/** The schema of `exec.cancel` accepts exactly one of them. */
function targetOf(given: Partial<MethodParams['exec.cancel']>): Target {
  if (given.exec_id !== undefined) return { exec_id: given.exec_id };
  if (given.session_id !== undefined) return { session_id: given.session_id };
  if (given.exec_key !== undefined) return { exec_key: given.exec_key };
  throw new Error('exec.cancel without a target passed its check');
}

/**
 * Converts a receipt for clients of the first protocol: they print `stdout` and `stderr` unchanged,
 * so both become text. Clients that send `system.hello` know encodings.
 *
 * @throws the rejection of `receipt`; the partial output of a time-out becomes text, too
 */
async function toTextReceipt(receipt: Promise<Receipt>): Promise<Receipt> {
  try {
    return withTextOutput(await receipt);
  } catch (error) {
    if (!isTrlError(error) || error.data === null) throw error;
    throw new TrlError(error.code, error.message, {
      data: withTextOutput(error.data),
      cause: error,
    });
  }
}

function withTextOutput<Answer extends object>(answer: Answer): Answer {
  const fields = (['stdout', 'stderr'] as const).flatMap((name) => {
    const text = fieldOf(answer, name);
    if (fieldOf(answer, `${name}_encoding`) !== 'base64' || typeof text !== 'string') return [];
    return [
      [name, Buffer.from(text, 'base64').toString('utf8')],
      [`${name}_encoding`, undefined],
      [`${name}_base64`, text],
    ];
  });
  return { ...answer, ...Object.fromEntries(fields) };
}
