// Sessions with hosts through a real runtime: what is asked once, what an answer holds for, what a
// receipt says, and what goes on when the egress process is killed.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test as define } from 'node:test';
import { whyNoBox } from './support/box.ts';
import {
  curl,
  questionOf,
  receiptOf,
  startHostsRuntime,
  type HostsRuntime,
} from './support/hosts-runtime.ts';
import { descendantsOf, runnerPid } from './support/processes.ts';

const skip = whyNoBox;
let runtime: HostsRuntime;
before(async () => {
  if (skip === false) runtime = await startHostsRuntime();
});
after(async () => {
  await runtime?.[Symbol.asyncDispose]();
});
const test = (name: string, run: () => Promise<void>): void => void define(name, { skip }, run);

test('a host of the text is asked about once a session', async () => {
  const session = await runtime.open('a');
  const first = questionOf(await runtime.run(session, `${curl('one.test')}; ${curl('two.test')}`));
  assert.deepEqual(first.asked.hosts, ['one.test', 'two.test']);
  assert.deepEqual(
    first.verdict.rules.map(({ id }) => id),
    ['reach.hosts'],
  );
  await runtime.answer(first, 'session');
  const { stdout, connections = [] } = receiptOf(await runtime.run(session, curl('two.test')));
  assert.equal(stdout, 'hello from two.test\n');
  assert.deepEqual(
    connections.map(({ host, port, count }) => [host, port, count]),
    [['two.test', 80, 1]],
  );
  assert.ok((connections[0]?.received_bytes ?? 0) > 0);
  questionOf(await runtime.run(session, curl('three.test')));
  // Another session of the project is another question.
  questionOf(await runtime.run(await runtime.open('a'), curl('one.test')));
});

test('an answer for the project holds for its later sessions, there alone', async () => {
  await runtime.answer(
    questionOf(await runtime.run(await runtime.open('b'), curl('one.test'))),
    'project',
  );
  const found = receiptOf(
    await runtime.run(await runtime.open('b'), `true && ${curl('one.test')}`),
  );
  assert.equal(found.stdout, 'hello from one.test\n');
  questionOf(await runtime.run(await runtime.open('c'), curl('one.test')));
});

test('once is once: the next command is asked about again', async () => {
  const session = await runtime.open('d');
  const first = questionOf(await runtime.run(session, curl('one.test')));
  await runtime.answer(first, 'once');
  questionOf(await runtime.run(session, curl('one.test')));
});

test('policy answers for hosts that it names', async () => {
  const session = await runtime.open('c');
  assert.equal(
    receiptOf(await runtime.run(session, curl('known.test'))).stdout,
    'hello from known.test\n',
  );
  const refused = receiptOf(await runtime.run(session, curl('denied.test')));
  assert.notEqual(refused.exit_code, 0);
  assert.deepEqual(refused.denials, [
    { kind: 'network', host: 'denied.test', port: 0, rule: 'deny denied.test' },
  ]);
  await assert.rejects(runtime.open('c', { hosts: ['denied.test'] }), { code: 'POLICY_DENIED' });
  await assert.rejects(runtime.open('c', { hosts: ['1.2.3.4'] }), { code: 'INVALID_PARAMS' });
  await assert.rejects(runtime.open('c', { network: 'off', hosts: ['npm'] }), {
    code: 'INVALID_PARAMS',
  });
});

test('hosts of the session are asked with its first command, and never again', async () => {
  const session = await runtime.open('c', { hosts: ['two.test'] });
  writeFileSync(path.join(runtime.daemon.root, 'c/script.sh'), curl('two.test'));
  const first = questionOf(await runtime.run(session, 'sh script.sh'));
  assert.deepEqual(first.asked.hosts, ['two.test']);
  await runtime.answer(first, 'session');
  assert.equal(
    receiptOf(await runtime.run(session, 'sh script.sh')).stdout,
    'hello from two.test\n',
  );
});

test('sessions are apart: the address of one is nothing in another', async () => {
  const [one, other] = [await runtime.open('c'), await runtime.open('c')];
  const look = "getent hosts known.test | cut -d' ' -f1";
  const at = receiptOf(await runtime.run(one, look)).stdout.trim();
  assert.match(at, /^198\.18\./);
  const found = receiptOf(
    await runtime.run(other, `curl -sS -m 5 -H 'Host: known.test' http://${at}/`),
  );
  assert.notEqual(found.exit_code, 0);
  assert.equal(found.stdout, '');
});

test('the egress process is killed: connections end, and the next one works', async () => {
  const session = await runtime.open('c');
  const again = `${curl('known.test')} --retry 5 --retry-all-errors`;
  const command = `${curl('known.test')}; sleep 3; ${again}`;
  const running = runtime.run(session, command);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const egress = descendantsOf(runnerPid(runtime.daemon) ?? 0)
    .map(({ pid }) => pid)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('egress.js'));
  assert.equal(egress.length, 1);
  process.kill(egress[0] ?? 0, 'SIGKILL');
  assert.equal(receiptOf(await running).stdout, 'hello from known.test\n'.repeat(2));
});
