/** `trl approvals …`: what waits for a person, and the person's answers. */
import type { ApprovalDecideParams, ApprovalView, Client } from '../client/index.ts';
import { approvalStates } from '../command.ts';
import { TrlError } from '../errors.ts';
import { detailsOf, outcomeOf, seen } from './approval-text.ts';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { exitInterrupted, Interrupts } from './interrupts.ts';
import { passphraseFromStdin, withPassphrase } from './passphrase.ts';
import { findSession, reach } from './reach.ts';
import { only } from './session.ts';
import { say, sayJson, sayTable } from './show.ts';
import { Left, Terminal } from './terminal.ts';
import { visible } from './visible.ts';

const states = [...approvalStates, 'all'] as const;
/** 128 and the number of SIGINT, as for every program that Ctrl-C ends. */

export async function list(args: Args): Promise<number> {
  const state = args.oneOf('state', states) ?? 'pending';
  await using client = await reach(args);
  const word = args.text('session');
  const session = word === undefined ? undefined : await findSession(client, word);
  const approvals = await client.approvals({
    ...(state === 'all' ? {} : { state }),
    ...(session === undefined ? {} : { session_id: session.id }),
  });
  if (args.has('json')) {
    sayJson({ approvals });
    return 0;
  }
  const rows = approvals.map((view) => [
    view.approval_id,
    view.state,
    view.expires_at,
    visible(view.asked.cwd),
    // The last column, and never cut: what is not read is not answered.
    visible(view.asked.command),
  ]);
  sayTable(['APPROVAL', 'STATE', 'EXPIRES', 'DIRECTORY', 'COMMAND'], rows);
  return 0;
}

export async function show(args: Args): Promise<number> {
  const word = only(args, 'approvals show');
  await using client = await reach(args);
  const view = await find(client, word, 'show');
  if (args.has('json')) {
    sayJson(view);
  } else {
    const columns = process.stdout.columns ?? 100;
    process.stdout.write(`${detailsOf(view, columns).join('\n')}\n`);
  }
  return 0;
}

export async function approve(args: Args): Promise<number> {
  return decide(args, 'approve');
}

export async function deny(args: Args): Promise<number> {
  return decide(args, 'deny');
}

async function decide(args: Args, decision: 'approve' | 'deny'): Promise<number> {
  const verb = `approvals ${decision}`;
  const word = only(args, verb);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await reach(args, { signal });
  const view = await find(client, word, decision);
  if (view.state !== 'pending') {
    const message = `Cannot ${decision} ${view.approval_id}: it is ${view.state}`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  const params = { ...answerOf(args, decision), ...seen(view) };
  try {
    const decided = args.has('passphrase-stdin')
      ? await decideFromStdin(client, params)
      : await decideAtTerminal(client, view, { params, signal });
    if (args.has('json')) sayJson(decided);
    else say(outcomeOf(decided));
    return 0;
  } catch (error) {
    if (!(error instanceof Left) && !signal.aborted) throw error;
    say('nothing was decided');
    return interrupts.exitCode ?? exitInterrupted;
  }
}

function answerOf(args: Args, decision: 'approve' | 'deny') {
  const words = args.text('message');
  return {
    decision,
    ...scopeOf(args),
    ...(words === undefined ? {} : { words }),
  };
}

/** @throws TrlError INVALID_PARAMS for both */
function scopeOf(args: Args): Pick<ApprovalDecideParams, 'scope'> {
  const [session, project] = [args.has('for-session'), args.has('for-project')];
  if (session && project) throw usage('approvals approve', '--for-session or --for-project');
  return session ? { scope: 'session' } : project ? { scope: 'project' } : {};
}

async function decideFromStdin(
  client: Client,
  params: ApprovalDecideParams,
): Promise<ApprovalView> {
  return client.decide({ ...params, passphrase: await passphraseFromStdin('approvals') });
}

async function decideAtTerminal(
  client: Client,
  view: ApprovalView,
  { params, signal }: { readonly params: ApprovalDecideParams; readonly signal: AbortSignal },
): Promise<ApprovalView> {
  using terminal = Terminal.open(`${params.decision} without --passphrase-stdin`);
  const { enrolled } = await client.approvalStatus();
  terminal.write(`${detailsOf(view, terminal.columns).join('\n')}\n\n`);
  const { scope: chosen = 'once' } = params;
  const scope = chosen === 'once' ? '' : ` for this ${chosen}`;
  const what = params.decision === 'approve' ? `Approve${scope}` : 'Deny';
  if (!enrolled) {
    const key = await terminal.line(`${what}? Nobody is enrolled. Type yes: `, signal);
    if (key.trim() !== 'yes') throw new Left();
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
    throw usage(`approvals ${verb}`, `"${word}" is no a-… id; see: trl approvals list`);
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
