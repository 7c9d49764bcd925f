// What a protected name leads to is protected as it is: through links that are there already, by
// git's configuration as git reads it, and whatever somebody changes on the host meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, itemsBetween, judge, judgeWith, makeTrees, shell } from './support/commit.ts';
import { evil, testHeld, type Row } from './support/held.ts';
import { walkTree } from '../src/workspace/walk.ts';

const init = 'export GIT_TEMPLATE_DIR=; git init -q -b main .; mkdir -p .git/hooks src tools';
const links: readonly Row[] = [
  [
    'git hooks are a link into the tree',
    `${init}; rmdir .git/hooks; ln -s ../tools .git/hooks`,
    evil('tools/pre-commit'),
    { 'tools/pre-commit': 'git-hooks' },
  ],
  [
    'a hook is a link into the tree',
    `${init}; ln -s ../../tools/check .git/hooks/pre-commit`,
    evil('tools/check'),
    { 'tools/check': 'git-hooks' },
  ],
  [
    'a hook leads through two links, one of them a directory',
    `${init}; mkdir real; ln -s real via; ln -s ../via/check tools/check
     ln -s ../../tools/check .git/hooks/pre-commit`,
    'mv via was; mkdir via; echo evil >via/check',
    { via: 'git-hooks', 'via/check': 'git-hooks' },
  ],
  [
    'a link on the way is made to lead elsewhere',
    `${init}; ln -s check.sh tools/check; ln -s ../../tools/check .git/hooks/pre-commit
     echo x >tools/check.sh; echo evil >src/e`,
    'ln -sfn ../src/e tools/check',
    { 'tools/check': 'git-hooks' },
  ],
  [
    'the directory that holds it becomes a link',
    `${init}; echo x >tools/check; ln -s ../../tools/check .git/hooks/pre-commit
     mkdir other; echo evil >other/check`,
    'rm -r tools; ln -s other tools',
    { tools: 'git-hooks', 'tools/check': 'git-hooks' },
  ],
  [
    'it leads to what is not there yet',
    `${init}; ln -s ../tools/new/hooks .husky 2>/dev/null; ln -sfn tools/hooks .husky`,
    evil('tools/hooks/pre-commit'),
    { 'tools/hooks': 'git-hooks', 'tools/hooks/pre-commit': 'git-hooks' },
  ],
  [
    'it leads out of the tree and back',
    `${init}; ln -s ../real/src/env .envrc`,
    evil('src/env'),
    { 'src/env': 'shell-startup' },
  ],
  [
    'it leads there by an absolute path',
    `${init}; ln -s "$PWD/src/env" .envrc`,
    evil('src/env'),
    { 'src/env': 'shell-startup' },
  ],
  [
    'protected names of every kind are links',
    `${init}; ln -s src/vscode .vscode; ln -s src/npm .npmrc; ln -s src/mcp.json .mcp.json
     mkdir src/vscode src/claude; ln -s src/claude .claude; mkdir -p src/deep
     ln -s ../env src/deep/.envrc; mkdir .cursor; ln -s ../src/c .cursor/mcp.json; echo x >free`,
    `for f in vscode/tasks.json npm mcp.json claude/settings.json claude/notes env c
     do echo evil >src/$f; done; echo y >free`,
    {
      'src/vscode/tasks.json': 'editor-tasks',
      'src/npm': 'package-manager',
      'src/mcp.json': 'agent-configuration',
      'src/claude/settings.json': 'agent-configuration',
      'src/env': 'shell-startup',
      'src/c': 'agent-configuration',
    },
  ],
  [
    'git itself is a link or a file that leads elsewhere',
    `${init}; mv .git store; ln -s store .git`,
    evil('store/hooks/pre-commit'),
    { 'store/hooks/pre-commit': 'git-hooks' },
  ],
];

const inGit: readonly Row[] = [
  [
    'a rebase that goes on in a directory of the tree',
    init,
    `mkdir plan; echo 'exec ./x' >plan/git-rebase-todo; ln -s ../plan .git/rebase-merge`,
    { '.git/rebase-merge': 'git-config' },
  ],
  [
    'links anywhere in a git directory',
    init,
    `mkdir -p o; mkdir -p .git/objects .git/info; rm -rf .git/objects/info
     ln -s ../../o .git/objects/info; ln -s ../../o/x .git/info/exclude
     ln -s ../o .git/sequencer; ln -s ../o/x .git/refs/heads/y 2>/dev/null ||
     ln -s ../../../o/x .git/refs/heads/y`,
    {
      '.git/objects/info': 'git-config',
      '.git/info/exclude': 'git-config',
      '.git/sequencer': 'git-config',
      '.git/refs/heads/y': 'git-config',
    },
  ],
  [
    'a link in a repository that a command makes',
    'true',
    `export GIT_TEMPLATE_DIR=; git init -q --bare new; mkdir o; ln -s ../o new/rebase-merge`,
    { 'new/rebase-merge': 'new-repository' },
  ],
];

const config = (text: string, at = '.git/config'): string => `printf '%s\\n' '${text}' >>${at}`;

const configured: readonly Row[] = [
  [
    'hooks in the tree',
    `${init}; ${config('[core] hooksPath = tools/hooks')}`,
    evil('tools/hooks/pre-commit'),
    { 'tools/hooks': 'git-config', 'tools/hooks/pre-commit': 'git-config' },
  ],
  [
    'hooks at the top of the worktree',
    `${init}; git config core.hooksPath .`,
    `${evil('pre-commit')}; echo x >pre`,
    { 'pre-commit': 'git-config' },
  ],
  [
    'hooks named by an included file of an included file',
    `${init}; ${config('[include] path = ../one')}; ${config('[include] path = two', 'one')}
     ${config('[core] hooksPath = tools', 'two')}`,
    `${evil('tools/pre-commit')}; echo >>one; echo >>two`,
    { 'tools/pre-commit': 'git-config', one: 'git-config', two: 'git-config' },
  ],
  [
    'an include that may hold at another time',
    `${init}; ${config('[includeIf "onbranch:x"] path = ../src/inc')}`,
    evil('src/inc'),
    { 'src/inc': 'git-config' },
  ],
  [
    'hooks of config.worktree',
    `${init}; git config extensions.worktreeConfig true
     ${config('[core] hooksPath = tools', '.git/config.worktree')}`,
    evil('tools/pre-commit'),
    { 'tools/pre-commit': 'git-config' },
  ],
  [
    'hooks of a submodule, from its worktree',
    `${init}; mkdir -p sub .git/modules; git init -q m; mv m/.git .git/modules/sub; rmdir m
     echo 'gitdir: ../.git/modules/sub' >sub/.git
     git config -f .git/modules/sub/config core.worktree ../../../sub
     git config -f .git/modules/sub/config core.hooksPath h`,
    evil('sub/h/pre-commit'),
    { 'sub/h': 'git-config', 'sub/h/pre-commit': 'git-config' },
  ],
  [
    'hooks of a linked worktree, from there',
    `${init}; echo x >a; git add a; git commit -qm a; git worktree add -q w
     git config core.hooksPath h`,
    evil('w/h/pre-commit'),
    { 'w/h': 'git-config', 'w/h/pre-commit': 'git-config' },
  ],
  [
    'scripts of the tree in commands',
    `${init}; git config core.fsmonitor tools/watch; git config core.sshCommand 'ssh -F tools/ssh'
     git config filter.x.smudge './tools/smudge %f'; git config diff.y.textconv 'python3 conv.py'
     git config alias.z '!cd src && ./run "$@"'; git config credential.helper '!sh tools/cred'
     git config merge.m.driver '"tools/merge driver" %O'; git config gpg.program ./gpg
     git config core.attributesFile attrs; git config alias.st status
     git config alias.top '!$(git rev-parse --show-toplevel)/tools/top'
     touch conv.py status tools/free`,
    `for f in watch ssh smudge cred 'merge driver' free top; do echo evil >>"tools/$f"; done
     for f in conv.py src/run gpg attrs status; do echo evil >>$f; done`,
    {
      'tools/watch': 'git-config',
      'tools/ssh': 'git-config',
      'tools/smudge': 'git-config',
      'tools/cred': 'git-config',
      'tools/merge driver': 'git-config',
      'tools/top': 'git-config',
      'conv.py': 'git-config',
      'src/run': 'git-config',
      gpg: 'git-config',
      attrs: 'git-config',
    },
  ],
  [
    'a worktree whose repository is elsewhere',
    `git init -q -b main ../far; cd ../far; echo x >a; git add a; git commit -qm a
     git config core.hooksPath h; rmdir ../real; git worktree add -q ../real; cd ../real`,
    evil('h/pre-commit'),
    { h: 'git-config', 'h/pre-commit': 'git-config' },
  ],
  [
    'a repository that holds the workspace',
    'true',
    evil('hooks/pre-commit'),
    { hooks: 'git-config', 'hooks/pre-commit': 'git-config' },
  ],
];

testHeld([...links, ...inGit, ...configured]);

test('held: what the host sets while the session is open', async () => {
  using trees = makeTrees(init);
  const { gitDirectories } = await walkTree(trees.real, { matches: null, entriesMax: 1e5 });
  trees.run(`${evil('tools/pre-commit')}; ${evil('src/env')}; ${evil('late/h/post-checkout')}`);
  const items = itemsBetween(trees.real, trees.session);
  assert.deepEqual([...(await judgeWith(trees, items, { gitDirectories }))], []);
  shell(
    `git config core.hooksPath tools; ln -s src/env .envrc; git init -q late
     git -C late config core.hooksPath h`,
    trees.real,
  );
  const found = await judgeWith(trees, items, { gitDirectories });
  assert.deepEqual(Object.fromEntries(found), {
    'late/h': 'git-config',
    'late/h/post-checkout': 'git-config',
    'src/env': 'shell-startup',
    'tools/pre-commit': 'git-config',
  });
});

test('held: what the person names in their own configuration and start-up files', async () => {
  using trees = makeTrees('mkdir dots; echo x >dots/bashrc; echo x >dots/git; echo x >dots/free');
  const home = `${trees.base}/home`;
  shell(
    `mkdir home; ln -s ../real/dots/bashrc home/.bashrc
     printf '[include]\\n path = ${trees.real}/dots/git\\n[core]\\n hooksPath = hh\\n' \\
       >home/.gitconfig`,
    trees.base,
  );
  trees.run(
    `git init -q .; for f in bashrc git free; do echo evil >>dots/$f; done; ${evil('hh/x')}`,
  );
  const found = await judge(trees, itemsBetween(trees.real, trees.session), { home });
  assert.deepEqual(Object.fromEntries(found), {
    'dots/bashrc': 'shell-startup',
    'dots/git': 'git-config',
    hh: 'git-config',
    'hh/x': 'git-config',
  });
});

test('free: everyday work beside links and configuration', async () => {
  using trees = makeTrees(
    `${init}; ln -s src/current link; ln -s ../src tools/src; git config core.editor vim
     git config alias.lg 'log --oneline'; git config core.pager 'less -R'
     git config filter.lfs.smudge 'git-lfs smudge -- %f'; echo x >src/x; git add src
     git commit -qm x; ln -s ../node_modules/p/cli tools/cli; git config core.excludesFile ign
     git config core.hooksPath h; mkdir h; echo x >h/pre-commit; chmod +x src/x
     git config alias.all '!prettier src/*'`,
  );
  trees.run(
    `git worktree add -q w0; echo x >w0/q; echo y >src/x
     git commit -qam y; git worktree add -q w; echo x >w/z; git -C w add z
     git -C w commit -qm z; git checkout -q -b next; git rebase -q main; git merge -q w
     echo x >ign; ln -sfn src/x link; rm tools/src; mkdir log; echo x >log/oneline; echo x >less`,
  );
  const found = await judge(trees, itemsBetween(trees.real, trees.session));
  assert.deepEqual(Object.fromEntries(found), {});
});

const everywhere = [
  '.opencode.json crush.json .agents/x .junie/x .clinerules .clinerules/x .windsurfrules',
  '.claude/statusline.sh .envrc.local .lfsconfig .sl/config .run/a.run.xml .vimrc.local',
  '.aws/config .kube/config .openhands/setup.sh gradle/wrapper/gradle-wrapper.properties',
  'hie.yaml .lsp/config.edn .merlin rust-analyzer.toml .luarc.json .rvmrc .RData .octaverc .ctags',
  '.bazelrc .buckconfig .gitreview .reviewboardrc .github/hooks/x.json .github/mcp.json .grok/x',
  'lefthook-local.toml lint-staged.config.js .huskyrc.json prek.toml .trunk/trunk.yaml uv.toml',
  '.bundle/plugin/index .gradle/init.d/x.gradle .netrc ansible.cfg x.ipr .yarn/sdks/ts/tsserver',
].flatMap((line) => line.split(' '));

const byContent = [
  'rust-toolchain.toml .python-version .tool-versions .sdkmanrc .bazelversion',
].flatMap((line) => line.split(' '));

test('held: names that agents and tools run or obey, at any depth', async () => {
  for (const at of ['.', 'a/b']) {
    using trees = makeTrees('true');
    const one = (name: string): string => `(mkdir -p "$(dirname ${name})"; echo x >${name})`;
    trees.run(`mkdir -p ${at}; cd ${at}; ${everywhere.map(one).join(' || true; ')} || true
      printf '[toolchain]\\npath = "../x"\\n' >rust-toolchain.toml
      echo ./bin/python >.python-version; echo nodejs path:./n >.tool-versions
      echo java=../../x >.sdkmanrc; echo evil/7.0 >.bazelversion`);
    const found = await judge(trees, itemsBetween(trees.real, trees.session));
    const names = [...everywhere, ...byContent].filter((name) => name !== '.clinerules/x');
    const free = names.filter((name) => !found.has(at === '.' ? name : `${at}/${name}`));
    assert.deepEqual(free, []);
  }
});

test('free: names that only look like those', async () => {
  using trees = makeTrees('true');
  trees.run(`mkdir -p .run run crush src/agents; echo x >.run/pid; echo x >crush/crush.json.md
    echo x >src/agents/a; printf '[toolchain]\\nchannel = "1.90"\\n' >rust-toolchain.toml
    echo 3.12 >.python-version; echo lts/iron >.nvmrc; echo nodejs 22.1.0 >.tool-versions
    echo java=21.0.1-tem >.sdkmanrc; echo 7.0.0 >.bazelversion; echo ruby-3.4@x >.ruby-version`);
  assert.deepEqual([...(await judge(trees, itemsBetween(trees.real, trees.session)))], []);
});

test('the host goes on with no rebase that a command has planned behind a link', async () => {
  using trees = makeTrees(`${init}; echo x >a; git add a; git commit -qm one`);
  trees.run(`mkdir plan; cd plan; h=$(git rev-parse HEAD); echo 'exec touch ../RAN' >git-rebase-todo
    for f in done git-rebase-todo.backup; do : >$f; done
    for f in onto orig-head; do echo $h >$f; done
    echo refs/heads/main >head-name; echo 1 >msgnum; echo 1 >end; : >interactive; cd ..
    ln -s ../plan .git/rebase-merge`);
  const items = itemsBetween(trees.real, trees.session);
  const held = await judge(trees, items);
  await apply(
    trees,
    items.filter(({ path: name }) => !held.has(name)),
  );
  shell('git rebase --continue >/dev/null 2>&1 || true', trees.real);
  assert.doesNotMatch(shell('ls -A . ..', trees.real), /RAN/);
  // The same without the filter does run.
  shell('ln -s ../plan .git/rebase-merge; git rebase --continue 2>/dev/null || true', trees.real);
  assert.match(shell('ls -A . ..', trees.real), /RAN/);
});
