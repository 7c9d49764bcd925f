// Rules for requests: which requests of a host they permit, and no spelling of another one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecId } from '../src/command.ts';
import { BridgeCommands } from '../src/egress/bridge-commands.ts';
import { EgressDecider } from '../src/network/egress-rules.ts';
import { coversRule, parseHostRule } from '../src/network/host-rules.ts';

const decider = (allow: readonly string[], deny: readonly string[] = []): EgressDecider =>
  new EgressDecider({ mode: 'hosts', allow, deny, private: [], connect: {} });

const decidesRequests = (
  name: string,
  port: number,
  allow: readonly string[],
  deny: readonly string[] = [],
): boolean => {
  const commands = new BridgeCommands();
  const exec: ExecId = 'x-0001';
  commands.begin(exec, { mode: 'hosts', allow, deny, private: [], connect: {} });
  return commands.decidesRequests(name, port);
};

const ruleFor = (rules: EgressDecider, method: string, target: string): string =>
  rules.decideRequest('a.test', 443, { method, target }).rule;

test('a rule with a path permits what is below it, in no other spelling', () => {
  const rules = decider(['GET|HEAD a.test/pub']);
  assert.equal(decidesRequests('a.test', 443, ['GET|HEAD a.test/pub']), true);
  assert.equal(rules.decide('a.test', 443).isAllowed, true);
  for (const target of ['/pub', '/pub/', '/pub/x', '/pub/%78', '/pub/x?a=/../secret', '/%70ub/x']) {
    assert.equal(ruleFor(rules, 'GET', target), 'GET|HEAD a.test/pub', target);
  }
  for (const target of ['/', '/public', '/PUB/x', '/secret', '/secret?/pub/x', '/secret#/pub']) {
    assert.equal(ruleFor(rules, 'GET', target), 'request not allowed', target);
  }
  const doubtful = [
    '/pub/../secret',
    '/pub/%2e%2e/secret',
    '/pub/..%2fsecret',
    '/pub//x',
    '//a/pub',
  ];
  doubtful.push('/pub/%2e/x', '/pub/\\..\\secret', '/pub/..;/secret', '/pub/%252e%252e/secret');
  doubtful.push('/pub/%5c..', '/pub/%00', '/pub/%zz', 'http://a.test/pub', '*', '', '/pub;x=/y');
  for (const target of doubtful) {
    assert.equal(ruleFor(rules, 'GET', target), 'ambiguous path', target);
  }
  assert.equal(ruleFor(rules, 'POST', '/pub/x'), 'request not allowed');
});

test('a denied request stays denied in another case, and leaves the others', () => {
  const rules = decider(['a.test'], ['DELETE a.test', 'a.test/admin']);
  assert.equal(decidesRequests('a.test', 443, ['a.test'], ['DELETE a.test']), true);
  assert.equal(ruleFor(rules, 'GET', '/x'), 'a.test');
  assert.equal(ruleFor(rules, 'DELETE', '/x'), 'deny DELETE a.test');
  for (const target of ['/admin', '/ADMIN/x', '/%61dmin', '/admin?x']) {
    assert.equal(ruleFor(rules, 'GET', target), 'deny a.test/admin', target);
  }
  assert.equal(decidesRequests('c.b.test', 443, ['*.b.test'], ['b.test/x']), false);
});

test('who permits a whole host sees no request', () => {
  assert.equal(decidesRequests('a.test', 443, ['a.test', 'GET a.test/x']), false);
  assert.equal(decidesRequests('a.test', 443, ['GET a.test/x']), true);
});

test('a rule for requests covers no more than they are', () => {
  const covers = (outer: string, inner: string): boolean => {
    const [a, b] = [parseHostRule(outer), parseHostRule(inner)];
    assert.ok(a !== null && b !== null);
    return coversRule([a], b);
  };
  assert.equal(covers('a.test', 'GET a.test/x'), true);
  assert.equal(covers('GET|POST a.test/x', 'POST a.test/x/y'), true);
  assert.equal(covers('GET a.test', 'a.test'), false);
  assert.equal(covers('GET a.test/x', 'GET a.test'), false);
  assert.equal(covers('GET a.test/x', 'GET a.test/xy'), false);
  assert.equal(covers('GET a.test/x', 'POST a.test/x'), false);
});
