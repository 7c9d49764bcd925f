// Questions and answers: who may answer, what an answer permits, what survives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval } from '../src/approval/approval.ts';
import type { ApprovalDecision } from '../src/approval/registry.ts';
import { subjectDigest } from '../src/approval/subject.ts';
import type { ApprovalSubject } from '../src/approval/subject.ts';
import { TrlError } from '../src/errors.ts';
import { limits } from '../src/limits.ts';
import { ask, asked, desk, no, person, yes } from './support/approval.ts';

const minute = 60_000;
const code = (wanted: string) => (error: unknown) =>
  error instanceof TrlError && error.code === wanted;

test('a yes starts its command once, and not again after a restart', () => {
  const first = desk();
  const { approvals } = first;
  const approval = approvals.ask(asked(), ask, 'x-1');
  assert.throws(() => approvals.claim(approval.id, asked()), code('APPROVAL_REQUIRED'));
  approvals.decide(approval.id, yes(approval));
  assert.equal(approvals.claim(approval.id, asked()).kind, 'run');
  assert.throws(() => approvals.claim(approval.id, asked()), code('APPROVAL_DENIED'));
  const { approvals: later } = first.restart();
  assert.equal(later.get(approval.id).state, 'used');
  assert.throws(() => later.claim(approval.id, asked()), code('APPROVAL_DENIED'));
});

test('what waits, and a yes that was not used, survive a restart', () => {
  const first = desk();
  const three = ['a', 'b', 'c'].map((command, at) =>
    first.approvals.ask(asked({ command }), ask, `x-${at}`),
  );
  const [one] = three;
  assert.ok(one !== undefined);
  first.approvals.decide(one.id, yes(one));
  const { approvals } = first.restart();
  assert.deepEqual(
    approvals.list({}).map(({ id, state }) => [id, state]),
    three.map(({ id }) => [id, id === one.id ? 'approved' : 'pending']),
  );
  assert.equal(approvals.claim(one.id, asked({ command: 'a' })).kind, 'run');
});

test('a yes does not take effect when it cannot be written down', () => {
  const { disk, approvals } = desk();
  const approval = approvals.ask(asked(), ask, 'x-1');
  disk.failure = new Error('disk full');
  assert.throws(() => approvals.decide(approval.id, yes(approval)), /disk full/);
  assert.equal(approvals.get(approval.id).state, 'pending');
  disk.failure = null;
  approvals.decide(approval.id, yes(approval));
  disk.failure = new Error('disk full');
  assert.throws(() => approvals.claim(approval.id, asked()), /disk full/);
  disk.failure = null;
  assert.equal(approvals.claim(approval.id, asked()).kind, 'run');
});

test('nobody deciding for 15 minutes is a denial, also while no daemon is there', () => {
  const first = desk();
  const approval = first.approvals.ask(asked(), ask, 'x-1');
  first.time += 15 * minute - 1;
  assert.equal(first.restart().approvals.get(approval.id).state, 'pending');
  first.time += 1;
  const { approvals } = first.restart();
  assert.equal(approvals.get(approval.id).state, 'expired');
  assert.throws(() => approvals.decide(approval.id, yes(approval)), code('APPROVAL_EXPIRED'));
  assert.throws(() => approvals.claim(approval.id, asked()), code('APPROVAL_EXPIRED'));
});

test('a yes that nothing followed does not start a command hours later', () => {
  const first = desk();
  const approval = first.approvals.ask(asked(), ask, 'x-1');
  first.approvals.decide(approval.id, yes(approval, { scope: 'session' }));
  first.time += 16 * minute;
  assert.throws(() => first.approvals.claim(approval.id, asked()), code('APPROVAL_EXPIRED'));
  assert.equal(first.approvals.sessionGrant('s-1', approval.digest), null);
});

test('equal questions of a session are one question; others are their own', () => {
  const { approvals } = desk();
  const approval = approvals.ask(asked(), ask, 'x-1');
  assert.equal(approvals.ask(asked(), ask, 'x-2').id, approval.id);
  const others = [
    asked({ session: 's-2' }),
    asked({ requester: 'uid:2' }),
    asked({ command: 'make' }),
  ];
  const ids = others.map((other) => approvals.ask(other, ask, 'x-3').id);
  assert.equal(new Set([approval.id, ...ids]).size, 4);
  approvals.decide(approval.id, no(approval));
  assert.notEqual(approvals.ask(asked(), ask, 'x-4').id, approval.id);
});

test('a workspace that changes all the time voids two answers, and the third says so', () => {
  const { approvals } = desk();
  const at = (sha256: string) =>
    asked({ binding: { kind: 'workspace', sha256, entries: 2, why: 'make may run files' } });
  let { id } = approvals.ask(at('a'), ask, 'x-1');
  const next = (sha256: string) => {
    approvals.decide(id, yes(approvals.get(id)));
    return approvals.claim(id, at(sha256));
  };
  for (const [round, kind] of ['workspace', 'unbound'].entries()) {
    const claim = next(`${round}`);
    assert.ok(claim.kind === 'superseded');
    assert.deepEqual(claim.changes, ['files of the workspace changed']);
    assert.equal(claim.next.asked.binding?.kind, kind);
    ({ id } = claim.next);
  }
  assert.equal(next('another one').kind, 'run');
});

test('what changed between yes and start does not run: a new question says what', () => {
  const { approvals } = desk();
  const file = { role: 'script', name: './x.sh', path: '/w/x.sh' } as const;
  const before = asked({ contents: [{ ...file, sha256: 'a' }] });
  const now = asked({ contents: [{ ...file, sha256: 'b' }], env: [{ name: 'FOO', mac: '1' }] });
  const approval = approvals.ask(before, ask, 'x-1');
  approvals.decide(approval.id, yes(approval, { scope: 'session' }));
  const claim = approvals.claim(approval.id, now);
  assert.ok(claim.kind === 'superseded');
  assert.deepEqual(claim.changes, ['the variable FOO is new', 'the script ./x.sh changed']);
  assert.deepEqual([claim.next.state, claim.next.execId], ['pending', 'x-1']);
  assert.deepEqual(approvals.get(approval.id).supersededBy, claim.next.id);
  assert.throws(() => approvals.claim(approval.id, before), code('APPROVAL_REQUIRED'));
  assert.equal(approvals.sessionGrant('s-1', approval.digest), null);
  approvals.decide(claim.next.id, yes(claim.next));
  assert.equal(approvals.claim(claim.next.id, now).kind, 'run');
});

test('for the session: equal plans of it run, others and other sessions do not', () => {
  const first = desk();
  const { approvals } = first;
  const approval = approvals.ask(asked(), ask, 'x-1');
  approvals.decide(approval.id, yes(approval, { scope: 'session' }));
  approvals.claim(approval.id, asked());
  const grant = (parts: Partial<ApprovalSubject>, at = first.restart()): boolean => {
    const question = asked(parts);
    return at.approvals.sessionGrant(question.session, subjectDigest(question)) !== null;
  };
  assert.equal(grant({}), true);
  assert.equal(grant({ command: 'make' }), false);
  assert.equal(grant({ session: 's-2' }), false);
  assert.equal(approvals.sessionGrant('s-2', approval.digest), null);
  first.time += 24 * 60 * minute;
  assert.equal(grant({}), false);
});

test('an approval for once, and a denial, grant nothing more', () => {
  const { approvals } = desk();
  const once = approvals.ask(asked(), ask, 'x-1');
  approvals.decide(once.id, yes(once));
  assert.equal(approvals.sessionGrant('s-1', once.digest), null);
  approvals.claim(once.id, asked());
  assert.equal(approvals.sessionGrant('s-1', once.digest), null);
  const second = approvals.ask(asked(), ask, 'x-2');
  approvals.decide(second.id, { ...no(second), scope: 'session' });
  assert.equal(approvals.sessionGrant('s-1', second.digest), null);
});

test('a grant ends with its session, and so does what waits', () => {
  const first = desk();
  const { approvals } = first;
  const approval = approvals.ask(asked(), ask, 'x-1');
  approvals.decide(approval.id, yes(approval, { scope: 'session' }));
  approvals.claim(approval.id, asked());
  const waiting = approvals.ask(asked({ command: 'make' }), ask, 'x-2');
  approvals.endSession('s-1');
  const { approvals: later } = first.restart();
  assert.equal(later.sessionGrant('s-1', approval.digest), null);
  assert.equal(later.get(waiting.id).state, 'cancelled');
});

test('a cancelled command is over, for who would decide too', () => {
  const { approvals } = desk();
  const approval = approvals.ask(asked(), ask, 'x-1');
  approvals.ask(asked({ command: 'b' }), ask, 'x-2');
  assert.deepEqual(
    approvals.cancel({ exec: 'x-1' }).map(({ id }) => id),
    [approval.id],
  );
  assert.throws(() => approvals.decide(approval.id, yes(approval)), code('INVALID_PARAMS'));
  assert.throws(() => approvals.claim(approval.id, asked()), code('APPROVAL_DENIED'));
  assert.equal(approvals.list({ state: 'pending' }).length, 1);
});

test('an answer is taken once, with the digest that was seen', () => {
  const { approvals } = desk();
  const approval = approvals.ask(asked(), ask, 'x-1');
  for (const digest of ['', approval.digest.slice(0, 7), 'f'.repeat(8), `${approval.digest}0`]) {
    const given = yes(approval, { digest });
    assert.throws(() => approvals.decide(approval.id, given), code('INVALID_PARAMS'), digest);
  }
  const words = 'use the staging server';
  approvals.decide(approval.id, no(approval, words));
  assert.throws(() => approvals.claim(approval.id, asked()), new RegExp(words));
  assert.throws(() => approvals.decide(approval.id, yes(approval)), code('INVALID_PARAMS'));
  const short = approvals.ask(asked(), ask, 'x-2');
  approvals.decide(short.id, yes(short, { digest: short.digest.slice(0, 8).toUpperCase() }));
});

test('who asked does not decide, and the uid alone only where policy says so', () => {
  const decide = (same: boolean, by: ApprovalDecision['by']): void => {
    const { approvals } = desk({ time: 0, allowSameUid: same });
    const approval = approvals.ask(asked(), ask, 'x-1');
    approvals.decide(approval.id, yes(approval, { by }));
  };
  assert.throws(() => decide(false, { actor: 'uid:1', proof: 'same_uid' }), code('AUTH_FAILED'));
  assert.throws(() => decide(false, { actor: 'uid:2', proof: 'same_uid' }), code('AUTH_FAILED'));
  assert.throws(() => decide(true, { actor: 'uid:1', proof: 'passphrase' }), code('AUTH_FAILED'));
  decide(true, { actor: 'uid:1', proof: 'same_uid' });
  decide(false, person);
});

test('a block cannot be asked for', () => {
  const { approvals } = desk();
  const block = { ...ask, decision: 'block' } as const;
  assert.throws(() => approvals.ask(asked(), block, 'x-1'), code('POLICY_DENIED'));
});

test('a session may wait for 32 answers, a caller for 192, all of them for 256', () => {
  const shareHolderOf = ({ session }: ApprovalSubject): string =>
    Number(session.slice(2)) < 6 ? 'client a' : session;
  const { approvals } = desk({ shareHolderOf });
  const put = (session: `s-${string}`, at: number): Approval =>
    approvals.ask(asked({ session, command: `c${at}` }), ask, `x-${at}`);
  for (let at = 0; at < 32; at += 1) put('s-0', at);
  assert.throws(() => put('s-0', 32), code('QUOTA_EXCEEDED'));
  assert.equal(put('s-0', 3).execId, 'x-3');
  for (let at = 32; at < 192; at += 1) put(`s-${Math.floor(at / 32)}`, at);
  assert.throws(() => put('s-5.5', 999), code('QUOTA_EXCEEDED'));
  for (let at = 192; at < 256; at += 1) put(`s-${at}`, at);
  assert.throws(() => put('s-9', 999), code('QUOTA_EXCEEDED'));
});

test('what is over is forgotten after a day, what still grants is kept longest', () => {
  const first = desk();
  const { approvals, disk } = first;
  const granted = approvals.ask(asked({ command: 'granted' }), ask, 'x-g');
  approvals.decide(granted.id, yes(granted, { scope: 'session' }));
  approvals.claim(granted.id, asked({ command: 'granted' }));
  for (let at = 0; at < limits.approvalRecords.default + 10; at += 1) {
    const one = approvals.ask(asked({ command: `c${at}` }), ask, `x-${at}`);
    approvals.decide(one.id, no(one));
  }
  approvals.expire();
  assert.equal(disk.rows.size, limits.approvalRecords.default);
  assert.ok(disk.rows.has(granted.id));
  first.time += 25 * 60 * minute;
  approvals.expire();
  assert.equal(disk.rows.size, 0);
});

test('what is over takes 16 MiB, and the oldest leaves before it takes more', () => {
  const { approvals, disk } = desk();
  const closed = (command: string): string => {
    const one = approvals.ask(asked({ command }), ask, 'x-1');
    approvals.decide(one.id, no(one));
    return one.id;
  };
  const bytes = (): number => [...disk.rows.values()].reduce((sum, row) => sum + row.length, 0);
  const bytesMax = 16 * 2 ** 20;
  const first = closed('a'.repeat(2 ** 20));
  for (let at = 1; at < 15; at += 1) closed(String(at).padEnd(2 ** 20, '.'));
  const rowBytes = (disk.rows.get(closed('b')) ?? '').length;
  closed('c'.repeat(bytesMax - bytes() - rowBytes + 1));
  approvals.expire();
  assert.deepEqual([bytes(), disk.rows.size], [bytesMax, 17]);
  closed('d');
  approvals.expire();
  assert.deepEqual([disk.rows.has(first), disk.rows.size], [false, 17]);
});

test('a row that was changed behind the runtime approves nothing', () => {
  const first = desk();
  const approval = first.approvals.ask(asked(), ask, 'x-1');
  first.approvals.decide(approval.id, yes(approval));
  const row = first.disk.rows.get(approval.id) ?? '';
  for (const bad of [row.replace('make install', 'make deploy'), row.slice(0, -1), 'null', '[]']) {
    first.disk.rows.set(approval.id, bad);
    assert.deepEqual(first.restart().approvals.list({}), []);
  }
});

test('whoever watches is told of each change, after it is on disk', () => {
  const { approvals, disk } = desk();
  const seen: string[] = [];
  const stop = approvals.watch(({ id, state }) => {
    seen.push(`${state} ${JSON.parse(disk.rows.get(id) ?? '{}').state}`);
  });
  const approval = approvals.ask(asked(), ask, 'x-1');
  approvals.decide(approval.id, yes(approval));
  approvals.claim(approval.id, asked());
  stop();
  approvals.ask(asked(), ask, 'x-2');
  assert.deepEqual(seen, ['pending pending', 'approved approved', 'used used']);
});
