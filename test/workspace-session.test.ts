// Workspaces through a real daemon: what commands change is told, kept, applied, held, taken back.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { shareRuntime, startRuntime, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const corner = shareRuntime();

async function workspace(
  params: object = {},
): Promise<{ dir: string; session: TestSession; socketPath: string } & AsyncDisposable> {
  const { root: dir, socketPath } = await corner();
  const session = await openSession(socketPath, { working_dir: dir, ...params });
  return { dir, session, socketPath, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

async function ended({ client }: TestSession, id: string): Promise<void> {
  const state = async (): Promise<string> =>
    (await client.ask('exec.info', { exec_id: id })).data.state;
  await eventually('its end', async () => (await state()) === 'exited');
}

const told = (receipt: Json): string[] =>
  receipt.changes.map((one: Json) => `${one.kind} ${one.path} ${one.state}`);

test('a receipt tells what a command changed, and the real tree has it', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  writeFileSync(path.join(dir, 'a'), 'old\n');
  writeFileSync(path.join(dir, 'gone'), 'x');
  const receipt = await session.run('echo new > a; echo b > b; rm gone');
  assert.deepEqual(told(receipt), [
    'modified a applied',
    'added b applied',
    'deleted gone applied',
  ]);
  assert.equal(readFileSync(path.join(dir, 'a'), 'utf8'), 'new\n');
  assert.equal(existsSync(path.join(dir, 'gone')), false);
  assert.notEqual(receipt.snapshot.before, receipt.snapshot.after);
  const undone = await session.client.ask('exec.undo', { exec_id: receipt.exec_id });
  assert.equal(undone.data.totals.restored, 3, JSON.stringify(undone));
  assert.equal(readFileSync(path.join(dir, 'a'), 'utf8'), 'old\n');
  assert.equal(readFileSync(path.join(dir, 'gone'), 'utf8'), 'x');
  assert.equal(existsSync(path.join(dir, 'b')), false);
});

test('what a second writer does between two commands is seen, and kept', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const file = path.join(dir, 'f');
  writeFileSync(file, 'one\n');
  assert.equal((await session.run('cat f; cat later 2>/dev/null')).stdout, 'one\n');
  writeFileSync(`${file}.tmp`, 'two\n');
  renameSync(`${file}.tmp`, file);
  writeFileSync(path.join(dir, 'later'), 'here\n');
  assert.equal((await session.run('cat f later')).stdout, 'two\nhere\n');
  await session.run('echo three >> f');
  assert.equal(readFileSync(file, 'utf8'), 'two\nthree\n');
  rmSync(path.join(dir, 'later'));
  assert.equal((await session.run('ls')).stdout, 'f\n');
  await session.run('echo four >> f; echo x > later');
  assert.equal(readFileSync(file, 'utf8'), 'two\nthree\nfour\n');
});

test('staged changes wait until they are published, or thrown away', async () => {
  await using ws = await workspace({ workspace_mode: 'staged' });
  const { dir, session } = ws;
  writeFileSync(path.join(dir, 'a'), 'old\n');
  assert.deepEqual(told(await session.run('echo new > a; mkdir d; echo x > d/f')), [
    'modified a staged',
    'added d staged',
    'added d/f staged',
  ]);
  assert.equal(readFileSync(path.join(dir, 'a'), 'utf8'), 'old\n');
  assert.equal((await session.run('cat a d/f')).stdout, 'new\nx\n');
  const applied = await session.client.ask('workspace.apply', { session_id: session.id });
  assert.equal(applied.data.totals.applied, 3, JSON.stringify(applied));
  assert.equal(readFileSync(path.join(dir, 'd/f'), 'utf8'), 'x\n');
  await session.run('echo again > a');
  const gone = await session.client.ask('workspace.discard', { session_id: session.id });
  assert.equal(gone.data.totals.discarded, 1, JSON.stringify(gone));
  assert.equal((await session.run('cat a')).stdout, 'new\n');
});

test('what could run later is held until a person lets it through', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const receipt = await session.run('mkdir .vscode; echo {} > .vscode/tasks.json; echo ok > ok');
  assert.deepEqual(told(receipt), [
    'added .vscode held',
    'added .vscode/tasks.json held',
    'added ok applied',
  ]);
  assert.equal(existsSync(path.join(dir, '.vscode')), false);
  assert.equal((await session.run('cat .vscode/tasks.json')).stdout, '{}\n');
  const status = await session.client.ask('workspace.status', { session_id: session.id });
  const ask = { session_id: session.id, held: true, digest: status.data.held_digest };
  const applied = await session.client.ask('workspace.apply', ask);
  assert.equal(applied.data.totals.applied, 2, JSON.stringify(applied));
  assert.equal(existsSync(path.join(dir, '.vscode/tasks.json')), true);
});

test('a server keeps its open log and its directory while others are committed', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const server = await session.start(
    'mkdir -p logs; cd logs; exec 3>>log; echo start >&3; ' +
      'while [ ! -e stop ]; do sleep 0.05; done; echo end >&3; echo more > last',
  );
  while (!(await session.run('cat logs/log 2>/dev/null')).stdout.includes('start')) continue;
  const other = await session.run('echo x > beside');
  assert.ok(other.changes.every((one: Json) => one.concurrent_with.includes(server)));
  assert.equal(readFileSync(path.join(dir, 'logs/log'), 'utf8'), 'start\n');
  await session.run('touch logs/stop');
  await ended(session, server);
  await session.run('true');
  assert.equal(readFileSync(path.join(dir, 'logs/log'), 'utf8'), 'start\nend\n');
  assert.equal(readFileSync(path.join(dir, 'logs/last'), 'utf8'), 'more\n');
});

test('a denied path does not exist for commands, and what they put there stays out', async () => {
  const rules = { read: { deny: ['secret', '*.pem'] } };
  await using ws = await workspace();
  const { dir, session } = ws;
  const { client } = session;
  execFileSync('sh', ['-c', 'mkdir secret d; echo canary > secret/f; echo canary > d/k.pem'], {
    cwd: dir,
  });
  const opened = await client.ask('workspace.open', { path: dir, policy: rules });
  assert.equal(opened.ok, true, JSON.stringify(opened));
  const params = { workspace_id: opened.data.workspace_id };
  await using inner = await openSession(ws.socketPath, params);
  const seen = await inner.run('ls -R; cat secret/f d/k.pem; stat secret; find . -name "*.pem"');
  assert.equal(seen.stdout, '.:\nd\n\n./d:\n');
  const wrote = await inner.run(
    'mkdir secret; echo mine > secret/f; echo y > d/new.pem; echo z > z',
  );
  assert.deepEqual(told(wrote), [
    'added d/new.pem held',
    'added secret held',
    'added secret/f held',
    'added z applied',
  ]);
  assert.equal(readFileSync(path.join(dir, 'secret/f'), 'utf8'), 'canary\n');
  writeFileSync(path.join(dir, 'later.pem'), 'canary\n');
  assert.equal((await inner.run('cat later.pem; ls')).stdout, 'd\nsecret\nz\n');
});

test('a dry run sees what the session sees, tells what it did, and leaves nothing', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  writeFileSync(path.join(dir, 'a'), 'old\n');
  await session.run('echo waits > b', { workspace_mode: 'staged' });
  const dry = await session.run('cat b; echo new > a; rm b; mkdir d', {
    workspace_mode: 'discard',
  });
  assert.equal(dry.stdout, 'waits\n');
  assert.deepEqual(told(dry), ['modified a discarded', 'deleted b discarded', 'added d discarded']);
  assert.equal((await session.run('cat a b; ls')).stdout, 'old\nwaits\na\nb\n');
  assert.deepEqual(readdirSync(dir), ['a']);
});

test('what waits in the layer is not what policy looked at, so it asks', async () => {
  await using runtime = await startRuntime({ env: { TRL_POLICY: 'guarded' } });
  const dir = runtime.root;
  execFileSync('sh', ['-c', 'git init -q .; touch f; git add f'], { cwd: dir });
  const params = { working_dir: dir, workspace_mode: 'staged' };
  await using session = await openSession(runtime.socketPath, params);
  const decision = async (command: string): Promise<string> => {
    const { data } = await session.client.ask('policy.explain', {
      session_id: session.id,
      command,
    });
    return `${data.decision} ${data.rules[0]?.id}`;
  };
  assert.match(await decision('git status'), /^allow /);
  await using other = await openSession(runtime.socketPath, {
    working_dir: dir,
    policy: 'trusted',
  });
  const asked = await session.ask('git config core.fsmonitor ./evil');
  assert.equal(asked.error.code, 'APPROVAL_REQUIRED');
  const yes = { approval_id: asked.data.approval_id, decision: 'approve' };
  const { data } = await session.client.ask('approval.get', { approval_id: yes.approval_id });
  const answer = await other.client.ask('approval.decide', { ...yes, digest: data.digest });
  assert.equal(answer.ok, true, JSON.stringify(answer));
  await ended(session, asked.data.exec_id);
  assert.match(await decision('git status'), /^ask facts.layer/);
});

test('what somebody else makes of a committed file shows while a server runs', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const at = (name: string): string => path.join(dir, name);
  const server = await session.start(
    'exec 3>>log; echo 1 >&3; while [ ! -e stop ]; do sleep 0.05; done; echo 2 >&3',
  );
  await session.run('echo mine > saved; echo mine > gone; echo mine > edited');
  writeFileSync(at('saved.tmp'), 'theirs\n');
  renameSync(at('saved.tmp'), at('saved'));
  rmSync(at('gone'));
  writeFileSync(at('edited'), 'theirs\n');
  writeFileSync(at('log'), '');
  assert.equal(
    (await session.run('cat saved edited; ls')).stdout,
    'theirs\ntheirs\nedited\nlog\nsaved\n',
  );
  await session.run('echo more >> saved; touch stop');
  await ended(session, server);
  assert.equal(readFileSync(at('saved'), 'utf8'), 'theirs\nmore\n');
  assert.equal(readFileSync(at('log'), 'utf8'), '2\n');
});
