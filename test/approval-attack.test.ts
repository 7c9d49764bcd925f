// Attacks on approvals, from the outside: one yes is one process, and only of what was approved.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { cornerOf, raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import {
  busy,
  decide,
  ended,
  guarded,
  guardedSession,
  inState,
  parked,
  pending,
  until,
} from './support/parked.ts';
import type { TestSession } from './support/session.ts';
import { eventually } from './support/processes.ts';

const skip = whyNoBox;
let shared: Daemon;
before(async () => {
  shared = await startRuntime(guarded);
});
after(() => shared?.stop());
const logOf = (daemon: Daemon): string[] => {
  const file = path.join(daemon.root, 'log');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').toSorted() : [];
};

test('10 plans approved concurrently start exactly 10 processes', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const waiting: Json[] = [];
  for (let at = 0; at < 10; at += 1) {
    const method = at % 2 === 0 ? 'exec.run' : 'exec.start';
    waiting.push(await parked(session, `echo ${at} >>log`, { method }));
  }
  // Each is answered three times at once, and asked for again meanwhile.
  const answers = await Promise.all(
    [...waiting, ...waiting, ...waiting].map(({ approval_id: id }) => decide(daemon, id)),
  );
  assert.equal(answers.filter(({ ok }) => ok === true).length, 10);
  for (const { exec_id: id } of waiting) {
    const done = await ended(daemon, id);
    assert.deepEqual([done.state, done.exit_code], ['exited', 0]);
  }
  assert.deepEqual(logOf(daemon), ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
});

interface Change {
  readonly what: string;
  readonly command: string;
  readonly set?: (root: string) => void;
  readonly cwd?: string;
  readonly change: (root: string) => void;
}

const write = (root: string, name: string, text: string): void => {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text, { mode: 0o755 });
};
const swap = (root: string, name: string): void => {
  renameSync(path.join(root, name), path.join(root, `${name}.old`));
  mkdirSync(path.join(root, name));
};

const changes: readonly Change[] = [
  {
    what: 'the working directory by another',
    command: 'echo ran >>../log',
    set: (root) => mkdirSync(path.join(root, 'sub')),
    cwd: 'sub',
    change: (root) => swap(root, 'sub'),
  },
  {
    what: 'a script by what its link leads to',
    command: 'bash tool.sh',
    set: (root) => {
      write(root, 'one.sh', 'echo ran >>log\n');
      write(root, 'two.sh', 'echo ran >>log\n# another\n');
      symlinkSync('one.sh', path.join(root, 'tool.sh'));
    },
    change: (root) => {
      rmSync(path.join(root, 'tool.sh'));
      symlinkSync('two.sh', path.join(root, 'tool.sh'));
    },
  },
  {
    what: 'nothing by a script that was not there',
    command: 'test -e tool.sh && bash tool.sh',
    change: (root) => write(root, 'tool.sh', 'echo ran >>log\n'),
  },
  {
    what: "a package's script",
    command: 'npm run hello',
    set: (root) => write(root, 'package.json', '{"scripts":{"hello":"echo ran >>log"}}'),
    change: (root) => write(root, 'package.json', '{"scripts":{"hello":"echo ran >>log;:"}}'),
  },
];

for (const { what, command, set, cwd, change } of changes) {
  test(`replacing ${what} between yes and run voids the yes`, { skip }, async () => {
    const daemon = cornerOf(shared);
    await using session = await guardedSession(daemon);
    const { root } = daemon;
    set?.(root);
    const more = cwd === undefined ? {} : { cwd: path.join(root, cwd) };
    const data = await parked(session, command, more);
    const free = await busy(daemon, session);
    await decide(daemon, data.approval_id);
    change(root);
    await free();
    const [next] = await pending(daemon, 1);
    assert.notEqual(next.approval_id, data.approval_id);
    assert.equal(next.exec_id, data.exec_id);
    assert.ok(next.changes.length > 0);
    assert.deepEqual(logOf(daemon), []);
  });
}

test(
  'a working directory that is gone at the start is not replaced by another',
  { skip },
  async () => {
    const daemon = cornerOf(shared);
    await using session = await guardedSession(daemon);
    mkdirSync(path.join(daemon.root, 'sub'));
    const data = await parked(session, 'echo ran >>log', { cwd: path.join(daemon.root, 'sub') });
    const free = await busy(daemon, session);
    await decide(daemon, data.approval_id);
    rmSync(path.join(daemon.root, 'sub'), { recursive: true });
    await free();
    await until('it is over or asked anew', async () => {
      using client = await raw(daemon.socketPath);
      const { data: info } = await client.ask('exec.info', { exec_id: data.exec_id });
      return info.state !== 'waiting' || info.approval_id !== data.approval_id ? info : null;
    });
    assert.deepEqual(logOf(daemon), []);
  },
);

test('a program put in the way on PATH voids the yes', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const exported = await parked(session, 'export PATH="$PWD/bin:$PATH"');
  await decide(daemon, exported.approval_id);
  await ended(daemon, exported.exec_id);
  write(daemon.root, 'bin/own', '#!/bin/sh\n');
  const data = await parked(session, 'id -u && own && echo ran >>log');
  const { contents } = (await session.client.ask('approval.get', { approval_id: data.approval_id }))
    .data.asked;
  const own = contents.find(({ name }: Json) => name.endsWith('/bin/own'));
  assert.match(own.sha256, /^[0-9a-f]{64}$/, 'it is the one of the workspace');
  write(daemon.root, 'bin/id', '#!/bin/sh\necho evil >>log\n');
  await decide(daemon, data.approval_id);
  const [next] = await pending(daemon, 1);
  assert.equal(next.exec_id, data.exec_id);
  assert.match(next.changes.join(), /bin\/id is new/);
  assert.deepEqual(logOf(daemon), []);
});

test('what nobody can look into is not shown with a hash', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  execFileSync('mkfifo', [path.join(daemon.root, 'pipe.sh')]);
  // A harmless file of the host under the name of one that only the sandbox would run.
  const host = path.join(tmpdir(), `${path.basename(daemon.home)}.sh`);
  writeFileSync(host, 'echo harmless\n');
  try {
    for (const name of ['pipe.sh', host]) {
      const { approval_id: id } = await parked(session, `bash ${name}`);
      const { data } = await session.client.ask('approval.get', { approval_id: id });
      const script = data.asked.contents.find(({ role }: Json) => role === 'script');
      assert.deepEqual([script.name, script.sha256], [name, null]);
    }
  } finally {
    rmSync(host);
  }
});

/** What ends a command that was approved and waits for its turn. */
const ends: readonly {
  readonly by: string;
  readonly act: (session: TestSession, execId: string) => Promise<unknown>;
}[] = [
  {
    by: 'cancelled',
    act: ({ client }, id) => client.ask('exec.cancel', { exec_id: id }),
  },
  {
    by: 'cancelled with all of its session',
    act: ({ client, id }) => client.ask('exec.cancel', { session_id: id }),
  },
  { by: 'ended with its session', act: (session) => session.destroy() },
];

for (const { by, act } of ends) {
  test(`what waits for its turn is answered at once when ${by}`, { skip }, async () => {
    const daemon = cornerOf(shared);
    await using session = await guardedSession(daemon);
    const { approval_id: id, exec_id: execId } = await parked(session, 'echo ran >>log');
    await busy(daemon, session);
    using other = await raw(daemon.socketPath);
    await other.send({ id: 'q', method: 'exec.attach', params: { exec_id: execId } });
    assert.equal((await other.json()).ok, true);
    await decide(daemon, id);
    await act(session, execId);
    const last: Json = await other.json();
    assert.deepEqual([last.stream, last.error?.code], ['exit', 'APPROVAL_DENIED']);
    assert.deepEqual(logOf(daemon), []);
  });
}

test('what waits or was refused answers every call', { skip }, async () => {
  const daemon = cornerOf(shared);
  await using session = await guardedSession(daemon);
  const { exec_id: execId } = await parked(session, 'echo ran >>log');
  const ask = async (method: string, more: object = {}): Promise<string> => {
    using client = await raw(daemon.socketPath);
    const answer = await client.ask(method, { exec_id: execId, ...more });
    if (answer.ok !== true) return answer.error.code;
    if (method === 'exec.attach') return `ok ${(await client.json()).error?.code}`;
    return `ok ${answer.data.state ?? ''}`;
  };
  assert.equal(await ask('exec.write', { data: 'x' }), 'APPROVAL_REQUIRED');
  assert.equal(await ask('exec.resize', { columns: 80, rows: 24 }), 'APPROVAL_REQUIRED');
  assert.equal(await ask('exec.read'), 'ok waiting');
  assert.equal(await ask('exec.info'), 'ok waiting');
  assert.equal(await ask('exec.cancel'), 'ok ');
  assert.equal(await ask('exec.read'), 'ok refused');
  assert.equal(await ask('exec.info'), 'ok refused');
  assert.equal(await ask('exec.attach'), 'ok APPROVAL_DENIED');
  assert.equal(await ask('exec.write', { data: 'x' }), 'APPROVAL_DENIED');
  assert.equal(await ask('exec.resize', { columns: 80, rows: 24 }), 'APPROVAL_DENIED');
  assert.equal(await ask('exec.cancel'), 'ok ');
});

test('refusals that are slowed hold no session', { skip }, async () => {
  await using daemon = await startRuntime(guarded);
  await using session = await guardedSession(daemon);
  for (let at = 0; at < 5; at += 1) await session.ask('sudo id');
  const refused = session.ask('sudo id');
  using other = await raw(daemon.socketPath);
  const params = { session_id: session.id, command: 'pwd' };
  // Busy it is while the refused one is looked at, which takes a moment.
  await eventually('another command', async () => (await other.ask('exec.run', params)).ok);
  assert.equal((await refused).error.code, 'POLICY_DENIED');
});

test('a daemon that starts over lets one command at a time into a session', { skip }, async () => {
  await using daemon = await startRuntime(guarded);
  const session = await guardedSession(daemon);
  // Parked first, so that it is found first.
  const second = await parked(session, 'test -e busy && echo both >>log; echo two >>log');
  const slow = 'touch busy; while ! test -e go; do sleep 0.05; done; rm busy';
  const first = await parked(session, slow);
  await decide(daemon, first.approval_id);
  await inState(daemon, first.exec_id, 'running');
  await decide(daemon, second.approval_id);
  await daemon.kill();
  await using again = await startRuntime({ ...guarded, home: daemon.home });
  await inState(again, second.exec_id, 'waiting');
  const info = await inState(again, first.exec_id, 'running');
  assert.equal(info.state, 'running');
  writeFileSync(path.join(again.root, 'go'), '');
  assert.equal((await ended(again, second.exec_id)).state, 'exited');
  assert.deepEqual(logOf(again), ['two']);
  session.client.drop();
});

test('a key used again for another command brings no values to what waits', { skip }, async () => {
  // The last test to use it.
  const daemon = cornerOf(shared);
  const session = await guardedSession(daemon);
  const good = { env: { WORD: 'good' }, exec_key: 'k' };
  const data = await parked(session, 'echo $WORD >>log', good);
  await daemon.kill();
  await using again = await startRuntime({ ...guarded, home: daemon.home });
  await decide(again, data.approval_id);
  using client = await raw(again.socketPath);
  const call = (command: string, waitMs: number): Promise<Json> => {
    const params = { session_id: session.id, command, env: { WORD: 'good' }, exec_key: 'k' };
    return client.ask('exec.run', { ...params, wait_ms: waitMs });
  };
  const other = await call('echo evil >>log', 500);
  assert.equal(other.error?.code, 'IDEMPOTENCY_CONFLICT');
  assert.deepEqual(logOf(daemon), []);
  // With its own command and values it runs by the same yes.
  const right = await call('echo $WORD >>log', 120_000);
  assert.deepEqual([right.data.exec_id, right.data.exit_code], [data.exec_id, 0]);
  assert.deepEqual(logOf(daemon), ['good']);
  session.client.drop();
});
