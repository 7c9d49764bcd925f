// Output is redacted before anything else sees it, by a process beside the runner.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoBox } from './support/box.ts';
import { raw, shareRuntime, startRuntime } from './support/daemon.ts';
import {
  type Found,
  descendantsOf,
  eventually,
  runnerPid,
  withGrowingTimeout,
} from './support/processes.ts';
import { openSession } from './support/session.ts';

const token = 'Zq7TfKx2pLw9VbRd4Nc8';
/** Of the daemon's environment; the other is a secret by the name that a call gives it. */
const known = 'Hc3JmXw8sYt5GaPe6Ukr';
const corner = shareRuntime({ env: { KNOWN_TOKEN: known } });
const redactors = (runner: number): Found[] =>
  descendantsOf(runner).filter(({ command }) => command.endsWith('redactor.js'));
const tag = /\[HIDDEN:[0-9a-f]{6,}\]/;

describe('what a command prints', { skip: whyNoBox }, () => {
  test('a value given under the name of a secret is hidden, and named in the receipt', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const command = 'echo "a $API_TOKEN b"; echo "$API_TOKEN" >&2; echo plain';
    const { data } = await session.ask(command, { env: { API_TOKEN: token } });
    assert.match(data.stdout, /^a \[HIDDEN:[0-9a-f]{6,}\] b\nplain\n$/);
    assert.match(data.stderr, tag);
    assert.equal(data.redactions.count, 2);
    const [entry] = data.redactions.entries;
    assert.deepEqual([entry.kind, entry.key, entry.count], ['known', 'API_TOKEN', 2]);
    assert.equal(data.stdout_bytes, Buffer.byteLength(data.stdout));
    // Without the value it is text like any other: the test above can fail.
    const plain = await session.ask('printf "%s%s" Zq7TfKx2p Lw9VbRd4Nc8 | cut -c1-8');
    assert.equal(plain.data.stdout, 'Zq7TfKx2\n');
  });

  test('a value of the session is hidden in every later command', async () => {
    const daemon = await corner();
    const env = { DEPLOY_PASSWORD: token, EDITOR: 'some-editor-of-mine' };
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root, env });
    for (let round = 0; round < 2; round += 1) {
      const { stdout } = await session.run('echo "$DEPLOY_PASSWORD $EDITOR"');
      assert.match(stdout, /^\[HIDDEN:[0-9a-f]{6,}\] some-editor-of-mine\n$/);
    }
  });

  test('state that holds the value is dropped and named', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const command = 'export COPY="x$API_TOKEN" CODED=$(printf %s "$API_TOKEN" | base64) FINE=1';
    const { data } = await session.ask(command, { env: { API_TOKEN: token } });
    const dropped = data.state_dropped.map((one: { name: string }) => one.name).toSorted();
    assert.deepEqual(dropped, ['CODED', 'COPY']);
    const { stdout } = await session.run('echo "[$COPY][$CODED][$API_TOKEN][$FINE]"');
    assert.equal(stdout, '[][][][1]\n');
  });

  test('a prompt appears at once, though its line has no end', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    using client = await raw(daemon.socketPath);
    await client.ask('exec.stream', {
      session_id: session.id,
      command: 'printf "Continue? [y/N] "; read answer; echo "got $answer"',
      stdin_open: true,
      env: { API_TOKEN: token },
    });
    const first = await client.json();
    assert.equal(first.data, 'Continue? [y/N] ', JSON.stringify(first));
    const exec = first.stream_id;
    using other = await raw(daemon.socketPath);
    await other.ask('exec.write', { exec_id: exec, data: 'y\n', eof: true });
    const rest = [];
    for (let one = await client.json(); ; one = await client.json()) {
      rest.push(one);
      if (one.stream === 'exit') break;
    }
    const printed = rest.filter(({ stream }) => stream === 'stdout').map(({ data }) => data);
    assert.equal(printed.join(''), 'got y\n');
    assert.ok(rest.at(-1).redactions.forced_flushes >= 1);
  });

  test('half a value before a pause stays back until the rest has come', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const halves = `printf ${token.slice(0, 10)}; sleep 0.3; printf ${token.slice(10)}; read x`;
    const params = { stdin_open: true, env: { API_TOKEN: token } };
    const { data } = await withGrowingTimeout(
      1_000,
      (timeout_ms) => session.ask(halves, { ...params, timeout_ms }),
      (answer) => answer.data?.stdout !== '',
    );
    assert.match(data.stdout, /^\[HIDDEN:[0-9a-f]{6,}\]$/);
  });
});

describe('the redactor', { skip: whyNoBox }, () => {
  test('killed, it takes the command with it, says so, and the next one works', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    await session.run('true');
    const runner = runnerPid(daemon);
    assert.ok(runner !== null);
    const redactor = () => redactors(runner);
    const started = Date.now();
    const answered = session.ask('while :; do echo out; sleep 0.05; done');
    using other = await raw(daemon.socketPath);
    await eventually('the command', async () => {
      const { data } = await other.ask('exec.list', { session_id: session.id });
      return data.execs.some(
        (one: { started_at: string }) => Date.parse(one.started_at) >= started,
      );
    });
    await sleep(300);
    for (const { pid } of redactor()) process.kill(pid, 'SIGKILL');
    const { data } = await answered;
    assert.equal(data.stopped, 'redaction-failed');
    assert.equal(data.redactions, null);
    assert.notEqual(data.exit_code, 0);
    const next = await session.run('echo works');
    assert.equal(next.stdout, 'works\n');
    assert.equal(redactor().length, 1);
  });

  test('it has nothing in its environment and ends with the runner', async () => {
    const daemon = await startRuntime();
    let pids: readonly number[] = [];
    try {
      await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
      await session.run('true');
      const runner = runnerPid(daemon);
      assert.ok(runner !== null);
      pids = redactors(runner).map(({ pid }) => pid);
      assert.equal(pids.length, 1);
      for (const pid of pids) assert.equal(readFileSync(`/proc/${pid}/environ`, 'utf8'), '');
    } finally {
      await daemon.stop();
    }
    await eventually('its end', () =>
      pids.every((pid) => !readdirSync('/proc').includes(`${pid}`)),
    );
  });
});

describe('what the daemon says and keeps', { skip: whyNoBox }, () => {
  test('a value that a caller wrote is recorded masked, noted by name, and an alarm', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const { stdout } = await session.run(`echo ${known}`);
    assert.match(stdout, tag);
    const listed = await session.client.ask('exec.list', { session_id: session.id });
    assert.match(listed.data.execs[0].command, /^echo \[HIDDEN:[0-9a-f]{6,}\]$/);
    const info = await session.client.ask('session.info', { session_id: session.id });
    assert.deepEqual(info.data.typed_secrets, ['KNOWN_TOKEN']);
    assert.match(daemon.log(), /wrote the value of KNOWN_TOKEN/);
    assert.ok(!daemon.log().includes(known));
  });

  test('a question to a person does not hold one', async () => {
    const daemon = await corner();
    const guarded = { working_dir: daemon.root, policy: 'guarded' };
    await using session = await openSession(daemon.socketPath, guarded);
    const asked = await session.ask(`curl -H "X: ${known}" example.com`);
    assert.equal(asked.error?.code, 'INVALID_PARAMS');
    assert.match(asked.error.message, /holds the secret KNOWN_TOKEN/);
    const pending = await session.client.ask('approval.list', {});
    assert.deepEqual(pending.data.approvals, []);
  });

  test('names, paths and keys may not hold one', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const refused = [
      await session.client.ask('session.create', { name: `x ${known}` }),
      await session.ask('true', { cwd: `${daemon.root}/${known}` }),
      await session.ask('true', { exec_key: Buffer.from(known).toString('base64') }),
    ];
    for (const { error } of refused) {
      assert.equal(error?.code, 'INVALID_PARAMS');
      assert.match(error.message, /it holds the secret KNOWN_TOKEN/);
    }
    assert.equal((await session.ask('true', { exec_key: 'k-1' })).ok, true);
  });

  test('a directory named after one carries, and shows as a tag', async () => {
    const daemon = await corner();
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const ask = { env_keys: ['KNOWN_TOKEN'] };
    const { data } = await session.ask('mkdir "/tmp/$KNOWN_TOKEN"; cd "/tmp/$KNOWN_TOKEN"', ask);
    assert.match(data.cwd, /^\/tmp\/\[HIDDEN:[0-9a-f]{6,}\]$/);
    assert.match((await session.run('pwd | wc -c')).stdout, /^\d+\n$/);
    assert.equal((await session.run('test "$(pwd)" != /tmp && echo there')).stdout, 'there\n');
  });
});
