// Attacks on what a yes binds: what a command would run is changed between question and yes.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Daemon } from './support/daemon.ts';
import { decide, ended, guarded, guardedSession, parked, until } from './support/parked.ts';
import type { TestSession } from './support/session.ts';

const skip = whyNoBox;
let daemon: Daemon;
let session: TestSession;
before(async () => {
  if (skip !== false) return;
  daemon = await startRuntime(guarded);
  session = await guardedSession(daemon);
});
after(async () => {
  await session?.destroy();
  await daemon?.stop();
});

type Act = (file: (name: string) => string) => void;
interface Attack {
  readonly command: string;
  /** Files before the question, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly more?: Act;
  /** What the attacker does. Default: the first file says something else. */
  readonly change?: Act;
  readonly params?: object;
}

const good = ': good\n';
const evil = 'echo evil >evil\n';
const sh = { 'y.sh': good };
const rewrite =
  (name: string, text: string): Act =>
  (file) =>
    writeFileSync(file(name), text);

const attacks: Readonly<Record<string, Attack>> = {
  'standard input': { command: 'sh < y.sh', files: sh },
  'a pipe': { command: 'cat y.sh | sh', files: sh },
  'a program of awk': {
    command: 'awk -f y.awk /dev/null',
    files: { 'y.awk': 'BEGIN { }\n' },
    change: rewrite('y.awk', 'BEGIN { system("echo evil >evil") }\n'),
  },
  'a program of sed': {
    command: 'echo x | sed -f y.sed',
    files: { 'y.sed': 'p\n' },
    change: rewrite('y.sed', '1e echo evil >evil\n'),
  },
  'a module of node': {
    command: 'node -r ./dep.js -e 1',
    files: { 'dep.js': '//\n' },
    change: rewrite('dep.js', 'require("fs").writeFileSync("evil", "")\n'),
  },
  'a module of python': {
    command: 'python3 -m m',
    files: { 'm.py': 'pass\n' },
    change: rewrite('m.py', 'open("evil", "w")\n'),
  },
  'a glob': { command: 'bash y*.sh', files: sh },
  BASH_ENV: { command: 'BASH_ENV=y.sh bash -c :', files: sh },
  'a directory on PATH': {
    command: 'PATH=./bin:$PATH tool',
    files: { 'bin/tool': `#!/bin/sh\n${good}` },
    change: rewrite('bin/tool', `#!/bin/sh\n${evil}`),
  },
  'a script after cd': {
    command: 'cd sub && bash y.sh; cp evil .. 2>/dev/null',
    files: { 'sub/y.sh': good },
  },
  'what a script sources': {
    command: 'bash y.sh',
    files: { 'z.sh': good, 'y.sh': '. ./z.sh\n' },
  },
  'what a python script imports': {
    command: 'python3 x.py',
    files: { 'helper.py': 'pass\n', 'x.py': 'import helper\n' },
    change: rewrite('helper.py', 'open("evil", "w")\n'),
  },
  'a file that was not there': {
    command: 'sh < y.sh',
    files: { other: '' },
    change: rewrite('y.sh', evil),
  },
  'a name in a variable': {
    command: 'F=$(cat name); sh "$F"',
    files: { ...sh, name: 'y.sh\n' },
  },
  'a link to another script': {
    command: 'sh < y.sh',
    files: { 'a.sh': good, 'b.sh': evil },
    more: (file) => symlinkSync('a.sh', file('y.sh')),
    change: (file) => {
      rmSync(file('y.sh'));
      symlinkSync('b.sh', file('y.sh'));
    },
  },
  'a directory by another': {
    command: 'cat d/y.sh | sh',
    files: { 'd/y.sh': good, 'e/y.sh': evil },
    change: (file) => {
      renameSync(file('d'), file('f'));
      renameSync(file('e'), file('d'));
    },
  },
  'the right to run a file': {
    command: 'test -x y.sh && echo evil >evil',
    files: sh,
    change: (file) => chmodSync(file('y.sh'), 0o755),
  },
  'the interpreter of a script': {
    command: './y',
    files: { in: `#!/bin/sh\n${good}` },
    more: (file) => {
      writeFileSync(file('y'), `#!${file('in')}\n`, { mode: 0o755 });
      chmodSync(file('in'), 0o755);
    },
    change: rewrite('in', `#!/bin/sh\n${evil}`),
  },
};

for (const [what, { command, files, more, change, params }] of Object.entries(attacks)) {
  test(`changing ${what} between question and yes voids the yes`, { skip }, async () => {
    const directory = path.join(daemon.root, what.replaceAll(/\W/g, '-'));
    const file = (name: string): string => path.join(directory, name);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(file(name)), { recursive: true });
      writeFileSync(file(name), text, { mode: name.startsWith('bin/') ? 0o755 : 0o644 });
    }
    more?.(file);
    const first = Object.keys(files)[0] ?? '';
    const waiting = await parked(session, command, { cwd: directory, ...params });
    (change ?? rewrite(first, evil))(file);
    await decide(daemon, waiting.approval_id);
    using client = await raw(daemon.socketPath);
    const info = await until('it runs or is asked anew', async () => {
      const { data } = await client.ask('exec.info', { exec_id: waiting.exec_id });
      if (data.state === 'running') return null;
      return data.state !== 'waiting' || data.approval_id !== waiting.approval_id ? data : null;
    });
    assert.deepEqual([info.state, existsSync(file('evil'))], ['waiting', false]);
    const next = (await client.ask('approval.get', { approval_id: info.approval_id })).data;
    assert.ok(next.changes.length > 0);
    await client.ask('exec.cancel', { exec_id: waiting.exec_id });
  });
}

test(
  'what is allowed for the session is asked anew when its script changed',
  { skip },
  async () => {
    const file = path.join(daemon.root, 'session.sh');
    writeFileSync(file, good);
    const cwd = daemon.root;
    const waiting = await parked(session, 'sh < session.sh', { cwd });
    await decide(daemon, waiting.approval_id, { scope: 'session' });
    await until('it ran', async () => {
      const { data } = await session.client.ask('exec.info', { exec_id: waiting.exec_id });
      return data.state === 'exited' ? data : null;
    });
    const params = { session_id: session.id, command: 'sh < session.sh', cwd };
    await session.client.ask('exec.run', params);
    const again = await session.client.ask('exec.run', params);
    assert.equal(again.data?.exit_code, 0, JSON.stringify(again));
    appendFileSync(file, evil);
    await parked(session, 'sh < session.sh', { cwd });
    assert.ok(!existsSync(path.join(daemon.root, 'evil')));
  },
);

test(
  'what another command of the session changed in its layer voids the yes',
  { skip },
  async () => {
    await using staged = await guardedSession(daemon, { workspace_mode: 'staged' });
    const cwd = daemon.root;
    const approved = async (command: string): Promise<void> => {
      const { approval_id: id, exec_id: execId } = await parked(staged, command, { cwd });
      await decide(daemon, id);
      assert.equal((await ended(daemon, execId)).exit_code, 0, command);
    };
    await approved('echo : >layer.sh');
    assert.ok(!existsSync(path.join(cwd, 'layer.sh')), 'it is in the layer alone');
    for (const command of ['sh < layer.sh', 'python3 -c 1; sh < layer.sh']) {
      const waiting = await parked(staged, command, { cwd });
      await approved(`echo 'echo evil >evil #${command.length}' >layer.sh`);
      await decide(daemon, waiting.approval_id);
      const info = await until('it is asked anew', async () => {
        const { data } = await staged.client.ask('exec.info', { exec_id: waiting.exec_id });
        return data.approval_id === waiting.approval_id ? null : data;
      });
      assert.equal(info.state, 'waiting');
      await staged.client.ask('exec.cancel', { exec_id: waiting.exec_id });
    }
  },
);

test('a question says how far it binds what it runs, on the wire', { skip }, async () => {
  const waiting = await parked(session, 'make install', { cwd: daemon.root });
  const { data } = await session.client.ask('approval.get', { approval_id: waiting.approval_id });
  assert.equal(data.asked.binding.kind, 'workspace');
  assert.match(data.asked.binding.why, /make may run files/);
  const inHome = await parked(session, 'sh /tmp/x.sh', { cwd: daemon.root });
  const other = await session.client.ask('approval.get', { approval_id: inHome.approval_id });
  assert.equal(other.data.asked.binding.kind, 'unbound');
});

test('what a shell carries from before is no program that the text names', { skip }, async () => {
  await using carrying = await guardedSession(daemon, { carry: 'shell' });
  const cwd = daemon.root;
  const bindingOf = async (command: string): Promise<string> => {
    const { approval_id: id, exec_id: execId } = await parked(carrying, command, { cwd });
    const { data } = await carrying.client.ask('approval.get', { approval_id: id });
    await decide(daemon, id);
    await ended(daemon, execId);
    return data.asked.binding.kind;
  };
  assert.equal(await bindingOf('tac() { sh z.sh; }; export XDG_CONFIG_HOME=.'), 'workspace');
  assert.equal(await bindingOf('tac session.sh'), 'workspace');
  await using plain = await guardedSession(daemon);
  const { approval_id: id } = await parked(plain, 'tac session.sh', { cwd });
  const { data } = await plain.client.ask('approval.get', { approval_id: id });
  assert.equal(data.asked.binding.kind, 'named');
});
