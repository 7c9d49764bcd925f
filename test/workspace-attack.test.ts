// Commands that try to get something into the real tree that may not come by itself: in steps, by
// what was held before, by undoing, by what waits.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { raw, shareRuntime, startRuntime, type Json } from './support/daemon.ts';
import { openSession, runUntil, type TestSession } from './support/session.ts';

const corner = shareRuntime();

async function workspace(
  params: object = {},
): Promise<{ dir: string; session: TestSession; socketPath: string } & AsyncDisposable> {
  const { root: dir, socketPath } = await corner();
  const session = await openSession(socketPath, { working_dir: dir, ...params });
  return { dir, session, socketPath, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
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

const traps = [
  [
    'a repository was made of it',
    'x/config',
    `mkdir x; ${evil}`,
    String.raw`printf "[core]\n bare=false\n" > x/config`,
    skeleton,
    '',
  ],
  [
    'hooks lead to it',
    'x/pre-commit',
    'git init -q .; rm -rf .git/hooks; mkdir x; echo evil >x/pre-commit',
    'echo good >x/pre-commit',
    'true',
    'rm -rf .git/hooks; ln -s ../x .git/hooks',
  ],
] as const;
for (const [what, name, wrong, right, then, onHost] of traps) {
  test(`what was free is not undone where ${what} meanwhile`, async () => {
    await using ws = await workspace();
    const { dir, session } = ws;
    const file = path.join(dir, name);
    await session.run(wrong);
    const { exec_id } = await session.run(right);
    const good = readFileSync(file, 'utf8');
    await session.run(then);
    execFileSync('/bin/sh', ['-c', onHost], { cwd: dir });
    for (const more of [{ dry_run: true }, {}]) {
      const { data } = await session.client.ask('exec.undo', { exec_id, ...more });
      assert.equal(data.totals.restored, 0, JSON.stringify(data));
      assert.deepEqual(
        data.impossible.map(({ path: at, state }: Json) => [at, state]),
        [[name, 'held']],
      );
    }
    const list = await session.client.ask('snapshot.list', { session_id: session.id });
    const { before: id } = list.data.snapshots.find((one: Json) => one.exec_id === exec_id);
    const back = await session.client.ask('snapshot.restore', { id, paths: [name] });
    assert.equal(back.data.totals.restored, 0, JSON.stringify(back));
    assert.equal(readFileSync(file, 'utf8'), good);
  });
}

test('what a person let through is undone', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  await session.run('git init -q .');
  await session.run('git config core.pager ./x');
  const status = await session.client.ask('workspace.status', { session_id: session.id });
  const { held_digest: digest } = status.data;
  const applied = await session.client.ask('workspace.apply', {
    session_id: session.id,
    held: true,
    digest,
  });
  assert.equal(applied.ok, true, JSON.stringify(applied));
  const config = path.join(dir, '.git/config');
  assert.match(readFileSync(config, 'utf8'), /pager/);
  const list = await session.client.ask('snapshot.list', { session_id: session.id, limit: 1 });
  const [{ exec_id }] = list.data.snapshots;
  const undone = await session.client.ask('exec.undo', { exec_id });
  assert.equal(undone.data.totals.restored, 1, JSON.stringify(undone));
  assert.doesNotMatch(readFileSync(config, 'utf8'), /pager/);
});

test('what a running command had applied is taken back, though more of it was held', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const file = path.join(dir, 'f');
  await session.run('echo old > f');
  const command = 'echo new > f; read _; ln -sf /etc f';
  const isApplied = (): boolean => readFileSync(file, 'utf8') === 'new\n';
  const receipt = await runUntil(session, ws.socketPath, command, isApplied);
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

test('a directory with something hidden in it stays, and its session sees it gone', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  mkdirSync(path.join(dir, 'd'));
  writeFileSync(path.join(dir, 'd/k.pem'), 'canary');
  const policy = { read: { deny: ['*.pem'] } };
  const opened = await session.client.ask('workspace.open', { path: dir, policy });
  const params = { workspace_id: opened.data.workspace_id };
  await using inner = await openSession(ws.socketPath, params);
  assert.deepEqual(told(await inner.run('rm -r d')), ['deleted d held']);
  assert.equal((await inner.run('ls')).stdout, '');
  assert.equal(readFileSync(path.join(dir, 'd/k.pem'), 'utf8'), 'canary');
});

test('policy that hides a path hides what was recorded of it before', async () => {
  await using first = await startRuntime();
  const session = await openSession(first.socketPath, { working_dir: first.root });
  const { exec_id } = await session.run('echo canary > k.pem; echo 1 > f');
  session.client.drop();
  await first.kill('SIGTERM');
  const file = path.join(first.home, 'policy.yaml');
  const text = 'name: team\nbase: trusted\nfiles: { deny: ["*.pem"] }\n';
  writeFileSync(file, text, { mode: 0o600 });
  await using daemon = await startRuntime({ home: first.home, env: { TRL_POLICY: file } });
  const client = await raw(daemon.socketPath);
  const shown = await client.ask('snapshot.get', { exec_id });
  assert.deepEqual(
    shown.data.changes.map((one: Json) => one.path),
    ['f'],
  );
  const diff = await client.ask('workspace.diff', { exec_id });
  assert.equal(diff.ok, true, JSON.stringify(diff));
  assert.doesNotMatch(diff.data.diff, /canary|pem/);
  const undone = await client.ask('exec.undo', { exec_id });
  client.drop();
  assert.deepEqual(
    undone.data.restored.map((one: Json) => one.path),
    ['f'],
  );
  assert.equal(readFileSync(path.join(daemon.root, 'k.pem'), 'utf8'), 'canary\n');
});

test('what a command deletes while it is being applied does not come back', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const churn = `import os, time
end = time.time() + 4
while time.time() < end:
    os.mkdir('t')
    for n in range(100): os.close(os.open('t/%d' % n, os.O_CREAT | os.O_EXCL))
    time.sleep(0.02)
    for n in range(100): os.unlink('t/%d' % n)
    os.rmdir('t')
    time.sleep(0.02)`;
  const receipt = await session.run(`python3 -c "${churn}" && ls`);
  assert.equal(receipt.stderr, '');
  assert.equal(receipt.stdout, '');
  assert.deepEqual(told(receipt), []);
  assert.deepEqual(readdirSync(dir), []);
});
