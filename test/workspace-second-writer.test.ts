// Somebody else works in the same directory: between commands, while they run, and where what they
// wrote was committed already. Every byte lands where it should.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { noOverlay } from './support/changes.ts';
import { raw, shareRuntime, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { filesOf, replaceDirectory, save, seenBy, startPaused } from './support/second-writer.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = noOverlay();

interface Scene extends AsyncDisposable {
  readonly dir: string;
  readonly session: TestSession;
  readonly ask: (method: string, params?: object) => Promise<Json>;
}

const corner = shareRuntime();

async function scene(params: object = {}): Promise<Scene> {
  const { root: dir, socketPath } = await corner();
  execFileSync('sh', ['-c', 'echo one >f; echo x >gone; mkdir d; echo x >d/f'], { cwd: dir });
  const session = await openSession(socketPath, { working_dir: dir, ...params });
  return {
    dir,
    session,
    ask: async (method, more = {}) => {
      const answer = await session.client.ask(method, { session_id: session.id, ...more });
      assert.equal(answer.ok, true, JSON.stringify(answer));
      return answer.data;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** Looked up by a command, then changed in every way that leaves an overlay behind. */
async function changeAll({ dir, session }: Scene): Promise<void> {
  await session.run('cat f gone d/f; cat new d/new; ls . d');
  save(dir, 'f', 'two\n');
  save(dir, 'new', 'n\n');
  rmSync(path.join(dir, 'gone'));
  replaceDirectory(dir, 'd', { new: 'dn\n' });
}

const states = (receipt: Json): string[] =>
  receipt.changes.map((one: Json) => `${one.path} ${one.state}`);

for (const more of [{}, { workspace_mode: 'direct' }]) {
  const name = 'workspace_mode' in more ? ', asked for by each command of a staged session' : '';
  const params = name === '' ? {} : { workspace_mode: 'staged' };
  test(`direct: what was saved between commands is seen and goes on${name}`, { skip }, async () => {
    await using one = await scene(params);
    const { dir, session } = one;
    await changeAll(one);
    const before = { 'd/': '', 'd/new': 'dn\n', f: 'two\n', new: 'n\n' };
    assert.deepEqual(await seenBy(session), before);
    await session.run('for f in f new gone d/new d/f; do echo + >>$f; done', more);
    const after = { ...before, 'd/f': '+\n', 'd/new': 'dn\n+\n', f: 'two\n+\n', gone: '+\n' };
    const both = { ...after, new: 'n\n+\n' };
    assert.deepEqual([filesOf(dir), await seenBy(session)], [both, both]);
    // What was committed is written by them, then by a command again.
    appendFileSync(path.join(dir, 'f'), 'theirs\n');
    save(dir, 'd/new', 'saved\n');
    rmSync(path.join(dir, 'gone'));
    await session.run('for f in f gone d/new; do echo ++ >>$f; done; mv d/f d/moved', more);
    const { 'd/f': _, ...rest } = both;
    const last = {
      ...rest,
      'd/moved': '+\n',
      'd/new': 'saved\n++\n',
      f: 'two\n+\ntheirs\n++\n',
      gone: '++\n',
    };
    assert.deepEqual([filesOf(dir), await seenBy(session)], [last, last]);
  });
}

test(
  'direct: what is saved while a command runs stands, and its own is kept',
  { skip },
  async () => {
    await using one = await scene();
    const { dir, session, ask } = one;
    const run = await startPaused(
      session,
      'echo c >>f; echo c >mine; echo c >d/x; pause; echo c >>f; echo c >>mine; echo c >late',
    );
    await run.reached();
    save(dir, 'f', 'theirs\n');
    save(dir, 'late', 'theirs\n');
    writeFileSync(path.join(dir, 'd/x'), 'theirs\n');
    await run.go();
    const receipt = await run.ended();
    assert.deepEqual(states(receipt), [
      'd/x conflict',
      'f conflict',
      'late conflict',
      'mine applied',
    ]);
    const now = {
      'd/': '',
      'd/f': 'x\n',
      'd/x': 'theirs\n',
      f: 'theirs\n',
      gone: 'x\n',
      late: 'theirs\n',
      mine: 'c\nc\n',
    };
    assert.deepEqual([filesOf(dir), await seenBy(session)], [now, now]);
    const { diff } = await ask('workspace.diff', { session_id: undefined, exec_id: run.id });
    assert.match(diff, /\+c\n\+c\n/, 'what the command wrote is in the store');
    const { conflicts } = await ask('workspace.status');
    assert.deepEqual(
      conflicts.map((one: Json) => one.path),
      ['d/x', 'f', 'late'],
    );
  },
);

test('direct: what is saved stands when another command ends meanwhile', { skip }, async () => {
  await using one = await scene();
  const { dir, session } = one;
  const run = await startPaused(session, 'echo c >>f; pause; echo c >>f');
  await run.reached();
  save(dir, 'f', 'theirs\n');
  await session.run('echo b >beside');
  await run.go();
  await run.ended();
  assert.deepEqual(filesOf(dir), {
    beside: 'b\n',
    'd/': '',
    'd/f': 'x\n',
    f: 'theirs\n',
    gone: 'x\n',
  });
});

test('direct: a file in a directory that was replaced meanwhile stands', { skip }, async () => {
  await using one = await scene();
  const { dir, session } = one;
  mkdirSync(path.join(dir, 'd.made'));
  writeFileSync(path.join(dir, 'd.made/f'), 'theirs\n');
  await session.run('true');
  const run = await startPaused(session, 'echo c >>d/f; pause; true');
  await run.reached();
  execFileSync('sh', ['-c', 'mv d d.old; mv d.made d; rm -r d.old'], { cwd: dir });
  await run.go();
  await run.ended();
  assert.equal(filesOf(dir)['d/f'], 'theirs\n');
});

test('direct: a server goes on in a committed directory with its log open', { skip }, async () => {
  await using one = await scene();
  const { dir, session } = one;
  const server = await startPaused(
    session,
    'mkdir -p logs; cd logs; exec 3>>log; echo 1 >&3; pause; echo 2 >&3; pause; echo 3 >&3; pwd; ' +
      'echo x >last; cat ../note >copy',
  );
  await server.reached();
  await session.run('echo b >beside');
  assert.equal(filesOf(dir)['logs/log'], '1\n');
  await server.go();
  await server.reached();
  await session.run('echo b >>beside; echo t >logs/touch');
  assert.equal(filesOf(dir)['logs/log'], '1\n2\n');
  save(dir, 'note', 'theirs\n');
  save(dir, 'logs/theirs', 'theirs\n');
  assert.equal((await session.run('cat note')).stdout, 'theirs\n');
  await server.go();
  await server.ended();
  const now = {
    beside: 'b\nb\n',
    'd/': '',
    'd/f': 'x\n',
    f: 'one\n',
    gone: 'x\n',
    'logs/': '',
    'logs/copy': 'theirs\n',
    'logs/last': 'x\n',
    'logs/log': '1\n2\n3\n',
    'logs/theirs': 'theirs\n',
    'logs/touch': 't\n',
    note: 'theirs\n',
  };
  assert.deepEqual([filesOf(dir), await seenBy(session)], [now, now]);
});

test(
  'direct: a directory that a command only passed through goes with theirs',
  { skip },
  async () => {
    await using one = await scene();
    const { dir, session } = one;
    const remove = (name: string): void => rmSync(path.join(dir, name), { recursive: true });
    mkdirSync(path.join(dir, 'e'));
    await session.run('ls');
    const run = await startPaused(session, 'touch d/lock; rm d/lock; pause; true');
    await run.reached();
    await session.run('true');
    remove('d');
    assert.equal((await session.run('ls')).stdout, 'e\nf\ngone\n');
    await run.go();
    assert.deepEqual(states(await run.ended()), []);
    await session.run('touch e/lock; rm e/lock');
    remove('e');
    assert.equal((await session.run('ls')).stdout, 'f\ngone\n');
    await session.run('mkdir d; touch d/lock; rm d/lock');
    replaceDirectory(dir, 'd', { new: 'theirs\n' });
    assert.deepEqual(await seenBy(session), filesOf(dir));
  },
);

test('staged: nothing of theirs is overwritten when it is published', { skip }, async () => {
  await using one = await scene({ workspace_mode: 'staged' });
  const { dir, session, ask } = one;
  await changeAll(one);
  const theirs = filesOf(dir);
  await session.run('for f in f new gone d/new d/f; do echo + >>$f; done');
  assert.deepEqual(filesOf(dir), theirs);
  appendFileSync(path.join(dir, 'f'), 'later\n');
  save(dir, 'd/new', 'later\n');
  const { totals } = await ask('workspace.apply');
  assert.deepEqual(totals, { applied: 4, conflicts: 1, held: 0 });
  const now = {
    'd/': '',
    'd/f': '+\n',
    'd/new': 'later\n',
    f: 'two\nlater\n+\n',
    gone: '+\n',
    new: 'n\n+\n',
  };
  assert.deepEqual([filesOf(dir), await seenBy(session)], [now, now]);
});

test('staged: after a conflict, what is made of their version is published', { skip }, async () => {
  await using one = await scene({ workspace_mode: 'staged' });
  const { dir, session, ask } = one;
  await session.run('echo mine >f');
  save(dir, 'f', 'theirs\n');
  assert.equal((await ask('workspace.apply')).totals.conflicts, 1);
  await session.run('echo + >>f');
  assert.deepEqual((await ask('workspace.apply')).totals, { applied: 1, conflicts: 0, held: 0 });
  assert.equal(filesOf(dir)['f'], 'theirs\n+\n');
});

test('discard: a dry run changes nothing that anybody sees later', { skip }, async () => {
  await using one = await scene();
  const { dir, session } = one;
  await changeAll(one);
  const theirs = filesOf(dir);
  const dry = { workspace_mode: 'discard' };
  const receipt = await session.run('for f in f new gone d/f; do echo + >>$f; done; cat f', dry);
  assert.deepEqual(
    states(receipt),
    ['d/f', 'f', 'gone', 'new'].map((name) => `${name} discarded`),
  );
  assert.equal(receipt.stdout, 'two\n+\n');
  assert.deepEqual([filesOf(dir), await seenBy(session)], [theirs, theirs]);
  const undone = await session.client.ask('exec.undo', { exec_id: receipt.exec_id });
  assert.deepEqual(undone.data.restored, []);
});

test('discard: what a dry session wrote reaches nobody else', { skip }, async () => {
  await using one = await scene({ workspace_mode: 'discard' });
  const { dir, session } = one;
  await changeAll(one);
  const theirs = filesOf(dir);
  await session.run('for f in f new gone d/f; do echo + >>$f; done');
  assert.equal((await session.run('cat f gone')).stdout, 'two\n+\n+\n');
  await session.destroy();
  assert.deepEqual(filesOf(dir), theirs);
});

test('discard: a dry run tells what it did to what waits, and only that', { skip }, async () => {
  await using one = await scene({ workspace_mode: 'staged' });
  const { session } = one;
  const dry = { workspace_mode: 'discard' };
  await session.run(
    'echo mine | tee mine old >f; mkdir -p e/sub; echo e | tee e/sub/a e/b >d/g; rm gone',
  );
  const before = await seenBy(session);
  const told = async (command: string): Promise<string[]> =>
    (await session.run(command, dry)).changes.map((one: Json) => `${one.kind} ${one.path}`);
  const first = ['modified f', 'added gone', 'deleted mine', 'metadata-only old'];
  assert.deepEqual(await told('cat d/g; rm mine; touch gone; echo mine >old; ls e >f'), first);
  const all = ['deleted d', 'deleted d/f', 'deleted d/g', 'deleted e', 'deleted e/b'];
  assert.deepEqual(await told('rm -r d e'), [...all, 'deleted e/sub', 'deleted e/sub/a']);
  const anew = 'rm -r e; mkdir e; echo new >e/b; mv d/g d/h; chmod 600 old';
  assert.deepEqual(await told(anew), [
    'deleted d/g',
    'added d/h',
    'modified e/b',
    'deleted e/sub',
    'deleted e/sub/a',
    'mode old',
  ]);
  assert.deepEqual(await seenBy(session), before);
});

test(
  'staged: a file that was moved away is no other name of the one that took its place',
  { skip },
  async () => {
    await using one = await scene({ workspace_mode: 'staged' });
    const { dir, session, ask } = one;
    await session.run('mv f f.bak; cp -p f.bak f');
    const { stdout, stderr } = await session.run('cp f.bak f; stat -c %i f f.bak | uniq | wc -l');
    assert.deepEqual([stdout, stderr], ['2\n', '']);
    assert.equal((await ask('workspace.apply')).totals.conflicts, 0);
    const { f, 'f.bak': moved } = filesOf(dir);
    assert.deepEqual([f, moved], ['one\n', 'one\n']);
  },
);

test('without a layer: what others did between commands is theirs', { skip: noMounts() }, () => {
  const program = path.join(import.meta.dirname, 'support/second-writer-index.ts');
  const args = ['-m', '--propagation', 'private', process.execPath, program];
  const said: Json = JSON.parse(execFileSync('unshare', args, { encoding: 'utf8' }));
  const rest = { 'd/': '', 'vol/': '' };
  assert.deepEqual(said, {
    method: 'index',
    told: [
      ['d/new', 'modified'],
      ['f', 'modified'],
      ['new', 'modified'],
    ],
    after: { ...rest, 'd/new': 'dn\n+\n', f: 'two\n+\n', new: 'n\n+\n' },
    totals: { restored: 3, conflicts: 0, impossible: 0 },
    undone: { ...rest, 'd/new': 'dn\n', f: 'two\nlater\n', new: 'n\n' },
  });
});

/** Why no file system can be mounted in a workspace here, or `false`. */
function noMounts(): string | false {
  const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return probe.status === 0 ? false : 'only root can mount';
}

test('a command whose workspace is moved away while it runs is told so', { skip }, async () => {
  const { root: dir, socketPath } = await corner();
  await using session = await openSession(socketPath, { working_dir: dir });
  const running = session.ask('echo one >made; read _; echo two >made', { stdin_open: true });
  using other = await raw(socketPath);
  const exec = await eventually('it runs', async () => {
    const { data } = await other.ask('exec.list', { session_id: session.id });
    return data.execs.find(({ state }: Json) => state === 'running')?.exec_id;
  });
  await eventually('a look', () => existsSync(path.join(dir, 'made')));
  renameSync(dir, `${dir}-moved`);
  await other.ask('exec.write', { exec_id: exec, data: '\n', eof: true });
  const { error } = await running;
  renameSync(`${dir}-moved`, dir);
  assert.equal(error?.code, 'BACKEND_UNAVAILABLE', JSON.stringify(error));
  assert.match(error.message, /its workspace was moved or deleted meanwhile; its changes/);
});

test('what was applied and is then made into what is held stays as it is', { skip }, async () => {
  await using one = await scene();
  const { dir, session } = one;
  const run = await startPaused(session, 'echo two >f; pause; rm f; ln -s /etc/shadow f');
  await run.reached();
  await eventually('a look', () => filesOf(dir)['f'] === 'two\n');
  await run.go();
  assert.deepEqual(states(await run.ended()), ['f held']);
  assert.equal(filesOf(dir)['f'], 'two\n');
  assert.equal((await session.run('readlink f')).stdout, '/etc/shadow\n');
});
