// Which edits of a repository's configuration come by themselves: as real git writes them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import {
  harmlessPartOf,
  isHarmlessConfigEdit,
  isHarmlessModulesEdit,
  isSameRepository,
} from '../src/workspace/commit/harmless-edit.ts';

const dir = mkdtempSync(path.join(tmpdir(), 'trl-config-'));
after(() => {
  rmSync(dir, { recursive: true });
});
const config = path.join(dir, '.git/config');
const run = (script: string): void => {
  execFileSync('bash', ['-ec', script], { cwd: dir, stdio: 'pipe' });
};
run(`git init -q -b main; git config user.name n; git config user.email e@x
  git commit -q --allow-empty -m 1; git branch other; git remote add origin https://e.org/a.git
  git config branch.main.remote origin; git config branch.main.merge refs/heads/main
  git config core.editor mine; cp .git/config was`);

const edits = (script: string): boolean => {
  run(`cp was .git/config; ${script}`);
  const [was, is] = [path.join(dir, 'was'), config].map((name) => readFileSync(name, 'latin1'));
  return isHarmlessConfigEdit(was ?? '', is ?? '', path.join(dir, '.git'));
};

const up = 'git remote add up https://evil.org/b.git';

test('what runs something or leads elsewhere by itself is held', () => {
  const attacks = [
    'git remote remove origin',
    'git remote rename origin up; git remote add origin https://evil.org/a.git',
    'git remote remove origin; git remote add origin https://e.org/other.git',
    'git remote set-url origin https://e.org/other.git',
    'git remote set-url origin http://e.org/a.git',
    'git remote set-url origin https://e.org:444/a.git',
    'git remote set-url origin https://e.org@evil.org/a.git',
    'git remote set-url origin /a.git',
    'git remote set-url --push origin https://evil.org/a.git',
    'git remote set-url --add origin https://evil.org/a.git',
    `${up}; git config branch.main.remote up`,
    `${up}; git config branch.main.pushRemote up`,
    `${up}; git config branch.other.remote up`,
    `${up}; git config remote.pushDefault up`,
    `${up}; git config checkout.defaultRemote up`,
    `${up}; git config remote.up.promisor true`,
    `${up}; git config remote.up.uploadpack x`,
    'git config branch.main.remote ghost',
    'git config url.https://evil.org/.insteadOf https://e.org/',
    'git config http.proxy http://evil.org',
    'git config alias.st "!x"',
    'git config alias.lg "log --ext-diff"',
    'git config alias.st "-c core.pager=x status"',
    'git config alias.st.command "!x"',
    'git config core.fsmonitor true',
    'git config core.editor other',
    'git config --unset core.editor',
    'git config --add core.editor other',
    'git config submodule.lib.update "!x"',
    'git config branch.main.mergeOptions "-s x"',
    'git config protocol.ext.allow always',
    'git config help.autocorrect 1',
    'git config gc.pruneExpire now',
    'git config include.path x',
    'git config core.worktree /',
    'git config core.bare true',
  ];
  assert.deepEqual(attacks.filter(edits), []);
});

test('a remote that waits for its address is not one that gets any', () => {
  run('cp was .git/config; git config branch.other.remote ghost; cp .git/config was2');
  run('git remote add ghost https://evil.org/a');
  const [was, is] = [path.join(dir, 'was2'), config].map((name) => readFileSync(name, 'latin1'));
  assert.equal(isHarmlessConfigEdit(was ?? '', is ?? '', dir), false);
});

test('everyday edits come', () => {
  const work = [
    'git remote rename origin up; git remote add fork ../fork; git remote remove fork',
    'git remote set-url origin git@e.org:a',
    'git remote set-url --push origin ssh://git@e.org:22/a.git/',
    'git remote add fork https://e.org/fork.git; git config branch.main.pushRemote fork',
    'git remote add fork git@e.org:fork; git config remote.pushDefault fork',
    up,
    'git config checkout.defaultRemote origin',
    'git config branch.new.remote origin; git config branch.new.merge refs/heads/x',
    'git branch -m main trunk; git branch -m trunk main',
    'git config branch.other.remote .; git config branch.other.merge refs/heads/main',
    'git branch --unset-upstream main',
    'git config alias.st status; git config alias.lg "log --oneline --graph -20"',
    'git config user.signingKey A; git config tag.gpgSign true; git config core.fsmonitor false',
    'git config branch.main.mergeOptions "--no-ff --log"',
    'git config remote.origin.gh-resolved base; git config remote.origin.prune true',
    'git config --add remote.origin.fetch "+refs/pull/*/head:refs/remotes/origin/pr/*"',
    'git config extensions.worktreeConfig true; git config core.sparseCheckout true',
    'git config submodule.x.url ../x; git config submodule.x.update rebase',
    'git config --remove-section user; git config color.ui false; git config advice.diverging 0',
  ];
  assert.deepEqual(
    work.filter((script) => !edits(script)),
    [],
  );
});

test('of an edit that is held, what is plain comes', () => {
  const was = readFileSync(path.join(dir, 'was'), 'latin1');
  const partOf = (script: string): string | null => {
    run(`cp was .git/config; ${script}`);
    return harmlessPartOf(was, readFileSync(config, 'latin1'), path.join(dir, '.git'));
  };
  const same = [
    ['git config user.name Q; git config core.fsmonitor ./x', 'git config user.name Q'],
    [`git config core.sshCommand x; ${up}`, up],
    [`${up}; git config branch.main.remote up`, up],
    [
      'git config core.editor x; git config core.pager y; git config pull.rebase true',
      'git config pull.rebase true',
    ],
    ['git config alias.st status; git config alias.x "!y"', 'git config alias.st status'],
    ['git config filter.x.clean y; git config --unset user.name', 'git config --unset user.name'],
    [
      'git config remote.origin.url https://evil.org; git config color.ui 1',
      'git config color.ui 1',
    ],
    [
      `printf '[user] name = Q\\n[core] pager = x\\n' >>.git/config`,
      `printf '[user] name = Q\\n' >>.git/config`,
    ],
  ] as const;
  for (const [mixed, plain] of same) {
    run(`cp was .git/config; ${plain}; git config --list --local | sort > wanted`);
    const part = partOf(mixed);
    assert.notEqual(part, null, mixed);
    writeFileSync(config, part ?? '', 'latin1');
    run('git config --list --local | sort | diff wanted -');
    assert.equal(isHarmlessConfigEdit(was, part ?? '', dir), true);
  }
  const none = [
    'git config core.fsmonitor x',
    'git config --unset core.editor; git config user.name Q',
    `printf '[user]\\r\\nname = Q\\n[core] pager = x\\n' >>.git/config`,
    'echo "[user" >>.git/config',
    'git remote remove origin; git config user.name Q',
  ];
  assert.deepEqual(
    none.map(partOf),
    none.map(() => null),
  );
});

test('submodules come and go, and run nothing', () => {
  const lines = (text: string): string => `[submodule "x"]\n\t${text}\n`;
  const was = lines('path = x\n\turl = https://e.org/x');
  const bad = [
    'path = x\n\tupdate = !x',
    'path = ../x',
    'url = ext::x',
    'url = "-x"',
    'url = "https://e.org/a\\nb"',
    'command = x',
    'url = https://evil.org/x',
  ].map(lines);
  const all = [...bad, '[alias] x = "!y"', 'x'];
  assert.deepEqual(
    all.filter((one) => isHarmlessModulesEdit(was, one)),
    [],
  );
  const good = [
    '',
    was,
    lines('url = git@e.org:x.git'),
    `${was}[submodule "y"] path = y\nurl=../y`,
  ];
  assert.deepEqual(
    good.filter((one) => !isHarmlessModulesEdit(was, one)),
    [],
  );
});

test('two addresses are of one repository where no other host answers', () => {
  const same = [
    ['https://e.org/a/b.git', 'git@e.org:a/b'],
    ['ssh://git@e.org:22/a/b', 'https://me@E.org:443/a/b/'],
    ['http://e.org/a', 'http://e.org/a'],
  ] as const;
  const other = [
    ['https://e.org/a', 'http://e.org/a'],
    ['http://e.org/a', 'http://e.org/a.git'],
    ['https://e.org/a', 'git@-e.org:a'],
    ['https://e.org/a', 'https://e.org:8443/a'],
    ['https://e.org/a', 'https://e.org.evil.org/a'],
    ['https://e.org/a', 'https://evil.org/e.org/a'],
    ['https://e.org/a', 'https://e.org/a/../b'],
    ['git@e.org:a', 'git@evil.org:a'],
    ['https://e.org/a', 'file://e.org/a'],
    ['https://e.org/a', 'ext::x e.org/a'],
  ] as const;
  assert.deepEqual(
    same.filter(([one, two]) => !isSameRepository(one, two)),
    [],
  );
  assert.deepEqual(
    other.filter(([one, two]) => isSameRepository(one, two)),
    [],
  );
});
