// What an agent with the general tools tries under `auto`, by the official MCP client as it is
// installed: to reach other projects and people's programs, and to destroy what no undo has.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client as McpClient } from '@modelcontextprotocol/client';
import type { Client } from '../src/client/index.ts';
import { RemovedDirectories } from '../src/host/snapshot-stores.ts';
import { connectLocal } from '../src/local/index.ts';
import { SnapshotStore } from '../src/snapshot/store.ts';
import { type Daemon, type Json, startRuntime } from './support/daemon.ts';
import { callOf, mcpClient, nobody, stdioOf } from './support/mcp.ts';

const token = 'p7Gx2mQ9vK4tR8wZ';
let daemon: Daemon;
/** A person's own connection. */
let client: Client;
const agents: McpClient[] = [];
/** Projects with an agent each, which one program started. */
const [shop, bank] = ['shop', 'bank'].map((name) => {
  const within = (file: string): string => path.resolve(daemon.root, name, file);
  const call = (tool: string, args: Record<string, unknown>): Promise<Json> =>
    callOf(agents[name === 'shop' ? 0 : 1] ?? assert.fail(), tool, args);
  return { within, call, run: (command: string) => call('terminal', { command }) };
});
assert.ok(shop !== undefined && bank !== undefined);

before(async () => {
  daemon = await startRuntime({
    args: [
      'serve',
      '--socket-path={socket}',
      '--workspace-root={root}/shop',
      '--workspace-root={root}/bank',
    ],
    env: { DEPLOY_TOKEN: token, DB_LOGIN: `app ${token}` },
    prepare: (home) => {
      for (const name of ['shop', 'bank']) mkdirSync(path.join(home, 'work', name));
      return {};
    },
  });
  client = await connectLocal({ socketPath: daemon.socketPath });
  writeFileSync(bank.within('ledger'), 'of the bank\n');
  for (const { within } of [shop, bank]) {
    const agent = mcpClient('2025-11-25', nobody());
    await agent.connect(stdioOf(daemon, { cwd: within('.'), tools: 'general' }));
    agents.push(agent);
  }
});
after(async () => {
  for (const agent of agents) await agent.close();
  await client?.close();
  await daemon?.stop();
});

test('agents of one program in two projects are each in their own', async () => {
  const ran = await bank.run('cat ledger; export OF=bank');
  assert.equal(ran.stdout, 'of the bank\n');
  const other = await shop.run('pwd; cat ledger; echo "$OF"');
  assert.equal(other.stdout, `${shop.within('.')}\n\n`, JSON.stringify(other));
  assert.notEqual(other.session_id, ran.session_id);
});

test('an agent reaches no session or command but those of its conversation', async () => {
  const { session_id, exec_id } = await bank.call('terminal', { command: 'cat', background: true });
  await using own = await client.createSession({ working_dir: shop.within('.') });
  // What a person runs, in the project of the agent, beyond any sandbox.
  const shell = await own.start('cat', { stdin_open: true });
  const told = await shop.call('terminal_list', {});
  const listed = JSON.stringify([told.sessions, told.execs]);
  for (const id of [session_id, exec_id, own.id, shell]) assert.ok(!listed.includes(id), id);
  for (const [tool, args, code] of [
    ['terminal', { command: 'cat ledger', session_id }, 'SESSION_NOT_FOUND'],
    ['terminal', { command: 'pwd', session_id: own.id }, 'SESSION_NOT_FOUND'],
    ['terminal_input', { exec_id, data: 'x\n' }, 'EXEC_NOT_FOUND'],
    ['terminal_input', { exec_id: shell, data: 'rm -rf ~\n' }, 'EXEC_NOT_FOUND'],
    ['terminal_output', { exec_id }, 'EXEC_NOT_FOUND'],
    ['terminal_stop', { exec_id: shell }, 'EXEC_NOT_FOUND'],
    ['terminal_stop', { session_id }, 'SESSION_NOT_FOUND'],
    ['terminal_close', { session_id, force: true }, 'SESSION_NOT_FOUND'],
    ['terminal_list', { session_id }, 'SESSION_NOT_FOUND'],
    ['workspace_diff', { session_id }, 'SESSION_NOT_FOUND'],
    ['workspace_diff', { exec_id }, 'EXEC_NOT_FOUND'],
    ['publish_check', { kind: 'paths', paths: ['ledger'], session_id }, 'SESSION_NOT_FOUND'],
    ['secrets', { action: 'inject', name: 'X', session_id }, 'SESSION_NOT_FOUND'],
  ] as const) {
    const refused: Json = await shop.call(tool, args);
    assert.equal(refused.error?.code, code, `${tool} ${JSON.stringify(args)}`);
  }
  assert.equal((await client.exec(shell)).state, 'running');
  await client.cancel({ exec_id: shell });
  const kept = await bank.call('terminal_input', { exec_id, data: 'mine\n', eof: true });
  assert.equal(kept.bytes, 5);
  const read = await bank.call('terminal_output', { exec_id, wait_ms: 60_000 });
  assert.equal(read.output, 'mine\n');
});

test('what undo cannot bring back does not go from the project unasked', async () => {
  const MiB = 1024 * 1024;
  mkdirSync(shop.within('data'));
  // One is too large to keep, of the other too much is holes to be read.
  const sizes = { 'data/large': 257 * MiB, 'data/image': 2_048 * MiB };
  for (const [name, size] of Object.entries(sizes)) {
    writeFileSync(shop.within(name), '');
    truncateSync(shop.within(name), size);
  }
  writeFileSync(shop.within('data/small'), 'small\n');
  const emptied = await shop.run(': >data/large');
  assert.deepEqual(emptied.changes, ['modified data/large (held: no-undo)']);
  const removed = await shop.run('rm -r data');
  const held = ['deleted data', 'deleted data/image', 'deleted data/large'];
  assert.deepEqual(removed.changes, [
    ...held.map((one) => `${one} (held: no-undo)`),
    'deleted data/small',
  ]);
  for (const [name, size] of Object.entries(sizes)) {
    assert.equal(statSync(shop.within(name)).size, size);
  }
  // What a command made itself goes as it came.
  await shop.run('truncate -s 257M own');
  assert.equal(statSync(shop.within('own')).size, 257 * MiB);
  const gone = await shop.run('printf x >>own; rm own');
  assert.deepEqual(gone.changes, ['deleted own']);
  assert.ok(!existsSync(shop.within('own')));
});

test('an agent gets no secret unasked, for a command or for a session', async () => {
  // Whoever has it can print it in a form that nothing knows: redaction is no wall.
  const print = 'import os; print("".join(chr(ord(c) ^ 1) for c in os.environ["DEPLOY_TOKEN"]))';
  const command = `python3 -c '${print}'`;
  const asked = await shop.call('terminal', { command, env_keys: ['DEPLOY_TOKEN'] });
  assert.equal(asked.status, 'waiting', asked.text);
  assert.match(asked.text, /secret\.grant: gets the secret DEPLOY_TOKEN/);
  await shop.call('secrets', { action: 'inject', name: 'DEPLOY_TOKEN' });
  const later = await shop.run(command);
  assert.equal(later.status, 'waiting', later.text);
  await shop.call('secrets', { action: 'delete', name: 'DEPLOY_TOKEN' });
  assert.notEqual((await shop.run(command)).exit_code, 0);
});

test('nor a variable of the runtime, which may be a secret by another name', async () => {
  const command = 'echo "$DB_LOGIN"';
  const asked = await shop.call('terminal', { command, env_keys: ['DB_LOGIN'] });
  assert.equal(asked.status, 'waiting', asked.text);
  assert.match(asked.text, /environment\.grant: gets DB_LOGIN of the runtime's environment/);
});

test('who is asked about a command whose input stays open reads that more can come', async () => {
  const asked = await shop.call('terminal', { command: 'sh', network: true, background: true });
  assert.match(asked.text, /standard input stays open: what is written there .* needs no approval/);
});

test('what commands made and remove takes no room from what people made', () => {
  const directory = path.join(daemon.home, 'removed');
  mkdirSync(directory);
  const trees = new RemovedDirectories(directory, { has: () => true });
  const GiB = 2 ** 30;
  const keep = (name: string, bytes: number, isMade: boolean): string | null => {
    const at = trees.findSlot(directory, bytes, [name], isMade);
    if (at !== null) mkdirSync(path.join(directory, at.path));
    return at === null ? null : path.join(directory, at.path);
  };
  const own = keep('a', 3 * GiB, false);
  assert.ok(own !== null);
  for (const name of ['b', 'c', 'd']) assert.ok(keep(name, GiB, true) !== null, name);
  assert.equal(keep('e', 2 * GiB, true), null);
  assert.equal(keep('f', 2 * GiB, false), null);
  assert.ok(existsSync(own));
});

test('undo gives up what a command made before what it took from a person', async () => {
  const hash = (file: string): string =>
    createHash('sha256')
      .update(readFileSync(shop.within(file)))
      .digest('hex');
  writeFileSync(shop.within('mine'), randomBytes(300_000));
  await shop.run('head -c 300000 /dev/urandom >made');
  const [mine, made] = ['mine', 'made'].map(hash);
  assert.ok(mine !== undefined && made !== undefined);
  await shop.run('rm mine');
  await shop.run('rm made');
  for (const agent of agents.splice(0)) await agent.close();
  await client.close();
  await daemon.kill('SIGTERM');
  const place = path.join(daemon.home, 'state/trl/snapshots');
  const store = await SnapshotStore.open(path.join(place, '0/segments'), {
    key: readFileSync(path.join(place, 'key')),
    storeBytesMax: 600_000,
    fileBytesMax: 600_000,
    keepMs: 86_400_000,
    log: () => {},
  });
  await store.retain();
  assert.deepEqual([store.has(mine), store.has(made)], [true, false]);
  await store.close();
});
