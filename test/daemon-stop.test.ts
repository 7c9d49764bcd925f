// What ends with the runtime when somebody stops it, and what a crash leaves to the next one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, surroundings, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const skip = whyNoBox;
/** Of commands, after TERM. */
const stopMs = { TRL_STOP_MS: '300' };

/** Processes of the host with a text among their arguments. */
function withArgument(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const [, ...words] = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        return words.includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

const runnerDir = (home: string): string =>
  JSON.parse(readFileSync(path.join(home, 'state/trl/runner.json'), 'utf8')).dir;

let used = 0;
/** A number of seconds that no other command waits for. */
function ownSeconds(): string {
  used += 1;
  return `1000.${process.pid}${used}`;
}

/** A loop, a terminal, one that ignores TERM, and an idle session with a prepared sandbox. */
async function work(socketPath: string, root: string, term = "trap '' TERM; ") {
  using client = await raw(socketPath);
  const make = async (params: object): Promise<string> =>
    (await client.ask('session.create', { working_dir: root, ...params })).data.session_id;
  const session = await make({ name: 'build', shell: '/bin/bash' });
  const [loop, terminal, deaf, bare] = [ownSeconds(), ownSeconds(), ownSeconds(), ownSeconds()];
  const start = async (command: string, params: object): Promise<string> => {
    const answer: Json = await client.ask('exec.start', {
      session_id: session,
      command,
      ...params,
    });
    assert.equal(answer.ok, true, JSON.stringify(answer));
    return answer.data.exec_id;
  };
  const outside = await make({ name: 'outside', sandbox: 'none' });
  const ids = {
    loop: await start(`while :; do sleep ${loop}; done`, {}),
    terminal: await start(`sleep ${terminal}`, {
      pty: { columns: 80, rows: 24 },
      stdin_open: true,
    }),
    deaf: await start(`${term}while :; do sleep ${deaf}; done`, {}),
    bare: await start(`${term}while :; do sleep ${bare}; done`, { session_id: outside }),
  };
  await client.ask('exec.run', { session_id: await make({ name: 'idle' }), command: 'true' });
  const seconds = [loop, terminal, deaf, bare];
  await eventually('all of them run', () => seconds.every((one) => withArgument(one).length > 0));
  return { ids, seconds };
}

/** `trl daemon`, with a home of its own. */
function place() {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-stop-'));
  const root = path.join(home, 'work');
  mkdirSync(root);
  const env = { ...process.env, ...surroundings(home), ...stopMs, HOME: home };
  const daemon = (...args: string[]): { status: number | null; text: string } => {
    const options = { env, cwd: root, encoding: 'utf8', input: '' } as const;
    const { status, stdout, stderr } = spawnSync(trl, ['daemon', ...args], options);
    return { status, text: stdout + stderr };
  };
  const [socketPath, file] = ['run/trl.sock', 'state/trl/daemon.json'].map((name) =>
    path.join(home, name),
  );
  return { home, root, daemon, socketPath: socketPath ?? '', file: file ?? '' };
}

test('stop ends all that runs, names it, and leaves nothing', { skip }, async (t) => {
  const { home, root, daemon, socketPath } = place();
  t.after(() => {
    daemon('stop');
    rmSync(home, { recursive: true, force: true });
  });
  assert.equal(daemon('start', '--workspace-root', root).status, 0);
  const { ids, seconds } = await work(socketPath, root);
  const dir = runnerDir(home);
  const stopped = daemon('stop');
  assert.equal(stopped.status, 0, stopped.text);
  const left = seconds.filter((one) => withArgument(one).length > 0);
  assert.deepEqual(left, [], stopped.text);
  assert.deepEqual([withArgument(dir), existsSync(dir)], [[], false]);
  for (const [name, how] of Object.entries({ loop: 'ended', terminal: 'ended', deaf: 'killed' })) {
    const id = Object.entries(ids).find(([one]) => one === name)?.[1] ?? '';
    assert.match(stopped.text, new RegExp(`${how} ${id} in session "build": .*sleep`));
  }
  assert.match(stopped.text, new RegExp(`killed ${ids.bare} in session "outside": trap`));
  assert.match(stopped.text, /^trl: stopped$/m);
});

test('a runner that stands still is ended with all that it holds', { skip }, async () => {
  await using daemon = await startRuntime({ env: stopMs });
  const { seconds } = await work(daemon.socketPath, daemon.root);
  const dir = runnerDir(daemon.home);
  const [runner = 0] = withArgument(dir);
  process.kill(runner, 'SIGSTOP');
  await daemon.kill('SIGTERM');
  await eventually('nothing is left', () =>
    [dir, ...seconds].every((one) => withArgument(one).length === 0),
  );
  assert.match(daemon.log(), /killed x-[0-9a-f]+ in session "build"/);
});

test('without a sandbox too, KILL is told as what ended a command', { skip }, async () => {
  await using daemon = await startRuntime();
  await using session = await openSession(daemon.socketPath, {
    working_dir: daemon.root,
    sandbox: 'none',
  });
  // Its shim sees the shell end, and must not be quicker than the KILL for itself.
  const deaf = `trap '' TERM; sleep ${ownSeconds()} & wait`;
  const how: string[] = [];
  for (let round = 0; round < 12; round += 1) {
    const { signal, exit_code } = await session.run(deaf, { timeout_ms: 100, grace_ms: 0 });
    how.push(`${signal} ${exit_code}`);
  }
  assert.deepEqual([...new Set(how)], ['SIGKILL 124']);
});

test('nothing gets away by an environment and a session of its own', { skip }, async (t) => {
  const { home, root, daemon, socketPath } = place();
  t.after(() => {
    daemon('stop');
    rmSync(home, { recursive: true, force: true });
  });
  assert.equal(daemon('start', '--workspace-root', root).status, 0);
  const params = { working_dir: root, sandbox: 'none' };
  await using session = await openSession(socketPath, params);
  const away = (seconds: string): string =>
    `env -i setsid -f sh -c 'trap "" HUP; (sleep ${seconds} &); sleep ${seconds}' >&- 2>&-`;
  const over = ownSeconds();
  const { ended_background: ended } = await session.run(`${away(over)}; true`, { grace_ms: 100 });
  assert.deepEqual([withArgument(over), ended > 0], [[], true], 'its command is over');
  const left = (seconds: string) => () => withArgument(seconds).length === 0;
  const runs = (seconds: string) => () => withArgument(seconds).length > 1;
  const lost = ownSeconds();
  await session.start(`${away(lost)}; sleep 1000`);
  await eventually('it runs', runs(lost));
  for (const pid of withArgument(runnerDir(home))) process.kill(pid, 'SIGKILL');
  await eventually('it ends with the runner', left(lost));
  const stopped = ownSeconds();
  await session.start(`${away(stopped)}; sleep 1000`);
  await eventually('it runs', runs(stopped));
  assert.equal(daemon('stop').status, 0);
  assert.deepEqual(withArgument(stopped), []);
});

test('a second signal kills at once what the first one asked to end', { skip }, async () => {
  await using daemon = await startRuntime({ env: { TRL_STOP_MS: '20000' } });
  const { seconds } = await work(daemon.socketPath, daemon.root);
  const begun = Date.now();
  const ended = daemon.kill('SIGTERM');
  const again = setInterval(() => process.kill(daemon.pid, 'SIGTERM'), 300);
  await ended.finally(() => clearInterval(again));
  assert.ok(Date.now() - begun < 20_000, 'it waited for what ignores TERM');
  assert.deepEqual(
    seconds.filter((one) => withArgument(one).length > 0),
    [],
  );
});

test('what a crash left is taken over, or ended by stop', { skip }, async (t) => {
  const { home, root, daemon, socketPath, file } = place();
  t.after(() => {
    daemon('stop');
    rmSync(home, { recursive: true, force: true });
  });
  assert.equal(daemon('start', '--workspace-root', root).status, 0);
  const { ids, seconds } = await work(socketPath, root, '');
  const crash = (): void => {
    process.kill(JSON.parse(readFileSync(file, 'utf8')).pid, 'SIGKILL');
  };
  crash();
  await eventually('it is gone', () => daemon('status').status === 3);
  assert.equal(daemon('start', '--workspace-root', root).status, 0);
  {
    using client = await raw(socketPath);
    const { data } = await client.ask('exec.info', { exec_id: ids.loop });
    assert.equal(data.state, 'running');
  }
  const kept = daemon('stop', '--keep-running');
  assert.equal(kept.status, 0, kept.text);
  assert.match(kept.text, new RegExp(`runs on: ${ids.loop} in session "build"`));
  assert.ok(seconds.every((one) => withArgument(one).length > 0));
  assert.equal(daemon('status').status, 3);
  const dir = runnerDir(home);
  const stopped = daemon('stop');
  assert.match(stopped.text, /it does not run; what an earlier one left running was ended/);
  assert.deepEqual(
    [dir, ...seconds].filter((one) => withArgument(one).length > 0),
    [],
  );
});
