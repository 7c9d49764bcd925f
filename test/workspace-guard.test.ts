// The guard alone: what a command did is done here directly, then undone.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openGuard, type Guard } from '../src/workspace/guard.ts';
import { surveyWorkspace } from '../src/workspace/workspace-survey.ts';
import { onHost, temporary } from './support/box.ts';

interface Place extends Disposable {
  readonly root: string;
  readonly outside: string;
  readonly quarantine: string;
  readonly guard: Guard;
}

async function place(setup: string, deny: readonly string[] = [], kept?: string): Promise<Place> {
  const base = temporary();
  const names = ['root', 'outside', 'quarantine'].map((name) => path.join(base.path, name));
  for (const name of names) mkdirSync(name);
  const [root = '', outside = '', quarantine = ''] = names;
  onHost(`echo safe > ${outside}/f; ${setup}`, root);
  const files = { read: { allow: [], deny: [] }, write: { allow: [], deny } };
  const facts = await surveyWorkspace({ root, files, home: '/h', visible: [], entriesMax: 1e4 });
  const guard = await openGuard(facts, kept ?? quarantine);
  return { root, outside, quarantine, guard, [Symbol.dispose]: () => base[Symbol.dispose]() };
}

/** What was taken out, by name in the quarantine. */
const kept = (quarantine: string): string[] =>
  onHost('find . -mindepth 2 -printf "%P\\n"', quarantine)
    .trim()
    .split('\n')
    .map((name) => name.replace(/^[^/]+\/\d+-/, ''))
    .toSorted();

test('an untouched workspace is left alone', async () => {
  using at = await place('git init -q . 2>/dev/null; ln -s x .envrc; mkdir a', ['a/b']);
  assert.deepEqual(await at.guard.revert(), []);
  assert.deepEqual(readdirSync(at.quarantine), []);
});

test('an absent path that appears is taken out and kept as evidence', async () => {
  using at = await place('mkdir .claude', ['a/b/c.txt']);
  onHost(
    'mkdir -p a/b .husky; echo evil > a/b/c.txt; echo h > .husky/h; ln -s /etc .idea',
    at.root,
  );
  const reverted = await at.guard.revert();
  assert.deepEqual(reverted.toSorted(), ['.husky', '.idea', 'a/b/c.txt']);
  assert.deepEqual(readdirSync(at.root, { recursive: true }).map(String).toSorted(), [
    '.claude',
    'a',
    'a/b',
  ]);
  assert.deepEqual(kept(at.quarantine), ['.husky', '.husky/h', '.idea', 'c.txt']);
  assert.equal(existsSync('/etc/passwd'), true);
  assert.deepEqual(await at.guard.revert(), []);
});

test('a link on the way is taken out, what it points at is not touched', async () => {
  using at = await place('mkdir a', ['a/b/f', 'x/f']);
  onHost(`ln -s ${at.outside} a/b; ln -s ${at.outside} x`, at.root);
  assert.deepEqual(await at.guard.revert(), ['a/b/f', 'x/f']);
  assert.deepEqual(readdirSync(at.root, { recursive: true }), ['a']);
  assert.equal(readFileSync(path.join(at.outside, 'f'), 'utf8'), 'safe\n');
});

test('a changed, replaced or removed link is put back', async () => {
  using at = await place(
    'mkdir s .claude; ln -s s .vscode; ln -s ../s .claude/skills; ln -s s .idea',
  );
  onHost('ln -sfn /tmp .vscode; rm .claude/skills; mkdir .claude/skills; rm .idea', at.root);
  const reverted = await at.guard.revert();
  assert.deepEqual(reverted.toSorted(), ['.claude/skills', '.idea', '.vscode']);
  const links = ['.vscode', '.claude/skills', '.idea'].map((name) => path.join(at.root, name));
  assert.deepEqual(
    links.map((name) => readlinkSync(name)),
    ['s', '../s', 's'],
  );
  assert.deepEqual(await at.guard.revert(), []);
});

test('a directory that keeps everybody out hides nothing', async () => {
  using at = await place('mkdir a', ['a/b/f']);
  onHost('mkdir a/b; echo evil > a/b/f; chmod 0 a/b a', at.root);
  assert.deepEqual(await at.guard.revert(), ['a/b/f']);
  onHost('chmod 755 a a/b', at.root);
  assert.equal(existsSync(path.join(at.root, 'a/b/f')), false);
});

test('across file systems the start of a thing is copied, all of it is removed', async (t) => {
  if (!existsSync('/dev/shm')) {
    t.skip('there is no /dev/shm');
    return;
  }
  const elsewhere = mkdtempSync('/dev/shm/trl-guard-');
  try {
    using at = await place('', ['big'], elsewhere);
    if (statSync(elsewhere).dev === statSync(at.root).dev) {
      t.skip('/dev/shm is on the file system of the workspace');
      return;
    }
    onHost(
      `mkdir -p big/d/e; ln -s ${at.outside} big/link; ln -s ${at.outside}/f big/d/file
       echo small > big/d/e/small; head -c 30000000 /dev/zero > big/zeros; mkfifo big/fifo
       mkdir big/closed; echo x > big/closed/x; chmod 0 big/closed`,
      at.root,
    );
    assert.deepEqual(await at.guard.revert(), ['big']);
    assert.deepEqual(readdirSync(at.root), []);
    assert.equal(readFileSync(path.join(at.outside, 'f'), 'utf8'), 'safe\n');
    assert.ok(kept(elsewhere).includes('big/d/e/small'));
    const top = path.join(elsewhere, readdirSync(elsewhere)[0] ?? '', '0-big');
    assert.ok(statSync(path.join(top, 'zeros')).size <= 17 * 1024 * 1024);
    assert.equal(readlinkSync(path.join(top, 'link')), at.outside);
  } finally {
    rmSync(elsewhere, { recursive: true, force: true });
  }
});

test('what a protected link leads to, by other links or not there yet, is put back', async () => {
  using at = await place('mkdir d; ln -s d/one .envrc; ln -s two d/one; ln -s nowhere .npmrc');
  onHost('ln -sfn ../evil d/one; echo evil >d/two; echo evil >nowhere; echo x >d/free', at.root);
  const reverted = await at.guard.revert();
  assert.deepEqual(reverted.toSorted(), ['d/one', 'd/two', 'nowhere']);
  assert.equal(readlinkSync(path.join(at.root, 'd/one')), 'two');
  assert.deepEqual(readdirSync(path.join(at.root, 'd')).toSorted(), ['free', 'one']);
});
