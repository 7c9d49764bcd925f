/** `trl session …`. */
import type { SessionView } from '../client/index.ts';
import { quoteWord } from '../quote.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { execParams, sessionParams } from './options.ts';
import { printAnswer, printJson, printLines, printRows, printTable } from './print.ts';
import { relayCommand, terminalSize } from './relay.ts';
import { workingDirectory } from './run.ts';
import { connectRuntime, findSessionByWord, trustProjectOf } from './runtime-connection.ts';
import { askAtTerminal } from './terminal-approval.ts';

export async function runSessionCreate(args: CliArguments): Promise<number> {
  const cwd = workingDirectory(args);
  const params = { ...sessionParams(args, cwd), ...execParams(args) };
  await using client = await connectRuntime(args);
  if (params.working_dir !== undefined) await trustProjectOf(client, cwd);
  const session = await client.createSession(params);
  return printAnswer(args, await session.info(), () => printLines([session.id]));
}

export async function runSessionList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const sessions = await client.sessions();
  const rows = sessions.map((view) => [
    view.session_id,
    view.name ?? '',
    view.state,
    view.last_activity,
    view.working_dir,
  ]);
  return printRows(
    args,
    { sessions },
    ['SESSION', 'NAME', 'STATE', 'LAST ACTIVITY', 'DIRECTORY'],
    rows,
  );
}

export async function runSessionInfo(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const view = await (
    await findSessionByWord(client, requireSingleWord(args, 'session info'))
  ).info();
  return printAnswer(args, view, () => printTable(['FIELD', 'VALUE'], rowsOf(view)));
}

export async function runSessionDestroy(args: CliArguments): Promise<number> {
  if (args.words.length === 0) {
    throw usageError('session destroy', 'which session? see: trl session list');
  }
  await using client = await connectRuntime(args);
  const destroyed: string[] = [];
  for (const word of args.words) {
    const session = await findSessionByWord(client, word);
    await session.destroy({ force: args.has('force') });
    destroyed.push(session.id);
  }
  if (args.has('json')) {
    printJson({ destroyed });
  }
  return 0;
}

/** An interactive shell beside the session's commands; it ends with this terminal. */
export async function runSessionAttach(args: CliArguments): Promise<number> {
  using interrupts = new Interrupts();
  await using client = await connectRuntime(args, { signal: interrupts.signal });
  const session = await findSessionByWord(client, requireSingleWord(args, 'session attach'));
  const view = await session.info();
  const shell = quoteWord(view.shell_resolved ?? view.shell);
  const execId = await session
    .start(`${shell} -i`, {
      pty: terminalSize(),
      stdin_open: true,
      env: { TERM: process.env['TERM'] ?? 'dumb' },
    })
    .catch((error: unknown) => askAtTerminal(client, error, interrupts.signal));
  await using stream = client.attach(execId, { cancelOnAbort: true });
  return await relayCommand(client, stream, interrupts, {
    json: args.has('json'),
    raw: args.has('raw'),
    quiet: true,
    stdin: true,
    pty: true,
    cancels: true,
  });
}

/** The word of a verb that takes exactly one; `list` is the verb of its group that lists them. */
export function requireSingleWord(args: CliArguments, verb: string, list = 'list'): string {
  const [word, unwanted] = args.words;
  if (word === undefined) {
    throw usageError(verb, `which one? see: trl ${verb.split(' ')[0]} ${list}`);
  }
  if (unwanted !== undefined) {
    throw usageError(verb, `it takes one word, got "${unwanted}" too`);
  }
  return word;
}

/** What a person looks for; `--json` has all of it. */
function rowsOf({ assurance, environment, ...view }: SessionView): string[][] {
  const rows = { ...view, ...levelOf(assurance), ...(environment && tiersOf(environment)) };
  return Object.entries(rows).map(([name, value]) => [
    name,
    (Array.isArray(value) ? value.join(', ') : String(value ?? '')) || '-',
  ]);
}

function levelOf(assurance: SessionView['assurance']): Record<string, unknown> {
  if (assurance === null) return { assurance: 'known after the first command' };
  const lacks = assurance.checks.flatMap(({ name, enforced }) => (enforced ? [] : [name]));
  return { assurance: assurance.level, ...(lacks.length === 0 ? {} : { not_enforced: lacks }) };
}

function tiersOf(environment: NonNullable<SessionView['environment']>): Record<string, unknown> {
  const { mode, requested, ...tiers } = environment;
  const told = Object.entries(tiers).filter(([, names]) => names.length > 0);
  const named = requested.map(({ name, source }) => `${name} (${source})`);
  return {
    environment: mode,
    ...Object.fromEntries(told),
    ...(named.length === 0 ? {} : { requested: named }),
  };
}
