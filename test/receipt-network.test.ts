// What a receipt says of connections, and how it says to ask for those that were refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReceiptHead, type PlanFacts } from '../src/daemon/executions/receipt.ts';
import { lateAnswer } from '../src/network/egress-rules.ts';
import type { ConnectionSummary } from '../src/network-access.ts';
import { ask } from './support/approval.ts';
import { record } from './support/provenance.ts';

const facts: PlanFacts = {
  digest: '',
  verdict: ask,
  sandbox: 'bubblewrap',
  level: 'full',
  network: 'hosts',
};
const refused = { address: null, allowed: false, count: 1, sent_bytes: 0, received_bytes: 0 };
const reached: ConnectionSummary = {
  host: 'a.test',
  port: 443,
  address: '192.0.2.1',
  allowed: true,
  rule: 'a.test',
  count: 2,
  sent_bytes: 10,
  received_bytes: 20,
};

function receiptOf(connections?: readonly ConnectionSummary[]) {
  const { exit } = record();
  const ended = { exit: { ...exit, ...(connections && { connections }) }, reverted: [], hints: [] };
  return createReceiptHead(facts, { ...ended, audit: null });
}

test('what was reached and what was refused are apart', () => {
  const { allowed: _, rule: __, ...connection } = reached;
  const denied = { ...refused, host: 'b.test', port: 443, rule: 'deny b.test' };
  const found = receiptOf([reached, denied]);
  assert.deepEqual(found.connections, [connection]);
  assert.deepEqual(found.denials, [
    { kind: 'network', host: 'b.test', port: 443, rule: 'deny b.test' },
  ]);
  // Nobody can ask for what policy denies.
  assert.deepEqual(found.hints, []);
  assert.equal(found.sandbox.network, 'hosts');
  const { connections, denials } = receiptOf();
  assert.deepEqual([connections, denials], [undefined, undefined]);
});

test('a hint names hosts as the rule that would allow them, with its port', () => {
  const rule = 'not allowed';
  const found = receiptOf([
    { ...refused, host: 'a.test', port: 0, rule },
    { ...refused, host: 'a.test', port: 443, rule },
    { ...refused, host: 'b.test', port: 8443, rule },
    { ...refused, host: 'c.test', port: 22, rule: 'deny c.test' },
  ]);
  const [hint = ''] = found.hints;
  assert.match(hint, /refused a\.test, b\.test:8443:.*--net a\.test,b\.test:8443\)/);
  assert.match(hint, /network\.allow/);
  const late = receiptOf([{ ...refused, host: 'a.test', port: 443, rule: lateAnswer }]);
  assert.deepEqual(late.hints, ['Allowed after the program gave up: a.test; run it again']);
  const many = Array.from({ length: 9 }, (_, at) => ({
    ...refused,
    host: `h${at}.test`,
    port: 0,
    rule,
  }));
  assert.match(
    receiptOf(many).hints.join(),
    /--net h0\.test,h1\.test,h2\.test,h3\.test,h4\.test\)/,
  );
});
