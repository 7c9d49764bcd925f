// `trl approvals …` against a real daemon, at a real terminal.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { escapeHiddenText } from '../src/cli/print.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';
import { person, whyNoTerminal } from './support/pty.ts';
import { openSession } from './support/session.ts';
import type { TestSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const phrase = 'correct horse battery';

test('characters that hide or reorder text are shown by number', () => {
  const hidden = '\u202e\u200b\u00ad\u{e0041}\u2028\ufe0f\u3164\u00a0\u2800\r\x1b\x9b\ufeff';
  const shown = escapeHiddenText(`a${hidden}b é 漢 \u{1F600}`);
  assert.equal(
    shown,
    'a\\u{202E}\\u{200B}\\u{AD}\\u{E0041}\\u{2028}\\u{FE0F}\\u{3164}\\u{A0}\\u{2800}' +
      '\\u{D}\\u{1B}\\u{9B}\\u{FEFF}b é 漢 \u{1F600}',
  );
});

const skip = whyNoBox === false ? whyNoTerminal : whyNoBox;

let daemon: Daemon;
let session: TestSession;
let env: Record<string, string>;

before(async () => {
  if (skip !== false) return;
  daemon = await startRuntime({ env: { TRL_POLICY: 'guarded' } });
  env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
  session = await openSession(daemon.socketPath, { working_dir: daemon.root });
});
after(async () => {
  if (skip !== false) return;
  // Ends the session and its connection with it.
  await daemon.stop();
  session.client.drop();
});

/** Without a terminal, also where the tests have one. */
const piped = (input: string, ...args: string[]): { status: number | null; text: string } => {
  const options = { env: { ...process.env, ...env }, input, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync('setsid', ['-w', trl, ...args], options);
  return { status, text: stdout + stderr };
};
const parked = async (command: string): Promise<Json> => {
  const answer = await session.ask(command);
  assert.equal(answer.error?.code, 'APPROVAL_REQUIRED', JSON.stringify(answer));
  return answer.data;
};
const approval = async (id: string): Promise<Json> =>
  (await session.client.ask('approval.get', { approval_id: id })).data;
const ended = async (execId: string): Promise<Json> => {
  const stream = await session.client.ask('exec.attach', { exec_id: execId });
  assert.equal(stream.ok, true, JSON.stringify(stream));
  for (;;) {
    const event = await session.client.json();
    if (event.stream === 'exit') return event;
  }
};
const made = (name: string): boolean => existsSync(path.join(daemon.root, name));
const children = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
/** Whether the terminal echoes and reads lines, as a shell wants it. */
const restored = 'stty -a | grep -qw -- "-echo" && echo RAW || echo COOKED';

test('nobody is enrolled without a terminal, from a pipe neither', { skip }, () => {
  const { status, text } = piped(`${phrase}\n${phrase}\n`, 'approvals', 'enroll');
  assert.equal(status, 125, text);
  assert.match(text, /there is no terminal/);
  assert.equal(existsSync(path.join(daemon.home, 'config/trl/approver.json')), false);
});

test(
  'the passphrase is asked for twice, never shown, and the terminal put back',
  { skip },
  async () => {
    {
      using typo = person(['approvals', 'enroll'], env);
      await typo.sees('New passphrase');
      typo.types(`${phrase}\r`);
      await typo.sees('again');
      typo.types('something else\r');
      await typo.sees('they differ');
      assert.equal(await typo.left(), 125);
    }
    using sh = person(['-c', `"${trl}" approvals enroll; ${restored}`], env, { file: '/bin/sh' });
    await sh.sees('New passphrase');
    sh.types(`x\x7fwrong\x15${phrase}\r`);
    await sh.sees('again');
    sh.types(`${phrase}\r`);
    await sh.sees('enrolled');
    await sh.sees('COOKED');
    assert.ok(!sh.shown().includes(phrase));
    using again = person(['approvals', 'enroll'], env);
    await again.sees('Passphrase so far');
    again.types('wrong one\r');
    await again.sees('is wrong');
    assert.equal(await again.left(), 125);
  },
);

test(
  'Ctrl-C and a signal leave the terminal as it was, and nothing decided',
  { skip },
  async () => {
    const { approval_id: id, exec_id: execId } = await parked('touch never');
    const command = `"${trl}" approvals approve ${id}; echo code $?; ${restored}`;
    for (const end of ['\x03', 'SIGTERM', 'SIGHUP'] as const) {
      using sh = person(['-c', command], env, { file: '/bin/sh' });
      await sh.sees('Passphrase:');
      if (end === '\x03') sh.types(end);
      else for (const child of children(sh.pid)) process.kill(child, end);
      await sh.sees(end === '\x03' ? 'code 130' : end === 'SIGTERM' ? 'code 143' : 'code 129');
      await sh.sees('COOKED');
      assert.equal((await approval(id)).state, 'pending');
    }
    await session.client.ask('exec.cancel', { exec_id: execId });
    assert.equal((await approval(id)).state, 'cancelled');
  },
);

test('a person sees the whole command and all it binds, then it runs once', { skip }, async () => {
  const lines = Array.from({ length: 60 }, (_, at) => `echo line ${at} ${'x'.repeat(150)}`);
  const command = `${lines.join('\n')}\ntouch once; echo '\u202e' ran >> once`;
  const { approval_id: id, exec_id: execId } = await parked(command);
  using cli = person(['approvals', 'approve', id.slice(0, 12)], env);
  await cli.sees('Passphrase:');
  const bars = cli
    .shown()
    .split('\n')
    .filter((line) => /^ {2}[│┆] /.test(line));
  const shown = bars.map((line) => line.slice(4)).join('');
  assert.ok(shown.includes(escapeHiddenText(command).replaceAll('\\u{A}', '')), cli.shown());
  assert.ok(
    cli
      .shown()
      .split('\n')
      .every((line) => line.length <= 100),
    'no line wraps',
  );
  assert.match(cli.shown(), /executable touch: \/.*\n.*sha256 [0-9a-f]{64}/);
  assert.match(cli.shown(), /sandbox full, network off/);
  cli.types('not this one\r');
  await cli.sees('the passphrase is wrong');
  await cli.sees('Passphrase:');
  cli.types(`${phrase}\r`);
  await cli.sees('approved once by approver:');
  assert.equal(await cli.left(), 0);
  assert.equal((await ended(execId)).exit_code, 0);
  const found = readFileSync(path.join(daemon.root, 'once'), 'utf8');
  assert.equal(found, '\u202e ran\n');
  assert.equal((await approval(id)).state, 'used');
  const repeated = piped(phrase, 'approvals', 'approve', id, '--passphrase-stdin');
  assert.equal(repeated.status, 125);
  assert.match(repeated.text, /it is used/);
});

test('a no carries its words to the agent', { skip }, async () => {
  const { approval_id: id, exec_id: execId } = await parked('touch denied');
  const words = 'use the staging server';
  const args = ['approvals', 'deny', id, '-m', words, '--passphrase-stdin', '--json'];
  const { status, text } = piped(`${phrase}\n`, ...args);
  assert.equal(status, 0, text);
  const view = JSON.parse(text);
  assert.deepEqual([view.state, view.words, view.same_uid], ['denied', words, undefined]);
  const info = (await session.client.ask('exec.info', { exec_id: execId })).data;
  assert.equal(info.state, 'refused');
  assert.equal(made('denied'), false);
});

test(
  'without the passphrase nothing is decided: no terminal, a wrong one, none',
  { skip },
  async () => {
    const { approval_id: id } = await parked('touch stolen');
    const nothing = piped(`${phrase}\n`, 'approvals', 'approve', id);
    assert.match(nothing.text, /there is no terminal/);
    const wrong = piped('a guess at it', 'approvals', 'approve', id, '--passphrase-stdin');
    assert.match(wrong.text, /AUTH_FAILED/);
    const empty = piped('', 'approvals', 'approve', id, '--passphrase-stdin');
    assert.match(empty.text, /AUTH_FAILED/);
    assert.deepEqual([nothing.status, wrong.status, empty.status], [125, 125, 125]);
    assert.equal((await approval(id)).state, 'pending');
    const raw = await session.client.ask('approval.decide', {
      approval_id: id,
      decision: 'approve',
      digest: (await approval(id)).digest,
    });
    assert.equal(raw.error?.code, 'AUTH_FAILED');
    assert.equal(made('stolen'), false);
    piped(phrase, 'approvals', 'deny', id, '--passphrase-stdin');
  },
);

test('an id is found by its start, when one begins so', { skip }, async () => {
  const { approval_id: id } = await parked('touch found');
  const { text } = piped('', 'approvals', 'show', id.slice(2, 12), '--json');
  assert.equal(JSON.parse(text).approval_id, id);
  assert.match(piped('', 'approvals', 'show', 'a-').text, /no a-… id/);
  assert.match(piped('', 'approvals', 'show', `a-${'0'.repeat(32)}`).text, /there is none/);
  assert.match(piped('', 'approvals', 'list').text, new RegExp(`${id} +pending .* touch found`));
  piped(phrase, 'approvals', 'deny', id, '--passphrase-stdin');
  assert.doesNotMatch(piped('', 'approvals', 'list').text, /touch found/);
  assert.match(piped('', 'approvals', 'list', '--state', 'denied').text, /touch found/);
});

test(
  'the inbox: one key an answer, what comes is shown, what is gone is told',
  { skip },
  async () => {
    const first = await parked('touch inbox-1');
    const second = await parked('touch inbox-2');
    const command = `"${trl}" approvals watch; ${restored}`;
    using sh = person(['-c', command], env, { file: '/bin/sh' });
    await sh.sees('│ touch inbox-1');
    await sh.sees('[q] quit');
    sh.types('n');
    await sh.sees('│ touch inbox-2');
    await sh.sees('[q] quit');
    sh.types('n');
    await sh.sees('│ touch inbox-1');
    await sh.sees('[q] quit');
    sh.types('v');
    await sh.sees(`Digest ${(await approval(first.approval_id)).digest}`);
    await sh.sees('[q] quit');
    sh.types('a');
    await sh.sees('Passphrase:');
    sh.types(`${phrase}\r`);
    await sh.sees(`${first.approval_id} approved once`);
    await sh.sees('│ touch inbox-2');
    await sh.sees('[q] quit');
    sh.types('d');
    await sh.sees('Why');
    sh.types('not here\r');
    await sh.sees(`${second.approval_id} denied by approver:`);
    await sh.sees('not here');
    const third = await parked('touch inbox-3');
    await sh.sees('│ touch inbox-3');
    await sh.sees('[q] quit');
    await session.client.ask('exec.cancel', { exec_id: third.exec_id });
    await sh.sees(`${third.approval_id} cancelled`);
    sh.types('q');
    await sh.sees('COOKED');
    assert.equal(await sh.left(), 0);
    assert.equal((await ended(first.exec_id)).exit_code, 0);
    assert.deepEqual(['inbox-1', 'inbox-2', 'inbox-3'].map(made), [true, false, false]);
    assert.ok(!sh.shown().includes(phrase));
  },
);

test(
  'for the session: an equal command runs without asking, another is asked',
  { skip },
  async () => {
    const { approval_id: id, exec_id: execId } = await parked('echo more >> log');
    const args = ['approvals', 'approve', id, '--for-session', '--passphrase-stdin'];
    assert.equal(piped(phrase, ...args).status, 0);
    await ended(execId);
    assert.equal((await session.ask('echo more >> log')).ok, true);
    assert.equal(readFileSync(path.join(daemon.root, 'log'), 'utf8'), 'more\nmore\n');
    const other = await parked('echo else >> log');
    piped(phrase, 'approvals', 'deny', other.approval_id, '--passphrase-stdin');
  },
);

test('passphrases are in no log, no record and no argument list', { skip }, () => {
  const state = readFileSync(path.join(daemon.home, 'state/trl/state.db'));
  assert.equal(state.includes(phrase), false);
  assert.equal(daemon.log().includes(phrase), false);
});
