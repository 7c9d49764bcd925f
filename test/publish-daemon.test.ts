// The gate on the wire of a real daemon: what may leave, for whom, and what is told of it.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { noOverlay } from './support/changes.ts';
import { startRuntime, type Daemon } from './support/daemon.ts';
import {
  ask,
  auditText,
  check,
  checkText,
  passage,
  plan,
  policy,
  rules,
  startPublishing,
  write,
  writePolicy,
} from './support/publication.ts';
import { openSession, type TestSession } from './support/session.ts';

let daemon: Daemon;
let session: TestSession;
before(async () => {
  daemon = await startPublishing();
  session = await openSession(daemon.socketPath, { working_dir: daemon.root });
});
after(async () => {
  await session?.destroy();
  await daemon?.stop();
});
const skip = noOverlay();
const inRoot = (name: string): string => path.join(daemon.root, name);

test('what a command left is blocked when it tells what is denied, and passes else', async () => {
  const clean = await session.run('echo fine > clean.txt; echo all is well');
  const passed = await check(daemon, { kind: 'exec', exec_id: clean.exec_id, output: true });
  // That it could read what is denied is told, and is no reason to hold it back.
  assert.deepEqual([passed.decision, rules(passed)], ['pass', ['interference']]);
  assert.equal(passed.items, 2);

  const leaky = await session.run('sed -n 2,4p private/plan.md > out.txt; echo done');
  const changes = await check(daemon, { kind: 'exec', exec_id: leaky.exec_id });
  assert.deepEqual(
    [changes.decision, rules(changes)],
    ['block', ['denied.content', 'interference']],
  );
  assert.equal(changes.findings[0].item, 'out.txt');
});

test('what a command printed is blocked when it tells what is denied', async () => {
  const { exec_id: id } = await session.run('cat private/plan.md | base64');
  const without = await check(daemon, { kind: 'exec', exec_id: id });
  assert.equal(without.decision, 'pass');
  const printed = await check(daemon, { kind: 'exec', exec_id: id, output: true });
  assert.deepEqual([printed.decision, printed.findings[0].item], ['block', 'stdout']);
  const told = await session.run('cat private/none.md; grep -n e private/plan.md >&2');
  const named = await check(daemon, { kind: 'exec', exec_id: told.exec_id, output: true });
  assert.equal(named.decision, 'block');
  assert.ok(named.findings.some(({ item }: { item: string }) => item === 'stderr'));
});

test('an archive, a diff, a gzip, a name and a planted text are seen through', async () => {
  await session.run('mkdir -p pkg && cp private/plan.md pkg/copy.txt && tar czf pkg.tgz pkg');
  const archive = await check(daemon, { kind: 'paths', paths: ['pkg.tgz'] });
  assert.equal(archive.decision, 'block');
  assert.deepEqual(
    archive.findings
      .map(({ item }: { item: string }) => item)
      .filter((one: string) => one !== 'pkg.tgz'),
    [],
  );
  const diff = passage.replaceAll(/^/gm, '+');
  assert.equal((await checkText(daemon, `--- a/x\n+++ b/x\n${diff}\n`)).decision, 'block');
  const packed = gzipSync(plan).toString('base64');
  assert.equal((await checkText(daemon, JSON.stringify({ packed }))).decision, 'block');
  assert.deepEqual(rules(await checkText(daemon, 'see TRL-CANARY-5f2c77aa\n')), ['canary']);
  assert.deepEqual(rules(await checkText(daemon, 'on project-nightingale\n')), ['denied.name']);
  assert.deepEqual(rules(await checkText(daemon, 'Error: at private/plan.md:3\n')), [
    'denied.name',
  ]);
  const noise = await checkText(
    daemon,
    Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * at * 7 + at) & 255)),
  );
  assert.deepEqual([noise.decision, rules(noise)], ['review', ['unscannable']]);
});

test('denied files, links to them and copies are blocked, whatever they are called', async () => {
  symlinkSync('../private/plan.md', path.join(inRoot('pkg'), 'plan-link'));
  const link = await check(daemon, { kind: 'paths', paths: ['pkg/plan-link'] });
  assert.ok(rules(link).includes('denied.path'));
  write(daemon.root, { 'docs/old-copy.md': plan });
  const copy = await check(daemon, { kind: 'paths', paths: ['docs'] });
  assert.ok(rules(copy).includes('denied.file'), JSON.stringify(copy));
  const itself = await check(daemon, { kind: 'paths', paths: [inRoot('private/plan.md')] });
  assert.ok(rules(itself).includes('denied.path'));
  const all = await check(daemon, { kind: 'paths' });
  assert.equal(all.decision, 'block');
  execFileSync('ln', [inRoot('private/plan.md'), inRoot('another-name.txt')]);
  const hard = await check(daemon, { kind: 'paths', paths: ['another-name.txt'] });
  assert.equal(hard.decision, 'block');
  for (const name of ['docs', 'another-name.txt', 'pkg', 'pkg.tgz']) {
    rmSync(inRoot(name), { recursive: true });
  }
});

test('who asks is not told what was found; the audit log is', async () => {
  write(daemon.root, { 'leak.txt': `intro\n${passage}\n` });
  const answer = await ask(daemon, 'publish.check', { kind: 'paths', paths: ['leak.txt'] });
  const [{ trace, ...finding }] = answer.data.findings;
  assert.deepEqual(finding, { rule: 'denied.content', decision: 'block', item: 'leak.txt' });
  const told = JSON.stringify(answer);
  for (const secret of ['private/plan', 'Kestrel', 'nightingale']) {
    assert.ok(!told.includes(secret), secret);
  }
  const refused = await ask(daemon, 'publish', { kind: 'paths', paths: ['leak.txt'] });
  assert.equal(refused.error.code, 'PUBLICATION_BLOCKED');
  assert.equal(refused.data.trace, trace);
  assert.ok(!JSON.stringify(refused).includes('private/plan'));
  const log = auditText(daemon.home);
  const lines = log.split('\n').filter((line) => line.includes(trace));
  assert.ok(lines.every((line) => line.includes('"source":"private/plan.md"')));
  assert.ok(lines.length >= 2 && lines.some((line) => line.includes('publication.blocked')));
  // Nobody is enrolled here, and policy takes the uid for a person.
  const person = await check(daemon, { kind: 'paths', paths: ['leak.txt'], evidence: true });
  assert.equal(person.findings[0].evidence.source, 'private/plan.md');
  assert.deepEqual(person.findings[0].evidence.lines, [2, 4]);
  unlinkSync(inRoot('leak.txt'));
});

test('what is laid out is what was checked, though the file changes meanwhile', async () => {
  write(daemon.root, { 'dist/a.txt': 'as it was\n', 'dist/b/run.sh': '#!/bin/sh\n' });
  const { data } = await ask(daemon, 'publish', { kind: 'paths', paths: ['dist'] });
  writeFileSync(inRoot('dist/a.txt'), plan);
  assert.ok(data.files, JSON.stringify(data));
  assert.deepEqual(
    data.files.map(({ path: name, type }: { path: string; type: string }) => [name, type]),
    [
      ['dist/a.txt', 'file'],
      ['dist/b/run.sh', 'file'],
    ],
  );
  assert.equal(readFileSync(path.join(data.directory, '0'), 'utf8'), 'as it was\n');
  assert.deepEqual(readdirSync(data.directory), ['0', '1']);
  assert.equal(statSync(data.directory).mode & 0o077, 0);
  const { data: again, error } = await ask(daemon, 'publish', { kind: 'paths', paths: ['dist'] });
  assert.equal(error.code, 'PUBLICATION_BLOCKED');
  assert.equal(again.decision, 'block');
  assert.ok(auditText(daemon.home).includes(`"publication_id":"${data.publication_id}"`));
  assert.deepEqual(readdirSync(path.dirname(data.directory)), [data.publication_id]);
  rmSync(inRoot('dist'), { recursive: true });
});

test('what needs a review passes with a yes to just that, now and later', async () => {
  const blob = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(2_000, 3)]);
  writeFileSync(inRoot('data.db'), blob);
  const params = { kind: 'paths', paths: ['data.db'] };
  const seen = await check(daemon, params);
  assert.deepEqual([seen.decision, rules(seen)], ['review', ['unscannable']]);
  const other = await ask(daemon, 'publish.check', { ...params, accept: '0'.repeat(64) });
  assert.equal(other.error.code, 'INVALID_PARAMS');
  const refused = await ask(daemon, 'publish', params);
  assert.equal(refused.error.code, 'PUBLICATION_BLOCKED');
  const accepted = await check(daemon, { ...params, accept: seen.digest });
  assert.equal(accepted.decision, 'pass');
  assert.equal((await check(daemon, params)).decision, 'pass');
  assert.equal((await ask(daemon, 'publish', params)).ok, true);
  writeFileSync(inRoot('data.db'), Buffer.concat([blob, Buffer.from([4])]));
  assert.equal((await check(daemon, params)).decision, 'review');
  // A yes holds for no block.
  write(daemon.root, { 'leak.txt': passage });
  const blocked = await check(daemon, { kind: 'paths', paths: ['leak.txt'] });
  const still = await check(daemon, { kind: 'paths', paths: ['leak.txt'], accept: blocked.digest });
  assert.equal(still.decision, 'block');
  unlinkSync(inRoot('leak.txt'));
  unlinkSync(inRoot('data.db'));
});

test('a known secret is found in any encoding, and is in no answer and no log', async () => {
  const value = 'kd83-HHq2-pz0W-77Ls-vv1T';
  await ask(daemon, 'secrets.set', { name: 'DEPLOY_KEY', value });
  write(daemon.root, { 'conf.txt': `key ${Buffer.from(value).toString('base64')}\n` });
  const found = await check(daemon, { kind: 'paths', paths: ['conf.txt'] });
  assert.deepEqual([found.decision, rules(found)], ['block', ['secret.known']]);
  const typed = await checkText(daemon, `the key is ${value}`);
  assert.equal(typed.decision, 'block');
  const log = auditText(daemon.home);
  assert.ok(log.includes('DEPLOY_KEY'));
  for (const form of [value, Buffer.from(value).toString('base64')]) {
    assert.ok(!JSON.stringify([found, typed]).includes(form));
    assert.ok(!log.includes(form));
  }
  unlinkSync(inRoot('conf.txt'));
});

test('FIFOs are not opened, links not followed, and nothing outside is reached', async () => {
  mkdirSync(inRoot('odd'));
  execFileSync('mkfifo', [inRoot('odd/pipe')]);
  symlinkSync('/etc', inRoot('odd/etc'));
  const odd = await check(daemon, { kind: 'paths', paths: ['odd'] });
  assert.deepEqual([odd.decision, rules(odd)], ['review', ['unscannable']]);
  const through = await ask(daemon, 'publish.check', { kind: 'paths', paths: ['odd/etc/passwd'] });
  assert.equal(through.error.code, 'INVALID_PARAMS');
  for (const name of ['../x', '/etc/passwd']) {
    const out = await ask(daemon, 'publish.check', { kind: 'paths', paths: [name] });
    assert.equal(out.error.code, 'WORKSPACE_ESCAPE');
  }
  const place = await ask(daemon, 'publish.check', { kind: 'paths', path: '/etc' });
  assert.equal(place.error.code, 'WORKSPACE_ESCAPE');
  const nobody = await ask(daemon, 'publish.check', { kind: 'paths', audience: 'press' });
  assert.match(nobody.error.message, /policy knows the audiences "public"/);
  rmSync(inRoot('odd'), { recursive: true });
});

test('what waits is checked before it is applied', { skip }, async () => {
  const params = { working_dir: daemon.root, workspace_mode: 'staged' };
  await using staged = await openSession(daemon.socketPath, params);
  await staged.run('sed -n 2,4p private/plan.md > staged.txt');
  assert.equal(existsSync(inRoot('staged.txt')), false);
  const found = await check(daemon, { kind: 'changes', session_id: staged.id });
  assert.deepEqual([found.decision, found.findings[0].item], ['block', 'staged.txt']);
  await staged.run('echo nothing > staged.txt');
  const mended = await check(daemon, { kind: 'changes', session_id: staged.id });
  assert.equal(mended.decision, 'pass');
});

test(
  'a command that could read nothing denied made what does not interfere',
  { skip },
  async () => {
    await using fresh = await startPublishing();
    const read = { deny: ['private/**'] };
    const opened = await ask(fresh, 'workspace.open', { path: fresh.root, policy: { read } });
    const params = { workspace_id: opened.data.workspace_id };
    await using blind = await openSession(fresh.socketPath, params);
    const { exec_id: id } = await blind.run('echo made > made.txt; cat private/plan.md; ls');
    const apart = await check(fresh, { kind: 'exec', exec_id: id });
    assert.deepEqual([apart.decision, apart.basis], ['pass', 'non-interference']);
    await using seeing = await openSession(fresh.socketPath, { working_dir: fresh.root });
    const seen = await seeing.run('tr a-z f-za-e < private/plan.md > cache.txt');
    const scanned = await check(fresh, { kind: 'exec', exec_id: seen.exec_id });
    assert.deepEqual([scanned.decision, scanned.basis], ['pass', 'scan']);
    // What that one left is in the open for the next.
    const fed = await blind.run('cp cache.txt fed.txt');
    const handed = await check(fresh, { kind: 'exec', exec_id: fed.exec_id });
    assert.deepEqual([handed.decision, handed.basis], ['pass', 'scan']);
    const before = await check(fresh, { kind: 'exec', exec_id: id });
    assert.equal(before.basis, 'non-interference');
    // Somebody else wrote to it since.
    writeFileSync(path.join(fresh.root, 'made.txt'), 'by hand\n');
    const own = await check(fresh, { kind: 'paths', paths: ['made.txt'] });
    assert.equal(own.basis, 'scan');
  },
);

test('what was denied later is known by what commands left before', { skip }, async () => {
  await using late = await startPublishing('base: trusted\n');
  await using open = await openSession(late.socketPath, { working_dir: late.root });
  await open.run('cp private/plan.md copied.md');
  await open.run('echo rewritten > private/plan.md');
  const params = { kind: 'paths', paths: ['copied.md'] };
  assert.equal((await check(late, params)).decision, 'pass');
  writePolicy(late.home, policy);
  process.kill(late.pid, 'SIGHUP');
  for (let left = 100; left > 0 && !late.log().includes('read again'); left -= 1) {
    await ask(late, 'system.ping', {});
  }
  const found = await check(late, params);
  assert.deepEqual([found.decision, rules(found).includes('denied.file')], ['block', true]);
});

test('only what changed is read again, also by the next runtime', async () => {
  await using first = await startPublishing();
  const files = Object.fromEntries(
    Array.from({ length: 50 }, (_, at) => [`private/n${at}.md`, `${plan}\nnumber ${at} of them\n`]),
  );
  write(first.root, files);
  const leak = `${passage}\n`;
  assert.equal((await checkText(first, leak)).decision, 'block');
  const place = path.join(first.home, 'state/trl/publish/places');
  const [name = ''] = readdirSync(place);
  const table = path.join(place, name, 'files.json');
  const { ino } = statSync(table);
  await first.kill('SIGTERM');
  await using second = await startRuntime({ home: first.home, env: { TRL_POLICY: '' } });
  assert.equal((await checkText(second, leak)).decision, 'block');
  assert.equal(statSync(table).ino, ino);
  const fresh = [
    'A wholly new passage that nobody has read before now.',
    'And another sentence which says a little more of the same secret matter.',
    '',
  ].join('\n');
  write(second.root, { 'private/new.md': fresh });
  assert.notEqual((await checkText(second, fresh)).decision, 'pass');
  assert.notEqual(statSync(table).ino, ino);
  for (const one of Object.keys(files)) unlinkSync(path.join(second.root, one));
  unlinkSync(path.join(second.root, 'private/plan.md'));
  assert.equal((await checkText(second, leak)).decision, 'pass');
});
