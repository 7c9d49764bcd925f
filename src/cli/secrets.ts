/** `trl secrets …`: names of secrets; a value comes in from a person and never out. */
import type { Client } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { interruptedExitCode, Interrupts } from './interrupts.ts';
import { withPersonProof } from './passphrase.ts';
import { PromptCancelledError } from './terminal.ts';
import { parseDuration, durationFlagHint } from './units.ts';
import { findSessionByWord, connectRuntime } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { printMessage, printJson, printTable } from './print.ts';
import { escapeHiddenText } from './escape-text.ts';

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

/** Exit code 0 when a command could have it, as far as is known before it is read; else 1. */
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
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const rows = answer.requests.map(({ name, requester, expires_at: expires, reason }) => [
    name,
    escapeHiddenText(requester),
    expires,
    escapeHiddenText(reason),
  ]);
  printTable(['SECRET', 'REQUESTER', 'EXPIRES', 'REASON'], rows);
  return 0;
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
  if (args.has('json')) printJson(answer);
  else printMessage(`each command of ${session.id} gets: ${answer.names.join(', ')}`);
  return 0;
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
