// What a person reads of a question: why it is asked, what changed since a yes, why nothing starts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, ApprovalAnswer } from '../src/approval/approval.ts';
import {
  approvalDueAt,
  isSessionGrant,
  isApprovalOpen,
  newApprovalId,
  parseApproval,
} from '../src/approval/approval.ts';
import {
  approveByPolicy,
  confirmRuleUnchanged,
  confirmSubjectUnchanged,
  approvalReason,
} from '../src/approval/approve.ts';
import { diffSubjects, isOnlyWorkspaceChange } from '../src/approval/subject-diff.ts';
import type { LastingRule, RuleSubject } from '../src/approval/lasting-rules.ts';
import {
  subjectDigest,
  rebindSubject,
  withoutWorkspaceState,
  type ApprovalSubject,
} from '../src/approval/subject.ts';
import { approvalExpiredError, approvalNotUsableError } from '../src/approval/approval-errors.ts';
import type { ApprovalState, Plan, Verdict } from '../src/command.ts';
import { limits } from '../src/limits.ts';
import { ask, asked, desk } from './support/approval.ts';
import { assertRecorded } from './support/recorded.ts';

const content = { role: 'script', name: './x.sh', path: '/w/x.sh', sha256: 'a' } as const;
const files = asked().files;
const workspace = { path: '/w', dev: 1, ino: 2 };
const bound = { kind: 'workspace', sha256: 'a', entries: 2, why: 'make may run files' } as const;
const unbound = { kind: 'unbound', why: 'too many files' } as const;

/** What a question was, and what it is now: one thing is another. */
const pairs: readonly (readonly [Partial<ApprovalSubject>, Partial<ApprovalSubject>])[] = [
  [{}, {}],
  [{ command: 'a' }, { command: 'b' }],
  [{ argv: null }, { argv: ['a'] }],
  [{ argv: ['a'] }, { argv: ['b'] }],
  [
    { shell: { path: '/bin/sh', dialect: 'bash' } },
    { shell: { path: '/bin/bash', dialect: 'bash' } },
  ],
  [{ shell: { path: '/bin/sh', dialect: 'bash' } }, { shell: { path: '/bin/sh', dialect: 'zsh' } }],
  [
    { shell: { path: '/bin/sh', dialect: 'bash' } },
    { shell: { path: '/bin/zsh', dialect: 'zsh' } },
  ],
  [{ mode: 'foreground' }, { mode: 'detached' }],
  [{ mode: 'detached' }, { mode: 'foreground' }],
  [{ cwd: '/a' }, { cwd: '/b' }],
  [
    { cwd: '/a', cwdPlace: { dev: 1, ino: 1 } },
    { cwd: '/b', cwdPlace: { dev: 1, ino: 2 } },
  ],
  [{ cwdPlace: { dev: 1, ino: 1 } }, { cwdPlace: { dev: 1, ino: 2 } }],
  [{ workspace: null }, { workspace }],
  [{ workspace }, { workspace: null }],
  [{ workspace }, { workspace: { ...workspace, path: '/v' } }],
  [{ workspace }, { workspace: { ...workspace, ino: 3 } }],
  [{ env: [] }, { env: [{ name: 'A', mac: '1' }] }],
  [{ env: [{ name: 'A', mac: '1' }] }, { env: [] }],
  [{ env: [{ name: 'A', mac: '1' }] }, { env: [{ name: 'A', mac: '2' }] }],
  [{ stdin: { kind: 'closed', mac: null } }, { stdin: { kind: 'open', mac: null } }],
  [{ stdin: { kind: 'bytes', mac: '1' } }, { stdin: { kind: 'bytes', mac: '2' } }],
  [{ pty: null }, { pty: { columns: 80, rows: 24 } }],
  [{ network: 'off' }, { network: 'host' }],
  [{ sandbox: { kind: 'none', level: 'none', box: 'a' } }, {}],
  [
    { sandbox: { kind: 'bubblewrap', level: 'full', box: 'a' } },
    { sandbox: { kind: 'bubblewrap', level: 'root-uid', box: 'b' } },
  ],
  [
    { sandbox: { kind: 'bubblewrap', level: 'full', box: 'a' } },
    { sandbox: { kind: 'bubblewrap', level: 'full', box: 'b' } },
  ],
  ...(['read', 'write'] as const).flatMap((access) =>
    (['allow', 'deny'] as const).flatMap((rule) => {
      const of = (...paths: string[]): Partial<ApprovalSubject> => ({
        files: { ...files, [access]: { ...files[access], [rule]: paths } },
      });
      return [
        [of(), of('/a')],
        [of('/a'), of()],
        [of('/a', '/b'), of('/b', '/c')],
        [of('/a', '/b'), of('/b', '/a')],
      ] as const;
    }),
  ),
  [{}, { reveal: ['1'] }],
  [{ reveal: ['1'] }, { reveal: ['2'] }],
  [
    { bounds: { ...asked().bounds, timeoutMs: 1 } },
    { bounds: { ...asked().bounds, timeoutMs: 2 } },
  ],
  [{ policy: { name: 'a', version: '1' } }, { policy: { name: 'b', version: '2' } }],
  [{ policy: { name: 'a', version: '1' } }, { policy: { name: 'a', version: '2' } }],
  [{ session: 's-1' }, { session: 's-2' }],
  [{ requester: 'uid:1' }, { requester: 'uid:2' }],
  [{ tool: { name: 'a', sha256: '1' } }, { tool: { name: 'a', sha256: '2' } }],
  [{}, { language: 'python' }],
  [{ contents: [] }, { contents: [content] }],
  [{ contents: [content] }, { contents: [] }],
  [{ contents: [content] }, { contents: [{ ...content, sha256: 'b' }] }],
  [{ contents: [content] }, { contents: [{ ...content, path: '/w/y.sh' }] }],
  [{ contents: [content] }, { contents: [{ ...content, path: null, sha256: null }] }],
  [{ contents: [{ ...content, path: null, sha256: null }] }, { contents: [content] }],
  [{ contents: [content] }, { contents: [content, { ...content, sha256: 'b' }] }],
  [{ contents: [content, { ...content, sha256: 'b' }] }, { contents: [content] }],
  [
    { contents: [content, { ...content, path: '/w/a.sh' }] },
    { contents: [{ ...content, path: '/w/a.sh' }, content] },
  ],
  ...(['executable', 'package-script', 'file', 'directory'] as const).map(
    (role) => [{ contents: [] }, { contents: [{ ...content, role }] }] as const,
  ),
  [{}, { binding: bound }],
  [{ binding: bound }, { binding: { ...bound, sha256: 'b' } }],
  [{ binding: bound }, { binding: unbound }],
  [{ binding: unbound }, { binding: { ...unbound, why: 'a pipe' } }],
  [{ binding: unbound }, { binding: bound }],
  [{ binding: unbound }, {}],
];

test('each thing that can change is named, as it was and as it is', () => {
  const lines = pairs.map(([was, is]) => {
    const [before, now] = [asked(was), asked(is)];
    const changes = diffSubjects(before, now);
    assert.equal(changes.length === 0, subjectDigest(before) === subjectDigest(now));
    const told = changes.map(({ field, text }) => `${field}: ${text}`).join('; ');
    return `${JSON.stringify(was)} ${JSON.stringify(is)}\t${told}`;
  });
  assertRecorded('approval/changes.tsv', lines);
});

test('files of the workspace alone are those that nobody named', () => {
  const of = (was: Partial<ApprovalSubject>, is: Partial<ApprovalSubject>): boolean =>
    isOnlyWorkspaceChange(diffSubjects(asked(was), asked(is)).map(({ text }) => text));
  const other = { ...bound, sha256: 'b' };
  assert.equal(of({ binding: bound }, { binding: other }), true);
  assert.equal(of({ binding: bound }, { binding: other, command: 'b' }), false);
  assert.equal(of({ binding: bound }, { binding: bound }), false);
  assert.equal(of({ binding: bound }, { binding: unbound }), false);
});

test('an answer without the state of the workspace binds all else', () => {
  const loose = withoutWorkspaceState(asked({ binding: bound }));
  assert.deepEqual(loose, {
    ...asked(),
    binding: {
      kind: 'unbound',
      why: 'files of the workspace change all the time; make may run files',
    },
  });
  assert.deepEqual(withoutWorkspaceState(asked({ binding: unbound })), asked({ binding: unbound }));
  assert.deepEqual(withoutWorkspaceState(asked()), asked());
  const now = asked({ binding: { ...bound, sha256: 'b' } });
  assert.deepEqual(rebindSubject(loose, now), loose);
  assert.deepEqual(rebindSubject(asked({ binding: bound }), now), now);
});

test('the last look before the start lets through what was answered, and nothing else', () => {
  confirmSubjectUnchanged(asked(), asked());
  const late = (now: Partial<ApprovalSubject>, message: RegExp): void => {
    const refused = { code: 'APPROVAL_EXPIRED', message };
    assert.throws(() => confirmSubjectUnchanged(asked(), asked(now)), refused);
  };
  late({ command: 'b' }, /run the command: the command is another text just before the start; run/);
  late({ network: 'host' }, /the network is host instead of off just before the start/);
  confirmSubjectUnchanged(
    withoutWorkspaceState(asked({ binding: bound })),
    asked({ binding: bound }),
  );
});

test('a rule that no longer fits answers nothing', () => {
  const of: RuleSubject = { reveal: ['1'], workspace, requester: 'uid:1' };
  const rule: LastingRule = { id: 'r-1', created_at: '2026-01-01', by: 'approver:ada', of };
  confirmRuleUnchanged(rule, rule);
  const refused = { code: 'APPROVAL_EXPIRED', message: /the rule r-1 no longer fits/ };
  assert.throws(() => confirmRuleUnchanged(rule, null), refused);
  assert.throws(() => confirmRuleUnchanged(rule, { ...rule, id: 'r-2' }), refused);
});

const rule = {
  id: 'fs.rm-rf',
  decision: 'block',
  reason: 'deletes a tree by force',
  span: null,
  via: [],
  evidence: 'rm -rf x',
  instead: 'Ask a person.',
} as const;

test('a refusal and a question say why, in one line', () => {
  const plan: Plan = JSON.parse('{}');
  const said = (verdict: Partial<Verdict>): readonly string[] => {
    const whole: Verdict = { ...ask, ...verdict, decision: 'block' };
    try {
      approveByPolicy(plan, whole);
      return ['started'];
    } catch (error) {
      return [error instanceof Error ? error.message : '', approvalReason(whole)];
    }
  };
  const cannot = 'Cannot run the command';
  assert.deepEqual(said({ rules: [] }), [`${cannot}: policy blocks it`, `${cannot} yet`]);
  const why = '"rm -rf x" deletes a tree by force (fs.rm-rf)';
  assert.deepEqual(said({ rules: [rule] }), [
    `${cannot}: ${why}; instead: Ask a person.`,
    `${cannot} yet: ${why}`,
  ]);
  const plain = { ...rule, evidence: null, instead: null };
  const it = 'it deletes a tree by force (fs.rm-rf and 2 more)';
  assert.deepEqual(said({ rules: [plain, rule, rule] }), [
    `${cannot}: ${it}`,
    `${cannot} yet: ${it}`,
  ]);
  for (const [length, shown] of [
    [120, 'x'.repeat(120)],
    [121, `${'x'.repeat(119)}…`],
  ] as const) {
    const [message = ''] = said({ rules: [{ ...plain, evidence: 'x'.repeat(length) }] });
    assert.equal(message, `${cannot}: "${shown}" deletes a tree by force (fs.rm-rf)`);
  }
});

function approvalIn(state: ApprovalState, more: Partial<Approval> = {}): Approval {
  const { approvals } = desk();
  return { ...approvals.ask(asked(), ask, 'x-1'), state, ...more };
}

const answerOf = (words: string | null): ApprovalAnswer => ({
  decision: 'deny',
  scope: 'once',
  at: 1_000,
  by: { actor: 'approver:ada', proof: 'passphrase' },
  words,
});

test('why nothing starts by an approval is said for each state', () => {
  const told = (approval: Approval): unknown[] => {
    const { code, message, data } = approvalNotUsableError(approval);
    return [code, message.replace(approval.id, 'ID'), data];
  };
  const data = (approval: Approval): object => ({ approval_id: approval.id, exec_id: 'x-1' });
  const cases: readonly (readonly [Approval, string, string])[] = [
    [approvalIn('pending'), 'APPROVAL_REQUIRED', ' yet: a person must decide first (ID)'],
    [approvalIn('expired'), 'APPROVAL_EXPIRED', ': nobody decided in time (ID)'],
    [
      approvalIn('expired', { answer: answerOf(null) }),
      'APPROVAL_EXPIRED',
      ': it did not start in time after the approval (ID)',
    ],
    [
      approvalIn('denied', { answer: answerOf(null) }),
      'APPROVAL_DENIED',
      ': a person said no (ID)',
    ],
    [approvalIn('denied'), 'APPROVAL_DENIED', ': a person said no (ID)'],
    [
      approvalIn('denied', { answer: answerOf('not today') }),
      'APPROVAL_DENIED',
      ': a person said: not today (ID)',
    ],
    [approvalIn('cancelled'), 'APPROVAL_DENIED', ': the question was withdrawn (ID)'],
    [approvalIn('used'), 'APPROVAL_DENIED', ': its approval was used (ID)'],
  ];
  for (const [approval, code, message] of cases) {
    const wanted = [code, `Cannot run the command${message}`, data(approval)];
    assert.deepEqual(told(approval), wanted);
  }
  const superseded = approvalIn('superseded', { supersededBy: 'a-2' });
  assert.deepEqual(told(superseded), [
    'APPROVAL_REQUIRED',
    'Cannot run the command yet: it changed since the approval (a-2)',
    { approval_id: 'a-2', exec_id: 'x-1' },
  ]);
  const late = approvalIn('expired');
  assert.deepEqual(approvalExpiredError(late).data, data(late));
});

test('an approval is open until it is over, and due while it is open', () => {
  const answer = answerOf(null);
  const states: readonly (readonly [ApprovalState, boolean, number | null])[] = [
    ['pending', true, 77],
    ['approved', true, 1_000 + limits.approvalClaimMs.default],
    ['used', false, null],
    ['denied', false, null],
    ['expired', false, null],
    ['cancelled', false, null],
    ['superseded', false, null],
  ];
  for (const [state, open, due] of states) {
    const approval = approvalIn(state, { expiresAt: 77, answer });
    assert.deepEqual([isApprovalOpen(approval), approvalDueAt(approval)], [open, due], state);
    const grants = { ...approval, grants: true };
    const until = 1_000 + limits.approvalGrantMs.default;
    const may = state === 'approved' || state === 'used';
    const holds = [
      isSessionGrant(grants, until - 1),
      isSessionGrant(grants, until),
      isSessionGrant(approval, 0),
    ];
    assert.deepEqual(holds, [may, false, false], state);
    assert.equal(isSessionGrant({ ...grants, answer: null }, 0), false);
  }
  assert.equal(approvalDueAt(approvalIn('approved')), limits.approvalClaimMs.default);
});

test('a row of the store is read as it was written, or not at all', () => {
  const approval = approvalIn('pending');
  const json = JSON.stringify(approval);
  assert.match(newApprovalId(), /^a-[0-9a-f]{32}$/);
  assert.deepEqual(parseApproval(approval.id, json), approval);
  assert.equal(parseApproval('a-2', json), null);
  assert.equal(parseApproval(approval.id, json.replace('"v":1', '"v":2')), null);
  assert.equal(parseApproval(approval.id, json.replace(approval.digest, '0'.repeat(64))), null);
  assert.equal(parseApproval(approval.id, json.slice(1)), null);
});
