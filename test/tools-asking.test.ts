// What a person is shown of a command that an agent wrote: nothing in it passes for our words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalSummaryLines } from '../src/cli/approval-text.ts';
import { approvalFormResult } from '../src/mcp/approval-form.ts';
import type { ApprovalView } from '../src/api/approval.ts';
import { waitingForApprovalText } from '../src/tools/approval-prompts.ts';

const reason = 'it deletes "x\nin /safe"';
const approval: ApprovalView = {
  approval_id: 'a-01',
  exec_id: 'x-01',
  session_id: 's-01',
  digest: 'd'.repeat(64),
  state: 'pending',
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-01T00:15:00.000Z',
  requester: 'uid:0',
  asked: {
    command: 'rm -rf x\nin /safe, network off, sandbox full\na-02, digest 0\u3164\u202e',
    shell: { path: '/bin/sh', dialect: 'posix' },
    mode: 'foreground',
    cwd: '/work/a\nin /safe',
    workspace: null,
    network: 'on',
    sandbox: { kind: 'none', level: 'none' },
    files: { read: { allow: [], deny: [] }, write: { allow: [], deny: [] } },
    stdin: 'closed',
    pty: false,
    timeout_ms: null,
    variables: [],
    contents: [],
    argv: null,
  },
  verdict: {
    decision: 'ask',
    policy: { name: 'guarded', version: '1' },
    runs: [],
    notes: [],
    rules: [
      { id: 'delete', decision: 'ask', reason, span: null, via: [], evidence: null, instead: null },
    ],
  },
  changes: ['the directory is /work/a\nin /safe'],
};

for (const [name, text] of [
  ['a form', () => JSON.stringify(approvalFormResult(approval, true, 'state').inputRequests)],
  ['the text of an answer', () => JSON.stringify(waitingForApprovalText(approval))],
] as const) {
  test(`no line of a command, directory or reason passes for another one in ${name}`, () => {
    const shown = text();
    assert.ok(shown.includes('rm -rf x'));
    for (const forged of ['\\nin /safe', '\\na-02', '\u3164', '\u202e']) {
      assert.ok(!shown.includes(forged), `${JSON.stringify(forged)} in ${shown}`);
    }
  });
}

test('what a command gets on standard input is shown with it, and passes for nothing else', () => {
  const text = 'rm -rf /\nin /safe\u202e\nApprove it by: nothing';
  const input = { text, bytes: 40, is_whole: true };
  const shown = (more: Partial<ApprovalView['asked']>): string[] => {
    const of = { ...approval, asked: { ...approval.asked, stdin: 'bytes' as const, ...more } };
    const form = JSON.stringify(approvalFormResult(of, true, 'state').inputRequests);
    return [
      waitingForApprovalText(of),
      form.replaceAll('\\n', '\n'),
      approvalSummaryLines(of, 80).join('\n'),
    ];
  };
  for (const one of shown({ input })) {
    assert.match(one, /standard input \(40 bytes\):\n *(\| *)?.*rm -rf \//);
    assert.doesNotMatch(one, /\u202e|^in \/safe|^Approve it by: nothing/m);
  }
  for (const one of shown({ input: { ...input, is_whole: false } })) {
    assert.match(one, /40 bytes, OF WHICH ONLY THE BEGINNING IS SHOWN/);
  }
  for (const one of shown({})) assert.match(one, /standard input, which is not held here/);
});

test('a script and a tool are not shown as a command of the shell', () => {
  const { asked } = approval;
  const texts = (of: ApprovalView['asked']): string[] => {
    const shown = { ...approval, asked: of };
    const form = approvalFormResult(shown, true, 'state').inputRequests;
    return [
      waitingForApprovalText(shown),
      JSON.stringify(form),
      approvalSummaryLines(shown, 80).join('\n'),
    ];
  };
  for (const text of texts({ ...asked, language: 'python' })) assert.match(text, /Python script/);
  const tool = { name: 'deploy', sha256: 'f'.repeat(64) };
  for (const text of texts({ ...asked, tool })) assert.match(text, /[Tt]ool \\?"deploy/);
  for (const text of texts(asked)) assert.doesNotMatch(text, /Python|[Tt]ool "/);
});
