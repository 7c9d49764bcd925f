// Git on two sides: sessions commit in a repository in which a person does the same. What git said
// yes to is in a branch, or under refs/trl with a word in the receipt; nobody's work is lost.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { noOverlay } from './support/changes.ts';
import { shareRuntime, type Json } from './support/daemon.ts';
import {
  changed,
  inside,
  isSound,
  lockIndex,
  onHost,
  race,
  repository,
  subjects,
} from './support/git-sync.ts';
import { startPaused } from './support/second-writer.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = noOverlay();
const corner = shareRuntime();

interface Scene extends AsyncDisposable {
  readonly dir: string;
  readonly session: TestSession;
  /** Runs a script inside, and `meanwhile` on the host before its last step. */
  readonly both: (first: string, meanwhile: string, then: string) => Promise<Json>;
  readonly undo: (receipt: Json) => Promise<Json>;
}

async function scene(prepare = 'true'): Promise<Scene> {
  const { root: dir, socketPath } = await corner();
  repository(dir);
  onHost(dir, prepare);
  const session = await openSession(socketPath, { working_dir: dir });
  return {
    dir,
    session,
    both: async (first, meanwhile, then) => {
      const define = 'git() { command git -c user.name=agent -c user.email=a@example.org "$@"; }';
      const run = await startPaused(session, `${define}; ${first}; pause; ${then}`);
      await run.reached();
      onHost(dir, meanwhile);
      await run.go();
      return await run.ended();
    },
    undo: async ({ exec_id }) => (await session.client.ask('exec.undo', { exec_id })).data,
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** Neither side has anything to commit, and git finds nothing wrong. */
async function isClean({ dir, session }: Scene): Promise<void> {
  isSound(dir);
  assert.equal(onHost(dir, 'git status --porcelain'), '');
  assert.equal((await inside(session, 'git status --porcelain')).stdout, '');
}

const conflicts = (receipt: Json): string[] =>
  changed(receipt).filter((one) => one.includes(' conflict'));

const commit = (name: string): string =>
  `echo ${name} >${name}; git add ${name}; git commit -qm ${name}`;

test('commits of sessions and of a person all stay', { skip }, async (t) => {
  const { root: dir, socketPath } = await corner();
  repository(dir);
  const raced = await race({ dir, socketPath, sessions: 3, commits: 4, seed: 1, isWild: false });
  t.diagnostic(JSON.stringify({ yes: raced.yes.length, aside: raced.aside.length }));
  assert.deepEqual(raced.lost, []);
  assert.equal(raced.yes.length, 16);
  isSound(dir);
  assert.equal(onHost(dir, 'git status --porcelain'), '');
});

test('a branch does not go back to what gc had packed of it before', { skip }, async () => {
  await using one = await scene(`${commit('a')}; git pack-refs --all`);
  const { dir, session } = one;
  await inside(session, commit('b'));
  const before = onHost(dir, 'git rev-parse main');
  // As a look that comes when gc has taken the file away sees it, without its new packed-refs.
  await inside(session, 'rm .git/refs/heads/main');
  assert.equal(onHost(dir, 'git rev-parse main'), before);
  await inside(session, `git branch other; git reset -q --hard HEAD; git branch gone other`);
  const back = await inside(session, 'git update-ref refs/heads/main HEAD~1; git branch -D gone');
  assert.equal(back.exit_code, 0, back.stderr);
  assert.equal(onHost(dir, 'git branch --list gone'), '');
});

test('a commit inside is the same commit on the host, with its log', { skip }, async () => {
  await using one = await scene();
  const receipt = await inside(one.session, `${commit('a')}; ${commit('b')}; git rev-parse HEAD`);
  assert.equal(onHost(one.dir, 'git rev-parse HEAD'), receipt.stdout.trim());
  assert.deepEqual(onHost(one.dir, 'git reflog --format=%gs').split('\n'), [
    'commit: b',
    'commit: a',
    'commit (initial): base',
  ]);
  assert.deepEqual(
    new Set(receipt.changes.map((change: Json) => change.state)),
    new Set(['applied']),
  );
  await isClean(one);
});

test(
  'both commit to one branch: what does not touch is merged on both sides',
  { skip },
  async () => {
    await using one = await scene(`seq 9 >n; git add n; git commit -qm n`);
    const receipt = await one.both(
      'sed -i s/^1/one/ n; echo a >a; git add a',
      `sed -i s/^9/nine/ n; git add n; ${commit('h')}`,
      'git add n; git commit -qm agent',
    );
    assert.equal(receipt.exit_code, 0, receipt.stderr);
    assert.deepEqual(conflicts(receipt), []);
    const n = receipt.changes.find((change: Json) => change.path === 'n');
    assert.deepEqual([n.state, n.marks], ['applied', ['merged']]);
    assert.equal(readFileSync(path.join(one.dir, 'n'), 'utf8'), 'one\n2\n3\n4\n5\n6\n7\n8\nnine\n');
    assert.deepEqual(subjects(one.dir).has('h') && subjects(one.dir).has('agent'), true);
    await isClean(one);
    assert.equal((await inside(one.session, 'cat n a h')).stdout.includes('nine\na\nh\n'), true);
  },
);

test(
  'what both committed to one line stays under refs/trl, and can be merged',
  { skip },
  async () => {
    await using one = await scene();
    const receipt = await one.both(
      'echo one >base; git commit -qam one; echo x >x; git add x',
      'echo person >base; git commit -qam person',
      'echo agent >base; git commit -qam agent',
    );
    const aside = `refs/trl/${receipt.exec_id}/main`;
    const told = receipt.changes.find((change: Json) => change.path === '.git/refs/heads/main');
    assert.deepEqual([told.state, told.reason], ['conflict', `diverged:${aside}`]);
    assert.equal(
      receipt.hints.some((hint: string) => hint.includes(`git merge ${aside}`)),
      true,
    );
    assert.equal(onHost(one.dir, `git log -1 --format=%s ${aside}`), 'agent');
    assert.equal(
      onHost(one.dir, 'git log -1 --format=%s; cat base; ls x 2>&1 || true').split('\n')[0],
      'person',
    );
    await isClean(one);
    assert.match(onHost(one.dir, `git merge ${aside} 2>&1 || true`), /CONFLICT .*base/);
  },
);

test("a person's amend stands, and nothing brings back what it replaced", { skip }, async () => {
  await using one = await scene(commit('first'));
  const receipt = await one.both('true', 'git commit -q --amend -m amended', commit('agent'));
  assert.equal(receipt.exit_code, 0);
  assert.equal(
    onHost(one.dir, 'git log --branches --format=%s | head -9').includes('first'),
    false,
  );
  assert.equal(subjects(one.dir).has('agent'), true);
  await isClean(one);
});

test('a branch inside and another on the host', { skip }, async () => {
  await using one = await scene('git branch other');
  const receipt = await one.both(
    `git switch -qc topic; ${commit('t')}`,
    `git switch -q other; ${commit('o')}; git switch -q main`,
    commit('t2'),
  );
  assert.equal(receipt.exit_code, 0, receipt.stderr);
  assert.deepEqual(onHost(one.dir, 'git log --format=%s topic').split('\n'), ['t2', 't', 'base']);
  assert.deepEqual(onHost(one.dir, 'git log --format=%s other').split('\n'), ['o', 'base']);
  isSound(one.dir);
});

test('tags, renamed, deleted and packed branches, a detached HEAD', { skip }, async () => {
  await using one = await scene('git branch old; git branch gone; git tag was');
  const { dir, session } = one;
  await inside(
    session,
    'git tag new; git tag -d was; git branch -m old renamed; git branch -qD gone',
  );
  const names = `git for-each-ref --format='%(refname)'`;
  assert.deepEqual(onHost(dir, names).split('\n'), [
    'refs/heads/main',
    'refs/heads/renamed',
    'refs/tags/new',
  ]);
  const before = onHost(dir, 'git show-ref');
  await inside(session, 'git pack-refs --all; git gc -q --prune=now');
  assert.equal(onHost(dir, 'git show-ref'), before);
  onHost(dir, 'git pack-refs --all; git gc -q');
  await inside(session, `git branch -D renamed; git tag -d new; ${commit('p')}`);
  assert.deepEqual(onHost(dir, names).split('\n'), ['refs/heads/main']);
  await inside(session, `git checkout -q --detach; ${commit('d')}`);
  assert.equal(
    onHost(dir, 'git log -1 --format=%s; git symbolic-ref -q HEAD || echo none'),
    'd\nnone',
  );
  await isClean(one);
});

test('stashes of both sides are one stack', { skip }, async () => {
  await using one = await scene();
  const receipt = await one.both(
    'echo a >base; git stash -q; echo b >base; git stash -q',
    'echo h >base; git stash -q',
    'git stash drop -q',
  );
  assert.equal(receipt.exit_code, 0, receipt.stderr);
  const kept = onHost(
    one.dir,
    'git stash list | wc -l; git stash list -p | grep "^+[abh]$" | sort',
  );
  assert.deepEqual(kept.split('\n'), ['2', '+a', '+h']);
  isSound(one.dir);
});

test('a merge that conflicts inside goes on outside', { skip }, async () => {
  await using one = await scene(
    `git switch -qc side; echo side >base; git commit -qam side
    git switch -q main; echo main >base; git commit -qam main`,
  );
  await inside(one.session, 'git merge side');
  assert.match(onHost(one.dir, 'git status --porcelain'), /^UU base$/m);
  onHost(one.dir, 'echo both >base; git commit -qam both');
  assert.equal((await inside(one.session, 'git log -1 --format=%s')).stdout, 'both\n');
  await isClean(one);
});

test('rebases inside and the index in its fourth version', { skip }, async () => {
  await using one = await scene(
    `git update-index --index-version 4; git switch -qc topic; ${commit('t')}
    git switch -q main; ${commit('m')}; git switch -q topic`,
  );
  await inside(one.session, 'git rebase -q main');
  assert.deepEqual(onHost(one.dir, 'git log --format=%s').split('\n'), ['t', 'm', 'base']);
  await isClean(one);
  const receipt = await one.both(
    'echo s >s; git add s',
    `echo h >h; git add h`,
    'git commit -qm s',
  );
  assert.equal(receipt.exit_code, 0);
  assert.equal(onHost(one.dir, 'git status --porcelain'), 'A  h');
});

test('worktrees and submodules have their own HEAD and index', { skip }, async () => {
  await using one = await scene(
    `git branch other; git worktree add -q wt other; echo wt >.git/info/exclude
    git init -q -b main sub; (cd sub; ${commit('s')})
    git -c protocol.file.allow=always submodule add -q ./sub sub
    git submodule -q absorbgitdirs sub; git commit -qm sub`,
  );
  const { dir, session } = one;
  const receipt = await inside(session, `cd wt; ${commit('w')}; cd ../sub; ${commit('s2')}`);
  assert.equal(receipt.exit_code, 0, receipt.stderr);
  assert.equal(onHost(dir, 'cd wt; git log -1 --format=%s; git status --porcelain'), 'w');
  assert.equal(onHost(dir, 'cd sub; git log -1 --format=%s; git status --porcelain'), 's2');
  isSound(dir);
  isSound(path.join(dir, 'sub'));
});

test("the host's index.lock is waited for; then a commit is set aside", { skip }, async () => {
  await using one = await scene();
  const lock = lockIndex(one.dir);
  const receipt = await one.both('rm -f .git/index.lock', 'true', commit('late'));
  const aside = `refs/trl/${receipt.exec_id}/main`;
  const told = receipt.changes.find((change: Json) => change.path === '.git/refs/heads/main');
  assert.deepEqual([told.state, told.reason], ['conflict', `diverged:${aside}`]);
  assert.equal(existsSync(lock), true);
  rmSync(lock);
  assert.equal(onHost(one.dir, `git log -1 --format=%s ${aside}`), 'late');
  assert.equal(onHost(one.dir, `git merge -q ${aside}; git log -1 --format=%s`), 'late');
  await isClean(one);
});

test('an object that is not what its name says does not enter', { skip }, async () => {
  await using one = await scene();
  const id = '00'.repeat(20);
  const forged = `mkdir -p .git/objects/00; echo x >.git/objects/00/${id.slice(2)}`;
  const receipt = await inside(one.session, `${forged}; echo ${id} >.git/refs/heads/evil`);
  assert.equal(existsSync(path.join(one.dir, '.git/objects/00', id.slice(2))), false);
  assert.equal(existsSync(path.join(one.dir, '.git/refs/heads/evil')), false);
  assert.equal(
    receipt.changes.some(
      (change: Json) =>
        change.state === 'applied' && change.kind === 'added' && change.path.endsWith('evil'),
    ),
    false,
  );
  isSound(one.dir);
});

test('undo brings back the stashes that a command took away', { skip }, async () => {
  const stashed = (n: number): string => `echo ${n} >>base; git stash -q`;
  await using one = await scene(`${stashed(1)}; ${stashed(2)}; ${stashed(3)}`);
  const all = 'git stash list; git show-ref; git reflog; cat .git/logs/refs/stash || :';
  const before = onHost(one.dir, all);
  for (const command of ['git stash clear', 'git stash drop -q', 'git stash pop -q']) {
    const cleared = await inside(one.session, command);
    assert.notEqual(onHost(one.dir, all), before, command);
    const undone = await one.undo(cleared);
    assert.equal(onHost(one.dir, all), before, `${command} ${JSON.stringify(undone)}`);
    assert.deepEqual([undone.totals.conflicts, undone.totals.impossible], [0, 0], command);
  }
});

test('undo of a commit takes the branch back, where it still is there', { skip }, async () => {
  await using one = await scene();
  const head = onHost(one.dir, 'git rev-parse HEAD');
  const first = await inside(one.session, commit('a'));
  const undone = await one.undo(first);
  assert.deepEqual(
    [undone.totals.conflicts, undone.totals.impossible],
    [0, 0],
    JSON.stringify(undone),
  );
  assert.equal(onHost(one.dir, 'git rev-parse HEAD'), head);
  assert.equal(existsSync(path.join(one.dir, 'a')), false);
  await isClean(one);
  const second = await inside(one.session, commit('b'));
  onHost(one.dir, commit('h'));
  const refused = await one.undo(second);
  assert.deepEqual(
    refused.conflicts.map((change: Json) => change.path),
    ['.git/index', '.git/refs/heads/main'],
  );
  assert.deepEqual(subjects(one.dir), new Set(['base', 'b', 'h']));
});

test('a file that a person has modified is not overwritten by a merge', { skip }, async () => {
  await using one = await scene('seq 9 >n; git add n; git commit -qm n');
  const receipt = await one.both(
    'sed -i s/^1/one/ n; git add n',
    `sed -i s/^9/nine/ n; git commit -qam nine; echo draft >>n`,
    'git commit -qm agent',
  );
  assert.equal(receipt.exit_code, 0, receipt.stderr);
  assert.match(readFileSync(path.join(one.dir, 'n'), 'utf8'), /nine\ndraft\n$/);
  assert.match(onHost(one.dir, 'git show HEAD:n'), /^one\n2[^]*nine$/);
});

test('a commit that cannot be brought yet stays in the view until it can', { skip }, async () => {
  await using one = await scene();
  const object = 'o=$(git rev-parse HEAD:two); rm .git/objects/${o:0:2}/${o:2}';
  const isThere = 'until [ "$(git log -1 --format=%s)" = one ]; do sleep 0.05; done';
  const receipt = await one.both(commit('one'), isThere, `${commit('two')}; ${object}`);
  const branch = receipt.changes.find((change: Json) => change.path === '.git/refs/heads/main');
  assert.deepEqual([branch.state, branch.reason], ['staged', 'git-objects']);
  assert.equal(onHost(one.dir, 'git log -1 --format=%s'), 'one');
  const again = await inside(one.session, 'git hash-object -w two; git log -1 --format=%s');
  assert.match(again.stdout, /two$/m);
  assert.equal(onHost(one.dir, 'git log -1 --format=%s'), 'two');
  await isClean(one);
});
