/** One command as tools run it: bounded, followed to its end, answered as a value. */
import { collectReceipt } from '../client/collect.ts';
import type { Client, ExecEvent, ExecId, ExecStream, SessionId } from '../client/index.ts';
import { sleep } from '../client/wait.ts';
import { isTrlError, TrlError } from '../errors.ts';
import type { ApprovalView } from '../protocol/approval.ts';
import type { ExecParams, Receipt } from '../protocol/types.ts';
import { submitApprovalDecision, findPendingApproval } from './approval-prompts.ts';
import type { ToolContext, ToolPolicy } from './tool.ts';

/** Bounds of the terminal tools. */
export const terminalBounds = {
  timeoutSecondsDefault: 30,
  timeoutSecondsMax: 120,
  graceMs: 1_000,
  /** Bytes of each stream in an answer: the first half and the last. */
  outputBytes: 8 * 1024,
} as const;

/** How long a call waits for another one of its session, in `ms`. */
const turnMs = 30_000;
const turnPollMs = 100;
const decisionPollMs = 50;
/** From a person's yes to the start: it is looked at once more, and waits for its turn. */
const startMs = 10_000;
/** How often a command that runs is told of, and one that stays silent, in `ms`. */
const tellMs = 200;
const beatMs = 2_000;
/** A person is asked anew where something changed since the yes; not for ever. */
const questionsMax = 4;
/** Commands of a conversation that wait for a person, the newest. */
const parkedMax = 256;

export interface ToolRunRequest {
  readonly sessionId: SessionId;
  readonly params: Omit<ExecParams, 'session_id' | 'command'> & { readonly command: string };
  /** Whether it makes its session busy and carries its state on. */
  readonly mode: 'foreground' | 'detached';
  readonly policy: ToolPolicy;
  /** Bytes of each stream in the receipt; default: those of the terminal tools. */
  readonly outputBytes?: number;
}

export type ToolCommandOutcome =
  | { readonly kind: 'ended'; readonly receipt: Receipt }
  | { readonly kind: 'asks'; readonly approval: ApprovalView };

/**
 * Runs it to its end. Its time-out is an answer, too. A command that waits for a person is
 * remembered: an equal one attaches to it, whatever that one changed meanwhile.
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

/** Starts it beside others, without waiting for its end; a question where a person must decide. */
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
    // It waited for a person, and may be over by now.
    resume: async (execId) => {
      const { error, exit_code: code = null } = await client.exec(execId);
      if (error !== undefined) throw new TrlError(error.code, error.message);
      return { exec_id: execId, exit_code: code };
    },
  });
}

const keyOf = (command: ToolRunRequest): string => JSON.stringify(command);
const callName = (callKey: string): string => `call ${callKey}`;

/** `begin` starts it; where it is parked, `resume` follows it once a person has decided. */
async function withPerson<T>(
  context: ToolContext,
  key: string,
  how: {
    readonly begin: () => Promise<T>;
    readonly resume: (execId: ExecId) => Promise<T>;
  },
): Promise<T | ApprovalView> {
  const { client, sessions } = context;
  const { queuedExecutions: parked } = sessions;
  let execId = await knownIn(context, key);
  let waitMs = context.approvalWaitMs ?? 0;
  for (let asked = 0; ; asked += 1) {
    const pending = execId === null ? null : await askedStill(context, execId, waitMs);
    if (execId !== null && pending === null) {
      // By its key this very call finds it once more; an equal one later is another.
      if (context.callKey !== undefined) remember(parked, callName(context.callKey), execId);
      try {
        return await how.resume(execId);
      } finally {
        parked.delete(key);
      }
    }
    const question = pending ?? (await beginOr(client, how.begin));
    if (!('question' in question)) return question.done;
    const { question: approval } = question;
    execId = approval.exec_id;
    await withdrawIfOver(context, execId);
    remember(parked, key, execId);
    const answer = asked < questionsMax ? ((await context.ask?.(approval)) ?? 'later') : 'later';
    if (answer === 'later') return approval;
    await submitApprovalDecision(client, approval, { decision: answer });
    waitMs = startMs;
  }
}

/** As {@link stillAsked}; a call that is cancelled meanwhile takes its command with it. */
async function askedStill(context: ToolContext, execId: ExecId, waitMs: number) {
  try {
    return await stillAsked(context, execId, waitMs);
  } catch (error) {
    await withdrawIfOver(context, execId);
    throw error;
  }
}

/**
 * A call that was cancelled while its command was begun leaves neither command nor question.
 *
 * @throws the signal's reason, where it was cancelled
 */
async function withdrawIfOver({ client, signal }: ToolContext, execId: ExecId): Promise<void> {
  if (!signal.aborted) return;
  await client.cancel({ exec_id: execId }).catch(() => {});
  throw signal.reason;
}

/** What was parked for an equal call; `null` where the runtime knows it no more. */
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

function remember(parked: Map<string, ExecId>, key: string, execId: ExecId): void {
  parked.set(key, execId);
  const [oldest] = parked.keys();
  if (parked.size > parkedMax && oldest !== undefined) parked.delete(oldest);
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
 * The question that it waits for; `null`: it runs, or is over. One that nobody answered is waited
 * for `waitMs`, and one that was answered until what follows from it is there.
 */
async function stillAsked(
  { client, signal }: ToolContext,
  execId: ExecId,
  waitMs: number,
): Promise<{ readonly question: ApprovalView } | null> {
  for (const begun = performance.now(); ;) {
    // Reading its output with a wait would wait for output, too.
    const { state, approval_id: id } = await client.exec(execId);
    if (state !== 'waiting' || id === undefined) return null;
    const question = await client.approval(id);
    const patience = question.state === 'pending' ? waitMs : Math.max(waitMs, startMs);
    if (performance.now() - begun >= patience) return { question };
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
  let [count, toldAt] = [0, begun - tellMs];
  const tell = (): void => {
    const now = performance.now();
    if (now - toldAt < tellMs) return;
    toldAt = now;
    // Silence is told as well, and a count that stays would say that nothing goes on.
    count = Math.max(bytes, count + 1);
    const seconds = Math.round((now - begun) / 1_000);
    progress(count, `${name}: ${bytes} bytes of output, ${seconds} s`);
  };
  const counted = async function* (): AsyncGenerator<ExecEvent> {
    for await (const event of stream) {
      if (event.type === 'output') {
        bytes += event.bytes.length;
        tell();
      }
      yield event;
    }
  };
  tell();
  const beat = setInterval(tell, beatMs);
  try {
    signal.throwIfAborted();
    return await collectReceipt(counted(), stream.exit, outputBytes);
  } finally {
    clearInterval(beat);
  }
}
