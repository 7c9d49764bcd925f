// A client within the daemon: the same wire, as the caller it was made for.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isTrlError } from '../src/client/index.ts';
import type { Client, FeedEvent } from '../src/client/index.ts';
import type { Caller } from '../src/command.ts';
import { createInProcessClient } from '../src/daemon/transport/in-process-client.ts';
import { whyNoBox } from './support/box.ts';
import { onSocket, startInside } from './support/inside.ts';
import type { Inside } from './support/inside.ts';

const skip = whyNoBox;
const timeout = 240_000;
let inside: Inside;
before(async () => {
  inside = await startInside();
});
after(() => inside[Symbol.asyncDispose]());

const agent = (name: string): Caller => ({
  actor: `token:${name}`,
  kind: 'agent',
  authenticatedBy: 'token',
  roles: ['agent'],
});
const open = (caller: Caller): Promise<Client> =>
  createInProcessClient({ runtime: inside.core, caller, version: '0.0.0', log: () => {} });

test('it runs, streams and is refused as any client', { skip, timeout }, async () => {
  await using client = await open(onSocket);
  await using session = await client.createSession({ working_dir: inside.root });
  const receipt = await session.run('echo out; echo err >&2; exit 3');
  assert.deepEqual([receipt.stdout, receipt.stderr, receipt.exit_code], ['out\n', 'err\n', 3]);
  let bytes = 0;
  for await (const event of session.stream('head -c 3000000 /dev/zero')) {
    if (event.type === 'output') bytes += event.bytes.length;
  }
  assert.equal(bytes, 3_000_000);
  const missing = client.call('exec.info', { exec_id: 'x-0' });
  await assert.rejects(missing, (error) => isTrlError(error, 'EXEC_NOT_FOUND'));
});

test('a reader that stops holds up nothing but its own stream', { skip, timeout }, async () => {
  await using client = await open(onSocket);
  await using session = await client.createSession({ working_dir: inside.root });
  const reader = session.stream('head -c 20000000 /dev/zero')[Symbol.asyncIterator]();
  await reader.next();
  await using other = await client.createSession({ working_dir: inside.root });
  assert.equal((await other.run('echo meanwhile')).stdout, 'meanwhile\n');
  let bytes = 0;
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
    if (next.value.type === 'output') bytes += next.value.bytes.length;
  }
  assert.ok(bytes > 19_000_000);
});

test('closing it ends its calls and connections, and no command', { skip, timeout }, async () => {
  const client = await open(onSocket);
  const session = await client.createSession({ working_dir: inside.root });
  const id = await session.start('sleep 30');
  const waiting = client.read({ exec_id: id, wait_ms: 60_000 });
  const refused = assert.rejects(waiting, /the client closed it/);
  await client.close();
  await refused;
  await assert.rejects(client.ping(), (error) => isTrlError(error, 'BACKEND_UNAVAILABLE'));
  await using next = await open(onSocket);
  assert.equal((await next.exec(id)).state, 'running');
  await next.session(session.id).destroy({ force: true });
});

test('an agent by token is told of its own alone, by the feed too', { skip, timeout }, async () => {
  await using mine = await open(agent('mine'));
  await using other = await open(agent('other'));
  const foreign = await other.createSession({ working_dir: inside.root, name: 'foreign' });
  await foreign.run('echo theirs');
  await other.call('secrets.request', { name: 'THEIR_TOKEN', reason: 'theirs' });
  const told: FeedEvent[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const event of mine.watch(stop.signal)) {
      told.push(event);
      if (event.kind === 'session-ended') stop.abort();
    }
  })().catch(() => {});
  const own = await mine.createSession({ working_dir: inside.root, name: 'own' });
  await own.run('echo ours');
  await foreign.destroy();
  await own.destroy();
  await reading;
  const text = JSON.stringify(told);
  assert.match(text, /"own"/);
  assert.match(text, /echo ours/);
  assert.doesNotMatch(text, /foreign|theirs|THEIR_TOKEN/);
  assert.doesNotMatch(text, new RegExp(foreign.id));
  await assert.rejects(mine.session(foreign.id).info(), (error) =>
    isTrlError(error, 'SESSION_NOT_FOUND'),
  );
});

test('a person takes a command over from the agent that has it', { skip, timeout }, async () => {
  await using mine = await open(agent('mine'));
  const session = await mine.createSession({ working_dir: inside.root });
  const id = await session.start('cat', { stdin_open: true });
  const lease = await mine.lease({ exec_id: id, action: 'take' });
  const eve: Caller = {
    actor: 'person:eve',
    kind: 'person',
    authenticatedBy: 'login',
    roles: ['approver'],
  };
  await using person = await open(eve);
  const taken = await person.lease({ exec_id: id, action: 'take' });
  assert.equal(taken.holder, 'person:eve');
  await assert.rejects(
    mine.write({ exec_id: id, data: 'mine\n', lease_id: lease.lease_id }),
    (error) => isTrlError(error, 'SESSION_BUSY') && error.message.includes('person:eve'),
  );
  await person.write({ exec_id: id, data: 'hers\n', lease_id: taken.lease_id });
  await person.lease({ exec_id: id, action: 'release', lease_id: taken.lease_id });
  await mine.write({ exec_id: id, data: 'mine\n', eof: true });
  assert.equal((await mine.attach(id).collect()).stdout, 'hers\nmine\n');
  await session.destroy({ force: true });
});
