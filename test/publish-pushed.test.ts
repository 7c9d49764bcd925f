// What a push sends, read from real repositories: files, messages, names; nothing of them is run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PushCollector } from '../src/host/publication/push-collector.ts';
import { PublicationBudget, type OutgoingCollection } from '../src/publish/publication.ts';
import type { PushRequest } from '../src/host/port.ts';

let home: string;
before(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-pushed-')));
});
after(() => rmSync(home, { recursive: true, force: true }));

const zeros = '0'.repeat(40);

class Worktree {
  readonly top: string;

  constructor(name: string) {
    this.top = path.join(home, name);
    mkdirSync(this.top);
    this.git('init', '-q', '-b', 'main');
  }

  git(...args: readonly string[]): string {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    const all = ['-c', 'commit.gpgsign=false', ...who, ...args];
    return execFileSync('git', all, { cwd: this.top, encoding: 'utf8', env }).trim();
  }

  write(name: string, text: string): void {
    const file = path.join(this.top, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  commit(message: string): string {
    this.git('add', '-A');
    this.git('commit', '-q', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }

  sent(params: PushRequest, root = this.top): Promise<OutgoingCollection> {
    return new PushCollector(root, this.top, new PublicationBudget()).commits(params);
  }
}

const texts = ({ items }: OutgoingCollection): string[] =>
  items.map(({ bytes }) => Buffer.from(bytes).toString());
/** Of files, in order of their names; `none`: outside of the workspace. */
const paths = ({ items }: OutgoingCollection): string[] =>
  items.flatMap(({ kind, path: at }) => (kind === 'file' ? [at ?? 'none'] : [])).toSorted();

test('a range has what each commit adds, also what a later one takes away', async () => {
  const tree = new Worktree('range');
  tree.write('a.txt', 'one\n');
  const first = tree.commit('first');
  tree.write('secret.txt', 'the secret\n');
  tree.commit('oops');
  rmSync(path.join(tree.top, 'secret.txt'));
  tree.write('b.txt', 'two\n');
  tree.commit('take it away\n\nhidden words in the body');
  const found = await tree.sent({ range: `${first}..HEAD` });
  assert.deepEqual(paths(found), ['b.txt', 'secret.txt']);
  assert.ok(texts(found).some((text) => text.includes('the secret')));
  assert.ok(texts(found).some((text) => text.includes('hidden words in the body')));
  assert.ok(texts(found).some((text) => text.includes('Ada <ada@example.org>')));
  assert.equal(found.unread.length, 0);
  const earlier = [];
  for await (const one of found.earlier?.() ?? []) earlier.push(one.path);
  assert.deepEqual(earlier, ['a.txt']);
});

test('a new branch has what no branch of the remote has; a deleted one has nothing', async () => {
  const tree = new Worktree('branches');
  tree.write('base.txt', 'known\n');
  const base = tree.commit('base');
  tree.git('update-ref', 'refs/remotes/origin/main', base);
  tree.write('new.txt', 'new\n');
  const tip = tree.commit('more');
  const ref = { local_ref: 'refs/heads/new', remote_ref: 'refs/heads/new' };
  const added = { ...ref, local_id: tip, remote_id: zeros };
  assert.deepEqual(paths(await tree.sent({ refs: [added], remote: 'origin' })), ['new.txt']);
  // Another remote has none of it.
  const other = await tree.sent({ refs: [added], remote: 'other' });
  assert.deepEqual(paths(other), ['base.txt', 'new.txt']);
  const gone = { ...ref, local_id: zeros, remote_id: tip };
  assert.deepEqual((await tree.sent({ refs: [gone], remote: 'origin' })).items, []);
  const moved = { ...ref, local_id: tip, remote_id: base };
  assert.deepEqual(paths(await tree.sent({ refs: [moved], remote: 'other' })), ['new.txt']);
  // The remote has a commit that was never fetched: it excludes nothing.
  const foreign = { ...ref, local_id: tip, remote_id: 'f'.repeat(40) };
  const all = await tree.sent({ refs: [foreign], remote: 'other' });
  assert.deepEqual(paths(all), ['base.txt', 'new.txt']);
  assert.ok(texts(all).includes('refs/heads/new'));
});

test('merges have what is in none of their parents; tags have their text', async () => {
  const tree = new Worktree('merges');
  tree.write('a.txt', 'a\n');
  const base = tree.commit('base');
  tree.git('checkout', '-q', '-b', 'side');
  tree.write('b.txt', 'b\n');
  const side = tree.commit('side');
  tree.git('checkout', '-q', 'main');
  tree.write('c.txt', 'c\n');
  tree.commit('main');
  tree.git('merge', '-q', '--no-commit', '--no-ff', 'side');
  tree.write('evil.txt', 'only in the merge\n');
  tree.commit('merge');
  tree.git('tag', '-a', 'v1', '-m', 'words of the tag');
  const tag = tree.git('rev-parse', 'v1');
  const found = await tree.sent({ range: `${side}..v1` });
  assert.deepEqual(paths(found), ['c.txt', 'evil.txt']);
  assert.ok(texts(found).some((text) => text.includes('words of the tag')));
  const ref = { local_ref: 'refs/tags/v1', remote_ref: 'refs/tags/v1', remote_id: zeros };
  const pushed = await tree.sent({ refs: [{ ...ref, local_id: tag }], remote: 'x' });
  assert.deepEqual(paths(pushed), ['a.txt', 'b.txt', 'c.txt', 'evil.txt']);
  assert.ok(base.length === 40);
});

test('moves show under both names, links by where they lead, LFS by its file', async () => {
  const tree = new Worktree('forms');
  tree.write('private/plan.md', 'the plan\n');
  const base = tree.commit('base');
  tree.git('mv', 'private/plan.md', 'open.md');
  symlinkSync('private/plan.md', path.join(tree.top, 'link'));
  tree.write('big.bin', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n');
  tree.write('ümläut \n line.txt', 'odd\n');
  tree.commit('move');
  const found = await tree.sent({ range: `${base}..HEAD` });
  const names = found.items.flatMap(({ path: at }) => (at === null ? [] : [at]));
  const odd = Buffer.from('ümläut \n line.txt').toString('latin1');
  assert.deepEqual(names.toSorted(), ['big.bin', 'link', 'open.md', odd].toSorted());
  assert.ok(texts(found).includes('private/plan.md'));
  assert.deepEqual(
    found.unread.map(({ reason }) => reason),
    ['is a pointer to a file that git LFS sends separately'],
  );
});

test('a workspace inside or above the worktree has paths of its own', async () => {
  const tree = new Worktree('places');
  tree.write('sub/in.txt', 'in\n');
  tree.write('out.txt', 'out\n');
  tree.commit('one');
  const below = await tree.sent({ range: 'HEAD' }, path.join(tree.top, 'sub'));
  assert.deepEqual(paths(below), ['in.txt', 'none']);
  const above = await tree.sent({ range: 'HEAD' }, home);
  assert.deepEqual(paths(above), ['places/out.txt', 'places/sub/in.txt']);
});

test('what is staged is the index against the last commit, or against nothing', async () => {
  const tree = new Worktree('staged');
  tree.write('a.txt', 'a\n');
  tree.git('add', 'a.txt');
  const first = await new PushCollector(tree.top, tree.top, new PublicationBudget()).staged();
  assert.deepEqual(paths(first), ['a.txt']);
  tree.commit('one');
  tree.write('b.txt', 'staged\n');
  tree.git('add', 'b.txt');
  tree.write('b.txt', 'changed since\n');
  tree.write('c.txt', 'not staged\n');
  const found = await new PushCollector(tree.top, tree.top, new PublicationBudget()).staged();
  assert.deepEqual(texts(found), ['staged\n']);
});

test('a linked worktree is read as its repository', async () => {
  const tree = new Worktree('linked');
  tree.write('a.txt', 'a\n');
  tree.commit('one');
  const other = path.join(home, 'linked-other');
  tree.git('worktree', 'add', '-q', '-b', 'other', other);
  const found = await new PushCollector(other, other, new PublicationBudget()).commits({
    range: 'other',
  });
  assert.deepEqual(paths(found), ['a.txt']);
});

test('nothing that a repository is configured with is started', async () => {
  const tree = new Worktree('hostile');
  tree.write('a.txt', 'a\n');
  tree.write('.gitattributes', '* diff=evil filter=evil\n');
  const base = tree.commit('one');
  tree.write('a.txt', 'b\n');
  tree.commit('two');
  const mark = path.join(home, 'was-run');
  const script = path.join(home, 'evil.sh');
  writeFileSync(script, `#!/bin/sh\ntouch '${mark}'\n`);
  chmodSync(script, 0o755);
  for (const name of [
    'core.fsmonitor',
    'core.pager',
    'core.sshCommand',
    'diff.external',
    'diff.evil.textconv',
    'diff.evil.command',
    'filter.evil.clean',
    'filter.evil.smudge',
    'gpg.program',
    'core.editor',
    'credential.helper',
  ]) {
    tree.git('config', name, script);
  }
  tree.git('config', 'log.showSignature', 'true');
  tree.git('config', 'alias.rev-list', `!${script}`);
  for (const hook of ['reference-transaction', 'post-index-change', 'pre-push']) {
    writeFileSync(path.join(tree.top, '.git/hooks', hook), `#!/bin/sh\ntouch '${mark}'\n`);
    chmodSync(path.join(tree.top, '.git/hooks', hook), 0o755);
  }
  rmSync(mark, { force: true });
  const found = await tree.sent({ range: `${base}..HEAD` });
  assert.deepEqual(texts(found).at(-1), 'b\n');
  await new PushCollector(tree.top, tree.top, new PublicationBudget()).staged();
  for await (const _ of found.earlier?.() ?? []);
  assert.equal(existsSync(mark), false);
});

test('a revision that is none, or an option, is refused', async () => {
  const tree = new Worktree('wrong');
  tree.commit('one');
  for (const range of [
    'nowhere',
    '--all',
    'HEAD..--output=x',
    'a...b',
    '-n1',
    'HEAD^{tree}..HEAD',
  ]) {
    await assert.rejects(tree.sent({ range }), /Cannot read commits of/, range);
  }
  const outside = mkdtempSync(path.join(tmpdir(), 'trl-none-'));
  try {
    const none = (): PushCollector => new PushCollector(outside, outside, new PublicationBudget());
    assert.throws(none, /lies in no git repository/);
  } finally {
    rmSync(outside, { recursive: true, force: true });
  }
});
