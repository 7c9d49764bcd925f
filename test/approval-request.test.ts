// What an approval binds, and how a difference is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { diffSubjects } from '../src/approval/subject-diff.ts';
import { macOf } from '../src/approval/key.ts';
import { confirmSubjectUnchanged } from '../src/approval/approve.ts';
import { subjectDigest } from '../src/approval/subject.ts';
import type { ApprovalSubject } from '../src/approval/subject.ts';
import { asked } from './support/approval.ts';

const script = {
  role: 'script',
  name: 'scripts/x.sh',
  path: '/w/scripts/x.sh',
  sha256: 'a'.repeat(64),
} as const;
const node = { role: 'executable', name: 'node', path: '/usr/bin/node', sha256: 'b'.repeat(64) };
const base: ApprovalSubject = {
  ...asked(),
  env: [
    { name: 'FOO', mac: '11' },
    { name: 'BAR', mac: '22' },
  ],
  contents: [script, { ...node, role: 'executable' }],
};

const differences: readonly (readonly [string, Partial<ApprovalSubject>])[] = [
  ['the command is another text', { command: 'make deploy' }],
  ['what is started in place of a shell is something else', { argv: ['/usr/bin/git', 'log'] }],
  ['the shell is /bin/sh instead of /bin/bash', { shell: { path: '/bin/sh', dialect: 'posix' } }],
  ['it is detached instead of in the foreground', { mode: 'detached' }],
  ['the working directory is /w/a instead of /w', { cwd: '/w/a' }],
  ['the workspace was replaced', { workspace: { path: '/w', dev: 1, ino: 3 } }],
  ['the workspace is /v instead of /w', { workspace: { path: '/v', dev: 1, ino: 2 } }],
  ['the workspace is none instead of /w', { workspace: null }],
  ['the variable BAR is gone', { env: [{ name: 'FOO', mac: '11' }] }],
  ['the variable FOO changed', { env: [...base.env.slice(1), { name: 'FOO', mac: '33' }] }],
  ['the variable NEW is new', { env: [...base.env, { name: 'NEW', mac: '44' }] }],
  ['the input changed', { stdin: { kind: 'bytes', mac: '55' } }],
  ['the terminal changed', { pty: { columns: 80, rows: 24 } }],
  [
    'the sandbox is none instead of bubblewrap (full)',
    { sandbox: { kind: 'none', level: 'none', box: 'box' } },
  ],
  [
    'what the sandbox shows or holds changed',
    { sandbox: { kind: 'bubblewrap', level: 'full', box: 'other' } },
  ],
  ['the network is host instead of off', { network: 'host' }],
  ['the hosts that it asks for changed: a.test', { hosts: ['a.test'] }],
  ['what its output would show of what is hidden changed', { reveal: ['0'.repeat(32)] }],
  [
    'what it may write changed: /etc is new',
    { files: { ...base.files, write: { allow: ['/etc'], deny: [] } } },
  ],
  [
    'what it may not read changed: **/.env is gone',
    { files: { ...base.files, read: { allow: [], deny: [] } } },
  ],
  ['the bound timeoutMs is 1 instead of 60000', { bounds: { ...base.bounds, timeoutMs: 1 } }],
  ['the policy auto changed', { policy: { name: 'auto', version: '2' } }],
  ['the policy is guarded instead of auto', { policy: { name: 'guarded', version: '1' } }],
  ['who asks is uid:9 instead of uid:1', { requester: 'uid:9' }],
  [
    'the script scripts/x.sh changed',
    { contents: [{ ...script, sha256: 'c'.repeat(64) }, ...base.contents.slice(1)] },
  ],
  [
    'the script scripts/x.sh is gone',
    { contents: [{ ...script, path: null, sha256: null }, ...base.contents.slice(1)] },
  ],
  [
    'the executable node is another file: /w/node instead of /usr/bin/node',
    { contents: [script, { ...node, role: 'executable', path: '/w/node' }] },
  ],
  ['the executable node is no longer named', { contents: [script] }],
  [
    'the script scripts/x.sh changed',
    { contents: [{ ...script, mode: 0o755 }, ...base.contents.slice(1)] },
  ],
  ['what is bound of the workspace is something else', { binding: { kind: 'named' } }],
  [
    'it is not bound what it runs: make may run files that it does not name',
    { binding: { kind: 'unbound', why: 'make may run files that it does not name' } },
  ],
];

for (const [at, [text, change]] of differences.entries()) {
  test(`told: ${text} (${at})`, () => {
    const now = { ...base, ...change };
    assert.deepEqual(
      diffSubjects(base, now).map((each) => each.text),
      [text],
    );
    assert.notEqual(subjectDigest(base), subjectDigest(now));
  });
}

test('what changed at the last look before the start is refused, and named', () => {
  confirmSubjectUnchanged(base, { ...base, contents: base.contents.toReversed() });
  const now = { ...base, contents: [{ ...script, sha256: null }, ...base.contents.slice(1)] };
  assert.throws(() => confirmSubjectUnchanged(base, now), {
    code: 'APPROVAL_EXPIRED',
    message: /the script scripts\/x\.sh changed just before the start/,
  });
});

test('the order in which parts were gathered is no change', () => {
  const now = { ...base, env: base.env.toReversed(), contents: base.contents.toReversed() };
  assert.equal(subjectDigest(now), subjectDigest(base));
  assert.deepEqual(diffSubjects(base, now), []);
});

test('differences are told exactly when the digests differ', () => {
  const word = fc.constantFrom('a', 'b', 'c');
  const any: fc.Arbitrary<ApprovalSubject> = fc
    .record({
      command: word,
      cwd: word.map((name) => `/${name}`),
      network: fc.constantFrom('host' as const, 'off' as const),
      env: fc.uniqueArray(fc.record({ name: word, mac: word }), { selector: ({ name }) => name }),
      contents: fc.array(
        fc.record({
          role: fc.constantFrom('script' as const, 'executable' as const),
          name: word,
          path: fc.option(word),
          sha256: fc.option(word),
        }),
        { maxLength: 3 },
      ),
      requester: word,
    })
    .map((parts) => ({ ...base, ...parts }));
  fc.assert(
    fc.property(any, any, (before, now) => {
      const isSame = subjectDigest(before) === subjectDigest(now);
      assert.equal(diffSubjects(before, now).length === 0, isSame);
    }),
  );
});

test("a variable's value is bound, and neither it nor its hash is told", () => {
  const key = Buffer.alloc(32, 7);
  const value = 'hunter2-hunter2';
  const mac = macOf(key, 'TOKEN', value);
  const held = { ...base, env: [{ name: 'TOKEN', mac }] };
  const other = { ...base, env: [{ name: 'TOKEN', mac: macOf(key, 'TOKEN', 'else') }] };
  const told = diffSubjects(held, other).map(({ text }) => text);
  assert.deepEqual(told, ['the variable TOKEN changed']);
  assert.ok(!JSON.stringify(held).includes(value));
  assert.notEqual(mac, macOf(key, 'OTHER', value));
  assert.notEqual(mac, macOf(Buffer.alloc(32, 8), 'TOKEN', value));
});
