// What a person has to let through waits for them, also when the agent that made it is gone.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noOverlay } from './support/changes.ts';
import { raw, startRuntime, surroundings, type Daemon, type Json } from './support/daemon.ts';
import { callOf, mcpClient, nobody, stdioOf } from './support/mcp.ts';
import { eventually, processesNamed } from './support/processes.ts';
import { person, whyNoTerminal } from './support/pty.ts';
import { openSession } from './support/session.ts';

const skip = noOverlay() === false ? whyNoTerminal : noOverlay();
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime({ env: { TRL_SESSION_GONE_MS: '200' } });
});
after(() => daemon?.stop());

async function agent() {
  const client = mcpClient('2025-11-25', nobody());
  await client.connect(stdioOf(daemon));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

async function sessions(): Promise<Json[]> {
  using client = await raw(daemon.socketPath);
  return (await client.ask('session.list')).data.sessions;
}

async function run(client: Awaited<ReturnType<typeof agent>>, command: string): Promise<string> {
  return (await callOf(client, 'terminal', { command })).text;
}

test('held changes outlive an agent that ends, and one that is killed', { skip }, async () => {
  const env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
  await using first = await agent();
  assert.match(
    await run(first, 'mkdir .vscode; echo one >.vscode/tasks.json; echo free >free'),
    /held: /,
  );
  await first.close();
  await sleep(1_000);
  const [left] = await sessions();
  // The next one of the same program goes on in it.
  await using second = await agent();
  const add = 'cat .vscode/tasks.json; echo two >>.vscode/tasks.json';
  assert.match(await run(second, add), /one/);
  const served = new RegExp(`mcp --socket-path ${daemon.socketPath}`);
  for (const { pid } of processesNamed(served)) process.kill(pid, 'SIGKILL');
  await sleep(1_000);
  assert.deepEqual(
    (await sessions()).map(({ session_id: id }) => id),
    [left?.session_id],
  );
  // Who works in its view has what waits there, and nobody needs that one any more.
  const other = await openSession(daemon.socketPath, {
    working_dir: daemon.root,
    policy: 'auto',
  });
  assert.equal((await other.run('cat .vscode/tasks.json')).stdout, 'one\ntwo\n');
  await eventually('the session of the agent ends', async () => (await sessions()).length === 1);
  using applies = person(['workspace', 'apply', '--held', '--session', other.id], env);
  await applies.sees('Type yes');
  applies.types('yes\r');
  assert.equal(await applies.left(), 0);
  const file = path.join(daemon.root, '.vscode/tasks.json');
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
  await other.client.ask('session.destroy', { session_id: other.id });
  other.client.drop();
});

test('without them the sessions end with the agent', { skip }, async () => {
  await using client = await agent();
  await run(client, 'echo x >plain');
  await client.close();
  assert.ok(existsSync(path.join(daemon.root, 'plain')));
  await eventually('no session', async () => (await sessions()).length === 0);
});
