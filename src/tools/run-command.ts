/** One command as tools run it: bounded, followed to its end, answered as a value. */
import { collectReceipt } from '../client/collect.ts';
import type { Client, ExecEvent, ExecId, ExecStream, SessionId } from '../client/index.ts';
import { sleep } from '../client/wait.ts';
import { isTrlError, TrlError } from '../errors.ts';
import type { ApprovalView } from '../api/approval.ts';
import type { ExecParams } from '../api/exec.ts';
import type { Receipt } from '../api/receipt.ts';
import { submitApprovalDecision, findPendingApproval } from './approval-prompts.ts';
import type { ToolContext, ToolPolicy } from './tool.ts';

/** Limits of the terminal tools. */
export const terminalBounds = {
  timeoutSecondsDefault: 30,
  timeoutSecondsMax: 120,
  graceMs: 1_000,
  /** Bytes of each stream in an answer: the first half and the last. */
  outputBytes: 8 * 1024,
} as const;

/** How long a call waits for another call of its session, in `ms`. */
const turnMs = 30_000;
const turnPollMs = 100;
const decisionPollMs = 50;
/** From the approval to the start: the command is checked again, and waits for the session lock. */
const startMs = 10_000;
/** How often progress of a running command is reported, also of a silent one, in `ms`. */
const progressMs = 200;
const beatMs = 2_000;
/** How often a person is asked again because something changed since the approval. */
const attemptsMax = 4;
/** Commands of a conversation that wait for a person: at most this many, the newest. */
const queuedMax = 256;

export interface ToolRunRequest {
  readonly sessionId: SessionId;
  readonly params: Omit<ExecParams, 'session_id' | 'command'> & { readonly command: string };
  /** Whether it makes its session busy and persists its state. */
  readonly mode: 'foreground' | 'detached';
  readonly policy: ToolPolicy;
  /** Bytes of each stream in the receipt; default: the limit of the terminal tools. */
  readonly outputBytes?: number;
}

export type ToolCommandOutcome =
  | { readonly kind: 'ended'; readonly receipt: Receipt }
  | { readonly kind: 'asks'; readonly approval: ApprovalView };

/**
 * Runs it to its end. A time-out is an answer, too. A command that waits for a person is
 * remembered: an identical one attaches to it, even if it changed something meanwhile.
 *
 * @throws TrlError when it was refused or lost; the signal's reason when the call was cancelled,
 *   and then the command is ended.
 */
export async function runCommand(
  context: ToolContext,
  command: ToolRunRequest,
): Promise<ToolCommandOutcome> {
  const key = keyOf(command);
  const receipt = await withPerson(context, key, {
    begin: () => follow(context, command),
    resume: async (execId) => {
      const { client, signal } = context;
      await using stream = client.attach(execId, { signal, cancelOnAbort: true });
      return await gather(context, stream, command);
    },
  });
  return 'approval_id' in receipt
    ? { kind: 'asks', approval: receipt }
    : { kind: 'ended', receipt };
}

/** One in the background; `exit_code`: `null` while it runs. */
export interface StartedCommand {
  readonly exec_id: ExecId;
  readonly exit_code: number | null;
}

/**
 * Starts it in parallel, without waiting for its end; answers an approval request if a person must
 * decide.
 */
export async function startCommand(
  context: ToolContext,
  command: ToolRunRequest,
): Promise<StartedCommand | ApprovalView> {
  const { client } = context;
  const { sessionId, params, policy } = command;
  return withPerson(context, keyOf(command), {
    begin: async () => {
      const { command: text, ...rest } = params;
      const options = { ...common(context, policy), ...rest };
      const execId = await client.session(sessionId).start(text, options);
      await withdrawIfOver(context, execId);
      return { exec_id: execId, exit_code: null };
    },
    // It waited for a person, and may have ended by now.
    resume: async (execId) => {
      const { error, exit_code: code = null } = await client.exec(execId);
      if (error !== undefined) throw new TrlError(error.code, error.message);
      return { exec_id: execId, exit_code: code };
    },
  });
}

const keyOf = (command: ToolRunRequest): string => JSON.stringify(command);
const callName = (callKey: string): string => `call ${callKey}`;

/** `begin` starts it; if it is queued for approval, `resume` follows it after the decision. */
async function withPerson<T>(
  context: ToolContext,
  key: string,
  how: {
    readonly begin: () => Promise<T>;
    readonly resume: (execId: ExecId) => Promise<T>;
  },
): Promise<T | ApprovalView> {
  const { client, sessions } = context;
  const { queuedExecutions: queued } = sessions;
  let execId = await knownIn(context, key);
  let waitMs = context.approvalWaitMs ?? 0;
  for (let asked = 0; ; asked += 1) {
    const pending = execId === null ? null : await askedStill(context, execId, waitMs);
    if (execId !== null && pending === null) {
      // This call finds it again by its key; a later identical one is another call.
      if (context.callKey !== undefined) remember(queued, callName(context.callKey), execId);
      try {
        return await how.resume(execId);
      } finally {
        queued.delete(key);
      }
    }
    const question = pending ?? (await beginOr(client, how.begin));
    if (!('question' in question)) return question.done;
    const { question: approval } = question;
    execId = approval.exec_id;
    await withdrawIfOver(context, execId);
    remember(queued, key, execId);
    const answer = asked < attemptsMax ? ((await context.ask?.(approval)) ?? 'later') : 'later';
    if (answer === 'later') return approval;
    await submitApprovalDecision(client, approval, { decision: answer });
    waitMs = startMs;
  }
}

/** As {@link stillAsked}; a cancelled call also ends its command. */
async function askedStill(context: ToolContext, execId: ExecId, waitMs: number) {
  try {
    return await stillAsked(context, execId, waitMs);
  } catch (error) {
    await withdrawIfOver(context, execId);
    throw error;
  }
}

/**
 * A call that was cancelled while its command started leaves neither a command nor an approval
 * request.
 *
 * @throws the signal's reason, if it was cancelled
 */
async function withdrawIfOver({ client, signal }: ToolContext, execId: ExecId): Promise<void> {
  if (!signal.aborted) return;
  await client.cancel({ exec_id: execId }).catch(() => {});
  throw signal.reason;
}

/**
 * The execution that was queued for an identical call; `null` if the runtime no longer knows it.
 */
async function knownIn(
  { client, sessions, resume, callKey }: ToolContext,
  key: string,
): Promise<ExecId | null> {
  const own = callKey === undefined ? undefined : sessions.queuedExecutions.get(callName(callKey));
  const execId = resume ?? own ?? sessions.queuedExecutions.get(key) ?? null;
  if (execId === null) return null;
  try {
    await client.exec(execId);
    return execId;
  } catch (error) {
    if (!isTrlError(error, 'EXEC_NOT_FOUND')) throw error;
    sessions.queuedExecutions.delete(key);
    return null;
  }
}

function remember(queued: Map<string, ExecId>, key: string, execId: ExecId): void {
  queued.set(key, execId);
  const [oldest] = queued.keys();
  if (queued.size > queuedMax && oldest !== undefined) queued.delete(oldest);
}

async function beginOr<T>(
  client: Client,
  begin: () => Promise<T>,
): Promise<{ readonly done: T } | { readonly question: ApprovalView }> {
  try {
    return { done: await begin() };
  } catch (error) {
    const question = await findPendingApproval(client, error);
    if (question === null) throw error;
    return { question };
  }
}

/**
 * The approval request that it waits for; `null`: it runs, or has ended. Waits for a decision for
 * `waitMs`, and after a decision until its effect is visible.
 */
async function stillAsked(
  { client, signal }: ToolContext,
  execId: ExecId,
  waitMs: number,
): Promise<{ readonly question: ApprovalView } | null> {
  for (const begun = performance.now(); ;) {
    // Reading its output with a wait would also wait for output.
    const { state, approval_id: id } = await client.exec(execId);
    if (state !== 'waiting' || id === undefined) return null;
    const question = await client.approval(id);
    const limitMs = question.state === 'pending' ? waitMs : Math.max(waitMs, startMs);
    if (performance.now() - begun >= limitMs) return { question };
    await sleep(decisionPollMs, signal);
  }
}

function common(context: ToolContext, policy: ToolPolicy): Partial<ExecParams> {
  const { callKey, approvalWaitMs = 0, traceparent } = context;
  return {
    ...(traceparent === undefined ? {} : { env: { TRACEPARENT: traceparent } }),
    policy,
    grace_ms: terminalBounds.graceMs,
    wait_ms: approvalWaitMs,
    ...(callKey === undefined ? {} : { exec_key: callKey }),
  };
}

async function follow(context: ToolContext, command: ToolRunRequest): Promise<Receipt> {
  for (const begun = performance.now(); ;) {
    try {
      await using stream = await open(context, command);
      return await gather(context, stream, command);
    } catch (error) {
      const waited = performance.now() - begun;
      if (!isTrlError(error, 'SESSION_BUSY') || waited > turnMs) throw error;
      context.progress(0, 'waits for the command before it');
      await sleep(turnPollMs, context.signal);
    }
  }
}

async function open(context: ToolContext, command: ToolRunRequest): Promise<ExecStream> {
  const { client, signal } = context;
  const { command: text, ...rest } = command.params;
  const options = { ...common(context, command.policy), ...rest };
  const session = client.session(command.sessionId);
  if (command.mode === 'foreground') return session.stream(text, { ...options, signal });
  signal.throwIfAborted();
  return client.attach(await session.start(text, options), { signal, cancelOnAbort: true });
}

async function gather(
  { progress, signal }: ToolContext,
  stream: ExecStream,
  { params, outputBytes = terminalBounds.outputBytes }: ToolRunRequest,
): Promise<Receipt> {
  const name = params.command.trim().split('\n', 1)[0]?.slice(0, 60) ?? '';
  const begun = performance.now();
  let bytes = 0;
  let [count, reportedAt] = [0, begun - progressMs];
  const report = (): void => {
    const now = performance.now();
    if (now - reportedAt < progressMs) return;
    reportedAt = now;
    // Silence is reported as well, and the count must grow to show progress.
    count = Math.max(bytes, count + 1);
    const seconds = Math.round((now - begun) / 1_000);
    progress(count, `${name}: ${bytes} bytes of output, ${seconds} s`);
  };
  const counted = async function* (): AsyncGenerator<ExecEvent> {
    for await (const event of stream) {
      if (event.type === 'output') {
        bytes += event.bytes.length;
        report();
      }
      yield event;
    }
  };
  report();
  const beat = setInterval(report, beatMs);
  try {
    signal.throwIfAborted();
    return await collectReceipt(counted(), stream.exit, outputBytes);
  } finally {
    clearInterval(beat);
  }
}
