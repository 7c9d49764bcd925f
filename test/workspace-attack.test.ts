// Commands that try to get something into the real tree that may not come by itself: in steps, by
// what was held before, by undoing, by what waits.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { startRuntime, type Json } from './support/daemon.ts';
import { openSession, type TestSession } from './support/session.ts';

async function workspace(
  params: object = {},
): Promise<{ dir: string; session: TestSession } & AsyncDisposable> {
  const runtime = await startRuntime();
  const session = await openSession(runtime.socketPath, { working_dir: runtime.root, ...params });
  return { dir: runtime.root, session, [Symbol.asyncDispose]: () => runtime.stop() };
}

const told = (receipt: Json): string[] =>
  receipt.changes.map((one: Json) => `${one.kind} ${one.path} ${one.state}`);
const evil = String.raw`printf "[core]\n fsmonitor=./x\n" > x/config`;
const skeleton = 'mkdir -p x/objects x/refs; echo "ref: refs/heads/main" > x/HEAD';

test('what was held is no precedent for what comes next', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  assert.deepEqual(told(await session.run('mkdir d; chmod 2777 d')), ['added d held']);
  assert.deepEqual(told(await session.run('chmod 2770 d; echo x > d/f')), [
    'mode d held',
    'added d/f held',
  ]);
  assert.deepEqual(told(await session.run('echo y > d/g; cat d/f')), ['added d/g held']);
  assert.equal((await session.run('cat d/f d/g')).stdout, 'x\ny\n');
  assert.equal(existsSync(path.join(dir, 'd')), false);
});

test('a repository that is staged in parts is judged as a whole', async () => {
  await using ws = await workspace({ workspace_mode: 'staged' });
  const { dir, session } = ws;
  const hook = 'echo ./x > x/hooks/pre-commit; chmod +x x/hooks/pre-commit';
  await session.run(`mkdir -p x/hooks; ${evil}; ${hook}`);
  await session.run(skeleton);
  const { data } = await session.client.ask('workspace.apply', { session_id: session.id });
  assert.deepEqual(
    data.held.map((one: Json) => `${one.path} ${one.reason}`),
    ['x/config new-repository', 'x/hooks/pre-commit new-repository'],
  );
  assert.equal(existsSync(path.join(dir, 'x/HEAD')), true);
  assert.equal(existsSync(path.join(dir, 'x/config')), false);
  assert.equal(existsSync(path.join(dir, 'x/hooks/pre-commit')), false);
});

test('an undo brings nothing that the real tree never had', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const config = path.join(dir, 'x/config');
  await session.run(`mkdir x; ${skeleton}; ${evil}`);
  assert.equal(existsSync(config), false);
  await session.run('rm x/HEAD');
  const harmless = await session.run(String.raw`printf "[core]\n bare=false\n" > x/config`);
  assert.deepEqual(told(harmless), ['modified x/config applied']);
  await session.run(skeleton);
  assert.equal(readFileSync(config, 'utf8'), '[core]\n bare=false\n');
  const { exec_id } = harmless;
  const undone = await session.client.ask('exec.undo', { exec_id });
  assert.equal(undone.data.totals.restored, 1, JSON.stringify(undone));
  assert.equal(existsSync(config), false);
});

test('what a running command had applied is taken back, though more of it was held', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const file = path.join(dir, 'f');
  await session.run('echo old > f');
  const receipt = await session.run('echo new > f; sleep 2.5; rm f; ln -s /etc f');
  assert.deepEqual(told(receipt), ['type f held']);
  assert.equal(readFileSync(file, 'utf8'), 'new\n');
  const undone = await session.client.ask('exec.undo', { exec_id: receipt.exec_id });
  assert.equal(undone.ok, true, JSON.stringify(undone));
  assert.equal(readFileSync(file, 'utf8'), 'old\n');
  assert.equal(statSync(file).isFile(), true);
});

test('files that are nothing but holes are not read, and hold nobody up', async () => {
  await using ws = await workspace();
  const { session } = ws;
  const receipt = await session.run('truncate -s 4T huge; truncate -s 1M small; echo x > z');
  assert.deepEqual(told(receipt), ['added huge held', 'added small held', 'added z held']);
  const [huge] = receipt.changes;
  assert.deepEqual(huge.marks, ['over-cap']);
  assert.deepEqual(told(await session.run('rm huge; echo y > z; touch small')), [
    'deleted huge applied',
    'metadata-only small applied',
    'modified z applied',
  ]);
});
