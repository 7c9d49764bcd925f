/** `trl secrets …`: names of secrets; a value comes in from a person and never out. */
import type { Client } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { Interrupts, cancellable, interruptedExitCode, withPersonProof } from './interrupts.ts';
import {
  escapeHiddenText,
  printAnswer,
  printJson,
  printMessage,
  printRows,
  printTable,
} from './print.ts';
import { connectRuntime, findSessionByWord } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';
import { durationFlagHint, parseDuration } from './units.ts';

export async function runSecretsList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('secrets.list', {});
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const rows = answer.secrets.map(({ name, source, origin, last_used: used }) => [
    name,
    source,
    escapeHiddenText(origin ?? '-'),
    used ?? 'never',
  ]);
  printTable(['SECRET', 'SOURCE', 'ORIGIN', 'LAST USED'], rows);
  for (const { problem } of answer.problems) printMessage(problem);
  return 0;
}

/** Exit code 0 if a command could get it, as known before its value is read; otherwise 1. */
export async function runSecretsCheck(args: CliArguments): Promise<number> {
  const name = requireSingleWord(args, 'secrets check');
  await using client = await connectRuntime(args);
  const answer = await client.call('secrets.check', { name });
  const isReady = answer.state === 'ready' || answer.state === 'unread';
  if (args.has('json')) {
    printJson(answer);
    return isReady ? 0 : 1;
  }
  const { state, source, origin, expires_at: expires, problem } = answer;
  const rows = [
    ['state', state],
    ['source', [source, origin].filter((part) => part !== null).join(' ') || '-'],
    ['read again at', expires ?? '-'],
  ];
  printTable(['SECRET', escapeHiddenText(name)], rows);
  if (problem !== null) printMessage(problem);
  return isReady ? 0 : 1;
}

/** Exit code 0 when it is there, 1 while nobody gave it. */
export async function runSecretsRequest(args: CliArguments): Promise<number> {
  const name = requireSingleWord(args, 'secrets request');
  const reason = args.text('reason');
  if (reason === undefined || reason.trim() === '') {
    throw usageError('secrets request', 'say what it is for, with --reason TEXT');
  }
  const waitMs = args.read('wait', parseDuration, durationFlagHint);
  await using client = await connectRuntime(args);
  const answer = await client.call('secrets.request', {
    name,
    reason,
    ...(waitMs === undefined ? {} : { wait_ms: waitMs }),
  });
  const isReady = answer.state === 'ready';
  if (args.has('json')) printJson(answer);
  else if (isReady) printMessage(`${name} is there`);
  else if (answer.state === 'refused') printMessage(`nobody gave ${name}`);
  else {
    printMessage(`a person can give it until ${answer.expires_at ?? ''}: trl secrets set ${name}`);
  }
  return isReady ? 0 : 1;
}

export async function runSecretsRequests(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('secrets.requests', {});
  const rows = answer.requests.map(({ name, requester, expires_at: expires, reason }) => [
    name,
    escapeHiddenText(requester),
    expires,
    escapeHiddenText(reason),
  ]);
  return printRows(args, answer, ['SECRET', 'REQUESTER', 'EXPIRES', 'REASON'], rows);
}

export async function runSecretsInject(args: CliArguments): Promise<number> {
  if (args.words.length === 0) {
    throw usageError('secrets inject', 'which ones? see: trl secrets list');
  }
  await using client = await connectRuntime(args);
  const session = await findSessionByWord(client, sessionWord(args, 'secrets inject'));
  const answer = await client.call('secrets.inject', {
    session_id: session.id,
    names: args.words,
  });
  return printAnswer(args, answer, () =>
    printMessage(`each command of ${session.id} gets: ${answer.names.join(', ')}`),
  );
}

/** With a session: takes an injection back. Without: forgets the value that is held. */
export async function runSecretsDelete(args: CliArguments): Promise<number> {
  const name = requireSingleWord(args, 'secrets delete');
  const word = args.text('session');
  await using client = await connectRuntime(args);
  const session = word === undefined ? null : await findSessionByWord(client, word);
  const answer =
    session === null
      ? await forget(client, name)
      : await client.call('secrets.delete', { name, session_id: session.id });
  if (answer === null) return interruptedExitCode;
  if (args.has('json')) printJson(answer);
  else if (session !== null) printMessage(`${session.id} has ${name} no more`);
  else if (answer.remains === null) printMessage(`${name} is forgotten`);
  else {
    printMessage(`the value of ${name} is forgotten; its source (${answer.remains}) still has it`);
  }
  return 0;
}

/** `null`: the person left the prompt. */
async function forget(client: Client, name: string) {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  try {
    return await withPersonProof(client, signal, (proof) =>
      client.call('secrets.delete', { name, ...proof }),
    );
  } catch (error) {
    if (!(error instanceof PromptCancelledError) && !signal.aborted) throw error;
    printMessage('nothing was deleted');
    return null;
  }
}

function sessionWord(args: CliArguments, verb: string): string {
  const word = args.text('session');
  if (word !== undefined) return word;
  throw new TrlError('INVALID_PARAMS', `Cannot run "trl ${verb}": name a session with --session`);
}

// `trl secrets set NAME`: takes a value from a person at a terminal, or from a pipe. Never from an
// argument: every process of the host can read those, and shells write them down.

const verb = 'secrets set';
const valueBytesMax = 64 * 1_024;

export async function runSecretsSet(args: CliArguments): Promise<number> {
  const name = nameOf(args);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  return await cancellable(interrupts, 'nothing was kept', async () => {
    const value = args.has('stdin') ? await fromPipe() : await fromTerminal(name, signal);
    const answer = await withPersonProof(client, signal, (proof) =>
      client.call('secrets.set', { name, value, ...proof }),
    );
    if (args.has('json')) printJson(answer);
    else {
      printMessage(`${name} is kept in the memory of the runtime, until it ends or you delete it`);
    }
    if (answer.warning !== null) printMessage(answer.warning);
    return 0;
  });
}

/** The one word; what looks like a value beside it is not repeated in the refusal. */
function nameOf(args: CliArguments): string {
  const [name, ...others] = args.words;
  if (name === undefined) throw usageError(verb, 'which one? for example: trl secrets set API_KEY');
  const at = name.indexOf('=');
  if (others.length > 0 || at !== -1) {
    const said = at === -1 ? name : name.slice(0, at);
    throw usageError(
      verb,
      'a value is never an argument, since every process can read arguments and shells keep ' +
        `them; it was not used. Change it if it is real, and run: trl secrets set ${said}`,
    );
  }
  return name;
}

async function fromPipe(): Promise<string> {
  if (process.stdin.isTTY) {
    throw usageError(verb, '--stdin is for a pipe; without it the terminal is asked');
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const piece = Buffer.from(chunk);
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > valueBytesMax + 2) {
      throw usageError(verb, `it is larger than ${valueBytesMax} bytes`);
    }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return text.decode(Buffer.concat(pieces)).replace(/\r?\n$/, '');
  } catch {
    throw usageError(verb, 'it is not UTF-8 text');
  }
}

async function fromTerminal(name: string, signal: AbortSignal): Promise<string> {
  using terminal = ControllingTerminal.open('ask for a value without --stdin');
  const value = await terminal.secret(`Value of ${escapeHiddenText(name)} (not shown): `, signal);
  if (value === '') throw new PromptCancelledError();
  // Left alone, the other lines would go to the shell, and into its history.
  if (await terminal.hasMore()) {
    throw usageError(verb, 'several lines were given; a value of several lines comes by --stdin');
  }
  return value;
}
