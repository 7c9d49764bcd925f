// What developers do all day, through a real daemon: nothing of it may end other than in a shell.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { raw, shareRuntime, startRuntime, surroundings, type Json } from './support/daemon.ts';
import { rounds } from './support/form.ts';
import { openSession, runUntil, type TestSession } from './support/session.ts';

const corner = shareRuntime();

async function workspace(): Promise<
  { dir: string; session: TestSession; socketPath: string } & AsyncDisposable
> {
  const { root: dir, socketPath } = await corner();
  const session = await openSession(socketPath, { working_dir: dir });
  return { dir, session, socketPath, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

const stateOf = (receipt: Json, name: string): string =>
  receipt.changes.find((one: Json) => one.path === name)?.state;

const states = (receipt: Json): string[] => [
  ...new Set<string>(receipt.changes.map((one: Json) => one.state)),
];

test('a directory goes whose entries went while the command still ran', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  mkdirSync(path.join(dir, 'old/below'), { recursive: true });
  for (const name of ['a', 'b', 'below/c']) writeFileSync(path.join(dir, 'old', name), name);
  await session.run('ls -R');
  const there = (name: string): boolean => existsSync(path.join(dir, name));
  const receipt = await runUntil(
    session,
    ws.socketPath,
    'rm old/a old/below/c; mkdir new; echo x > new/x; read _; rm -r old new',
    () => there('new/x') && !there('old/a') && !there('old/below/c'),
  );
  assert.deepEqual(states(receipt), ['applied'], JSON.stringify(receipt.changes));
  assert.deepEqual(readdirSync(dir), []);
  assert.equal((await session.run('ls')).stdout, '');
});

test('a repository that goes with its worktree goes whole', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const git = (cwd: string, ...args: string[]): Buffer => execFileSync('git', args, { cwd });
  git(dir, 'init', '-q', 'project');
  git(dir, 'init', '-q', '--bare', 'bare.git');
  git(dir, 'init', '-q', 'kept');
  writeFileSync(path.join(dir, 'project/file'), 'x');
  const receipt = await session.run('rm -rf project bare.git');
  assert.deepEqual(states(receipt), ['applied']);
  assert.deepEqual(readdirSync(dir), ['kept']);
  const part = await session.run('rm -rf kept/.git/hooks kept/.git/config');
  assert.equal(stateOf(part, 'kept/.git/config'), 'held');
  assert.equal(existsSync(path.join(dir, 'kept/.git/hooks')), true);
});

test('what others saved while no daemon was there is there for the next command', async () => {
  const runtime = await startRuntime();
  const { root, home } = runtime;
  const file = (name: string): string => path.join(root, name);
  const save = (name: string, text: string): void => {
    writeFileSync(file('.saving'), text);
    renameSync(file('.saving'), file(name));
  };
  for (const name of ['idle', 'busy']) save(name, 'old\n');
  const params = { working_dir: root };
  const idle = await openSession(runtime.socketPath, params);
  const busy = await openSession(runtime.socketPath, params);
  await idle.run('cat idle; ls later');
  await busy.run('cat busy; ls later');
  const server = await busy.start('while [ ! -e stop ]; do sleep 0.1; done');
  await runtime.kill();
  for (const name of ['idle', 'busy', 'later']) save(name, `saved ${name}\n`);
  await using again = await startRuntime({ home });
  const client = await raw(again.socketPath);
  const run = async (session_id: string, command: string): Promise<Json> =>
    (await client.ask('exec.run', { session_id, command })).data;
  assert.equal((await run(idle.id, 'cat idle later')).stdout, 'saved idle\nsaved later\n');
  assert.equal((await run(busy.id, 'cat busy later')).stdout, 'saved busy\nsaved later\n');
  await run(idle.id, 'echo more >> idle');
  await run(busy.id, 'echo more >> busy; touch stop');
  for (const name of ['idle', 'busy']) {
    assert.equal(readFileSync(file(name), 'utf8'), `saved ${name}\nmore\n`);
  }
  await client.ask('exec.wait', { exec_id: server });
  client.drop();
});

test('what cannot be recorded for want of room waits, and is not lost', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can mount a small file system');
  const state = mkdtempSync(path.join(tmpdir(), 'trl-small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=700', 'none', state]);
  const runtime = await startRuntime({ env: { XDG_STATE_HOME: state } });
  try {
    const { root } = runtime;
    const file = (name: string): string => path.join(root, name);
    writeFileSync(file('known'), 'old\n');
    const session = await openSession(runtime.socketPath, { working_dir: root });
    await session.run('cat known');
    const { bavail, bsize } = statfsSync(state);
    const roomBytes = 9_000_000;
    writeFileSync(path.join(state, 'filler'), Buffer.alloc(bavail * bsize - roomBytes, 'x'));
    // There is room for it once, but not for the copy of it that is to be kept.
    const command = 'head -c 6000000 /dev/urandom > big; echo new > known; echo x > small';
    const refused = await session.ask(command);
    assert.equal(refused.error?.code, 'BACKEND_UNAVAILABLE', JSON.stringify(refused));
    const { message } = refused.error;
    assert.ok(message.includes(`"${state}/`), message);
    assert.match(
      message,
      /no space is left on the disk.*free some.*pending in its session.*command ran.*code 0/,
    );
    assert.equal(refused.data?.exit_code, 0, JSON.stringify(refused));
    assert.deepEqual(readdirSync(root), ['known']);
    fillUp(path.join(state, 'filler'));
    const unstarted = await session.ask('echo never > known');
    assert.match(unstarted.error?.message, new RegExp(`"${state}/`), JSON.stringify(unstarted));
    assert.match(unstarted.error.message, /free some|so nothing runs/);
    assert.doesNotMatch(unstarted.error.message, /command ran/);
    rmSync(path.join(state, 'filler'));
    const { data } = await session.client.ask('workspace.status', { session_id: session.id });
    const waiting = data.staged.map((one: Json) => `${one.path} ${one.reason}`);
    const names = ['big', 'known', 'small'];
    assert.deepEqual(
      waiting,
      names.map((name) => `${name} not-recorded`),
    );
    const applied = await session.client.ask('workspace.apply', { session_id: session.id });
    assert.equal(applied.data?.totals.applied, 3, JSON.stringify(applied));
    assert.deepEqual(readdirSync(root), names);
    assert.equal(readFileSync(file('known'), 'utf8'), 'new\n');
    await session.run('echo more >> known');
    assert.equal(readFileSync(file('known'), 'utf8'), 'new\nmore\n');
    await session.destroy();
  } finally {
    await runtime.stop();
    execFileSync('umount', ['-l', state]);
    rmdirSync(state);
  }
  return undefined;
});

test('files keep their times, before 1970 as well', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const times = { past: '1960-01-02', first: '1970-01-01', future: '2040-01-02' };
  const made = Object.entries(times).map(([name, day]) => `touch -d ${day}T00:00Z ${name}`);
  await session.run(made.join('; '));
  for (const [name, day] of Object.entries(times)) {
    assert.equal(statSync(path.join(dir, name)).mtime.toISOString().slice(0, 10), day);
  }
  await session.run('touch -d 1961-02-03T00:00Z past');
  assert.equal(statSync(path.join(dir, 'past')).mtime.getUTCFullYear(), 1961);
});

test('a runtime that ends with its command ends without a word', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  try {
    const work = path.join(home, 'work');
    mkdirSync(work);
    const trl = path.join(path.dirname(import.meta.dirname), 'trl');
    const env = { ...process.env, ...surroundings(home) };
    // It ends while the layer is cleared: now and then before that is done.
    for (let time = 0; time < rounds(3, 12); time += 1) {
      const run = spawnSync(trl, ['run', '--quiet', 'echo x > x; rm x; date > y'], {
        cwd: work,
        env,
        encoding: 'utf8',
      });
      assert.deepEqual([run.status, run.stderr], [0, '']);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

/** Appends until the disk takes nothing more. */
function fillUp(file: string): void {
  for (const bytes of [64 * 1024, 1024]) {
    for (let pieces = 0; pieces < 1_000; pieces += 1) {
      try {
        appendFileSync(file, Buffer.alloc(bytes, 'x'));
      } catch {
        break;
      }
    }
  }
}
