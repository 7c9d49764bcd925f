// What a person at a terminal meets: the shell of a session, Ctrl-C, an end that is explained.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { person, whyNoTerminal } from './support/pty.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const skip = whyNoBox === false ? whyNoTerminal : whyNoBox;

let daemon: Daemon;
let env: Record<string, string>;
before(async () => {
  if (skip !== false) return;
  // The policy that `trl serve` begins with.
  daemon = await startRuntime({ env: { TRL_POLICY: 'auto' } });
  env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
});
after(async () => {
  if (skip === false) await daemon.stop();
});

const piped = (...args: string[]) => {
  const options = { cwd: daemon.root, env: { ...process.env, ...env }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(trl, args, { ...options, stdio: 'pipe' });
  return { status, stdout, stderr };
};
const at = (...args: string[]) => person(args, env);
const here = (): string[] => ['--cwd', daemon.root];

test('a session is entered under the policy that a runtime begins with', { skip }, async () => {
  const session = piped('session', 'create', '--policy', 'auto').stdout.trim();
  assert.equal(piped('run', '--session', session, 'export FRUIT=quince; mkdir d; cd d').status, 0);
  using shell = at('session', 'attach', session);
  await shell.sees('$ ');
  shell.types('echo "$FRUIT in ${PWD##*/}"\r');
  await shell.sees('quince in d');
  shell.types('exit 7\r');
  assert.equal(await shell.left(), 7);
});

test('the person is asked where policy wants it, and the shell opens', { skip }, async () => {
  const session = piped('session', 'create', '--policy', 'guarded').stdout.trim();
  using shell = at('session', 'attach', session);
  await shell.sees('bash -i');
  await shell.sees('Type yes:');
  shell.types('yes\r');
  await shell.sees('$ ');
  shell.types('exit\r');
  assert.equal(await shell.left(), 0);
});

test('the first Ctrl-C interrupts, as it does without a runtime', { skip }, async () => {
  using running = at(
    'run',
    ...here(),
    'trap "echo finishing; exit 3" INT; echo up; sleep 60 & wait',
  );
  await running.sees('up');
  running.types('\u0003');
  await running.sees('finishing');
  assert.equal(await running.left(), 130);
});

test('a command that does not care is ended by the second', { skip }, async () => {
  using running = at(
    'run',
    ...here(),
    'trap "echo no" INT TERM; echo up; while :; do sleep 1; done',
  );
  await running.sees('up');
  running.types('\u0003');
  await running.sees('no');
  running.types('\u0003');
  assert.equal(await running.left(), 130);
});

test('why the runtime ended a command is said, at a terminal or not', { skip }, () => {
  const ran = piped('run', '--timeout', '300ms', 'sleep 60');
  assert.equal(ran.status, 124);
  const said =
    /^trl: ended after [\d.]+ m?s: its time-out; --timeout TIME gives it longer; it had no /;
  assert.match(ran.stderr, said);
  assert.equal(piped('run', '--quiet', '--timeout', '300ms', 'sleep 60').stderr, '');
  assert.match(piped('run', '--idle-timeout', '300ms', 'sleep 60').stderr, /--idle-timeout allows/);
});

test('the start of an id is enough, where one begins so', { skip }, () => {
  const session = piped('session', 'create', ...here()).stdout.trim();
  const start = session.slice(0, 12);
  const ran = piped('run', '--json', '--session', start, 'echo plum > plum.txt; echo done');
  const id: string = JSON.parse(ran.stdout).exec_id;
  assert.match(piped('diff', id.slice(0, 14)).stdout, /^\+plum$/m);
  assert.equal(piped('exec', 'read', id.slice(0, 14)).stdout, 'done\n');
  assert.match(piped('snapshot', 'show', id.slice(0, 14)).stdout, /plum\.txt/);
  assert.equal(piped('undo', id.slice(0, 14)).status, 0);
  const twins = [1, 2].map(() => piped('session', 'create', '--name', 'twin').stdout.trim());
  const several = piped('session', 'info', 'twin');
  assert.equal(several.status, 125);
  assert.equal(twins.filter((twin) => several.stderr.includes(twin)).length, 2);
  const none = piped('undo', 'x-0000');
  assert.match(none.stderr, /no id begins with "x-0000" \[EXEC_NOT_FOUND\]\n$/);
  assert.match(piped('undo', 'x-').stderr, /EXEC_NOT_FOUND/);
  assert.match(piped('undo', 'x-0').stderr, /"x-0" is too short; give four digits/);
  const named = piped('session', 'create', '--name', 's-ace').stdout.trim();
  assert.match(piped('session', 'info', 's-ace').stdout, new RegExp(named));
});

test('a bound that ended a command is named', { skip }, () => {
  const cpu = piped('run', '--cpu', '1', 'while :; do :; done');
  assert.equal(cpu.status, 137);
  assert.match(cpu.stderr, /^trl: killed; it may have met its bound of 1 s of CPU time$/m);
  const file = piped('run', '--file-size', '4k', 'head -c 9000 /dev/zero >big');
  assert.equal(file.status, 153);
  assert.match(file.stderr, /^trl: it met its bound of 4096 bytes a file$/m);
  const narrow = piped('run', '--open-files', '8', 'ls | cat');
  assert.equal(narrow.status, 125);
  assert.match(
    narrow.stderr,
    /no shell starts within the bounds asked for\. .* 8: ask for more \[SANDBOX_UNAVAILABLE\]/,
  );
});
