// The only way from a plan to what may start: each thing that an answer binds, changed alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval } from '../src/approval/approval.ts';
import { approveByPolicy, approveByAnswer, approveByRule } from '../src/approval/approve.ts';
import type { LastingRule, RuleSubject } from '../src/approval/lasting-rules.ts';
import type { ApprovalSubject } from '../src/approval/subject.ts';
import type { ApprovedPlan, Plan, Verdict } from '../src/command.ts';
import { limits } from '../src/limits.ts';
import { resolveBounds } from '../src/session/bounds.ts';
import { ask, asked, desk, no, yes } from './support/approval.ts';

const plan: Plan = {
  exec_id: 'x-1',
  session_id: 's-1',
  command: 'make install',
  argv: null,
  shell: { path: '/bin/bash', dialect: 'bash' },
  cwd: '/w',
  cwd_fallback: '/',
  env: {},
  command_env: {},
  carry: 'none',
  mode: 'foreground',
  stdin: { kind: 'closed' },
  pty: null,
  bounds: resolveBounds({}, 'foreground'),
  box: { kind: 'none' },
};
const block: Verdict = { ...ask, decision: 'block' };
const required = { code: 'APPROVAL_REQUIRED' };
const denied = { code: 'POLICY_DENIED' };

/** A question that a person said yes to, and that is used up by this start. */
function used(question: ApprovalSubject = asked()): Approval {
  const { approvals } = desk();
  const { id } = approvals.ask(question, ask, 'x-1');
  approvals.decide(id, yes(approvals.get(id)));
  const claim = approvals.claim(id, question);
  assert.equal(claim.kind, 'run');
  return approvals.get(id);
}

test('nothing starts but what is allowed', () => {
  assert.equal(approveByPolicy(plan, { ...ask, decision: 'allow' }).plan, plan);
  assert.throws(() => approveByPolicy(plan, ask), required);
  assert.throws(() => approveByPolicy(plan, block), denied);
});

test('the box that plans of a session share is sealed once', () => {
  const allow: Verdict = { ...ask, decision: 'allow' };
  const [one, other] = (['x-1', 'x-2'] as const).map((id) =>
    approveByPolicy({ ...plan, exec_id: id }, allow),
  );
  assert.notEqual(one?.digest, other?.digest);
  assert.equal(one?.box, other?.box);
});

test('the compiler takes no copy of an approved plan for one', () => {
  const approved = approveByPolicy(plan, { ...ask, decision: 'allow' });
  const other = { ...plan, command: 'make uninstall' };
  // @ts-expect-error -- a copy may have another plan than what was approved
  // oxlint-disable-next-line typescript/no-misused-spread -- the lint finds it, too
  const copy: ApprovedPlan = { ...approved, plan: other };
  assert.notEqual(copy.plan, approved.plan);
});

test('a yes is for this command of this session, as it was asked', () => {
  const approval = used();
  assert.equal(approveByAnswer(plan, ask, { asked: asked(), approval }).plan, plan);
  const refused = (of: Plan, question: ApprovalSubject): void => {
    assert.throws(() => approveByAnswer(of, ask, { asked: question, approval }), required);
  };
  refused({ ...plan, command: 'make uninstall' }, asked());
  refused({ ...plan, session_id: 's-2' }, asked());
  refused(plan, asked({ network: 'host' }));
  refused(plan, asked({ reveal: ['0'.repeat(32)] }));
  const other = asked({ command: 'make uninstall' });
  refused({ ...plan, command: other.command }, other);
  assert.throws(() => approveByAnswer(plan, block, { asked: asked(), approval }), denied);
});

test('a question that nobody said yes to starts nothing', () => {
  const { approvals } = desk();
  const approval = approvals.ask(asked(), ask, 'x-1');
  const refused = (one: Approval): void => {
    assert.throws(() => approveByAnswer(plan, ask, { asked: asked(), approval: one }), required);
  };
  refused(approval);
  // A yes for once counts when it is used up, and only then.
  approvals.decide(approval.id, yes(approval));
  refused(approvals.get(approval.id));
  const second = approvals.ask(asked({ cwd: '/w/a' }), ask, 'x-2');
  approvals.decide(second.id, no(second));
  refused(approvals.get(second.id));
});

test('a yes for the session ends by itself', () => {
  const grant = (at: number): Approval => {
    const { approvals } = desk({ time: at });
    const { id } = approvals.ask(asked(), ask, 'x-1');
    approvals.decide(id, yes(approvals.get(id), { scope: 'session' }));
    return approvals.get(id);
  };
  const of = (at: number) => ({ asked: asked(), approval: grant(at) });
  assert.equal(approveByAnswer(plan, ask, of(Date.now())).plan, plan);
  const before = Date.now() - limits.approvalGrantMs.default;
  assert.throws(() => approveByAnswer(plan, ask, of(before)), required);
});

test('a rule answers the question that it is about, and no other', () => {
  const workspace = { path: '/w', dev: 1, ino: 2 };
  const of: RuleSubject = { reveal: ['1'.repeat(32)], workspace, requester: 'uid:1' };
  const rule: LastingRule = { id: 'r-1', created_at: '2026-01-01', by: 'approver:ada', of };
  const given = { asked: asked({ rule: of }), rule };
  const { approved, verdict } = approveByRule(plan, ask, given);
  assert.deepEqual([approved.plan, verdict.decision], [plan, 'allow']);
  assert.deepEqual(
    verdict.rules.map(({ id }) => id),
    ['answer.r-1'],
  );
  const refused = (one: Plan, question: ApprovalSubject): void => {
    assert.throws(() => approveByRule(one, ask, { asked: question, rule }), required);
  };
  refused({ ...plan, command: 'make uninstall' }, given.asked);
  refused({ ...plan, session_id: 's-2' }, given.asked);
  refused(plan, asked());
  refused(plan, asked({ rule: { ...of, requester: 'uid:2' } }));
  refused(plan, asked({ rule: { ...of, reveal: ['2'.repeat(32)] } }));
  assert.throws(() => approveByRule(plan, block, given), denied);
  assert.throws(() => approveByRule(plan, { ...ask, decision: 'allow' }, given), required);
});
