/** `trl secrets …`: names of secrets; a value comes in from a person and never out. */
import type { Client } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { exitInterrupted, Interrupts } from './interrupts.ts';
import { asPerson } from './passphrase.ts';
import { Left } from './terminal.ts';
import { parseDuration, durationWanted } from './units.ts';
import { findSession, reach } from './reach.ts';
import { only } from './session.ts';
import { say, sayJson, sayTable } from './show.ts';
import { visible } from './visible.ts';

export async function list(args: Args): Promise<number> {
  await using client = await reach(args);
  const answer = await client.call('secrets.list', {});
  if (args.has('json')) {
    sayJson(answer);
    return 0;
  }
  const rows = answer.secrets.map(({ name, source, origin, last_used: used }) => [
    name,
    source,
    visible(origin ?? '-'),
    used ?? 'never',
  ]);
  sayTable(['SECRET', 'SOURCE', 'ORIGIN', 'LAST USED'], rows);
  for (const { problem } of answer.problems) say(problem);
  return 0;
}

/** Exit code 0 when a command could have it, as far as is known before it is read; else 1. */
export async function check(args: Args): Promise<number> {
  const name = only(args, 'secrets check');
  await using client = await reach(args);
  const answer = await client.call('secrets.check', { name });
  const isReady = answer.state === 'ready' || answer.state === 'unread';
  if (args.has('json')) {
    sayJson(answer);
    return isReady ? 0 : 1;
  }
  const { state, source, origin, expires_at: expires, problem } = answer;
  const rows = [
    ['state', state],
    ['source', [source, origin].filter((part) => part !== null).join(' ') || '-'],
    ['read again at', expires ?? '-'],
  ];
  sayTable(['SECRET', visible(name)], rows);
  if (problem !== null) say(problem);
  return isReady ? 0 : 1;
}

/** Exit code 0 when it is there, 1 while nobody gave it. */
export async function request(args: Args): Promise<number> {
  const name = only(args, 'secrets request');
  const reason = args.text('reason');
  if (reason === undefined || reason.trim() === '') {
    throw usage('secrets request', 'say what it is for, with --reason TEXT');
  }
  const waitMs = args.read('wait', parseDuration, durationWanted);
  await using client = await reach(args);
  const answer = await client.call('secrets.request', {
    name,
    reason,
    ...(waitMs === undefined ? {} : { wait_ms: waitMs }),
  });
  const isReady = answer.state === 'ready';
  if (args.has('json')) sayJson(answer);
  else if (isReady) say(`${name} is there`);
  else if (answer.state === 'refused') say(`nobody gave ${name}`);
  else say(`a person can give it until ${answer.expires_at ?? ''}: trl secrets set ${name}`);
  return isReady ? 0 : 1;
}

export async function requests(args: Args): Promise<number> {
  await using client = await reach(args);
  const answer = await client.call('secrets.requests', {});
  if (args.has('json')) {
    sayJson(answer);
    return 0;
  }
  const rows = answer.requests.map(({ name, requester, expires_at: expires, reason }) => [
    name,
    visible(requester),
    expires,
    visible(reason),
  ]);
  sayTable(['SECRET', 'REQUESTER', 'EXPIRES', 'REASON'], rows);
  return 0;
}

export async function inject(args: Args): Promise<number> {
  if (args.words.length === 0) throw usage('secrets inject', 'which ones? see: trl secrets list');
  await using client = await reach(args);
  const session = await findSession(client, sessionWord(args, 'secrets inject'));
  const answer = await client.call('secrets.inject', {
    session_id: session.id,
    names: args.words,
  });
  if (args.has('json')) sayJson(answer);
  else say(`each command of ${session.id} gets: ${answer.names.join(', ')}`);
  return 0;
}

/** With a session: takes an injection back. Without: forgets the value that is held. */
export async function remove(args: Args): Promise<number> {
  const name = only(args, 'secrets delete');
  const word = args.text('session');
  await using client = await reach(args);
  const session = word === undefined ? null : await findSession(client, word);
  const answer =
    session === null
      ? await forget(client, name)
      : await client.call('secrets.delete', { name, session_id: session.id });
  if (answer === null) return exitInterrupted;
  if (args.has('json')) sayJson(answer);
  else if (session !== null) say(`${session.id} has ${name} no more`);
  else if (answer.remains === null) say(`${name} is forgotten`);
  else say(`the value of ${name} is forgotten; its source (${answer.remains}) still has it`);
  return 0;
}

/** `null`: the person left the prompt. */
async function forget(client: Client, name: string) {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  try {
    return await asPerson(client, signal, (proof) =>
      client.call('secrets.delete', { name, ...proof }),
    );
  } catch (error) {
    if (!(error instanceof Left) && !signal.aborted) throw error;
    say('nothing was deleted');
    return null;
  }
}

function sessionWord(args: Args, verb: string): string {
  const word = args.text('session');
  if (word !== undefined) return word;
  throw new TrlError('INVALID_PARAMS', `Cannot run "trl ${verb}": name a session with --session`);
}
