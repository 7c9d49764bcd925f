// What real programs make in a workspace works on the host, and for the next command.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { bytePathOf } from '../src/workspace/byte-path.ts';
import { SystemTrees } from '../src/workspace/commit/system-trees.ts';
import { shareRuntime, type Json } from './support/daemon.ts';
import { isFull } from './support/form.ts';
import { openSession, type TestSession } from './support/session.ts';

const corner = shareRuntime();

async function workspace(): Promise<{ dir: string; session: TestSession } & AsyncDisposable> {
  const { root: dir, socketPath } = await corner();
  const session = await openSession(socketPath, { working_dir: dir });
  return { dir, session, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

const waiting = (receipt: Json): string[] =>
  receipt.changes
    .filter(({ state }: Json) => state !== 'applied')
    .map(({ path: name, state, reason }: Json) => `${name} ${state} ${reason}`);

/** Ten seconds of work: in the long form. */
const hasPip =
  isFull &&
  ((): boolean => {
    try {
      execFileSync('/usr/bin/python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  })();

test('a virtual environment of the agent works on the host', async (t) => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const pip = hasPip ? '' : ' --without-pip';
  const made = await session.run(`python3 -m venv${pip} .venv`, { timeout_ms: 120_000 });
  assert.equal(made.exit_code, 0, made.stderr);
  assert.deepEqual(waiting(made), []);
  const says = 'import sys; print(sys.prefix)';
  const python = path.join(dir, '.venv/bin/python');
  assert.equal(execFileSync(python, ['-c', says], { encoding: 'utf8' }), `${dir}/.venv\n`);
  assert.equal((await session.run(`.venv/bin/python -c '${says}'`)).stdout, `${dir}/.venv\n`);
  if (!hasPip) return t.diagnostic('without pip: it is in the long form');
  const wheel = path.join(dir, 'mine-1.0-py3-none-any.whl');
  execFileSync('/usr/bin/python3', ['-c', makeWheel, wheel]);
  const command = `.venv/bin/python -m pip install -q --no-index ${wheel}`;
  const installed = await session.run(command, { timeout_ms: 120_000 });
  assert.equal(installed.exit_code, 0, installed.stderr);
  assert.deepEqual(waiting(installed), []);
  const uses = ['-c', 'import mine; print(mine.x)'];
  assert.equal(execFileSync(python, uses, { encoding: 'utf8' }), '41\n');
  return undefined;
});

test('links lead only to what every sandbox shows', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  writeFileSync(path.join(dir, '../beside'), 'x');
  symlinkSync('/usr', path.join(dir, '../alias'));
  mkdirSync(path.join(dir, 'later'));
  const free = ['/usr/bin/env', '/bin/sh', '/usr/lib/../bin/env', '/bin/../bin/sh'];
  const bad = [
    '/etc/passwd',
    '/etc/shadow',
    '/tmp/x',
    '/proc/self/cwd',
    '/dev/null',
    '/',
    '/home',
    process.env['HOME'] ?? '/root',
    '/usr/nothing-is-here',
    '/usr/../etc/shadow',
    '/usr',
    '/opt',
    '/usr/local/bin',
    '/proc/self/root/usr/bin/env',
    '/tmp/../usr/bin/env',
    `${dir}/later/${'../'.repeat(dir.split('/').length)}usr/bin/env`,
    `/usr/..${dir}/../beside`,
    `${path.dirname(dir)}/beside`,
    `${path.dirname(dir)}/alias/bin/env`,
    '../alias/bin/env',
    '../../../../../../../../usr/bin/env',
  ];
  const links = [...free, ...bad].map((to, at) => `ln -s '${to}' l${at}`);
  const chains = ['ln -s l0 chain; ln -s l4 worse', 'ln -s /usr up; ln -s up/../etc/shadow far'];
  const receipt = await session.run([...links, ...chains].join('\n'));
  assert.equal(receipt.exit_code, 0, receipt.stderr);
  const held = receipt.changes.filter(({ state }: Json) => state === 'held');
  assert.deepEqual(
    held.map((one: Json) => `${one.path} ${one.reason}`).toSorted(),
    [...bad.map((_, at) => `l${at + free.length}`), 'far', 'up', 'worse']
      .map((name) => `${name} link-escape`)
      .toSorted(),
  );
  for (const [at, to] of free.entries()) assert.equal(readlinkSync(path.join(dir, `l${at}`)), to);
});

test('what follows a link on the host writes nothing by it but a program', (t) => {
  const dir = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-links-')));
  t.after(() => {
    chmodSync(path.join(dir, 'fixed'), 0o755);
    rmSync(dir, { recursive: true });
  });
  for (const name of ['bin', 'fixed', 'hidden']) mkdirSync(path.join(dir, name));
  const file = (name: string, mode: number): void =>
    writeFileSync(path.join(dir, name), '', { mode });
  file('bin/tool', 0o755);
  file('bin/data', 0o644);
  file('bin/constant', 0o444);
  file('hidden/tool', 0o755);
  execFileSync('mkfifo', ['-m', '755', path.join(dir, 'bin/pipe')]);
  symlinkSync('tool', path.join(dir, 'bin/alias'));
  symlinkSync('../hidden/tool', path.join(dir, 'bin/through'));
  symlinkSync('../bin', path.join(dir, 'hidden/back'));
  symlinkSync('loop', path.join(dir, 'bin/loop'));
  chmodSync(path.join(dir, 'fixed'), 0o555);
  const trees = new SystemTrees([dir], [path.join(dir, 'hidden')]);
  const shown = (name: string): boolean => trees.shows(bytePathOf(path.join(dir, name)));
  const names = ['', 'bin', 'bin/tool', 'bin/data', 'bin/constant', 'bin/pipe', 'bin/alias'];
  const more = ['bin/through', 'bin/loop', 'hidden/tool', 'hidden/back/tool', 'fixed', 'bin/none'];
  assert.deepEqual([...names, ...more].filter(shown), [
    'bin/tool',
    'bin/constant',
    'bin/alias',
    'fixed',
  ]);
});

test('a tree of hard and relative links comes whole, as package managers make it', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const made = await session.run(`mkdir -p store/a node_modules/.pnpm/a@1/node_modules/a
    echo 'module.exports = 1' > store/a/index.js
    ln store/a/index.js node_modules/.pnpm/a@1/node_modules/a/index.js
    ln -s .pnpm/a@1/node_modules/a node_modules/a`);
  assert.deepEqual(waiting(made), []);
  const asks = ['-e', 'console.log(require("a"))'];
  assert.equal(execFileSync(process.execPath, asks, { cwd: dir, encoding: 'utf8' }), '1\n');
  const changed = await session.run("echo 'module.exports = 2' > store/a/index.js");
  assert.deepEqual(waiting(changed), []);
  const again = await session.run("echo 'module.exports = 3' > node_modules/a/index.js");
  assert.deepEqual(waiting(again), []);
  assert.equal(execFileSync(process.execPath, asks, { cwd: dir, encoding: 'utf8' }), '3\n');
});

test('names of one file that a build makes and changes are no conflict', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const build = `mkdir -p target/deps; echo $RANDOM > target/deps/p-1.new
    mv target/deps/p-1.new target/deps/p-1; ln -f target/deps/p-1 target/p; cat target/p`;
  for (let time = 0; time < 2; time += 1) {
    const receipt = await session.run(build);
    assert.deepEqual(waiting(receipt), []);
    for (const name of ['target/p', 'target/deps/p-1']) {
      assert.equal(readFileSync(path.join(dir, name), 'utf8'), receipt.stdout);
    }
    const inPlace = await session.run('echo more >> target/p; cat target/deps/p-1');
    assert.deepEqual(waiting(inPlace), []);
  }
  const long = await session.run(`${build}; sleep 1.5; echo more >> target/p`);
  assert.deepEqual(waiting(long), []);
});

test('another name for a file is no conflict, though nobody watched the tree yet', async () => {
  const { root: dir, socketPath } = await corner();
  for (let at = 0; at < 1_500; at += 1) mkdirSync(path.join(dir, `d${at}/d`), { recursive: true });
  for (const name of ['a', 'b', 'd1/c']) writeFileSync(path.join(dir, name), name);
  await using session = await openSession(socketPath, { working_dir: dir });
  const receipt = await session.run(
    'ln a a2; mv b d3/b; mv d1/c d1/c2; echo more >> d1/c2; mkdir -p new/e; ln a new/e/a',
  );
  assert.deepEqual(waiting(receipt), []);
  for (const [name, text] of Object.entries({
    a2: 'a',
    'new/e/a': 'a',
    'd3/b': 'b',
    'd1/c2': 'd1/cmore\n',
  })) {
    assert.equal(readFileSync(path.join(dir, name), 'utf8'), text);
  }
});

test('a worktree that is removed leaves no directory behind', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: dir, encoding: 'utf8' });
  git('init', '-q');
  git('-c', 'user.name=n', '-c', 'user.email=e', 'commit', '-q', '--allow-empty', '-m', 'x');
  const added = await session.run('git worktree add -q -b b wt; echo x > wt/y; mkdir wt/d');
  assert.deepEqual(waiting(added), []);
  const removed = await session.run('git worktree remove --force wt');
  assert.deepEqual(waiting(removed), []);
  for (const name of ['wt', '.git/worktrees']) {
    assert.equal(statSync(path.join(dir, name), { throwIfNoEntry: false }), undefined, name);
  }
  await session.run('git worktree add -q w2 b; git worktree remove w2');
  const both = await session.run('git worktree add -q w3 b; sleep 2; git worktree remove w3');
  assert.deepEqual(waiting(both), []);
  mkdirSync(path.join(dir, 'empty'));
  await session.run('rmdir empty');
  for (const name of ['w2', 'w3', 'empty', '.git/worktrees']) {
    assert.equal(statSync(path.join(dir, name), { throwIfNoEntry: false }), undefined, name);
  }
});

test('a submodule that is taken out while a look comes leaves nothing behind', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const host = (script: string): string =>
    execFileSync('bash', ['-ec', script], { cwd: dir, encoding: 'utf8' });
  host(`git init -q -b main; git config user.name n; git config user.email e@x
    git commit -q --allow-empty -m 1; git clone -q --bare . up.git; echo up.git > .gitignore
    git -c protocol.file.allow=always submodule --quiet add "file://$PWD/up.git" sub
    git add .; git commit -qm sub; mkdir other`);
  for (const [script, name] of [
    [
      'git config -f .git/modules/sub/config core.worktree ../../../other',
      '.git/modules/sub/config',
    ],
    ['git config --unset core.bare; git config core.worktree ../other', '.git/config'],
    ['rm sub/.git', 'sub/.git'],
  ] as const) {
    const held = waiting(await session.run(script));
    assert.deepEqual(held, [`${name} held git-config`], script);
    await session.client.ask('workspace.discard', { session_id: session.id });
  }
  const deinit = await session.run(
    'git submodule deinit -q -f sub; sleep 2.5; git rm -q sub; git commit -qm none',
  );
  assert.equal(deinit.exit_code, 0, deinit.stderr);
  assert.deepEqual(waiting(deinit), []);
  assert.equal(statSync(path.join(dir, 'sub'), { throwIfNoEntry: false }), undefined);
  assert.equal(host('git status -sb'), '## main\n');
});

test('everyday work with git is on the host at once', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const host = (script: string): string =>
    execFileSync('bash', ['-ec', script], { cwd: dir, encoding: 'utf8' });
  host(`git init -q -b main; git config user.name n; git config user.email e@x
    mkdir docs src; echo 1 > docs/a; echo 1 > src/b; echo 'store' > .gitignore
    git add .; git commit -qm 1; git init -q --bare -b main store/up.git
    git remote add origin store/up.git; git push -q -u origin main main:topic
    git remote add hub https://hub.example/me/it.git; git worktree add -q -b old store/old`);
  const add = 'git -c protocol.file.allow=always submodule add -q "file://$PWD/store/up.git"';
  const work = [
    ['git checkout -q --track origin/topic', 'branch.topic.remote', 'origin'],
    ['git branch -m topic trunk', 'branch.trunk.merge', 'refs/heads/topic'],
    ['git remote add fork git@hub.example:you/it', 'remote.fork.url', 'git@hub.example:you/it'],
    ['git remote add new https://new.example/it', 'remote.new.url', 'https://new.example/it'],
    ['git remote rename fork mine', 'remote.mine.url', 'git@hub.example:you/it'],
    [
      'git remote set-url hub ssh://git@hub.example/me/it',
      'remote.hub.url',
      'ssh://git@hub.example/me/it',
    ],
    ['git config user.name "A B"', 'user.name', 'A B'],
    ['git config alias.lg "log --oneline --graph"', 'alias.lg', 'log --oneline --graph'],
    [`${add} sub; git commit -qm sub`, 'submodule.sub.active', 'true'],
    ['git submodule deinit -q -f sub; git rm -q sub; git commit -qm none', 'core.bare', 'false'],
    ['git worktree add -q -b side store/tree', 'core.bare', 'false'],
    ['git worktree remove store/tree', 'core.bare', 'false'],
    ['git sparse-checkout set docs', 'core.sparseCheckout', 'true'],
    ['git sparse-checkout add src; git sparse-checkout disable', 'core.sparseCheckout', 'false'],
    ['git push -q -u origin trunk:trunk; git pull -q', 'branch.trunk.merge', 'refs/heads/trunk'],
  ] as const;
  for (const [command, key, value] of work) {
    const receipt = await session.run(command);
    assert.equal(receipt.exit_code, 0, `${command}: ${receipt.stderr}`);
    assert.deepEqual(waiting(receipt), [], command);
    assert.equal(host(`git config ${key}`).trim(), value, command);
  }
  assert.equal(host('git status -sb; git fsck 2>&1'), '## trunk...origin/trunk\n');
  const held = [
    'git remote set-url origin https://evil.example/it',
    'git remote set-url --push hub https://evil.example/it',
    'git config branch.trunk.pushRemote new',
    'git config url.https://evil.example/.insteadOf https://hub.example/',
    'git config core.editor ./x',
  ];
  for (const command of held) {
    assert.deepEqual(waiting(await session.run(command)), ['.git/config held git-config'], command);
    await session.client.ask('workspace.discard', { session_id: session.id });
  }
});

test('of a mixed edit of the configuration, what is plain is on the host', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const host = (...args: string[]): string =>
    spawnSync('git', args, { cwd: dir }).stdout.toString();
  host('init', '-q', '-b', 'main');
  host('config', 'core.editor', 'mine');
  const mixed = 'git config user.name Q; git config core.editor x; git config core.fsmonitor ./y';
  const receipt = await session.run(mixed);
  assert.deepEqual(waiting(receipt), ['.git/config held git-config']);
  assert.deepEqual(receipt.changes[0]?.marks, ['partly-applied']);
  const ofHost = (): string[] =>
    ['user.name', 'core.editor', 'core.fsmonitor', 'pull.rebase'].map((key) =>
      host('config', '--local', key).trim(),
    );
  assert.deepEqual(ofHost(), ['Q', 'mine', '', '']);
  const again = await session.run('git config core.fsmonitor; git config pull.rebase true');
  assert.equal(again.stdout, './y\n');
  assert.deepEqual(waiting(again), ['.git/config held git-config']);
  assert.deepEqual(ofHost(), ['Q', 'mine', '', 'true']);
  const undone = await session.client.ask('exec.undo', { exec_id: again.exec_id });
  assert.equal(undone.ok, true, JSON.stringify(undone));
  assert.deepEqual(ofHost(), ['Q', 'mine', '', '']);
  const first = await session.client.ask('exec.undo', { exec_id: receipt.exec_id });
  assert.equal(first.ok, true, JSON.stringify(first));
  assert.deepEqual(ofHost(), ['', 'mine', '', '']);
});

test('a person lets the rest of a mixed edit through', async () => {
  await using ws = await workspace();
  const { dir, session } = ws;
  const host = (...args: string[]): string =>
    spawnSync('git', args, { cwd: dir }).stdout.toString();
  host('init', '-q', '-b', 'main');
  await session.run('git config user.name Q; git config core.editor x');
  const status = await session.client.ask('workspace.status', { session_id: session.id });
  const ask = { session_id: session.id, held: true, digest: status.data.held_digest };
  const applied = await session.client.ask('workspace.apply', ask);
  assert.equal(applied.data?.totals.applied, 1, JSON.stringify(applied));
  assert.equal(host('config', 'core.editor') + host('config', '--local', 'user.name'), 'x\nQ\n');
  assert.deepEqual(waiting(await session.run('git config core.autocrlf false')), []);
  assert.equal(host('config', 'core.autocrlf'), 'false\n');
});

/** Writes a wheel with one module. */
const makeWheel = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
  z.writestr("mine.py", "x = 41\\n")
  i = "mine-1.0.dist-info/"
  z.writestr(i + "METADATA", "Metadata-Version: 2.1\\nName: mine\\nVersion: 1.0\\n")
  z.writestr(i + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
  names = ["mine.py", i + "METADATA", i + "WHEEL", i + "RECORD"]
  z.writestr(i + "RECORD", "".join(n + ",,\\n" for n in names))
`;
