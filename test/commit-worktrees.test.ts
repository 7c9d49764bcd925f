// What git takes from the top of a worktree, whichever: old or new, known to its repository or not;
// and what it goes on with when a person comes back to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsBetween, judge, makeTrees, shell } from './support/commit.ts';
import { evil, testHeld, type Row } from './support/held.ts';

const init = 'export GIT_TEMPLATE_DIR=; git init -q -b main .; mkdir -p .git/hooks src tools';

/** Where git takes what a relative setting names: from whatever directory a `.git` stands in. */
const relative = `${init}; echo x >a; git add a; git commit -qm a; git config core.hooksPath h`;
const fromTops: readonly Row[] = [
  [
    'hooks of a worktree that comes with them',
    relative,
    `git worktree add -q w; ${evil('w/h/pre-commit')}; ${evil('src/h/pre-commit')}`,
    { 'w/h': 'git-config', 'w/h/pre-commit': 'git-config' },
  ],
  [
    'hooks beside a file that leads to a repository that is there',
    relative,
    `mkdir sub; echo 'gitdir: ../.git' >sub/.git; ${evil('sub/h/pre-commit')}`,
    { 'sub/h': 'git-config', 'sub/h/pre-commit': 'git-config' },
  ],
  [
    'a worktree where hooks lie already',
    `${relative}; ${evil('sub/h/pre-commit')}`,
    `echo 'gitdir: ../.git' >sub/.git`,
    { 'sub/.git': 'git-config' },
  ],
  [
    'hooks of a worktree whose repository does not know of it',
    `${init}; git init -q --separate-git-dir=gd w; git --git-dir=gd config core.hooksPath h`,
    evil('w/h/pre-commit'),
    { 'w/h': 'git-config', 'w/h/pre-commit': 'git-config' },
  ],
  [
    'hooks that are a link there',
    `${init}; git init -q --separate-git-dir=gd w; git --git-dir=gd config core.hooksPath h
     ln -s ../tools w/h; echo x >w/x`,
    `${evil('tools/pre-commit')}; echo y >w/x`,
    { 'tools/pre-commit': 'git-config' },
  ],
  [
    'hooks of one worktree of more than are looked at',
    `${relative}; for i in $(seq 100); do mkdir -p .git/worktrees/a$i; done
     git worktree add -q w`,
    evil('w/h/pre-commit'),
    { 'w/h': 'git-config', 'w/h/pre-commit': 'git-config' },
  ],
  [
    'a directory that becomes a link to hooks',
    `${relative}; mkdir -p other/h; ${evil('other/h/pre-commit')}; git worktree add -q w`,
    'ln -s ../other/h w/h',
    { 'w/h': 'git-config' },
  ],
];

const goesOn: readonly Row[] = [
  [
    'strategies that a rebase or a pick goes on with',
    `${init}; mkdir .git/rebase-merge .git/sequencer`,
    `printf foo/bar >.git/rebase-merge/strategy
     printf '[options]\\n strategy = foo/bar\\n' >.git/sequencer/opts`,
    { '.git/rebase-merge/strategy': 'git-config', '.git/sequencer/opts': 'git-config' },
  ],
  ['an address of a helper', init, `git remote add x 'ext://x'`, { '.git/config': 'git-config' }],
  [
    'hooks and settings of what only commondir leads to',
    `mkdir -p d w c/objects c/refs; echo 'ref: refs/heads/main' >d/HEAD; echo ../c >d/commondir
     echo 'gitdir: ../d' >w/.git`,
    `${evil('c/hooks/pre-commit')}; printf '[core]\\n fsmonitor = ./x\\n' >c/config`,
    { 'c/hooks/pre-commit': 'new-repository', 'c/config': 'new-repository' },
  ],
  [
    'what a command finds by a pattern, as a module, without an ending, in a function',
    `${init}; touch mod.py tools/n.js; mkdir tools/d src/p; touch src/p/__main__.py
     git config alias.a '!for f in tools/d/*; do sh $f; done'; git config alias.b '!python3 -m mod'
     git config alias.c '!node tools/n'; git config alias.d '!f() { cd src && exec ./t; }; f'
     git config alias.e '!cd src && python3 -m p'; git config alias.f '!prettier src/**/*.md'`,
    `for f in tools/d/x mod.py tools/n.js src/t src/p/__main__.py src/free
     do echo evil >>$f; done`,
    {
      'tools/d/x': 'git-config',
      'mod.py': 'git-config',
      'tools/n.js': 'git-config',
      'src/t': 'git-config',
      'src/p/__main__.py': 'git-config',
    },
  ],
];

testHeld([...fromTops, ...goesOn]);

test('held: what a person names for every repository, in one that a command makes', async () => {
  using trees = makeTrees(`${init}; git init -q --separate-git-dir=gd sep`);
  const home = `${trees.base}/home`;
  shell(`mkdir home; printf '[core]\\n hooksPath = hh\\n' >home/.gitconfig`, trees.base);
  trees.run(
    `export GIT_TEMPLATE_DIR=; git init -q --bare b; for d in b sep src; do mkdir -p $d/hh
     echo evil >$d/hh/x; done`,
  );
  const found = await judge(trees, itemsBetween(trees.real, trees.session), { home });
  assert.deepEqual(Object.fromEntries(found), {
    'b/hh': 'git-config',
    'b/hh/x': 'git-config',
    'sep/hh': 'git-config',
    'sep/hh/x': 'git-config',
  });
});
