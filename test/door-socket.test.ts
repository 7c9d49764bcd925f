// The socket itself: who may connect, what is replaced, how the daemon leaves.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync } from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { connectLocal } from '../src/local/index.ts';
import { locateSocket } from '../src/protocol/socket-location.ts';
import { newSession, raw, shareRuntime, startRuntime, surroundings } from './support/daemon.ts';
import { eventually } from './support/processes.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');

/** Tries to start a daemon that cannot start; answers its exit code and standard error. */
function tryToServe(home: string, socketPath: string): { status: number | null; text: string } {
  const result = spawnSync(trl, ['serve', '--socket-path', socketPath], {
    env: { ...process.env, ...surroundings(home), XDG_STATE_HOME: path.join(home, 'state2') },
    encoding: 'utf8',
    timeout: 240_000,
  });
  return { status: result.status, text: result.stderr };
}

test('a client of the first protocol starts the daemon by its socket path alone', async () => {
  await using daemon = await startRuntime({ args: ['--socket-path', '{socket}'] });
  using client = await raw(daemon.socketPath);
  assert.equal((await client.ask('system.ping')).ok, true);
});

test('without a path the socket is in the runtime directory of the user', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  const socketPath = path.join(home, 'run', 'trl.sock');
  const args = ['serve', '--workspace-root', '{root}'];
  await using daemon = await startRuntime({ home, socketPath, args });
  using client = await raw(daemon.socketPath);
  assert.equal((await client.ask('system.ping')).ok, true);
});

test('the places of a socket, from the most to the least explicit', () => {
  const uid = 1_000;
  const env = { XDG_RUNTIME_DIR: '/run/user/1000', TRL_SOCKET_PATH: '/a/b.sock' };
  assert.deepEqual(locateSocket({ flag: '/tmp/claw.sock', env, uid }), {
    path: '/tmp/claw.sock',
    directory: 'any',
  });
  assert.deepEqual(locateSocket({ env, uid }), { path: '/a/b.sock', directory: 'any' });
  assert.deepEqual(locateSocket({ env: { ...env, TRL_SOCKET_PATH: '' }, uid }), {
    path: '/run/user/1000/trl.sock',
    directory: 'private',
  });
  for (const directory of ['', 'relative', undefined]) {
    assert.deepEqual(locateSocket({ env: { XDG_RUNTIME_DIR: directory }, uid }), {
      path: '/tmp/trl-1000/trl.sock',
      directory: 'private',
    });
  }
});

test('a missing directory is made for the owner alone', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  const socketPath = path.join(home, 'a', 'b', 'trl.sock');
  await using daemon = await startRuntime({ home, socketPath });
  for (const directory of [path.join(home, 'a'), path.join(home, 'a', 'b')]) {
    assert.equal(lstatSync(directory).mode & 0o777, 0o700);
  }
  assert.equal(lstatSync(daemon.socketPath).mode & 0o777, 0o600);
});

/** Of two tests; the second kills it. */
const shared = shareRuntime();

test('only its owner may connect; a second daemon is refused, the first works on', async () => {
  const daemon = await shared();
  assert.equal(lstatSync(daemon.socketPath).mode & 0o777, 0o600);
  const { status, text } = tryToServe(daemon.home, daemon.socketPath);
  assert.equal(status, 125);
  assert.match(text, /another runtime answers on/);
  using client = await raw(daemon.socketPath);
  assert.equal((await client.ask('system.ping')).ok, true);
});

test('the socket of a daemon that was killed is replaced', async () => {
  const first = await shared();
  await first.kill();
  assert.ok(existsSync(first.socketPath), 'a killed daemon leaves its socket');
  await using second = await startRuntime({ home: first.home });
  using client = await raw(second.socketPath);
  assert.equal((await client.ask('system.ping')).ok, true);
});

test('what is no socket, is too long, or lies in a shared directory is refused', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  const file = path.join(home, 'precious');
  writeFileSync(file, 'data');
  const onFile = tryToServe(home, file);
  assert.equal(onFile.status, 125);
  assert.match(onFile.text, /something else than a socket is there/);
  assert.ok(lstatSync(file).isFile());
  const long = tryToServe(home, path.join(home, 'x'.repeat(120)));
  assert.deepEqual([long.status, /a socket's may be 107/.test(long.text)], [125, true]);
  const env = surroundings(home);
  chmodSync(path.join(home, 'run'), 0o755);
  const open = spawnSync(trl, ['serve'], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 240_000,
  });
  assert.equal(open.status, 125);
  assert.match(open.stderr, /is open to others \(mode 755, wanted 700\)/);
  rmSync(home, { recursive: true, force: true });
});

test('a daemon that is told to end answers what runs, removes its socket and leaves', async () => {
  const daemon = await startRuntime();
  using client = await raw(daemon.socketPath);
  const session = await newSession(client);
  const params = { session_id: session, command: 'echo begun; sleep 300' };
  await client.ask('exec.stream', params);
  assert.equal((await client.json()).data, 'begun\n');
  process.kill(daemon.pid, 'SIGTERM');
  await client.ended();
  await eventually('the socket is gone', () => !existsSync(daemon.socketPath));
  await daemon.stop();
});

test('standard input and output are a connection too', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  const result = spawnSync(trl, ['stdio'], {
    input: '{"id":"1","method":"system.ping"}\n{"id":"2","method":"nope"}\n',
    env: { ...process.env, ...surroundings(home) },
    encoding: 'utf8',
    timeout: 240_000,
  });
  const answers = result.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    answers.map(({ id, ok }) => [id, ok]),
    [
      ['1', true],
      ['2', false],
    ],
  );
  assert.equal(result.status, 0);
  rmSync(home, { recursive: true, force: true });
});

/** A directory as `/tmp` is, with the socket of a runtime in it. */
function asTmp(home: string): string {
  const directory = path.join(home, 'shared');
  mkdirSync(directory);
  chmodSync(directory, 0o1777);
  return directory;
}

const python = (file: string): { readonly code: string } => {
  const program = `
import trl
try: print(trl.connect(${JSON.stringify(file)}).ping()["version"] and "connected")
except trl.TrlError as error: print(error.code)`;
  const env = { ...process.env, PYTHONPATH: path.join(path.dirname(trl), 'clients/python') };
  const { stdout } = spawnSync('python3', ['-B', '-c', program], { env, encoding: 'utf8' });
  return { code: stdout.trim() };
};
const hasPython = spawnSync('python3', ['--version']).status === 0;

test('in a directory of all users only an own socket is trusted, and no link', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  const directory = asTmp(home);
  const own = path.join(directory, 'trl.sock');
  await using daemon = await startRuntime({ home, socketPath: own });
  const version = async (socketPath: string): Promise<string> => {
    await using client = await connectLocal({ socketPath });
    return typeof (await client.ping()).version;
  };
  assert.equal(await version(own), 'string', 'as clients of the first protocol have it');
  if (hasPython) assert.equal(python(own).code, 'connected');
  const link = path.join(directory, 'link.sock');
  symlinkSync(own, link);
  const refused = { code: 'AUTH_FAILED', message: /is a link in a directory that everybody/ };
  await assert.rejects(version(link), refused);
  if (hasPython) assert.equal(python(link).code, 'AUTH_FAILED');
  const onLink = tryToServe(daemon.home, link);
  assert.deepEqual([onLink.status, /it is a link/.test(onLink.text)], [125, true], onLink.text);
  assert.ok(lstatSync(link).isSymbolicLink());
  if (process.getuid?.() !== 0) return;
  const others = path.join(directory, 'others.sock');
  const server = createServer().listen(others);
  try {
    await once(server, 'listening');
    chownSync(others, 12_345, 12_345);
    await assert.rejects(version(others), { code: 'AUTH_FAILED', message: /belongs to uid 12345/ });
    if (hasPython) assert.equal(python(others).code, 'AUTH_FAILED');
    const onOthers = tryToServe(daemon.home, others);
    assert.deepEqual([onOthers.status, /uid 12345/.test(onOthers.text)], [125, true]);
    assert.equal(lstatSync(others).uid, 12_345);
  } finally {
    server.close();
  }
});
