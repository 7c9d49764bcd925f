// `trl run` and a question: what is interrupted leaves no question behind, and nothing runs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, surroundings, type Daemon, type Json } from './support/daemon.ts';
import { busy, decide, ended, guarded, guardedSession, parked, pending } from './support/parked.ts';
import { person, whyNoTerminal } from './support/pty.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const skip = whyNoBox === false ? whyNoTerminal : whyNoBox;

let daemon: Daemon;
let env: Record<string, string>;
before(async () => {
  if (skip !== false) return;
  daemon = await startRuntime(guarded);
  env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
});
after(async () => {
  if (skip === false) await daemon.stop();
});

const call = async (method: string, params: object = {}): Promise<Json> => {
  using client = await raw(daemon.socketPath);
  return (await client.ask(method, params)).data;
};
const made = (name: string): boolean => existsSync(path.join(daemon.root, name));
const children = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
const shell = (command: string) =>
  person(['-c', `cd ${daemon.root}; ${command}; echo code $?`], env, { file: '/bin/sh' });

test('a signal at the question withdraws it, and its session goes', { skip }, async () => {
  for (const [end, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['\x03', 126],
  ] as const) {
    using sh = shell(`"${trl}" run -- touch never`);
    await sh.sees('Type yes:');
    const [question] = await pending(daemon, 1);
    if (end === '\x03') sh.types(end);
    else for (const child of children(sh.pid)) process.kill(child, end);
    await sh.sees(`code ${code}`);
    const { state } = await call('approval.get', { approval_id: question.approval_id });
    assert.equal(state, 'cancelled', end);
    assert.deepEqual((await call('session.list')).sessions, []);
  }
  assert.equal(made('never'), false);
});

test('Ctrl-C after the yes, while the session is busy, runs nothing', { skip }, async () => {
  await using session = await guardedSession(daemon);
  using sh = person(['run', '--session', session.id, '--', 'touch late'], env);
  await sh.sees('Type yes:');
  const free = await busy(daemon, session);
  const [question] = await pending(daemon, 1);
  sh.types('yes\r');
  for (;;) {
    const { state } = await call('approval.get', { approval_id: question.approval_id });
    if (state !== 'pending') break;
  }
  sh.types('\x03');
  assert.equal(await sh.left(), 130);
  await free();
  const { state } = await call('approval.get', { approval_id: question.approval_id });
  assert.equal(state, 'cancelled');
  assert.equal(made('late'), false);
});

test('without a terminal the answer is one line of JSON, and waits', { skip }, async () => {
  const args = ['-w', trl, 'run', '--json', '--', 'touch', 'later'];
  const options = { env: { ...process.env, ...env }, cwd: daemon.root, encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync('setsid', args, { ...options, input: '' });
  assert.equal(status, 125);
  const { error, data } = JSON.parse(stdout);
  assert.equal(error.code, 'APPROVAL_REQUIRED');
  await decide(daemon, data.approval_id);
  assert.equal((await ended(daemon, data.exec_id)).exit_code, 0);
  assert.ok(made('later'));
});

test('a directory with a name that imitates lines is shown behind bars', { skip }, async () => {
  const name = `a${' '.repeat(90)}Command, foreground, sh, in w:${' '.repeat(60)}  │ ls`;
  const cwd = path.join(daemon.root, name);
  mkdirSync(cwd);
  await using session = await guardedSession(daemon, { working_dir: cwd });
  const { approval_id: id, exec_id: execId } = await parked(session, 'touch hidden');
  using cli = person(['approvals', 'approve', id], env, { columns: 80 });
  await cli.sees('Type yes:');
  const lines = cli.shown().split('\n');
  // The parts of this program's own that are longer hold nothing of others.
  assert.ok(lines.every((line) => line.length <= 80 || !line.includes('Command')));
  assert.equal(lines.filter((line) => line.startsWith('Command, ')).length, 1);
  cli.types('\x03');
  await cli.left();
  await call('exec.cancel', { exec_id: execId });
});
