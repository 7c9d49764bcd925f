// The verbs around changes: what they ask of a runtime, what they print, and the exit codes.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { SnapshotView } from '../src/client/index.ts';
import { change, exec, Scripted, session, trees } from './support/scripted.ts';

let scripted: Scripted;
let work: string;
before(async () => {
  scripted = await Scripted.open();
  work = scripted.work;
});
after(() => scripted[Symbol.asyncDispose]());
const run: Scripted['run'] = (...all) => scripted.run(...all);
const [treeA, treeB] = trees;

const kinds = {
  added: 0,
  modified: 2,
  deleted: 0,
  mode: 0,
  type: 0,
  symlink: 0,
  special: 0,
  'metadata-only': 1,
};
const snapshot: SnapshotView = {
  exec_id: exec,
  session_id: session,
  path: '/w',
  command: 'npm run \u001b[31mbuild',
  before: treeA,
  after: treeB,
  at: '2026-11-22T08:00:00.000Z',
  method: 'overlay',
  mode: 'direct',
  counts: kinds,
  states: { applied: 2, staged: 0, held: 1, conflict: 0, discarded: 0 },
  undone: false,
};
const file = {
  path: 'a.txt',
  kind: 'modified',
  state: 'applied',
  added_lines: 2,
  removed_lines: 1,
  binary: false,
} as const;
const text = 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-x\n+y\n+z\n';
const diffed = { diff: text, files: [file], truncated: false };
const sessions = (): object => ({
  sessions: [
    {
      session_id: `s-${'3'.repeat(32)}`,
      workspace: '/elsewhere',
      state: 'idle',
      last_activity: '9',
    },
    { session_id: `s-${'4'.repeat(32)}`, workspace: work, state: 'idle', last_activity: '1' },
    { session_id: session, workspace: work, state: 'idle', last_activity: '5' },
    { session_id: `s-${'5'.repeat(32)}`, workspace: work, state: 'terminated', last_activity: '8' },
  ],
});

test('trl diff shows the last command of this directory, as it is', async () => {
  const script_ = { 'snapshot.list': { snapshots: [snapshot] }, 'workspace.diff': diffed };
  const ran = await run(script_, ['diff']);
  assert.deepEqual([ran.code, ran.stdout, ran.stderr], [0, text, '']);
  assert.deepEqual(ran.asked, [
    { method: 'snapshot.list', params: { path: work, limit: 1 } },
    { method: 'workspace.diff', params: { exec_id: exec } },
  ]);
  const none = await run({ 'snapshot.list': { snapshots: [] } }, ['diff']);
  assert.deepEqual([none.code, none.stdout], [125, '']);
  assert.match(none.stderr, /none is recorded for ".*work"; name one by its id \[EXEC_NOT_FOUND\]/);
});

test('trl diff takes a command, a session and paths as seen from here', async () => {
  const answers = { 'workspace.diff': diffed };
  const sub = path.join(work, 'sub');
  const named = await run(answers, ['diff', exec, 'x', '../y', '--context', '0'], { cwd: sub });
  const paths = [path.join(sub, 'x'), path.join(work, 'y')];
  assert.deepEqual(named.asked[0]?.params, { exec_id: exec, paths, context: 0 });
  const whole = await run(answers, ['diff', '--session', session, '--json', '.']);
  assert.deepEqual(whole.asked[0]?.params, { session_id: session, paths: [work] });
  assert.deepEqual(JSON.parse(whole.stdout), diffed);
  const both = await run(answers, ['diff', exec, '--session', session]);
  assert.deepEqual([both.code, both.asked.length], [125, 0]);
});

test('trl diff --stat counts lines, and says what is binary', async () => {
  const files = [
    file,
    { ...file, path: 'b.bin', added_lines: null, removed_lines: null, binary: true },
  ];
  const answers = { 'workspace.diff': { ...diffed, files, truncated: true } };
  const ran = await run(answers, ['diff', '--stat', exec]);
  assert.equal(
    ran.stdout,
    ' a.txt | 3 ++-\n b.bin | binary\n 2 files changed, 2 added lines, 1 removed\n',
  );
  assert.match(ran.stderr, /too large to show/);
});

test('trl undo says what came back, and exits 1 where somebody stands in the way', async () => {
  const restored = {
    restored: [
      change('a.txt'),
      change('run.sh', { kind: 'mode', after: { type: 'file', mode: '0755' } }),
    ],
    conflicts: [],
    impossible: [],
    totals: { restored: 3, conflicts: 0, impossible: 0 },
    exec_ids: [exec],
    dry_run: false,
    nothing: null,
  };
  const ran = await run({ 'exec.undo': restored }, ['undo', exec, 'a.txt']);
  assert.deepEqual(
    [ran.code, ran.stdout, ran.stderr],
    [0, 'M  a.txt\nP  run.sh  (0644 to 0755)\n   and 1 more\n', 'trl: 3 paths restored\n'],
  );
  assert.deepEqual(ran.asked[0]?.params, {
    exec_id: exec,
    dry_run: false,
    paths: [path.join(work, 'a.txt')],
  });
  const theirs = change('b\u202etxt', { state: 'conflict', reason: 'changed-meanwhile' });
  const answer = {
    ...restored,
    conflicts: [theirs],
    totals: { restored: 1, conflicts: 1, impossible: 0 },
    restored: [change('a.txt')],
    dry_run: true,
  };
  const some = await run({ 'exec.undo': answer }, ['undo', exec, '--dry-run']);
  assert.equal(some.code, 1);
  assert.match(some.stderr, /^trl: 1 path would be restored\ntrl: 1 path changed by somebody/);
  assert.ok(some.stderr.includes(String.raw`M  b\u{202E}txt  (conflict: changed-meanwhile)`));
  const json = await run({ 'exec.undo': answer }, ['undo', exec, '--json']);
  assert.deepEqual([json.code, JSON.parse(json.stdout)], [1, answer]);
  const wrong = await run({}, ['undo', 'yesterday']);
  assert.deepEqual([wrong.code, wrong.asked.length], [125, 0]);
});

test('trl snapshot lists, shows and restores', async () => {
  const listed = await run({ 'snapshot.list': { snapshots: [snapshot] } }, ['snapshot', 'list']);
  assert.deepEqual(listed.asked[0]?.params, { path: work });
  const [, row = ''] = listed.stdout.split('\n');
  assert.match(row, /^x-1+ {2}2026\S+ {2}M2 ~1 1 held {2}direct {2}npm run \\u\{1B\}\[31mbuild$/);
  const record = {
    ...snapshot,
    changes: [change('a.txt', { state: 'held', reason: 'git-hooks' })],
    changes_total: 1,
    next: null,
  };
  const shown = await run({ 'snapshot.get': record }, ['snapshot', 'show', treeB]);
  assert.deepEqual(shown.asked[0]?.params, { id: treeB });
  assert.match(shown.stdout, /\n\nM {2}a\.txt {2}\(held: git-hooks\)\n$/);
  const bytes = Buffer.from([0, 255, 10]);
  const content = { size: 3, base64: bytes.toString('base64') };
  const kept = await run({ 'snapshot.get': { ...record, content } }, [
    'snapshot',
    'show',
    `${exec}:d/a: b`,
  ]);
  assert.deepEqual(kept.asked[0]?.params, { exec_id: exec, content: 'd/a: b', limit: 1 });
  assert.deepEqual([kept.code, kept.stdout], [0, bytes.toString('utf8')]);
  const none = await run({ 'snapshot.get': { ...record, content: null } }, [
    'snapshot',
    'show',
    `${exec}:a`,
  ]);
  assert.deepEqual([none.code, none.stdout], [1, '']);
  const restored = {
    restored: [],
    conflicts: [],
    impossible: [change('big', { marks: ['over-cap'] })],
    totals: { restored: 0, conflicts: 0, impossible: 1 },
    exec_ids: [],
    dry_run: false,
  };
  const back = await run({ 'snapshot.restore': restored }, ['snapshot', 'restore', exec]);
  assert.deepEqual([back.code, back.asked[0]?.params], [1, { exec_id: exec, dry_run: false }]);
  assert.match(back.stderr, /old content was not kept:\nM {2}big {2}\(over-cap\)\n$/);
});

test('trl workspace means the session that was last used here', async () => {
  const status = {
    session_id: session,
    path: '/w',
    mode: 'staged',
    method: 'overlay',
    staged: [change('a.txt', { state: 'staged' })],
    held: [],
    conflicts: [],
    totals: { staged: 1, held: 0, conflicts: 0 },
    held_digest: null,
    store: { bytes: 5, bytes_max: 10, contents: 1, records: 1, dropped: 2 },
    denied: 3,
    git: 'projected',
    unrecorded: [],
  };
  const answers = { 'session.list': sessions, 'workspace.status': status };
  const shown = await run(answers, ['workspace', 'status'], { cwd: path.join(work, 'sub') });
  assert.deepEqual(shown.asked.at(-1)?.params, { session_id: session });
  assert.match(
    shown.stdout,
    /Staged \(publish: trl workspace apply\):\nM {2}a\.txt {2}\(staged\)\n/,
  );
  assert.match(shown.stdout, /2 given up/);
  const nowhere = await run(answers, ['workspace', 'status'], { cwd: scripted.home });
  assert.match(nowhere.stderr, /name one with --session \[SESSION_NOT_FOUND\]/);
  const applied = {
    applied: [change('a.txt')],
    conflicts: [],
    held: [],
    totals: { applied: 1, conflicts: 0, held: 0 },
  };
  const published = await run({ 'session.list': sessions, 'workspace.apply': applied }, [
    'workspace',
    'apply',
    'a.txt',
  ]);
  assert.deepEqual([published.code, published.stdout], [0, 'M  a.txt\n']);
  assert.deepEqual(published.asked.at(-1)?.params, {
    session_id: session,
    paths: [path.join(work, 'a.txt')],
  });
  const discarded = { discarded: [], totals: { discarded: 0 } };
  const gone = await run({ 'workspace.discard': discarded }, [
    'workspace',
    'discard',
    '--session',
    session,
  ]);
  assert.deepEqual([gone.code, gone.stderr], [0, 'trl: 0 paths discarded\n']);
});

test('what is held is let through by the digest that was seen, with a passphrase', async () => {
  const digest = 'd'.repeat(64);
  const held = [change('.git/hooks/pre-commit', { state: 'held', reason: 'git-hooks' })];
  const answers = {
    'workspace.status': {
      session_id: session,
      held,
      held_digest: digest,
      totals: { staged: 0, held: 1, conflicts: 0 },
    },
    'workspace.diff': diffed,
    'approval.status': { enrolled: true, same_uid_allowed: false },
    'workspace.apply': {
      applied: held,
      conflicts: [],
      held: [],
      totals: { applied: 1, conflicts: 0, held: 0 },
    },
  };
  const args = ['workspace', 'apply', '--held', '--session', session];
  const ran = await run(answers, [...args, '--passphrase-stdin'], { input: 'open sesame\n' });
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual(ran.asked.at(-1), {
    method: 'workspace.apply',
    params: { session_id: session, held: true, digest, passphrase: 'open sesame' },
  });
  const nothing = await run(
    { 'workspace.status': { ...answers['workspace.status'], held: [], held_digest: null } },
    args,
  );
  assert.deepEqual([nothing.code, nothing.stderr], [0, 'trl: nothing is held\n']);
});

test('trl workspace open sends rules as they are written, and prints the id', async () => {
  const id = `w-${'7'.repeat(32)}`;
  const answers = {
    'workspace.open': {
      workspace_id: id,
      path: work,
      mode: 'staged',
      method: 'overlay',
      denied: null,
      git: 'real',
    },
  };
  const args = ['workspace', 'open', 'sub', '--deny-read', '*.pem', '--workspace-mode', 'staged'];
  const ran = await run(answers, args);
  assert.deepEqual([ran.code, ran.stdout], [0, `${id}\n`]);
  assert.deepEqual(ran.asked[0]?.params, {
    path: path.join(work, 'sub'),
    policy: { read: { allow: [], deny: ['*.pem'] }, write: { deny: [] } },
    mode: 'staged',
  });
});
