// A host that no text names: its connection is held, and what a person says lets it go on.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test as define } from 'node:test';
import type { ApprovalView } from '../src/client/index.ts';
import { whyNoBox } from './support/box.ts';
import { curl, startHostsRuntime, type HostsRuntime } from './support/hosts-runtime.ts';

const skip = whyNoBox;
let runtime: HostsRuntime;
before(async () => {
  if (skip === false) runtime = await startHostsRuntime();
});
after(async () => {
  await runtime?.[Symbol.asyncDispose]();
});
const test = (name: string, run: () => Promise<void>): void => void define(name, { skip }, run);

const decide = ({ approval_id, digest }: ApprovalView, more: object): Promise<ApprovalView> =>
  runtime.client.decide({ approval_id, digest, decision: 'approve', scope: 'once', ...more });

test('a host that is met on the way holds its connection until a person answers', async () => {
  const session = await runtime.open('d');
  const { receipt, question } = await runtime.held(session, `${curl('two.test')}; echo then`);
  assert.deepEqual(question.asked.hosts, ['two.test']);
  assert.deepEqual(question.scopes, ['once', 'session', 'project']);
  await decide(question, {});
  const { stdout, denials } = await receipt;
  assert.deepEqual([stdout, denials], ['hello from two.test\nthen\n', undefined]);
  // Once was for that command.
  const again = await runtime.held(session, curl('two.test'));
  await decide(again.question, { scope: 'session' });
  assert.equal((await again.receipt).stdout, 'hello from two.test\n');
  assert.equal((await session.run('sh script.sh')).stdout, 'hello from two.test\n');
});

test('a no resets the connection; an answer after the program gave up says so', async () => {
  const session = await runtime.open('d');
  const first = await runtime.held(session, `${curl('three.test')}; ${curl('three.test')}`);
  await decide(first.question, { decision: 'deny' });
  const { stdout, denials = [] } = await first.receipt;
  assert.equal(stdout, '');
  assert.deepEqual(
    denials.map(({ host, port, rule }) => [host, port, rule]),
    [['three.test', 80, 'denied by a person']],
  );
  const brief = 'curl -sS -m 1 http://one.test/; while [ ! -e go ]; do sleep 0.1; done';
  const late = await runtime.held(session, brief);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await decide(late.question, { scope: 'session' });
  writeFileSync(path.join(runtime.daemon.root, 'd/go'), '');
  const { hints } = await late.receipt;
  assert.match(hints.join(), /Allowed after the program gave up: one\.test; run it again/);
  assert.equal((await session.run(curl('one.test'))).stdout, 'hello from one.test\n');
});
