// Repositories that a command makes: what the operator's git would run from them is taken out.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isHarmlessConfig, parseGitConfig } from '../src/workspace/git-config.ts';
import { openGuard } from '../src/workspace/guard.ts';
import { surveyWorkspace } from '../src/workspace/workspace-survey.ts';
import { onHost, openBox, temporary, whyNoBox } from './support/box.ts';

const evil = 'git config core.fsmonitor "touch $PWD/RAN; false"';

/** What is taken out after `command`, and what the operator's git still sees then. */
async function after(command: string, look: string, setup = ''): Promise<[string[], string]> {
  using base = temporary();
  const root = path.join(base.path, 'root');
  const quarantine = path.join(base.path, 'quarantine');
  for (const name of [root, quarantine]) mkdirSync(name);
  onHost(setup, root);
  const files = { read: { allow: [], deny: [] }, write: { allow: [], deny: [] } };
  const facts = await surveyWorkspace({ root, files, home: '/h', visible: [], entriesMax: 1e4 });
  const guard = await openGuard(facts, quarantine);
  onHost(command, root);
  const reverted = await guard.revert();
  assert.deepEqual(await guard.revert(), [], 'a second look finds nothing');
  return [reverted.toSorted(), onHost(`set +e; ${look}; true`, root)];
}

test('what a new repository would run on the host is taken out', { skip: whyNoBox }, async () => {
  using ws = temporary();
  await using box = await openBox({ root: ws.path });
  const { reverted } = await box.run(`git init -q .; git commit -q --allow-empty -m one; ${evil}
    git init -q new; cd new; ${evil}; git config alias.x y`);
  assert.deepEqual(reverted, ['.git/config', 'new/.git/config']);
  const seen = onHost(
    'git status --short; git -C new status --short; git log --format=%s',
    ws.path,
  );
  assert.equal(seen, '?? new/\none\n');
  assert.equal(onHost('git config core.fsmonitor || true; ls', ws.path), 'new\n');
});

test('a plain repository keeps its configuration', async () => {
  const made = `git init -q .; git commit -q --allow-empty -m one; git init -q --bare store
    git remote add o git@example.org:a/b.git; git config user.name "A; B"; git branch -q x
    git config branch.x.remote o; git clone -q . copy; git worktree add -q tree
    git -c protocol.file.allow=always submodule --quiet add ./copy sub
    git init -q --separate-git-dir a/deep/git apart 2>/dev/null || true`;
  const [reverted, seen] = await after(
    `mkdir -p a/deep; ${made}`,
    'git -C sub log --format=%s; git -C tree log --format=%s; git config user.name; git status -s',
  );
  assert.deepEqual(reverted, ['.gitmodules']);
  assert.match(seen, /^one\none\nA; B\n/);
});

test('no way to name a setting gets past', async () => {
  const ways = [
    '[core]\n\tfsmonitor = x',
    '[CORE]fsMonitor=x',
    '\uFEFF[core] fsmonitor = x',
    '[core]\r\n\tfsmonitor = x\r\n',
    '[user] name = a \\\n# b\n[core] fsmonitor = x',
    '[user] name = "a\\\n"\n[core] fsmonitor = x',
    '[include] path=/tmp/x',
    '[includeIf "gitdir:/"] path=/tmp/x',
    '[core]\nhooksPath = "x"',
    '[core] worktree = /',
    '[remote "o"] url = ext::sh -c x',
    '[remote "o"] url = "e"xt::sh',
    '[remote.o] url = \\\n  ext::sh',
    '[branch "b"] remote = ext::sh',
    '[remote "o"] uploadpack = x',
    '[core "x"] bare = true',
    '[filter "x"] clean = x',
    '[submodule "x"] update = !x',
    '[user] name = "open',
    'name = x',
    '[user] name = \\x',
    '[user] name = a\0',
  ];
  assert.deepEqual(
    ways.filter((text) => isHarmlessConfig(text, '/w/.git')),
    [],
  );
});

test('a configuration is read as git reads it', () => {
  using at = temporary();
  const text = `\uFEFF# c\r\n[User]\tname = "a ;" b\\t\\"c\\" # d\r\n[a "B\\"c"] k = x\\\r\n y ; z
[d.E "F"] g\n[remote "o"]url=https://[::1]/x\n`;
  const seen = (parseGitConfig(text) ?? []).map(({ name, subsection, value }) => {
    const [section = '', key = ''] = name.split('.');
    return `${[section, ...(subsection === null ? [] : [subsection]), key].join('.')}=${value}`;
  });
  const script = `printf '%s' "$TEXT" > c; git config -f c -l`;
  const git = onHost(`TEXT=$(cat <<'END'\n${text}\nEND\n); ${script}`, at.path).trim();
  assert.deepEqual(
    seen.map((line) => line.replace(/^d\.e\.F\.g=true$/, 'd.e.F.g')),
    git.split('\n'),
  );
});

test('a link, a fifo or something huge for a configuration is taken out', async () => {
  const big = `head -c 300000 /dev/zero | tr '\\0' '\\n' >> c/.git/config`;
  const [reverted] = await after(
    `for r in a b c d; do git init -q $r; done; cp a/.git/config away
     ln -sf ../../away a/.git/config
     rm b/.git/config; mkfifo b/.git/config; ${big}; mv d/.git store; ln -s ../store d/.git`,
    'true',
  );
  assert.deepEqual(reverted, ['a/.git/config', 'b/.git/config', 'c/.git/config', 'd/.git']);
});

test('a repository behind a file, a commondir or as a bare one is found', async () => {
  const plant = `git init -q --bare x/y/z; git -C x/y/z config core.bare false
    git -C x/y/z config core.fsmonitor evil; echo evil > x/y/z/hooks/post-commit`;
  const [behind, none] = await after(
    `${plant}; mkdir a; echo 'gitdir: ../x/y/z' > a/.git; echo 'gitdir: x/y/z' > .git`,
    'git -C a config core.fsmonitor; git config core.fsmonitor',
  );
  assert.deepEqual([behind, none], [['x/y/z/config', 'x/y/z/hooks/post-commit'], '']);
  const [shared] = await after(
    `${plant}; git init -q a; echo ../../x/y/z > a/.git/commondir`,
    'true',
  );
  assert.deepEqual(shared, ['a/.git/commondir']);
  const [bare] = await after(
    'git init -q --bare a; git -C a config core.worktree .; git init -q --bare .; echo e > hooks/x',
    'true',
  );
  assert.deepEqual(bare, ['a/config', 'hooks/x']);
  const [twice] = await after(
    `${plant}; git init -q --bare g; mkdir w; rm -r g/objects g/refs; echo ../x/y/z > g/commondir
     echo 'gitdir: ../g' > w/.git; ln -s / up; mkdir v; echo 'gitdir: ../up/../x/y/z' > v/.git`,
    'true',
  );
  assert.deepEqual(twice, ['g/commondir', 'v/.git', 'x/y/z/config', 'x/y/z/hooks/post-commit']);
});

test('repositories that were there are left alone, whatever they say', async () => {
  const setup = `git init -q .; git config core.fsmonitor mine; git commit -q --allow-empty -m one
    git init -q ../other; git -C ../other commit -q --allow-empty -m one
    git -C ../other config alias.x y; git -C ../other worktree add -q "$PWD/linked"
    git init -q --bare b; git -C b config alias.x y; git worktree add -q own`;
  const [reverted, seen] = await after(
    'git worktree add -q more',
    'git config core.fsmonitor',
    setup,
  );
  assert.deepEqual([reverted, seen], [[], 'mine\n']);
});
