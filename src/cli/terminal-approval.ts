/**
 * When `trl run` has to wait for a person: the person at this terminal is asked. It is the one
 * place where who asks and who answers may be the same person, so the question is read from
 * `/dev/tty`, which no pipe can answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApprovalView, Client, ExecId } from '../client/index.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { approvalReference, approvalSummaryLines } from './approval-text.ts';
import { withPassphrase } from './interrupts.ts';
import { parseExecId } from './runtime-connection.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

const pollMs = 10;
const pollMsMax = 500;

/** The question that `error` is about, or `null` when it is about something else. */
function questionOf(error: unknown): { approvalId: string; execId: ExecId } | null {
  if (!isTrlError(error, 'APPROVAL_REQUIRED') || error.data === null) return null;
  const { approval_id: approvalId, exec_id: execId } = error.data;
  if (typeof approvalId !== 'string' || typeof execId !== 'string') return null;
  return { approvalId, execId: parseExecId(execId) };
}

/**
 * Asks at this terminal; answers the execution that runs now.
 *
 * @throws TrlError `APPROVAL_DENIED` when the person says no; `error` itself when it is about
 *   something else, or nobody can be asked here
 */
export async function askAtTerminal(
  client: Client,
  error: unknown,
  signal: AbortSignal,
): Promise<ExecId> {
  const question = questionOf(error);
  if (question === null) throw error;
  const found = await client.approvals({ state: 'pending' });
  const view = found.find(({ approval_id: id }) => id === question.approvalId);
  if (view === undefined) throw error;
  let terminal: ControllingTerminal;
  try {
    terminal = ControllingTerminal.open('ask');
  } catch {
    throw nobodyHere(client, error, question.approvalId);
  }
  try {
    await answer(client, view, { terminal, signal });
    await begun(client, question.execId, signal);
  } catch (refused) {
    // Interrupted: the caller is gone, so the approval is withdrawn.
    if (signal.aborted) await withdraw(client, question.execId);
    if (!(refused instanceof PromptCancelledError)) throw refused;
    await withdraw(client, question.execId);
    const message = `Cannot run the command: you did not approve it (${question.approvalId})`;
    throw new TrlError('APPROVAL_DENIED', message, { cause: refused });
  }
  return question.execId;
}

/** What cannot be withdrawn any more has ended, or its runtime has. */
async function withdraw(client: Client, id: ExecId): Promise<void> {
  await client.cancel({ exec_id: id }).catch(() => {});
}

/** A runtime of this command's own ends with it: then nobody could ever answer. */
function nobodyHere(client: Client, error: unknown, id: string): TrlError {
  const message = error instanceof Error ? error.message : String(error);
  const [why = message] = message.split('. A person');
  const said = client.ownsDaemon
    ? `${why}. A person must decide, and there is no terminal to ask at; this runtime ends with ` +
      'its command, so start one with "trl serve", where the question can wait'
    : `${message}; answer with: trl approvals approve ${id}`;
  const data = isTrlError(error) ? error.data : null;
  return new TrlError('APPROVAL_REQUIRED', said, {
    cause: error,
    ...(data === null ? {} : { data }),
  });
}

async function answer(
  client: Client,
  view: ApprovalView,
  {
    terminal: opened,
    signal,
  }: { readonly terminal: ControllingTerminal; readonly signal: AbortSignal },
): Promise<void> {
  // Put back before anything runs, so that Ctrl-C is a signal again.
  using terminal = opened;
  const { enrolled } = await client.approvalStatus();
  terminal.write(`${approvalSummaryLines(view, terminal.columns).join('\n')}\n\n`);
  const approve = { ...approvalReference(view), decision: 'approve' } as const;
  if (!enrolled) {
    const said = await terminal.line('Run it? Type yes: ', signal);
    if (said.trim() !== 'yes') throw new PromptCancelledError();
    await client.decide(approve);
    await terminal.rest();
    return;
  }
  const prompt = 'Run it? Passphrase (empty: no): ';
  await withPassphrase(terminal, { prompt, signal }, (passphrase) =>
    client.decide({ ...approve, passphrase }),
  );
  await terminal.rest();
}

/** Waits from the approval to the start: the runtime compares the plan with the approved one. */
async function begun(client: Client, id: ExecId, signal: AbortSignal): Promise<void> {
  // A session that is busy may be so for long.
  for (let waitMs = pollMs; ; waitMs = Math.min(pollMsMax, waitMs * 2)) {
    signal.throwIfAborted();
    const { state, approval_id: asked } = await client.exec(id);
    if (state !== 'waiting') return;
    const pending = await client.approvals({ state: 'pending' });
    if (pending.some((view) => view.approval_id === asked)) {
      const message = `Cannot run the command: it changed since your yes (${asked ?? ''})`;
      throw new TrlError('APPROVAL_REQUIRED', message);
    }
    await sleep(waitMs, null, { signal });
  }
}
