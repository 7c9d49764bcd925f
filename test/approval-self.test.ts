// Approvals on the wire, and an agent that tries to approve itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Enrolment, enrolmentFiles } from '../src/approval/enrolment.ts';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json, RawClient } from './support/daemon.ts';
import { person, whyNoTerminal } from './support/pty.ts';
import { openSession } from './support/session.ts';
import type { TestSession } from './support/session.ts';

const phrase = 'correct horse battery';
const skip = whyNoBox;

let daemon: Daemon;
let env: Record<string, string>;
/** Outside a sandbox, so that what it runs is asked for. */
let outside: TestSession;

before(async () => {
  if (skip !== false) return;
  daemon = await startRuntime({ env: { TRL_POLICY: 'auto' } });
  env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
  const places = enrolmentFiles(env, daemon.home);
  await new Enrolment(places).enrol(userInfo().username, phrase, null);
  const params = { working_dir: daemon.root, sandbox: 'none' };
  outside = await openSession(daemon.socketPath, params);
});
after(async () => {
  if (skip !== false) return;
  await daemon.stop();
  outside.client.drop();
});

async function parked(command: string): Promise<Json> {
  const answer = await outside.ask(command);
  assert.equal(answer.error?.code, 'APPROVAL_REQUIRED', JSON.stringify(answer));
  return answer.data;
}

const get = async (client: RawClient, id: string): Promise<Json> =>
  (await client.ask('approval.get', { approval_id: id })).data;

test('who watches is told of what waits, then of each change', { skip }, async () => {
  const first = await parked('echo watched');
  using client = await raw(daemon.socketPath);
  const answer = await client.ask('approval.watch');
  const { stream_id: stream } = answer.data;
  assert.match(stream, /^w-[0-9a-f]{32}$/);
  const event = async (): Promise<Json> => {
    const line = await client.json();
    assert.equal(line.stream_id, stream);
    return [line.approval.approval_id, line.approval.state];
  };
  assert.deepEqual(await event(), [first.approval_id, 'pending']);
  const second = await parked('echo watched too');
  assert.deepEqual(await event(), [second.approval_id, 'pending']);
  await outside.client.ask('exec.cancel', { exec_id: first.exec_id });
  assert.deepEqual(await event(), [first.approval_id, 'cancelled']);
  const { digest } = await get(outside.client, second.approval_id);
  await outside.client.ask('approval.decide', {
    approval_id: second.approval_id,
    decision: 'approve',
    digest: digest.slice(0, 8),
    passphrase: phrase,
  });
  assert.deepEqual(await event(), [second.approval_id, 'approved']);
  assert.deepEqual(await event(), [second.approval_id, 'used']);
  const again = await client.ask('approval.watch');
  assert.equal(again.error?.code, 'INVALID_PARAMS');
  await outside.client.ask('exec.attach', { exec_id: second.exec_id });
  while ((await outside.client.json()).stream !== 'exit');
});

test('an approval on the wire shows names and hashes, never a value', { skip }, async () => {
  const secret = 'hunter2-hunter2-hunter2';
  const more = { env: { DEPLOY_TOKEN: secret }, stdin: `${secret}\n` };
  const answer = await outside.ask('cat', more);
  const { approval_id: id, exec_id: execId } = answer.data;
  const view = await get(outside.client, id);
  assert.ok(view.asked.variables.includes('DEPLOY_TOKEN'));
  assert.equal(view.asked.stdin, 'bytes');
  assert.ok(!JSON.stringify([answer, view]).includes(secret));
  const state = readFileSync(path.join(daemon.home, 'state/trl/state.db'));
  assert.equal(state.includes(secret), false);
  await outside.client.ask('exec.cancel', { exec_id: execId });
});

/** Ways out of a sandbox, each a shell line; what they reach is looked at on the host. */
function attempts(id: string): readonly string[] {
  const { home, socketPath, pid } = daemon;
  const line = JSON.stringify({
    id: '1',
    method: 'approval.decide',
    params: { approval_id: id, decision: 'approve', digest: '00000000' },
  });
  const dial =
    'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); ' +
    's.sendall(sys.argv[2].encode()); print("DIALLED", s.recv(999))';
  const send = (target: string): string => `python3 -c '${dial}' "${target}" '${line}\n'`;
  return [
    send(socketPath),
    send(`/proc/${pid}/root${socketPath}`),
    send(`/proc/1/root${socketPath}`),
    `cat ${home}/state/trl/state.db && echo READ`,
    `cat ${home}/state/trl/approvals.key && echo READ`,
    `cat ${home}/config/trl/approver.json && echo READ`,
    `mkdir -p ${home}/config/trl && echo '{}' > ${home}/config/trl/approver.json`,
    `unlink ${home}/config/trl/approver.json || mv ${home}/config ${home}/gone`,
    `python3 -c 'import os; os.kill(${pid}, 9)'; kill -TERM ${pid}`,
    `trl approvals approve ${id}; trl approvals enroll < /dev/tty`,
  ];
}

test('a sandboxed agent fails to approve itself in ten ways', { skip }, async () => {
  const { approval_id: id, exec_id: execId } = await parked('touch owned');
  const before = readFileSync(path.join(daemon.home, 'config/trl/approver.json'), 'utf8');
  const ways = attempts(id);
  assert.equal(ways.length, 10);
  // The first way does reach the runtime from where nothing holds it: it is the sandbox that does.
  const free = spawnSync('sh', ['-c', ways[0] ?? ''], { encoding: 'utf8' });
  assert.match(free.stdout, /DIALLED .*INVALID_PARAMS|DIALLED .*AUTH_FAILED/, free.stderr);
  await using inside = await openSession(daemon.socketPath, { working_dir: daemon.root });
  for (const way of ways) {
    // In a subshell of its own, so that the sign comes even where the way ends its shell.
    const tried = await inside.ask(`echo TRIED; (${way}) 2>&1`, { pty: { columns: 80, rows: 24 } });
    const text = tried.data?.stdout ?? '';
    assert.match(text, /TRIED/, JSON.stringify([way, tried]));
    assert.doesNotMatch(text, /DIALLED|READ/, way);
    assert.equal((await get(outside.client, id)).state, 'pending', way);
  }
  const config = path.join(daemon.home, 'config/trl/approver.json');
  assert.equal(readFileSync(config, 'utf8'), before);
  assert.equal(existsSync(path.join(daemon.root, 'owned')), false);
  await outside.client.ask('exec.cancel', { exec_id: execId });
});

test(
  'an agent on the socket, without the passphrase, fails to approve itself',
  { skip },
  async () => {
    const { approval_id: id, exec_id: execId } = await parked('touch claimed');
    const { digest } = await get(outside.client, id);
    const yes = { approval_id: id, decision: 'approve', digest };
    const extras: readonly object[] = [
      {},
      { passphrase: '' },
      { passphrase: null },
      { passphrase: 'a guess at it' },
      { passphrase: phrase.slice(0, -1) },
      { scope: 'session' },
    ];
    using client = await raw(daemon.socketPath);
    for (const extra of extras) {
      const answer = await client.ask('approval.decide', { ...yes, ...extra });
      assert.equal(answer.error?.code, 'AUTH_FAILED', JSON.stringify([extra, answer]));
    }
    const claims = { roles: ['approver'], actor: 'approver:root', proof: 'passphrase' };
    for (const [name, claim] of Object.entries(claims)) {
      const answer = await client.ask('approval.decide', { ...yes, [name]: claim });
      assert.equal(answer.error?.code, 'INVALID_PARAMS', JSON.stringify([name, answer]));
    }
    const other = { ...yes, digest: '0'.repeat(64), passphrase: phrase };
    assert.equal((await client.ask('approval.decide', other)).error.code, 'INVALID_PARAMS');
    assert.equal((await get(client, id)).state, 'pending');
    assert.equal(existsSync(path.join(daemon.root, 'claimed')), false);
    await outside.client.ask('exec.cancel', { exec_id: execId });
  },
);

const noTerminal = skip === false ? whyNoTerminal : skip;
test('an agent at a terminal does not become the person', { skip: noTerminal }, async () => {
  const { approval_id: id, exec_id: execId } = await parked('touch typed');
  using asks = person(['approvals', 'approve', id], env);
  for (const guess of ['yes', 'a guess', 'another']) {
    await asks.sees('Passphrase:');
    asks.types(`${guess}\r`);
  }
  assert.equal(await asks.left(), 125);
  using enrols = person(['approvals', 'enroll'], env);
  await enrols.sees('Passphrase so far');
  enrols.types('\r');
  await enrols.sees('nothing was changed');
  assert.equal(await enrols.left(), 125);
  assert.equal((await get(outside.client, id)).state, 'pending');
  await outside.client.ask('exec.cancel', { exec_id: execId });
});
