// `trl publish check|run` as a person uses it: exit codes, what is written, a yes at a terminal.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
import { after, before, test } from 'node:test';
import { startRuntime, surroundings, type Daemon } from './support/daemon.ts';
import { auditText, passage, plan, write, writePolicy } from './support/publication.ts';
import { enroll, person, whyNoTerminal, type Person } from './support/pty.ts';

const trlFile = path.join(path.dirname(import.meta.dirname), 'trl');
const skip = whyNoTerminal;
const phrase = 'correct horse battery';
let daemon: Daemon;
let home: string;
let work: string;
let env: Record<string, string>;

const trl = (args: readonly string[], more: { input?: string | Buffer; cwd?: string } = {}) =>
  spawnSync(trlFile, args, {
    cwd: work,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    ...more,
  });
/** At a terminal, in the workspace. */
const atTerminal = (...args: readonly string[]): Person => {
  const line = [trlFile, ...args].map((word) => `'${word}'`).join(' ');
  return person(['-c', `cd '${work}' && ${line}`], env, { file: '/bin/sh' });
};
const seen = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();

before(async () => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-publish-')));
  work = path.join(home, 'work');
  env = { ...surroundings(home), TRL_POLICY: '' };
  writePolicy(home);
  daemon = await startRuntime({ home, env, socketPath: path.join(home, 'run/trl.sock') });
  write(work, {
    'private/plan.md': plan,
    'dist/a.txt': 'fine\n',
    'dist/sub/run.sh': '#!/bin/sh\n',
  });
  execFileSync('chmod', ['755', path.join(work, 'dist/sub/run.sh')]);
  symlinkSync('a.txt', path.join(work, 'dist/link'));
});
after(async () => {
  await daemon?.stop();
  rmSync(home, { recursive: true, force: true });
});

test('what passes exits 0, what is blocked 1, what cannot be understood 125', () => {
  const passed = trl(['publish', 'check', 'dist']);
  assert.deepEqual([passed.status, passed.stdout], [0, '']);
  assert.match(passed.stderr, /passed for "public": 3 items looked at/);
  const blocked = trl(['publish', 'check', '-'], { input: passage });
  assert.equal(blocked.status, 1);
  assert.match(blocked.stdout, /^block {3}denied\.content {2}stdin {2}t-[0-9a-f]{16}\n/);
  assert.match(blocked.stdout, /take the passage out/);
  assert.match(blocked.stderr, /nobody can approve it as it is/);
  const json = trl(['publish', 'check', '--json', '-'], { input: passage });
  assert.equal(JSON.parse(json.stdout).findings[0].rule, 'denied.content');
  for (const args of [[], ['--staged', 'dist'], ['--output', 'dist']]) {
    assert.equal(trl(['publish', 'check', ...args]).status, 125, args.join(' '));
  }
  assert.equal(trl(['publish', 'check', 'nowhere.txt']).status, 125);
});

test('a directory, and an archive, have exactly what was checked', () => {
  const to = path.join(home, 'out');
  const ran = trl(['publish', 'run', 'dist', '--to', to]);
  assert.equal(ran.status, 0, ran.stderr);
  assert.deepEqual(seen(to), ['dist', 'dist/a.txt', 'dist/link', 'dist/sub', 'dist/sub/run.sh']);
  assert.equal(readFileSync(path.join(to, 'dist/a.txt'), 'utf8'), 'fine\n');
  assert.equal(statSync(path.join(to, 'dist/sub/run.sh')).mode & 0o777, 0o755);
  assert.equal(readlinkSync(path.join(to, 'dist/link')), 'a.txt');
  const again = trl(['publish', 'run', 'dist', '--to', to]);
  assert.equal(again.status, 125);
  assert.match(again.stderr, /something exists there already/);

  const long = `dist/${'long-'.repeat(30)}ü.txt`;
  write(work, { [long]: 'long\n' });
  const tar = path.join(home, 'out.tar');
  const [one, other] = [tar, `${tar}.2.tar`].map((file) => {
    assert.equal(trl(['publish', 'run', 'dist', '--to', file]).status, 0);
    return readFileSync(file);
  });
  assert.deepEqual(one, other);
  const unpacked = path.join(home, 'unpacked');
  mkdirSync(unpacked);
  execFileSync('tar', ['xf', tar, '-C', unpacked], { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  assert.equal(readFileSync(path.join(unpacked, long), 'utf8'), 'long\n');
  assert.equal(readlinkSync(path.join(unpacked, 'dist/link')), 'a.txt');
  rmSync(path.join(work, long));
  assert.deepEqual(readdirSync(path.join(home, 'state/trl/publish/outgoing')), []);
  assert.match(auditText(home), /"kind":"publication.published"/);
});

test('what is blocked is written nowhere', () => {
  write(work, { 'dist/leak.txt': passage });
  const to = path.join(home, 'leak');
  const ran = trl(['publish', 'run', 'dist', '--to', to]);
  assert.equal(ran.status, 1);
  assert.match(ran.stdout, /denied\.content {2}dist\/leak\.txt/);
  assert.equal(existsSync(to), false);
  const json = trl(['publish', 'run', 'dist', '--to', to, '--json']);
  assert.deepEqual([json.status, JSON.parse(json.stdout).error.code], [1, 'PUBLICATION_BLOCKED']);
  rmSync(path.join(work, 'dist/leak.txt'));
  const git = trl(['publish', 'run', '--git', 'HEAD', '--to', to]);
  assert.equal(git.status, 125);
  assert.deepEqual(readdirSync(path.join(home, 'state/trl/publish/outgoing')), []);
  assert.deepEqual(
    readdirSync(home).filter((name) => name.startsWith('.')),
    [],
  );
});

test('what a command left and printed is checked by its id, or that of its session', () => {
  const made = trl(['session', 'create', '--name', 'web']);
  assert.equal(made.status, 0, made.stderr);
  const ran = trl([
    'run',
    '--session',
    'web',
    '--json',
    '--',
    'sed -n 2,4p private/plan.md > x.txt',
  ]);
  const id = /x-[0-9a-f]{32}/.exec(ran.stdout)?.[0] ?? '';
  assert.match(trl(['publish', 'check', '--exec', id]).stdout, /denied\.content {2}x\.txt/);
  const session = trl(['publish', 'check', '--changes', '--session', 'web']);
  assert.deepEqual([session.status, /x\.txt/.test(session.stdout)], [1, true]);
  rmSync(path.join(work, 'x.txt'), { force: true });
  const printed = trl(['run', '--session', 'web', '--json', '--', 'sed -n 2,4p private/plan.md']);
  const other = /x-[0-9a-f]{32}/.exec(printed.stdout)?.[0] ?? '';
  assert.equal(trl(['publish', 'check', '--exec', other]).status, 0);
  assert.match(trl(['publish', 'check', '--exec', other, '--output']).stdout, /content {2}stdout/);
});

test('files elsewhere are checked without the runtime that runs', () => {
  const elsewhere = path.join(home, 'elsewhere');
  write(elsewhere, { 'private/other.md': plan, 'a.txt': passage });
  const ran = trl(['publish', 'check', 'a.txt'], { cwd: elsewhere });
  assert.equal(ran.status, 1, ran.stderr);
  assert.match(ran.stdout, /denied\.content {2}a\.txt/);
});

test('without a terminal nothing is shown or let through', () => {
  writeFileSync(path.join(work, 'data.db'), Buffer.from('SQLite format 3\0\x01\x02\x03', 'latin1'));
  const review = trl(['publish', 'check', 'data.db']);
  assert.equal(review.status, 1);
  assert.match(review.stderr, /needs a review .*\n.*--accept/);
  for (const flag of ['--accept', '--evidence']) {
    const ran = spawnSync('setsid', [trlFile, 'publish', 'check', flag, 'data.db'], {
      cwd: work,
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    assert.deepEqual(
      [ran.status, /there is no terminal/.test(ran.stderr)],
      [125, true],
      ran.stderr,
    );
  }
});

test(
  'a person at a terminal sees what was found, and lets through what needs it',
  { skip },
  async () => {
    write(work, { 'leak.txt': passage });
    using shows = atTerminal('publish', 'check', '--evidence', 'leak.txt');
    await shows.sees('of private/plan.md, lines 2 to 4');
    assert.equal(await shows.left(), 1);
    for (const [answer, code] of [
      ['no', 130],
      ['yes', 0],
    ] as const) {
      using asks = atTerminal('publish', 'check', '--accept', 'data.db');
      await asks.sees('unscannable');
      await asks.sees('Type yes:');
      asks.types(`${answer}\r`);
      assert.equal(await asks.left(), code, asks.shown());
    }
    assert.equal(trl(['publish', 'check', 'data.db']).status, 0);
  },
);

// Last: it enrols somebody.
test('where a person is enrolled, only they see and let through', { skip }, async () => {
  assert.equal(await enroll(phrase, env), 0);
  writeFileSync(path.join(work, 'data.db'), Buffer.from('SQLite format 3\0\x05\x06', 'latin1'));
  const accept = ['publish', 'check', '--accept', '--passphrase-stdin', 'data.db'];
  assert.equal(trl(accept, { input: 'a guess' }).status, 125);
  const evidence = ['publish', 'check', '--evidence', '--passphrase-stdin', '--json', 'leak.txt'];
  assert.match(trl(evidence, { input: 'a guess' }).stdout, /AUTH_FAILED/);
  const shown = trl(evidence, { input: phrase });
  assert.equal(JSON.parse(shown.stdout).findings[0].evidence.source, 'private/plan.md');
  assert.equal(trl(accept, { input: phrase }).status, 0);
  assert.equal(trl(['publish', 'check', 'data.db']).status, 0);
});
