// A directory that came with thousands of entries is told as one and moved in one step: nothing of
// what holds for a single file is less for those in it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readTree, type Standing } from './support/commit.ts';
import { noOverlay } from './support/changes.ts';
import { shareRuntime, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, runUntil, type TestSession } from './support/session.ts';

const skip = noOverlay();
const corner = shareRuntime();
const files = 1_200;
/** As a package manager does: links, a program, a file that nobody may write. */
const install =
  'mkdir -p node_modules/.bin node_modules/{a,b,c,d}; touch node_modules/{a,b,c,d}/f{1..300}; ' +
  'for d in a b c d; do for n in 1 2 300; do echo $d$n >node_modules/$d/f$n; done; done; ' +
  'ln -s ../a/f1 node_modules/.bin/f; chmod 755 node_modules/a/f1; chmod 444 node_modules/a/f2';

interface Place extends AsyncDisposable {
  readonly dir: string;
  readonly session: TestSession;
  readonly socketPath: string;
  readonly at: (name: string) => string;
}

async function place(): Promise<Place> {
  const { root: dir, socketPath } = await corner();
  const session = await openSession(socketPath, { working_dir: dir });
  const at = (name: string): string => path.join(dir, name);
  return {
    dir,
    session,
    socketPath,
    at,
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

const changeOf = (receipt: Json, name: string): Json =>
  receipt.changes.find((one: Json) => one.path === name);

/** Whether it was told as one. */
const isWhole = (receipt: Json, name = 'node_modules'): boolean =>
  changeOf(receipt, name)?.after?.entries !== undefined;

/** Its number and modes, sizes and contents; a move changes the time of a directory. */
const timeless = ([name, { entry, key }]: [string, Standing]): [string, unknown] => [
  name,
  [entry, key.split(':').slice(0, 3)],
];

/** Names of extended attributes of what is in a directory, and of itself. */
function attributesIn(dir: string): string {
  const script =
    'use strict; my $b; for (split /\\0/, join "", <STDIN>) { $b = "\\0" x 999; ' +
    'my $n = syscall($ARGV[0], $_, $b, 999); print "$_ ", substr($b, 0, $n), "\\n" if $n > 0 }';
  const input = execFileSync('find', [dir, '-print0']);
  const call = process.arch === 'x64' ? '195' : '12';
  const args = ['-e', script.replace('$ARGV[0]', call)];
  return execFileSync('perl', args, { input, encoding: 'utf8' });
}

test('thousands of new entries are told as one, and are as they were made', { skip }, async () => {
  await using ws = await place();
  const receipt = await ws.session.run(install);
  assert.deepEqual(
    receipt.changes.map(({ path: name, state }: Json) => [name, state]),
    [['node_modules', 'applied']],
  );
  const { bytes, ...counts } = changeOf(receipt, 'node_modules').after.entries;
  assert.deepEqual(counts, { files, directories: 5, links: 1 });
  assert.equal(bytes, 4 * (3 + 3 + 5));
  const { uid, gid } = statSync(ws.dir);
  for (const name of ['', '.bin', '.bin/f', 'a', 'a/f1', 'd/f300']) {
    const stat = lstatSync(ws.at(`node_modules/${name}`));
    assert.deepEqual([stat.uid, stat.gid], [uid, gid], name);
  }
  const modes = ['f1', 'f2', 'f3'].map((name) => statSync(ws.at(`node_modules/a/${name}`)).mode);
  assert.deepEqual(modes, [0o100755, 0o100444, 0o100644]);
  assert.equal(readFileSync(ws.at('node_modules/d/f300'), 'utf8'), 'd300\n');
  assert.equal(readlinkSync(ws.at('node_modules/.bin/f')), '../a/f1');
  assert.equal(attributesIn(ws.at('node_modules')), '');
  // What comes later is told file by file, and does not reach what is there past the record.
  const later = await ws.session.run('cat node_modules/.bin/f; echo x >>node_modules/b/f1');
  assert.equal(later.stdout, 'a1\n');
  assert.equal(changeOf(later, 'node_modules/b/f1').state, 'applied');
  assert.equal(readFileSync(ws.at('node_modules/b/f1'), 'utf8'), 'b1\nx\n');
  const held = await ws.session.run('mkdir -p .git/hooks; echo >node_modules/.envrc');
  assert.equal(existsSync(ws.at('node_modules/.envrc')), false, JSON.stringify(held.changes));
});

test('undo takes all of it back, and leaves what somebody else changed', { skip }, async () => {
  await using ws = await place();
  const undo = async (exec: string): Promise<Json> =>
    (await ws.session.client.ask('exec.undo', { exec_id: exec })).data;
  const first = await ws.session.run(install);
  assert.equal(isWhole(first), true);
  const later = await ws.session.run('echo x >>node_modules/b/f1; rm node_modules/b/f2');
  assert.equal((await undo(later.exec_id)).totals.restored, 2);
  assert.equal(readFileSync(ws.at('node_modules/b/f1'), 'utf8'), 'b1\n');
  assert.equal(readFileSync(ws.at('node_modules/b/f2'), 'utf8'), 'b2\n');
  const again = await ws.session.run('rm -r node_modules; ls');
  assert.equal(again.stdout, '');
  const second = await ws.session.run(install);
  writeFileSync(ws.at('node_modules/c/f7'), 'mine\n');
  writeFileSync(ws.at('node_modules/c/mine'), 'mine\n');
  const { conflicts } = await undo(second.exec_id);
  const names = ['node_modules', 'node_modules/c', 'node_modules/c/f7'];
  assert.deepEqual(conflicts.map(({ path: name }: Json) => name).toSorted(), names);
  assert.deepEqual(readdirSync(ws.at('node_modules')), ['c']);
  assert.deepEqual(readdirSync(ws.at('node_modules/c')), ['f7', 'mine']);
});

test(
  'a directory of thousands that goes is told as one, and comes back as it was',
  { skip },
  async () => {
    await using ws = await place();
    const undo = async ({ exec_id }: Json): Promise<Json> =>
      (await ws.session.client.ask('exec.undo', { exec_id })).data;
    await ws.session.run(install);
    const before = readTree(ws.at('node_modules'));
    const gone = await ws.session.run('rm -rf node_modules; ls -A');
    assert.equal(gone.stdout, '');
    assert.equal(gone.changes.length, 1);
    assert.equal(changeOf(gone, 'node_modules').before.entries.files, files);
    assert.deepEqual(readdirSync(ws.dir), []);
    assert.deepEqual([(await undo(gone)).totals.restored], [1]);
    const came = readTree(ws.at('node_modules'));
    assert.deepEqual(new Map([...came].map(timeless)), new Map([...before].map(timeless)));
    assert.equal((await ws.session.run('cat node_modules/.bin/f')).stdout, 'a1\n');
    // Somebody else has one of the name since: theirs stands.
    const again = await ws.session.run('rm -rf node_modules');
    mkdirSync(ws.at('node_modules'));
    assert.equal((await undo(again)).conflicts.length, 1);
    assert.deepEqual(readdirSync(ws.at('node_modules')), []);
  },
);

test('what somebody else changed in it while it went stays', { skip }, async () => {
  await using ws = await place();
  await ws.session.run(install);
  const gone = await runUntil(
    ws.session,
    ws.socketPath,
    'rm -rf node_modules/{a,b}; echo >seen; read _; rm -rf node_modules',
    () => {
      if (!existsSync(ws.at('seen'))) return false;
      writeFileSync(ws.at('node_modules/c/f7'), 'mine\n');
      return true;
    },
  );
  assert.equal(readFileSync(ws.at('node_modules/c/f7'), 'utf8'), 'mine\n');
  const shown = gone.changes.find(({ state }: Json) => state === 'conflict');
  assert.match(shown.path, /^node_modules/);
});

test('what may not come back by an undo does not come with the directory', { skip }, async () => {
  await using ws = await place();
  await ws.session.run(install);
  const gone = await ws.session.run('rm -rf node_modules');
  assert.equal(gone.changes.length, 1);
  symlinkSync('node_modules/a/f1', ws.at('.envrc'));
  const { data } = await ws.session.client.ask('exec.undo', { exec_id: gone.exec_id });
  assert.equal(data.totals.restored, 0, JSON.stringify(data));
  assert.equal(existsSync(ws.at('node_modules')), false);
});

/** Installs in a new directory, and does more in there. */
async function installIn(ws: Place, name: string, more = ':'): Promise<Json> {
  await ws.session.run(`mkdir ${name}`);
  return await ws.session.run(`(cd ${name}; ${install}; ${more})`);
}

test('what the filter holds in it is held, and the rest comes', { skip }, async () => {
  await using ws = await place();
  const escape = await installIn(ws, 't', 'ln -s ../../../../out node_modules/a/out');
  assert.equal(isWhole(escape, 't/node_modules'), false);
  assert.equal(changeOf(escape, 't/node_modules/a/out').reason, 'link-escape');
  assert.equal(existsSync(ws.at('t/node_modules/a/out')), false);
  assert.equal(readdirSync(ws.at('t/node_modules/a')).length, 300);
  const named = await installIn(ws, 'u', 'echo >node_modules/a/.envrc');
  assert.equal(isWhole(named, 'u/node_modules'), false);
  assert.equal(changeOf(named, 'u/node_modules/a/.envrc').state, 'held');
  assert.equal(existsSync(ws.at('u/node_modules/a/.envrc')), false);
  const git = await installIn(ws, 'v', 'git init -q node_modules/a');
  assert.equal(isWhole(git, 'v/node_modules'), false);
  assert.equal(existsSync(ws.at('v/node_modules/d/f300')), true);
});

test('what has another name, or came from elsewhere, is not moved', { skip }, async () => {
  await using ws = await place();
  for (const name of ['theirs', 'linked']) writeFileSync(ws.at(name), `${name}\n`);
  const linked = await installIn(ws, 't', 'ln node_modules/a/f1 other');
  assert.equal(isWhole(linked, 't/node_modules'), false);
  assert.equal(statSync(ws.at('t/node_modules/a/f1')).nlink, 1);
  const moved = await installIn(ws, 'u', 'mv ../theirs node_modules/a/f1');
  assert.equal(isWhole(moved, 'u/node_modules'), false);
  assert.equal(readFileSync(ws.at('u/node_modules/a/f1'), 'utf8'), 'theirs\n');
  const copied = await installIn(ws, 'v', 'ln ../linked node_modules/a/g');
  assert.equal(isWhole(copied, 'v/node_modules'), false);
  assert.equal(statSync(ws.at('linked')).nlink, 1);
  const inside = await installIn(ws, 'w', 'ln node_modules/a/f1 node_modules/b/g');
  assert.equal(isWhole(inside, 'w/node_modules'), true);
  assert.equal(statSync(ws.at('w/node_modules/a/f1')).nlink, 2);
  assert.equal(attributesIn(ws.dir), '');
});

test('beside another command of the view it is told file by file', { skip }, async () => {
  await using ws = await place();
  await using other = await openSession(ws.socketPath, { working_dir: ws.dir });
  await other.start('read _', { stdin_open: true });
  const receipt = await ws.session.run(install);
  assert.equal(isWhole(receipt), false);
  assert.equal(readdirSync(ws.at('node_modules/a')).length, 300);
});

test('it waits for its command while others of the view begin and end', { skip }, async () => {
  await using ws = await place();
  await using other = await openSession(ws.socketPath, { working_dir: ws.dir });
  const isThere = (name: string) => (): boolean => existsSync(ws.at(name));
  const beside = async (): Promise<Json> => {
    await eventually('a look at the command', isThere('seen'));
    return await other.run('echo >other');
  };
  const ending = beside();
  const command = `${install}; echo >seen; read _`;
  const receipt = await runUntil(ws.session, ws.socketPath, command, isThere('other'));
  assert.deepEqual(
    (await ending).changes.map(({ path: name }: Json) => name),
    ['other'],
  );
  assert.equal(isWhole(receipt), true, JSON.stringify(receipt.changes.slice(0, 3)));
  assert.equal(readdirSync(ws.at('node_modules/a')).length, 300);
});
