// What of a command's changes may not silently reach the real tree. Each row is an attack, or a
// day's work, in a copy of a real project; then what the filter holds of the difference.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { HeldReason } from '../src/workspace/commit/commit-filter.ts';
import { unlayeredProtectedNames } from '../src/workspace/protected-names.ts';
import {
  apply,
  itemsBetween,
  judge,
  judgeWith,
  makeTrees,
  type Policy,
  shell,
} from './support/commit.ts';

const project = `export GIT_TEMPLATE_DIR=; git init -q -b main .; echo one >a
      mkdir -p src .git/hooks; echo x >src/x
  git add .; git commit -qm one; git config user.name Me; git remote add origin https://e.org/a.git
  echo '#!/bin/sh' >.git/hooks/pre-push; mkdir .vscode; echo {} >.vscode/tasks.json
  git init -q --bare store.git; mkdir store.git/hooks; mkdir -p lib
      git init -q lib/inner; mkdir lib/inner/.git/hooks
  ln -s src link; echo secret >.env; mkdir .claude; echo {} >.claude/settings.json`;

/** Prints an index of git with one entry. */
const makeIndex = `import sys, struct, hashlib
n = sys.argv[1].encode()
e = bytes(40) + bytes(20) + struct.pack(">H", len(n)) + n
d = b"DIRC" + struct.pack(">II", 2, 1) + e + bytes(8 - len(e) % 8)
sys.stdout.buffer.write(d + hashlib.sha1(d).digest())`;

type Row = readonly [
  attack: string,
  held: Readonly<Record<string, HeldReason>>,
  policy?: Policy & { readonly partly?: boolean },
];

const attacks: readonly Row[] = [
  // hooks and configuration of git, of any repository there is
  ['echo x >.git/hooks/post-checkout', { '.git/hooks/post-checkout': 'git-hooks' }],
  ['rm .git/hooks/pre-push', { '.git/hooks/pre-push': 'git-hooks' }],
  ['chmod +x .git/hooks/pre-push', { '.git/hooks/pre-push': 'git-hooks' }],
  [
    'rm -r .git/hooks; ln -s ../src .git/hooks',
    { '.git/hooks': 'git-hooks', '.git/hooks/pre-push': 'git-hooks' },
    { partly: true },
  ],
  ['git config core.fsmonitor ./x', { '.git/config': 'git-config' }],
  ['git config remote.origin.url https://evil.org/a', { '.git/config': 'git-config' }],
  ['git config branch.x.remote "ext::sh -c x"', { '.git/config': 'git-config' }],
  ['git config remote.new.uploadpack ./x', { '.git/config': 'git-config' }],
  ['git config branch.main.remote https://evil.org/a', { '.git/config': 'git-config' }],
  ['git config core.bare true', { '.git/config': 'git-config' }],
  ['git config --add remote.origin.url https://evil.org/a', { '.git/config': 'git-config' }],
  [
    'git remote remove origin; git remote add origin "ext::sh -c x"',
    { '.git/config': 'git-config' },
  ],
  ['rm .git/config', { '.git/config': 'git-config' }],
  ['rm .git/config; ln -s ../src/x .git/config', { '.git/config': 'git-config' }],
  ['echo "[core] pager = x" >.git/config.worktree', { '.git/config.worktree': 'git-config' }],
  ['echo ../src >.git/commondir', { '.git/commondir': 'git-config' }],
  [
    'mkdir -p .git/info; echo "* filter=x" >.git/info/attributes',
    { '.git/info/attributes': 'git-config' },
  ],
  ['echo x >store.git/hooks/post-receive', { 'store.git/hooks/post-receive': 'git-hooks' }],
  ['git -C store.git config core.pager ./x', { 'store.git/config': 'git-config' }],
  ['echo x >lib/inner/.git/hooks/pre-commit', { 'lib/inner/.git/hooks/pre-commit': 'git-hooks' }],
  [
    'rm -rf .git',
    {
      '.git': 'git-config',
      '.git/config': 'git-config',
      '.git/HEAD': 'git-config',
      '.git/objects': 'git-config',
    },
    { partly: true },
  ],
  [`printf '[submodule "x"]\\n\\tupdate = !x\\n' >.gitmodules`, { '.gitmodules': 'git-config' }],
  ['ln -s a .gitmodules', { '.gitmodules': 'git-config' }],
  ['echo x >.Gitmodules', { '.Gitmodules': 'git-config' }],
  [
    'mkdir .git/rebase-merge; echo "exec ./x" >.git/rebase-merge/git-rebase-todo',
    { '.git/rebase-merge/git-rebase-todo': 'git-hooks' },
  ],
  [
    'mkdir -p .git/remotes; echo "URL: ./x" >.git/remotes/evil',
    { '.git/remotes/evil': 'git-config' },
  ],
  [
    'mkdir -p .git/modules/m/hooks; echo x >.git/modules/m/hooks/post-checkout',
    { '.git/modules/m/hooks/post-checkout': 'new-repository' },
  ],
  [
    'mkdir -p .git/worktrees/w; echo /tmp/evil >.git/worktrees/w/commondir',
    { '.git/worktrees/w/commondir': 'new-repository' },
  ],
  ['echo /etc >.git/objects/info/alternates', { '.git/objects/info/alternates': 'link-escape' }],
  // git makes what an index names, in a git directory too
  [`python3 -c '${makeIndex}' .git/hooks/x >.git/index`, { '.git/index': 'git-config' }],
  ['echo nothing >.git/index', { '.git/index': 'git-config' }],
  [
    `mkdir -p src/y/objects src/y/refs; echo 'ref: refs/heads/x' >src/y/HEAD
      python3 -c '${makeIndex}' ../../out >src/y/index`,
    { 'src/y/index': 'git-config' },
  ],
  // what tools obey besides git
  ['mkdir .hg; echo "[hooks]" >.hg/hgrc', { '.hg/hgrc': 'git-config' }],
  ['mkdir src/.helix', { 'src/.helix': 'editor-tasks' }],
  ['echo x >mise.dev.toml', { 'mise.dev.toml': 'shell-startup' }],
  // spellings that other file systems take for these
  [
    'mkdir -p .GIT/hooks; echo x >.GIT/hooks/post-checkout',
    { '.GIT': 'git-config', '.GIT/hooks': 'git-config', '.GIT/hooks/post-checkout': 'git-config' },
  ],
  ['echo x >.git/Hooks', { '.git/Hooks': 'git-hooks' }],
  ['mkdir git~1; echo x >git~1/config', { 'git~1': 'git-config', 'git~1/config': 'git-config' }],
  [
    'mkdir $(printf ".g\\342\\200\\214it")',
    { [Buffer.from('.g\u200cit').toString('latin1')]: 'git-config' },
  ],
  ['mkdir ".git ."', { '.git .': 'git-config' }],
  ['echo x >.ENVRC', { '.ENVRC': 'shell-startup' }],
  // repositories that the command makes
  [
    'git init -q new; git -C new config core.fsmonitor ./x',
    { 'new/.git/config': 'new-repository' },
  ],
  [
    'git init -q new; echo x >new/.git/hooks/post-commit',
    { 'new/.git/hooks/post-commit': 'new-repository' },
  ],
  [
    'git init -q --bare src/bare; git -C src/bare config alias.st "!x"',
    { 'src/bare/config': 'new-repository' },
  ],
  [
    'mkdir -p deep/a/b/c; git init -q deep/a/b/c; git -C deep/a/b/c config core.hooksPath h',
    { 'deep/a/b/c/.git/config': 'new-repository' },
  ],
  ['mkdir w; echo "gitdir: /tmp/evil" >w/.git', { 'w/.git': 'new-repository' }],
  ['mkdir w; echo "gitdir: ../src" >w/.git', { 'w/.git': 'new-repository' }],
  ['mkdir w; ln -s ../.git w/.git', { 'w/.git': 'new-repository' }],
  [
    'mkdir w; git init -q --bare w/g; git -C w/g config core.pager x; echo "gitdir: g" >w/.git',
    { 'w/g/config': 'new-repository' },
  ],
  // what editors, shells, agents and package managers run
  [
    'echo x >.vscode/tasks.json; mkdir -p pkg/a/.idea; echo x >pkg/a/.idea/w',
    {
      '.vscode/tasks.json': 'editor-tasks',
      'pkg/a/.idea': 'editor-tasks',
      'pkg/a/.idea/w': 'editor-tasks',
    },
  ],
  ['rm -r .vscode', { '.vscode': 'editor-tasks', '.vscode/tasks.json': 'editor-tasks' }],
  ['mv .vscode old', { '.vscode': 'editor-tasks', '.vscode/tasks.json': 'editor-tasks' }],
  ['echo x >a.code-workspace', { 'a.code-workspace': 'editor-tasks' }],
  [
    'echo x >src/.envrc; ln -s src/x .bashrc',
    { 'src/.envrc': 'shell-startup', '.bashrc': 'shell-startup' },
  ],
  [
    'echo x >.npmrc; echo x >src/.yarnrc.yml',
    { '.npmrc': 'package-manager', 'src/.yarnrc.yml': 'package-manager' },
  ],
  [
    'mkdir .husky; echo x >.husky/pre-commit',
    { '.husky': 'git-hooks', '.husky/pre-commit': 'git-hooks' },
  ],
  [
    'echo x >.mcp.json; echo x >.claude/settings.json',
    { '.mcp.json': 'agent-configuration', '.claude/settings.json': 'agent-configuration' },
  ],
  ['mkdir sub; ln -s ../src sub/.claude', { 'sub/.claude': 'agent-configuration' }],
  ['echo x >.trl.yaml', { '.trl.yaml': 'own-policy' }],
  // links
  ['ln -s /etc/passwd p', { p: 'link-escape' }],
  ['ln -s ../../x p', { p: 'link-escape' }],
  ['ln -s src/../.. p', { p: 'link-escape' }],
  ['ln -s link/../../x p', { p: 'link-escape' }],
  ['ln -s . d; ln -s d/../x p', { p: 'link-escape' }],
  ['mkdir q; ln -s ../.. q/up; ln -s q/up/x p', { 'q/up': 'link-escape', p: 'link-escape' }],
  // kinds and modes
  ['mkfifo f', { f: 'special' }],
  ['cp a s; chmod 4755 s; cp a g; chmod 2755 g', { s: 'set-uid', g: 'set-gid' }],
  ['mkdir g; chmod 2775 g; echo x >g/x', { g: 'set-gid', 'g/x': 'set-gid' }],
  // policy
  [
    'echo x >a; echo y >src/x; echo x >src/y',
    { a: 'denied', 'src/x': 'denied', 'src/y': 'denied' },
    { deny: ['a', 'src'] },
  ],
  [
    'echo x >.env; mkdir priv; echo x >priv/x; ln -s .env e',
    { '.env': 'reserved', priv: 'reserved', 'priv/x': 'reserved', e: 'reserved' },
    { reserved: (name) => ['.env', 'priv'].includes(name) },
  ],
  ['echo x >b; echo y >c', { b: 'too-many', c: 'too-many' }, { changesMax: 1 }],
  [
    'head -c 2000 /dev/zero >b; echo x >.envrc',
    { b: 'too-large', '.envrc': 'shell-startup' },
    { bytesMax: 1000 },
  ],
];

const work: readonly (readonly [string, Policy?])[] = [
  [
    `echo two >a; git commit -qam two; git checkout -q -b other; echo 3 >a
      git commit -qam 3; git checkout -q main; git merge -q other; git branch -D other
      git gc -q`,
  ],
  ['git stash -q || true; git tag v1; git reset -q --hard HEAD'],
  ['git worktree add -q tree; cd tree; echo x >y; git add y; git commit -qm y'],
  ['git worktree add -q tree; git worktree remove tree'],
  ['git init -q new; cd new; echo x >y; git add y; git commit -qm y; git config user.email a@b'],
  ['git clone -q . copy; git clone -q --bare . copy.git'],
  ['git init -q --separate-git-dir store apart'],
  [
    `git remote add up https://e.org/b.git; git config branch.main2.remote up
      git config branch.main2.merge refs/heads/main`,
  ],
  ['git config --unset user.name; git config user.email a@b; git config pull.rebase true'],
  ['git config gc.auto 0; git config advice.detachedHead false; git config diff.colorMoved zebra'],
  ['git config http.postBuffer 99; git config column.ui auto; git config feature.manyFiles true'],
  [
    `git remote add up https://e.org/b.git; git remote rename up down; git branch -m main trunk
      git branch b; git branch --set-upstream-to=trunk b; git config branch.b.description x`,
  ],
  ['git remote rename origin up; git remote add fork ../fork; git remote remove fork'],
  ['git sparse-checkout set src; git sparse-checkout add lib; git sparse-checkout disable'],
  ['git worktree add -q tree; cd tree; git sparse-checkout set src'],
  [
    `git clone -q lib/inner lib/two || true; mkdir -p refs config hooks
      echo x >config/x; echo y >hooks/y; echo z >HEAD`,
  ],
  [
    `mkdir -p node_modules/p/.vscode node_modules/.bin; echo x >node_modules/p/.vscode/s
      echo x >node_modules/p/.editorconfig; ln -s ../p/cli node_modules/.bin/p`,
  ],
  ['ln -s src/x x; ln -s ../a src/a; ln -s "$PWD/a" abs; rm link; mkdir link; echo x >link/y'],
  ['rm -r src; echo "* text" >.gitattributes; mkdir .github; echo >.github/l.yml'],
  ['echo x >.vscode/tasks.json', { allow: ['.vscode'] }],
  [`printf 'x' >"$(printf 'odd\\n\\377name')"; mkdir -- '-rf'; echo x >'-rf/ '`],
];

/** Made once: each row works in copies. */
const made = makeTrees(project);
after(() => {
  made[Symbol.dispose]();
});

for (const [attack, held, policy] of attacks) {
  test(`held: ${attack.slice(0, 120)}`, async () => {
    using trees = makeTrees(`cp -a ${made.real}/. .`);
    trees.run(attack);
    const items = itemsBetween(trees.real, trees.session);
    assert.notEqual(items.length, 0, 'the attack changed something');
    const found = await judge(trees, items, policy);
    const named = [...found].filter(([name]) => policy?.partly !== true || name in held);
    assert.deepEqual(Object.fromEntries(named), held);
  });
}

for (const [script, policy] of work) {
  test(`free: ${script.slice(0, 120)}`, async () => {
    using trees = makeTrees(`cp -a ${made.real}/. .`);
    trees.run(script);
    const items = itemsBetween(trees.real, trees.session);
    const found = await judge(trees, items, policy);
    assert.deepEqual(Object.fromEntries(found), {});
  });
}

test('every name that a session without a layer protects is held at any depth', async () => {
  using trees = makeTrees('mkdir -p deep/er');
  const script = `mkdir -p "deep/er/$(dirname "$N")"; echo x >"deep/er/$N"`;
  trees.run(unlayeredProtectedNames.map((name) => script.replaceAll('$N', name)).join('\n'));
  const found = await judge(trees, itemsBetween(trees.real, trees.session));
  assert.deepEqual(
    unlayeredProtectedNames.filter((name) => !found.has(`deep/er/${name}`)),
    [],
  );
});

test('a repository that is put together over some commands is held', async () => {
  const parts = [
    'mkdir -p x/hooks; echo evil >x/hooks/post-checkout; chmod +x x/hooks/post-checkout',
    'mkdir -p x; printf "[core]\\n\\tfsmonitor = ./evil\\n" >x/config',
    'mkdir -p x; echo "ref: refs/heads/main" >x/HEAD',
    'mkdir -p x/objects x/refs',
  ];
  for (const order of [
    [0, 1, 2, 3],
    [1, 3, 2, 0],
    [2, 3, 1, 0],
    [3, 0, 2, 1],
  ]) {
    using trees = makeTrees('echo x >a');
    for (const at of order) {
      trees.run(parts[at] ?? '');
      const items = itemsBetween(trees.real, trees.session);
      const held = await judgeWith(trees, items, { gitDirectories: [] });
      await apply(
        trees,
        items.filter(({ path: name }) => !held.has(name)),
      );
    }
    const ran = shell(
      'git -C x status 2>&1 || true; git -C x config core.fsmonitor || true',
      trees.real,
    );
    const whole = shell(
      'test -e x/HEAD -a -e x/objects -a -e x/refs && echo whole || true',
      trees.real,
    );
    const armed = shell(
      'test -e x/config -o -e x/hooks/post-checkout && echo armed || true',
      trees.real,
    );
    assert.ok(whole === '' || armed === '', `${order.join()}: ${ran}`);
  }
});

test('a reserved name is held in the same words whether or not anything is there', async () => {
  using trees = makeTrees('echo secret >.env');
  trees.run('echo x >.env; echo x >.env.local; mkdir -p k/.env');
  const reserved = (name: string): boolean => /(^|\/)\.env/.test(name);
  const found = await judge(trees, itemsBetween(trees.real, trees.session), { reserved });
  assert.deepEqual(Object.fromEntries(found), {
    '.env': 'reserved',
    '.env.local': 'reserved',
    'k/.env': 'reserved',
  });
});

test('git goes on in the real tree with what is free, and runs nothing that is held', async () => {
  using trees = makeTrees(`cp -a ${made.real}/. .`);
  trees.run(`echo two >a; git commit -qam two; git checkout -q -b next; git worktree add -q tree
    echo x >tree/y; git -C tree add y; git -C tree commit -qm three
    printf '#!/bin/sh\ntouch RAN\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
    git config core.fsmonitor 'touch RAN; false'`);
  const items = itemsBetween(trees.real, trees.session);
  const held = await judge(trees, items);
  assert.deepEqual(Object.fromEntries(held), {
    '.git/config': 'git-config',
    '.git/hooks/post-checkout': 'git-hooks',
  });
  const results = await apply(
    trees,
    items.filter(({ path: name }) => !held.has(name)),
  );
  assert.deepEqual(
    results.filter(({ state }) => state !== 'applied'),
    [],
  );
  const seen = shell(
    `git fsck --strict; git checkout -q -b last; git log --format=%s; git -C tree log -1 --format=%s
     git status --short -uno; test ! -e RAN; git worktree list | wc -l`,
    trees.real,
  );
  assert.equal(seen, 'two\none\nthree\n2\n');
});

test('a tag that was given out is held; one of the file before, or of nobody, is not', async () => {
  const given = '[HIDDEN:8f2a1b]';
  using trees = makeTrees(`echo 'k=${given}' >had.md; echo 'k=value' >lost.conf`);
  trees.run(
    `echo more >>had.md; echo 'k=${given}' >lost.conf; echo '"a ${given}"' >new.ts; ` +
      "echo '[HIDDEN:0a0b0c] stands for a value' >about.md; echo plain >plain.md",
  );
  const items = itemsBetween(trees.real, trees.session);
  const tags = { isUsed: true, has: (tag: string) => tag === given, isOf: () => false };
  assert.deepEqual(
    await judge(trees, items, { tags }),
    new Map([
      ['lost.conf', 'redaction-tag'],
      ['new.ts', 'redaction-tag'],
    ]),
  );
  assert.deepEqual(await judge(trees, items), new Map());
});
