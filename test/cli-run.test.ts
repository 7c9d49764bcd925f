// `./trl` as a person or a script uses it, against a daemon of its own or a running one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
let home: string;
let daemon: Daemon;
before(async () => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-cli-')));
  mkdirSync(path.join(home, 'work'));
  daemon = await startRuntime();
});
after(async () => {
  await daemon.stop();
  rmSync(home, { recursive: true, force: true });
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
interface How {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Called with the process and what it wrote so far, at each output. */
  readonly onOutput?: (kill: (signal: NodeJS.Signals) => void, stdout: string) => void;
}

/** Without a running daemon, unless `env` names one. */
async function run(args: readonly string[], how: How = {}): Promise<Ran> {
  const child = spawn(trl, args, {
    cwd: how.cwd ?? path.join(home, 'work'),
    env: { ...process.env, ...surroundings(home), ...how.env },
    stdio: [how.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(how.input);
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    how.onOutput?.((signal) => child.kill(signal), stdout);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

/** With the running daemon. */
const runThere = (args: readonly string[], how: How = {}): Promise<Ran> =>
  run(args, { cwd: daemon.root, ...how, env: { TRL_SOCKET_PATH: daemon.socketPath } });

for (const [where, trlRun] of [
  ['an own daemon', run],
  ['a running daemon', runThere],
] as const) {
  test(`standard outputs and exit code are the command's (${where})`, async () => {
    const ran = await trlRun(['run', 'echo out; echo err >&2; exit 3']);
    assert.deepEqual([ran.code, ran.stdout, ran.stderr.split('\n')[0]], [3, 'out\n', 'err']);
  });

  test(`input that is piped reaches the command (${where})`, async () => {
    const input = 'x'.repeat(1_500_000);
    const ran = await trlRun(['run', 'wc -c'], { input });
    assert.deepEqual([ran.code, ran.stdout.trim()], [0, '1500000']);
  });
}

test('--json answers the receipt in one line', async () => {
  const ran = await runThere(['run', '--json', 'printf out; exit 9']);
  assert.equal(ran.code, 9);
  assert.match(ran.stdout, /^[^\n]+\n$/);
  const { stdout, exit_code: code, timed_out: late } = JSON.parse(ran.stdout);
  assert.deepEqual([stdout, code, late], ['out', 9, false]);
});

test('an argument list reaches the command as it is', async () => {
  const ran = await runThere([
    'run',
    '--',
    'printf',
    String.raw`%s\n`,
    'a  b',
    '$HOME',
    "it's",
    '*',
  ]);
  assert.equal(ran.stdout, "a  b\n$HOME\nit's\n*\n");
});

test('exit codes tell a time-out, a missing program, a signal', async () => {
  const late = await runThere(['run', '--timeout', '300ms', 'echo begun; sleep 60']);
  assert.deepEqual([late.code, late.stdout], [124, 'begun\n']);
  assert.equal((await runThere(['run', 'no-such-program-here'])).code, 127);
  assert.equal((await runThere(['run', 'kill -9 $$'])).code, 137);
});

test('a runtime that refuses is exit code 126, with the code on standard error', async () => {
  const ran = await runThere(['run', '--json', 'true'], { cwd: home });
  assert.equal(ran.code, 126);
  assert.match(ran.stderr, /^trl: .* \[WORKSPACE_ESCAPE\]\n$/);
  assert.equal(JSON.parse(ran.stdout).error.code, 'WORKSPACE_ESCAPE');
});

test('an interruption ends the command and exits with 130', async () => {
  const ran = await runThere(['run', 'trap "echo ended; exit" TERM; echo begun; sleep 60 & wait'], {
    onOutput: (kill, stdout) => stdout === 'begun\n' && kill('SIGINT'),
  });
  assert.deepEqual([ran.code, ran.stdout], [130, 'begun\nended\n']);
});

test('a reader that goes away ends the command', async () => {
  const child = spawn('bash', ['-c', `set -o pipefail; "${trl}" run yes | head -n 1`], {
    cwd: path.join(home, 'work'),
    env: { ...process.env, ...surroundings(home) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  assert.equal(code, 141);
});

test('a session carries its directory, is found by name and ends when told', async () => {
  const created = await runThere(['session', 'create', '--name', 'carry']);
  assert.match(created.stdout, /^s-[0-9a-f]{32}\n$/);
  mkdirSync(path.join(daemon.root, 'inner'), { recursive: true });
  await runThere(['run', '--session', 'carry', 'cd inner; export FROM_BEFORE=yes']);
  const next = await runThere(['run', '--session', 'carry', 'basename "$PWD"; echo $FROM_BEFORE']);
  assert.equal(next.stdout, 'inner\nyes\n');
  const listed = await runThere(['session', 'list', '--json']);
  const names = JSON.parse(listed.stdout).sessions.map((view: { name: string }) => view.name);
  assert.ok(names.includes('carry'));
  assert.equal((await runThere(['session', 'destroy', 'carry'])).code, 0);
  const gone = await runThere(['run', '--session', 'carry', 'true']);
  assert.equal(gone.code, 125);
  assert.match(gone.stderr, /none is called "carry" \[SESSION_NOT_FOUND\]/);
});

test('a temporary session of a running daemon is gone afterwards', async () => {
  await runThere(['run', 'true']);
  const { stdout } = await runThere(['session', 'list', '--json']);
  const open = JSON.parse(stdout).sessions.filter(
    (view: { state: string }) => view.state !== 'terminated',
  );
  assert.deepEqual(open, []);
});

test('a started command is listed, followed, read, written to and cancelled', async () => {
  const session = (await runThere(['session', 'create'])).stdout.trim();
  const begin = ['exec', 'start', '--session', session];
  const echo = (await runThere([...begin, '--stdin', '--', 'cat'])).stdout.trim();
  assert.match(echo, /^x-[0-9a-f]{32}$/);
  await runThere(['exec', 'write', echo, 'hello ']);
  await runThere(['exec', 'write', '--eof', echo, 'there']);
  assert.deepEqual(await runThere(['exec', 'attach', echo]), {
    code: 0,
    stdout: 'hello there',
    stderr: '',
  });
  assert.equal((await runThere(['exec', 'read', '--from', '6', echo])).stdout, 'there');
  const sleeping = (await runThere([...begin, 'sleep 60'])).stdout.trim();
  const listed = await runThere(['exec', 'list', '--session', session]);
  assert.match(listed.stdout, new RegExp(`${sleeping}  running .* sleep 60`));
  assert.equal((await runThere(['exec', 'cancel', sleeping])).code, 0);
  assert.equal((await runThere(['exec', 'attach', sleeping])).code, 143);
  assert.equal((await runThere(['session', 'destroy', '--force', session])).code, 0);
});

test('a directory that is not there is a sentence, before anything is started', async () => {
  const ran = await run(['run', '--cwd', '/nonexistent', 'true']);
  assert.equal(ran.code, 125);
  assert.match(ran.stderr, /^trl: Cannot use --cwd "\/nonexistent": .* \[INVALID_PARAMS\]\n$/);
});

test('--cwd is the workspace of an own daemon', async () => {
  const cwd = path.join(home, 'elsewhere');
  mkdirSync(cwd);
  writeFileSync(path.join(cwd, 'here'), '');
  assert.equal((await run(['run', '--cwd', cwd, 'ls'])).stdout, 'here\n');
});

test('the doctor names every check, and what is missing how to get it', async () => {
  const ran = await run(['doctor', '--json']);
  const { healthy, checks } = JSON.parse(ran.stdout);
  assert.equal(ran.code, healthy ? 0 : 1);
  const names = checks.map(({ name }: { name: string }) => name);
  assert.ok(['node', 'bwrap', 'user namespaces', 'sandbox'].every((name) => names.includes(name)));
});
