// What a command may change in a workspace, and what it may not; looked at from the host.
import assert from 'node:assert/strict';
import { existsSync, lstatSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isTrlError } from '../src/errors.ts';
import { surveyWorkspace } from '../src/workspace/workspace-survey.ts';
import { isRoot, onHost, openBox, temporary, whyNoBox } from './support/box.ts';

const sandboxed = { skip: whyNoBox };
const rootOnly = { skip: whyNoBox || (isRoot ? false : 'needs root') };
const repository = 'git init -q . && git commit -q --allow-empty -m one';

/** Every path below a directory with its kind and content. */
function picture(root: string): string[] {
  return readdirSync(root, { recursive: true })
    .map(String)
    .toSorted()
    .map((name) => {
      const full = path.join(root, name);
      const stat = lstatSync(full);
      return stat.isFile() ? `${name}: ${readFileSync(full, 'utf8')}` : name;
    });
}

test(
  'git add, commit, branch, stash and worktree work in a protected repository',
  sandboxed,
  async () => {
    using ws = temporary();
    onHost(repository, ws.path);
    await using box = await openBox({ root: ws.path });
    const { code, stderr } = await box.run(`set -e
    echo a > a; git add a; git commit -q -m two; git checkout -q -b other; echo b >> a; git stash -q
    git stash pop -q; git commit -q -a -m three; git worktree add -q wt; cd wt; echo c > c
    git add c; git commit -q -m four; git tag v1; git gc -q; git reset -q --hard HEAD~1`);
    assert.equal(code, 0, stderr);
    assert.equal(
      onHost('git rev-list --all --count; git fsck --no-dangling 2>/dev/null; git tag', ws.path),
      '4\nv1\n',
    );
  },
);

test('hooks and configuration of every git directory stay as they are', sandboxed, async () => {
  using ws = temporary();
  onHost(
    `${repository}; mkdir -p lib/deep/er && (cd lib/deep/er && ${repository})
     git init -q --bare store.git; cp -r .git copy
     mkdir -p .git/modules && mv copy .git/modules/sub`,
    ws.path,
  );
  const gits = ['.git', 'lib/deep/er/.git', 'store.git', '.git/modules/sub'];
  const before = gits.map((git) => picture(path.join(ws.path, git, 'hooks')));
  const configs = gits.map((git) => readFileSync(path.join(ws.path, git, 'config'), 'utf8'));
  await using box = await openBox({ root: ws.path });
  const { stdout, reverted } = await box.run(`
    for g in ${gits.join(' ')}; do
      echo evil > $g/hooks/pre-commit; git config -f $g/config core.fsmonitor evil
      echo evil >> $g/config; echo evil > $g/config.worktree; echo /tmp > $g/commondir
      mkdir -p $g/info; echo evil > $g/info/attributes
      mv $g/hooks $g/h2; mv $g/config $g/c2; rm -rf $g/hooks; ln -sfn /tmp $g/hooks
      mv $g $g.away && cp -r $g.away $g && echo evil > $g/hooks/post-checkout
    done 2>/dev/null; mv lib l2 2>/dev/null; echo RAN`);
  assert.equal(stdout, 'RAN\n');
  assert.deepEqual(
    gits.map((git) => picture(path.join(ws.path, git, 'hooks'))),
    before,
  );
  assert.deepEqual(
    gits.map((git) => readFileSync(path.join(ws.path, git, 'config'), 'utf8')),
    configs,
  );
  const planted = ['config.worktree', 'commondir', 'info/attributes'];
  const names = gits.flatMap((git) => planted.map((name) => `${git}/${name}`));
  assert.deepEqual(reverted.toSorted(), names.toSorted());
  assert.deepEqual(
    names.filter((name) => existsSync(path.join(ws.path, name))),
    [],
  );
});

test(
  'hooks of a repository made by a command are taken out, the repository stays',
  sandboxed,
  async () => {
    using ws = temporary();
    await using box = await openBox({ root: ws.path });
    const { reverted } = await box.run(`git init -q . ; git init -q sub; cd sub
    echo evil > .git/hooks/pre-commit; echo evil > ../.git/hooks/post-commit
    git commit -q --allow-empty -m one`);
    assert.deepEqual(reverted, ['.git/hooks/post-commit', 'sub/.git/hooks/pre-commit']);
    assert.equal(onHost('git -C sub rev-list --count HEAD', ws.path), '1\n');
  },
);

test('a linked worktree commits to its repository, whose hooks stay', sandboxed, async () => {
  using base = temporary();
  const main = path.join(base.path, 'main');
  const root = path.join(base.path, 'tree');
  onHost(
    `mkdir main; cd main; ${repository}; echo TOPSECRET > secret; git worktree add -q ../tree`,
    base.path,
  );
  await using box = await openBox({ root });
  const { code, stdout, stderr } = await box.run(`
    echo x > x; git add x; git commit -q -m two || exit 9
    echo evil > ${main}/.git/hooks/pre-commit; git config core.fsmonitor evil
    cat ${main}/secret; echo RAN`);
  assert.deepEqual([code, stdout], [0, 'RAN\n'], stderr);
  assert.equal(onHost('git rev-list --count tree; git config core.fsmonitor || true', main), '2\n');
  assert.equal(existsSync(path.join(main, '.git/hooks/pre-commit')), false);
});

test('a .git file cannot open a repository that does not point back', sandboxed, async () => {
  using base = temporary();
  const root = path.join(base.path, 'ws');
  onHost(
    `mkdir main ws; cd main; ${repository}; git worktree add -q ../other
     echo "gitdir: ${base.path}/main/.git/worktrees/other" > ../ws/.git`,
    base.path,
  );
  await using box = await openBox({ root });
  const { stdout } = await box.run(`ls ${base.path}/main; git log; echo RAN`);
  assert.equal(stdout, 'RAN\n');
});

test('names that tools run stay as they are, existing, absent or linked', sandboxed, async () => {
  using ws = temporary();
  onHost(
    `mkdir -p .vscode .claude shared/skills .husky; echo '{}' > .vscode/tasks.json
     echo '{}' > .claude/settings.json; echo old > .envrc; echo s > shared/skills/one
     ln -s ../shared/skills .claude/skills; ln -s nowhere .mcp.json; echo h > .husky/pre-commit`,
    ws.path,
  );
  const before = picture(ws.path);
  await using box = await openBox({ root: ws.path });
  const { stdout, reverted } = await box.run(`
    for f in .vscode/tasks.json .vscode/new .claude/settings.json .envrc .husky/pre-commit .bashrc \
      .idea/x .devcontainer/d.json .claude/hooks/h .claude/skills/two shared/skills/one .trl.yaml
    do { mkdir -p "$(dirname $f)"; echo evil >> $f; } 2>/dev/null; done
    mv .claude c2 2>/dev/null; mv .vscode v2 2>/dev/null; rm -rf .husky 2>/dev/null
    rm .mcp.json; echo evil > .mcp.json; rm .claude/skills; mkdir .claude/skills
    echo evil > .claude/skills/three; echo fine > ordinary; echo RAN`);
  assert.equal(stdout, 'RAN\n');
  assert.deepEqual(picture(ws.path), [...before, 'ordinary: fine\n'].toSorted());
  assert.deepEqual(reverted.toSorted(), [
    '.bashrc',
    '.claude/hooks',
    '.claude/skills',
    '.devcontainer',
    '.idea',
    '.mcp.json',
    '.trl.yaml',
  ]);
  const again = await box.run('echo still; cat .claude/skills/one');
  assert.deepEqual([again.stdout, again.reverted], ['still\ns\n', []]);
});

test(
  'a grant that names a protected path lifts the protection of it alone',
  sandboxed,
  async () => {
    using ws = temporary();
    onHost('mkdir .vscode .idea', ws.path);
    await using box = await openBox({
      root: ws.path,
      write: { allow: [path.join(ws.path, '.vscode')] },
    });
    await box.run('echo x > .vscode/x; echo x > .idea/x');
    assert.deepEqual(picture(ws.path), ['.idea', '.vscode', '.vscode/x: x\n']);
  },
);

test('a denied path cannot be written by any of its names, nor moved', sandboxed, async () => {
  using ws = temporary();
  onHost(
    'mkdir -p a/b sub; echo K > .env; echo K > a/b/k.pem; ln .env hard; ln -s .env soft',
    ws.path,
  );
  const before = picture(ws.path);
  await using box = await openBox({
    root: ws.path,
    write: { deny: ['.env', 'p/[id].ts', '**/*.pem', 'x/y/z.txt', `${ws.path}/gone/**`] },
  });
  const { stdout, reverted } = await box.run(`
    for f in .env hard soft a/b/k.pem; do echo evil > $f; echo evil > t; mv -f t $f; rm -f $f; done
    ln .env h2; ln a/b/k.pem h3; mv a a2; mv a/b a/b2; rm -rf a; rm -f t
    mkdir -p x/y; echo evil > x/y/z.txt; mkdir gone; echo evil > gone/f
    rm -f soft; ln -s .env soft; echo RAN`);
  assert.equal(stdout, 'RAN\n');
  assert.deepEqual(reverted.toSorted(), ['gone', 'x/y/z.txt']);
  assert.deepEqual(picture(ws.path), [...before, 'x', 'x/y'].toSorted());
});

test(
  'a path denied for reading shows nothing, in the workspace and in grants',
  sandboxed,
  async () => {
    using ws = temporary();
    using out = temporary();
    onHost(
      'mkdir -p c d/e; echo TOPSECRET > c/key; ln c/key hard; echo TOPSECRET > d/e/f',
      ws.path,
    );
    onHost('mkdir gpg; echo TOPSECRET > gpg/k; echo fine > open; ln -s gpg/k link', out.path);
    await using box = await openBox({
      root: ws.path,
      read: {
        allow: [out.path],
        deny: [
          'c/key',
          `${ws.path}/d`,
          `${out.path}/gpg/**`,
          `${out.path}/none`,
          '/nowhere/x',
          '~/.x',
        ],
      },
    });
    const { stdout, code } = await box.run(`
    cat c/key hard d/e/f ${out.path}/gpg/k ${out.path}/link /proc/self/root${ws.path}/c/key
    mv c c2; cat c2/key; mv c/key k2; cp c/key k3; cat k2 k3; mv d d2; cat d2/e/f; ls d
    cat ${out.path}/open; { echo x > ${out.path}/new; } 2>/dev/null && echo WRITTEN; echo RAN`);
    assert.deepEqual([stdout, code], ['fine\nRAN\n', 0]);
    assert.equal(readFileSync(path.join(ws.path, 'c/key'), 'utf8'), 'TOPSECRET\n');
  },
);

test('denying what holds the workspace keeps the workspace', sandboxed, async () => {
  using base = temporary();
  onHost('mkdir ws; echo TOPSECRET > f', base.path);
  const root = path.join(base.path, 'ws');
  for (const deny of [[base.path], [`${base.path}/**`], ['/tmp'], ['/']]) {
    const isNarrower = deny[0]?.startsWith(base.path) !== true;
    await using box = await openBox({
      root,
      read: { allow: [base.path, root], deny },
      write: { deny },
    });
    const { stdout } = await box.run(`pwd; echo x > w && cat w; cat ../f`);
    assert.equal(stdout, `${root}\nx\n${isNarrower ? 'TOPSECRET\n' : ''}`);
  }
});

test('a grant is not followed through a link that a command made', sandboxed, async () => {
  using base = temporary();
  onHost('mkdir ws ws/build out; echo orig > out/f', base.path);
  const root = path.join(base.path, 'ws');
  const allow = [root, path.join(root, 'build')];
  const out = path.join(base.path, 'out');
  {
    await using box = await openBox({ root, write: { allow } });
    await box.run(`rm -rf build; ln -s ${out} build; echo pwned > build/f`);
  }
  await using box = await openBox({ root, write: { allow } });
  await box.run(`echo pwned > build/f; echo pwned > ${out}/f`);
  assert.equal(readFileSync(path.join(out, 'f'), 'utf8'), 'orig\n');
});

test('a grant that would undo the sandbox is refused', async () => {
  using ws = temporary();
  const wrong = [
    { read: ['/'], write: [] },
    { read: ['/proc'], write: [] },
    { read: ['/proc/1'], write: [] },
    { read: [], write: ['/etc'] },
    { read: [], write: ['/usr/lib'] },
    { read: [], write: ['/'] },
    { read: [], write: [path.dirname(ws.path)] },
  ];
  for (const { read, write } of wrong) {
    const files = { read: { allow: read, deny: [] }, write: { allow: write, deny: [] } };
    const input = { root: null, files, home: ws.path, visible: [], entriesMax: 1000 };
    const refused = (error: unknown): boolean =>
      isTrlError(error, 'INVALID_PARAMS') && error.message.startsWith('Cannot grant ');
    await assert.rejects(surveyWorkspace(input), refused, String([read, write]));
  }
});

test('nothing is left on the host by protecting, nor by looking', sandboxed, async () => {
  using ws = temporary();
  onHost(`${repository}; mkdir -p .claude d; rm -rf .git/hooks`, ws.path);
  const before = picture(ws.path);
  await using box = await openBox({
    root: ws.path,
    read: { deny: ['absent', 'd/absent', '*.key'] },
    write: { deny: ['.none', 'd/none/deeper'] },
  });
  const during = await box.run('ls -A d .claude; git status --porcelain');
  assert.equal(during.stdout, '.claude:\n\nd:\n');
  assert.deepEqual(picture(ws.path), before);
});

test('an odd workspace works: spaces, a link, no permission for others', sandboxed, async () => {
  using base = temporary();
  onHost("mkdir -p 'real place/ä\"$x'; chmod 700 'real place'; ln -s 'real place' link", base.path);
  const root = path.join(base.path, 'real place/ä"$x');
  await using box = await openBox({ root, write: { deny: ['no way'] } });
  const { stdout, stderr } = await box.run('pwd; echo x > f; cat f; ls -A');
  assert.equal(stdout, `${root}\nx\nf\n`, stderr);
});

test('files belong to the owner of the workspace, whoever that is', rootOnly, async () => {
  using base = temporary();
  onHost(
    'mkdir -p ws/own; echo r > ws/rootfile; chmod 600 ws/rootfile; chown -R 4321:4322 ws/own ws',
    base.path,
  );
  onHost('chown 0:0 ws/rootfile; chmod 700 .', base.path);
  const root = path.join(base.path, 'ws');
  await using box = await openBox({ root });
  const { stdout } = await box.run(`id -u; touch made own/made; mkdir d; cat rootfile
    stat -c '%u %n' . own made rootfile; chown 0 made; echo RAN`);
  assert.equal(stdout, '1000\n1000 .\n1000 own\n1000 made\n65534 rootfile\nRAN\n');
  const owner = (name: string): number[] => {
    const { uid, gid } = statSync(path.join(root, name));
    return [uid, gid];
  };
  for (const name of ['made', 'own/made', 'd']) assert.deepEqual(owner(name), [4321, 4322]);
});

test('mounts inside a workspace are seen, or closed where they cannot be', rootOnly, async () => {
  using ws = temporary();
  onHost('mkdir t p; mount -t tmpfs none t; echo in > t/f; mount -t proc none p', ws.path);
  try {
    await using box = await openBox({ root: ws.path });
    const { stdout } = await box.run('cat t/f; ls -A p; touch p/x; echo more > t/g; echo RAN');
    assert.equal(stdout, 'in\nRAN\n');
  } finally {
    onHost('umount t p', ws.path);
  }
  assert.deepEqual(picture(ws.path), ['p', 't']);
});

test('a walk ends at its bound and says so', async () => {
  using ws = temporary();
  onHost('mkdir -p a/b/c/d; touch a/1 a/2 a/b/3', ws.path);
  const files = { read: { allow: [], deny: [] }, write: { allow: [], deny: [] } };
  const survey = (entriesMax: number) =>
    surveyWorkspace({ root: ws.path, files, home: '/h', visible: [], entriesMax });
  const [small, large] = [await survey(2), await survey(100)];
  assert.deepEqual([small.complete, large.complete, large.entries], [false, true, 7]);
});

test('nothing is mounted over a workspace whose changes are filtered', async () => {
  using ws = temporary();
  onHost('git init -q .; touch .npmrc secret; ln -s .npmrc .bashrc', ws.path);
  const files = { read: { allow: [], deny: ['secret'] }, write: { allow: [], deny: ['x'] } };
  const input = { root: ws.path, files, home: '/h', visible: [], entriesMax: 1_000 };
  const plain = await surveyWorkspace(input);
  const layered = await surveyWorkspace({ ...input, layered: true });
  assert.ok(plain.covers.length > 0 && plain.guarded.length > 0);
  assert.deepEqual([layered.covers, layered.guarded], [[], []]);
  assert.deepEqual(layered.gitDirectories, [`${ws.path}/.git`]);
});
