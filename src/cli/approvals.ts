/** `trl approvals …`: what waits for a person, and the person's answers. */
import { homedir, userInfo } from 'node:os';
import { Enrolment, enrolmentFiles } from '../approval/enrolment.ts';
import type { ApprovalDecideParams, ApprovalView, Client } from '../client/index.ts';
import { approvalStates } from '../command.ts';
import { TrlError } from '../errors.ts';
import { approvalDetailLines, approvalOutcomeLine, approvalReference } from './approval-text.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { recordCliAction } from './audit-read.ts';
import {
  Interrupts,
  cancellable,
  interruptedExitCode,
  readPassphraseFromStdin,
  withPassphrase,
} from './interrupts.ts';
import { escapeHiddenText, printJson, printMessage, printRows } from './print.ts';
import { connectRuntime, findSessionByWord } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

const states = [...approvalStates, 'all'] as const;
/** 128 and the number of SIGINT, as for every program that Ctrl-C ends. */

export async function runApprovalsList(args: CliArguments): Promise<number> {
  const state = args.oneOf('state', states) ?? 'pending';
  await using client = await connectRuntime(args);
  const word = args.text('session');
  const session = word === undefined ? undefined : await findSessionByWord(client, word);
  const approvals = await client.approvals({
    ...(state === 'all' ? {} : { state }),
    ...(session === undefined ? {} : { session_id: session.id }),
  });
  const rows = approvals.map((view) => [
    view.approval_id,
    view.state,
    view.expires_at,
    escapeHiddenText(view.asked.cwd),
    // The last column, and never cut: what is not read is not answered.
    escapeHiddenText(view.asked.command),
  ]);
  return printRows(
    args,
    { approvals },
    ['APPROVAL', 'STATE', 'EXPIRES', 'DIRECTORY', 'COMMAND'],
    rows,
  );
}

export async function runApprovalsShow(args: CliArguments): Promise<number> {
  const word = requireSingleWord(args, 'approvals show');
  await using client = await connectRuntime(args);
  const view = await find(client, word, 'show');
  if (args.has('json')) {
    printJson(view);
  } else {
    const columns = process.stdout.columns ?? 100;
    process.stdout.write(`${approvalDetailLines(view, columns).join('\n')}\n`);
  }
  return 0;
}

export async function runApprovalsApprove(args: CliArguments): Promise<number> {
  return decide(args, 'approve');
}

export async function runApprovalsDeny(args: CliArguments): Promise<number> {
  return decide(args, 'deny');
}

async function decide(args: CliArguments, decision: 'approve' | 'deny'): Promise<number> {
  const verb = `approvals ${decision}`;
  const word = requireSingleWord(args, verb);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  const view = await find(client, word, decision);
  if (view.state !== 'pending') {
    const message = `Cannot ${decision} ${view.approval_id}: it is ${view.state}`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  const params = { ...answerOf(args, decision), ...approvalReference(view) };
  return await cancellable(interrupts, 'nothing was decided', async () => {
    const decided = args.has('passphrase-stdin')
      ? await decideFromStdin(client, params)
      : await decideAtTerminal(client, view, { params, signal });
    if (args.has('json')) printJson(decided);
    else printMessage(approvalOutcomeLine(decided));
    return 0;
  });
}

function answerOf(args: CliArguments, decision: 'approve' | 'deny') {
  const words = args.text('message');
  return {
    decision,
    ...scopeOf(args),
    ...(words === undefined ? {} : { words }),
  };
}

/** @throws TrlError INVALID_PARAMS for both */
function scopeOf(args: CliArguments): Pick<ApprovalDecideParams, 'scope'> {
  const [session, project] = [args.has('for-session'), args.has('for-project')];
  if (session && project) throw usageError('approvals approve', '--for-session or --for-project');
  return session ? { scope: 'session' } : project ? { scope: 'project' } : {};
}

async function decideFromStdin(
  client: Client,
  params: ApprovalDecideParams,
): Promise<ApprovalView> {
  return client.decide({ ...params, passphrase: await readPassphraseFromStdin('approvals') });
}

async function decideAtTerminal(
  client: Client,
  view: ApprovalView,
  { params, signal }: { readonly params: ApprovalDecideParams; readonly signal: AbortSignal },
): Promise<ApprovalView> {
  using terminal = ControllingTerminal.open(`${params.decision} without --passphrase-stdin`);
  const { enrolled } = await client.approvalStatus();
  terminal.write(`${approvalDetailLines(view, terminal.columns).join('\n')}\n\n`);
  const { scope: chosen = 'once' } = params;
  const scope = chosen === 'once' ? '' : ` for this ${chosen}`;
  const what = params.decision === 'approve' ? `Approve${scope}` : 'Deny';
  if (!enrolled) {
    const key = await terminal.line(`${what}? Nobody is enrolled. Type yes: `, signal);
    if (key.trim() !== 'yes') throw new PromptCancelledError();
    return client.decide(params);
  }
  return await withPassphrase(terminal, { prompt: `${what}? Passphrase: `, signal }, (passphrase) =>
    client.decide({ ...params, passphrase }),
  );
}

/**
 * The approval that `word` begins the id of, with or without `a-`; those that wait go first.
 *
 * @throws TrlError INVALID_PARAMS when there is none, or several
 */
async function find(client: Client, word: string, verb: string): Promise<ApprovalView> {
  const start = word.startsWith('a-') ? word : `a-${word}`;
  if (!/^a-[0-9a-f]{1,32}$/.test(start)) {
    throw usageError(`approvals ${verb}`, `"${word}" is no a-… id; see: trl approvals list`);
  }
  const all = await client.approvals();
  const named = all.filter(({ approval_id: id }) => id.startsWith(start));
  const pending = named.filter(({ state }) => state === 'pending');
  const found = pending.length > 0 ? pending : named;
  const [view] = found;
  if (view === undefined || found.length > 1) {
    const reason =
      found.length === 0 ? 'there is none' : `it begins ${found.length} ids; write more of it`;
    throw new TrlError('INVALID_PARAMS', `Cannot find approval ${start}: ${reason}`);
  }
  return view;
}

// `trl approvals enroll`: sets the passphrase that proves a person. It speaks to no daemon and
// takes the passphrase from the terminal only: an agent could do everything else, too.

export async function runApprovalsEnroll(): Promise<number> {
  const places = enrolmentFiles(process.env, homedir());
  const enrolment = new Enrolment(places);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  try {
    using terminal = ControllingTerminal.open('enroll');
    const known = enrolment.approver();
    const old = known === null ? null : await terminal.secret('Passphrase so far: ', signal);
    // Checked before the person thinks up a new one.
    if (old !== null && !(await enrolment.verify(old))) {
      printMessage('the passphrase is wrong; nothing was changed');
      return 125;
    }
    const first = await terminal.secret('New passphrase, 8 characters or more: ', signal);
    const second = await terminal.secret('The same again: ', signal);
    if (first !== second) {
      printMessage('they differ; nothing was changed');
      return 125;
    }
    const approver = userInfo().username;
    // Who may approve is policy, so the change is on disk before it takes effect.
    const data = { method: 'approvals.enroll', approver, replaces: known };
    await recordCliAction('approvals enroll', { kind: 'call.requested', data });
    await enrolment.enrol(approver, first, old);
  } catch (error) {
    if (!(error instanceof PromptCancelledError) && !signal.aborted) throw error;
    printMessage('nothing was changed');
    return interrupts.exitCode ?? interruptedExitCode;
  }
  printMessage(`enrolled; decisions need this passphrase from now on (${places.file})`);
  return 0;
}
