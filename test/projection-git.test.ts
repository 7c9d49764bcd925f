// A repository is shown as it is only where nothing hidden can be reached through it. Otherwise a
// projection takes its place in which looking works and committing says why it does not.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import {
  noCommitExplanation,
  type RepositoryView,
} from '../src/workspace/projection/git-projection.ts';
import { compileMask, type Mask } from '../src/workspace/projection/mask.ts';
import { readVisibility } from '../src/workspace/projection/visibility.ts';

const skip =
  spawnSync('git', ['--version']).status === 0 ? false : 'there is no git on this machine';

/** What was done to a repository with one commit of `a.txt`, and how it is shown then. */
const cases: readonly (readonly [string, string, string])[] = [
  ['never tracked', 'echo s > .env', 'real'],
  ['ignored', 'echo .env > .gitignore; echo s > .env; git add .; git commit -qm b', 'real'],
  ['an unrelated unreachable commit', 'echo b > b; git add b; git commit -qm b; HARD', 'real'],
  ['tracked', 'echo s > .env; git add -f .env; git commit -qm b', 'projected'],
  ['staged', 'echo s > .env; git add -f .env', 'projected'],
  [
    'staged once, with the content of now',
    'echo s > .env; git add .env; git reset -q',
    'projected',
  ],
  [
    'deleted since',
    'echo s > .env; git add .; git commit -qm b; git rm -q .env; git commit -qm c',
    'projected',
  ],
  [
    'on another branch',
    'git checkout -qb o; echo s > .env; git add .; git commit -qm b; git checkout -q main',
    'projected',
  ],
  ['in a stash', 'echo s > .env; git add .env; git stash -q', 'projected'],
  [
    'in a dropped stash',
    'echo s > .env; git add .env; git stash -q; git stash drop -q',
    'projected',
  ],
  [
    'in a commit that nothing names',
    'echo s > .env; git add .; git commit -qm b; HARD',
    'projected',
  ],
  [
    'renamed',
    'echo s > .env; git add .; git commit -qm b; git mv .env e; git commit -qm c',
    'projected',
  ],
  [
    'only in a merge',
    `git checkout -qb o; echo o > o; git add .; git commit -qm o; git checkout -q main
    echo m > m; git add .; git commit -qm m; git merge -q --no-commit o
    echo s > .env; git add .env; git commit -qm merge; git rm -q .env; git commit -qm gone`,
    'projected',
  ],
  [
    'in a directory of that name',
    'mkdir d; echo s > d/.env; git add .; git commit -qm b',
    'projected',
  ],
  ['without a commit', 'rm -rf .git; git init -q; echo s > .env; git add .env', 'projected'],
  [
    'packed',
    'echo s > .env; git add .; git commit -qm b; git rm -q .env; git commit -qm c; git gc -q',
    'projected',
  ],
  ['shallow', 'echo b > b; git add b; git commit -qm b; git rev-parse HEAD > .git/shallow', 'real'],
  [
    'objects of another repository',
    'mkdir -p .git/objects/info; echo /x > .git/objects/info/alternates',
    'alternates',
  ],
  ['linked objects', 'mv .git/objects o; ln -s ../o .git/objects', 'links'],
  ['a linked pack', 'git gc -q; cd .git/objects/pack; ln -s $(ls *.pack) pack-1.pack', 'links'],
  ['a configuration that does not parse', 'echo "[core" > .git/config', 'configuration'],
  [
    'a linked worktree',
    'git worktree add -q ../w; rm -rf .git; mv ../w/.git .git',
    'linked-worktree',
  ],
  ['no repository', 'rm -rf .git; mkdir .git', 'not-a-repository'],
];

test('a repository that could show something hidden is not shown', { skip }, async () => {
  for (const [name, script, expected] of cases) {
    using yard = new Yard();
    yard.do(
      script.replaceAll('HARD', 'git reset -q --hard HEAD~; git reflog expire --expire=now --all'),
    );
    const view = (await yard.mask(['.env'])).state.repositories.find((one) => one.path === '.git');
    assert.equal(view?.kind === 'hidden' ? view.reason : view?.kind, expected, name);
  }
});

test('looking works in a projection, committing says why it does not', { skip }, async () => {
  using yard = new Yard();
  yard.do('echo s > .env; echo b > b; echo c > c; git add -f .; git commit -qm second');
  yard.do('echo more >> b; git add b; echo even >> b; echo new > new');
  const mask = await yard.mask(['.env']);
  const git = inside(yard, mask);
  assert.equal(git('status --short').out, 'MM b\n?? new\n');
  assert.match(git('diff').out, /^\+even$/m);
  assert.match(git('diff --cached').out, /^\+more$/m);
  assert.equal(git('grep -n more').out, 'b:2:more\n');
  assert.equal(git('rev-parse --abbrev-ref HEAD').out, 'main\n');
  assert.equal(git('ls-files').out, 'a.txt\nb\nc\n');
  assert.equal(git('rev-list --all --count').out, '1\n');
  assert.equal(git('fsck --strict').status, 0);
  assert.equal(git('remote').out, '');
  assert.equal(git('restore c').status, 0);
  for (const change of ['commit -m x', 'commit --no-verify -am x', 'stash', 'branch x', 'tag x']) {
    const { status, err } = git(`-c user.name=a -c user.email=b ${change}`);
    assert.notEqual(status, 0, change);
    assert.ok(err.includes(noCommitExplanation), `${change}: ${err}`);
  }
});

test('a projection is the same as long as what is visible is', { skip }, async () => {
  using yard = new Yard();
  yard.do('echo s > .env; git add -f .; git commit -qm second');
  const mask = await yard.mask(['.env']);
  const { generation } = mask.state;
  yard.do('echo t > .env; git commit -qam third; git tag other');
  assert.equal((await mask.update(['', '.git', '.git/refs'])).generation, generation);
  yard.do('echo t > a.txt; git commit -qam fourth');
  assert.notEqual((await mask.update(['', '.git', '.git/refs'])).generation, generation);
});

test('nothing that a repository configures is run', { skip }, async () => {
  using yard = new Yard();
  const trap = path.join(yard.path, 'trap');
  const ran = path.join(yard.path, 'ran');
  writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >> "${ran}"\ncat\n`);
  chmodSync(trap, 0o755);
  yard.do(`echo s > .env; echo '* filter=t diff=t' > .gitattributes; git add -f .; git commit -qm b
    for key in core.fsmonitor core.sshCommand diff.external filter.t.clean filter.t.smudge \\
      filter.t.process diff.t.command diff.t.textconv core.alternateRefsCommand core.pager \\
      uploadpack.packObjectsHook gpg.program core.editor; do git config $key ${trap}; done
    for hook in post-index-change reference-transaction pre-auto-gc post-checkout; do
      cp ${trap} .git/hooks/$hook; done`);
  writeFileSync(`${yard.root}/a.txt`, 'touched');
  const mask = await yard.mask(['.env']);
  assert.equal(viewOf(mask)?.kind, 'projected');
  assert.equal(existsSync(ran), false);
  const git = inside(yard, mask);
  assert.equal(git('status --short').out, ' M a.txt\n');
  assert.equal(existsSync(ran), false);
});

test('nested repositories are judged each, by paths of the workspace', { skip }, async () => {
  using yard = new Yard();
  yard.do(`for r in clean dirty; do git init -q -b main sub/$r; (cd sub/$r; echo x > keep
    git add keep; git commit -qm x); done
    cd sub/dirty; echo s > secret; git add .; git commit -qm s`);
  yard.do('git clone -q --bare sub/dirty sub/bare.git; git clone -q --bare sub/clean fine.git');
  const mask = await yard.mask(['sub/dirty/secret', 'secret']);
  const kinds = mask.state.repositories.map((view) => [view.path, view.kind]);
  assert.deepEqual(kinds, [
    ['.git', 'real'],
    ['fine.git', 'real'],
    ['sub/bare.git', 'hidden'],
    ['sub/clean/.git', 'real'],
    ['sub/dirty/.git', 'projected'],
  ]);
});

test('the repository of a submodule is judged by where its files are', { skip }, async () => {
  using yard = new Yard();
  yard.do(`git init -q -b main ../m; (cd ../m; echo s > secret; git add .; git commit -qm s)
    git -c protocol.file.allow=always submodule --quiet add ../m sub; git commit -qm sub`);
  const open = await yard.mask(['other']);
  assert.deepEqual(open.state.hidden, []);
  const whole = await yard.mask(['sub/**']);
  assert.deepEqual(whole.state.hidden, ['.git', 'sub']);
  const mask = await yard.mask(['sub/secret']);
  assert.deepEqual(mask.state.hidden, ['.git/modules/sub', 'sub/.git', 'sub/secret']);
});

test('a repository that is not safe to read is absent', { skip }, async () => {
  using yard = new Yard();
  renameSync(`${yard.root}/.git/objects`, `${yard.path}/objects`);
  symlinkSync(`${yard.path}/objects`, `${yard.root}/.git/objects`);
  const mask = await yard.mask(['.env']);
  assert.deepEqual(mask.state.hidden, ['.git']);
  assert.deepEqual(readdirSync(mask.state.directory ?? ''), ['.git']);
});

function viewOf(mask: Mask): RepositoryView | undefined {
  return mask.state.repositories.find((one) => one.path === '.git');
}

/** Runs git as a command would see it: visible files, and the projection as `.git`. */
function inside(yard: Yard, mask: Mask) {
  const seen = path.join(yard.path, 'seen');
  cpSync(yard.root, seen, {
    recursive: true,
    preserveTimestamps: true,
    filter: (name) => !mask.state.hides(path.relative(yard.root, name)),
  });
  cpSync(`${mask.state.directory}/.git`, `${seen}/.git`, { recursive: true });
  return (args: string) => {
    const words = args.split(' ');
    const ran = spawnSync('git', words, { cwd: seen, encoding: 'utf8', env: yard.env });
    return { out: ran.stdout, err: ran.stderr, status: ran.status };
  };
}

class Yard implements Disposable {
  readonly path = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-git-')));
  readonly root = path.join(this.path, 'ws');
  readonly env = {
    PATH: process.env['PATH'],
    HOME: this.path,
    GIT_CONFIG_GLOBAL: path.join(this.path, 'gitconfig'),
    GIT_CONFIG_NOSYSTEM: '1',
  };
  readonly #marks = new LayerAttributes();

  constructor() {
    mkdirSync(this.root);
    writeFileSync(this.env.GIT_CONFIG_GLOBAL, '[user]\nname = a\nemail = a@example.org\n');
    this.do('git init -q -b main; echo a > a.txt; git add a.txt; git commit -qm first');
  }

  do(script: string): void {
    execFileSync('sh', ['-ec', script], { cwd: this.root, env: this.env, stdio: 'pipe' });
  }

  async mask(deny: readonly string[]): Promise<Mask> {
    const { root } = this;
    const { uid, gid } = statSync(root);
    return compileMask({
      root,
      maskDir: path.join(this.path, 'mask'),
      visibility: readVisibility({ allow: [], deny }, { root, home: '/nonexistent' }),
      owner: { uid, gid },
      marks: this.#marks,
    });
  }

  [Symbol.dispose](): void {
    this.#marks[Symbol.dispose]();
    spawnSync('rm', ['-rf', this.path]);
  }
}
