// Sessions of one workspace with the same rules work in one view: what the kernel promises to
// processes on one file system holds between their commands, and nothing else is shared.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { noOverlay } from './support/changes.ts';
import { shareRuntime, startRuntime, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { endRuntime } from './support/recovery.ts';
import { startPaused } from './support/second-writer.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = noOverlay();
const corner = shareRuntime();

interface Scene extends AsyncDisposable {
  readonly dir: string;
  readonly open: (params?: object) => Promise<TestSession>;
}

async function scene(): Promise<Scene> {
  const { root: dir, socketPath } = await corner();
  const opened: TestSession[] = [];
  return {
    dir,
    open: async (params = {}) => {
      const session = await openSession(socketPath, { working_dir: dir, ...params });
      opened.push(session);
      return session;
    },
    [Symbol.asyncDispose]: async () => {
      for (const session of opened) await session[Symbol.asyncDispose]();
    },
  };
}

/** Runs a command in each session; all of them begin when all are there. */
async function together(
  sessions: readonly TestSession[],
  command: (at: number) => string,
): Promise<Json[]> {
  const ids: string[] = [];
  for (const [at, session] of sessions.entries()) {
    const gated = `read -r go; ${command(at)}`;
    ids.push(await session.start(gated, { stdin_open: true }));
  }
  const tell = ({ client }: TestSession, at: number): Promise<Json> =>
    client.ask('exec.write', { exec_id: ids[at], data: 'go\n', eof: true });
  for (const answer of await Promise.all(sessions.map(tell))) {
    assert.equal(answer.ok, true, JSON.stringify(answer));
  }
  return Promise.all(sessions.map((session, at) => receipt(session, ids[at] ?? '')));
}

async function receipt({ client }: TestSession, id: string): Promise<Json> {
  const info = async (): Promise<Json> => (await client.ask('exec.info', { exec_id: id })).data;
  await eventually('its end', async () => (await info()).state === 'exited');
  return info();
}

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n').filter(Boolean);
/** Of the file system that a command's directory lies on. */
const deviceOf = async (session: TestSession): Promise<string> =>
  (await session.run('stat -c %d .')).stdout;

test('a lock file that one session takes is taken for the other at once', { skip }, async () => {
  await using ws = await scene();
  const both = [await ws.open(), await ws.open()];
  await together(
    both,
    (
      at,
    ) => `set -C; for i in $(seq 200); do { : > "lock.$i"; } 2>/dev/null && echo "$i" >> got.${at}
      done; true`,
  );
  const got = [0, 1].flatMap((at) => {
    const file = path.join(ws.dir, `got.${at}`);
    return existsSync(file) ? linesOf(file) : [];
  });
  assert.equal(got.length, 200);
  assert.equal(new Set(got).size, 200);
});

test('what two running commands append to one file is all there', { skip }, async () => {
  await using ws = await scene();
  writeFileSync(path.join(ws.dir, 'log'), '');
  const both = [await ws.open(), await ws.open()];
  await together(both, (at) => `for i in $(seq 1000); do echo "${at} $i" >> log; done`);
  const lines = linesOf(path.join(ws.dir, 'log'));
  assert.equal(lines.length, 2_000);
  assert.equal(new Set(lines).size, 2_000);
});

test('a lock of the kernel holds between sessions', { skip }, async () => {
  await using ws = await scene();
  writeFileSync(path.join(ws.dir, 'lock'), '');
  writeFileSync(path.join(ws.dir, 'count'), '0\n');
  const both = [await ws.open(), await ws.open()];
  const step = 'read -r n < count; echo $((n + 1)) > count';
  await together(both, () => `for i in $(seq 60); do { flock 9; ${step}; } 9< lock; done`);
  assert.deepEqual(linesOf(path.join(ws.dir, 'count')), ['120']);
});

/** Prints the name of the first thing that is written in the directory, or `nothing`. */
const watcher = String.raw`
  my ($init, $add) = @ARGV; $SIG{ALRM} = sub { print "nothing\n"; exit }; alarm 10;
  my $fd = syscall($init, 0); my $dir = ".";
  syscall($add, $fd, $dir, 0x8) >= 0 or die "watch: $!";
  open(my $ready, ">", "ready") or die; syscall($add, $fd, $dir, 0x8 | 0x80); close $ready;
  open(my $in, "<&=", $fd) or die;
  while (sysread($in, my $bytes, 4096)) {
    while (length $bytes) {
      my ($length) = unpack("x12 L", $bytes);
      my $name = unpack("Z*", substr($bytes, 16, $length));
      $bytes = substr($bytes, 16 + $length);
      if ($name eq "saved") { print "$name\n"; exit }
    }
  }`;

test('a watcher in one session hears what another saves', { skip }, async () => {
  await using ws = await scene();
  const [one, other] = [await ws.open(), await ws.open()];
  const calls = process.arch === 'arm64' ? [26, 27] : [294, 254];
  const id = await one.start(`perl -e '${watcher}' ${calls.join(' ')} > heard`);
  const saved = await other.run(
    'for i in $(seq 400); do [ -e ready ] && break; sleep 0.02; done; echo x > .s; mv .s saved; ls',
  );
  assert.match(saved.stdout, /^ready$/m);
  await receipt(one, id);
  assert.deepEqual(linesOf(path.join(ws.dir, 'heard')), ['saved']);
});

test('no commit of four sessions in one repository is lost', { skip }, async () => {
  await using ws = await scene();
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: ws.dir, encoding: 'utf8' });
  git('init', '-q', '-b', 'main');
  git('-c', 'user.name=p', '-c', 'user.email=p@p', 'commit', '-q', '--allow-empty', '-m', 'start');
  const four = [await ws.open(), await ws.open(), await ws.open(), await ws.open()];
  const env = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a';
  // Git reads the index before it locks it, so what one has added may be gone: it is added again.
  const ends = await together(
    four,
    (at) => `${env} GIT_COMMITTER_EMAIL=a@a; for i in $(seq 10); do echo "$i" > "f${at}.$i"
      until git add "f${at}.$i" && git commit -q -m "${at} $i" -- "f${at}.$i"; do
        sleep 0.0$((RANDOM % 9 + 1)); done; done 2>/dev/null`,
  );
  assert.deepEqual(
    ends.map(({ exit_code: code }) => code),
    [0, 0, 0, 0],
  );
  const subjects = git('log', '--format=%s', 'main').trim().split('\n');
  const wanted = four.flatMap((_, at) => Array.from({ length: 10 }, (__, i) => `${at} ${i + 1}`));
  assert.deepEqual(new Set(subjects), new Set([...wanted, 'start']));
  execFileSync('git', ['fsck', '--strict', '--no-dangling'], { cwd: ws.dir });
  assert.deepEqual(
    readdirSync(path.join(ws.dir, '.git')).filter((name) => name.endsWith('.lock')),
    [],
  );
});

test(
  'sessions with other rules have a view of their own, and what they hide',
  { skip },
  async () => {
    await using ws = await scene();
    mkdirSync(path.join(ws.dir, 'secret'));
    writeFileSync(path.join(ws.dir, 'secret/old'), 'x\n');
    const [one, same] = [await ws.open(), await ws.open()];
    const deny = { files: { read: { deny: ['secret'] } } };
    const others = [await ws.open(deny), await ws.open(deny)];
    const network = await ws.open({ network: 'on' });
    const staged = [
      await ws.open({ workspace_mode: 'staged' }),
      await ws.open({ workspace_mode: 'staged' }),
    ];
    const device = await deviceOf(one);
    assert.equal(await deviceOf(same), device);
    const denied = await Promise.all(others.map(deviceOf));
    assert.equal(denied[0], denied[1]);
    const rest = [denied[0], await deviceOf(network), ...(await Promise.all(staged.map(deviceOf)))];
    assert.equal(new Set([device, ...rest]).size, 5);
    await one.run('echo new > secret/new; echo x > open');
    for (const session of others) {
      assert.equal((await session.run('ls secret 2>&1; cat open')).stdout.split('\n')[1], 'x');
      assert.doesNotMatch(
        (await session.run('ls -a; ls secret/* 2>&1')).stdout,
        /old|secret\/new$/m,
      );
    }
  },
);

test('what comes to be denied is hidden from each session of a view', { skip }, async () => {
  await using ws = await scene();
  const deny = { files: { read: { deny: ['*.pem'] } } };
  const both = [await ws.open(deny), await ws.open(deny)];
  await Promise.all(both.map((session) => session.run('echo x > seen')));
  const [one, other] = both;
  assert.ok(one !== undefined && other !== undefined);
  const running = await one.start('while [ ! -e stop ]; do sleep 0.05; done');
  writeFileSync(path.join(ws.dir, 'late.pem'), 'x\n');
  for (const session of both) assert.equal((await session.run('ls -A')).stdout, 'seen\n');
  assert.equal(await deviceOf(one), await deviceOf(other));
  await other.run('echo x > stop');
  await receipt(one, running);
});

test('one command that stages takes its session out of the shared view', { skip }, async () => {
  await using ws = await scene();
  const [one, other] = [await ws.open(), await ws.open()];
  await one.run('echo one > one');
  assert.equal((await other.run('cat one')).stdout, 'one\n');
  const running = await other.start('while [ ! -e stop ]; do sleep 0.05; done');
  const staged = await one.run('echo s > s; cat one', { workspace_mode: 'staged' });
  assert.deepEqual(
    [staged.stdout, staged.changes.map((one: Json) => `${one.path} ${one.state}`)],
    ['one\n', ['s staged']],
  );
  // Neither seen by the other session, nor taken for what its commands changed.
  assert.equal((await other.run('ls; touch stop')).stdout, 'one\n');
  await receipt(other, running);
  assert.equal(existsSync(path.join(ws.dir, 's')), false);
  assert.equal((await one.run('cat s')).stdout, 's\n');
  const applied = await one.client.ask('workspace.apply', { session_id: one.id });
  assert.equal(applied.data.totals.applied, 1, JSON.stringify(applied));
  assert.equal((await other.run('cat s')).stdout, 's\n');
});

test('what is held waits in the view, and goes with its last session', { skip }, async () => {
  await using ws = await scene();
  const [one, other] = [await ws.open(), await ws.open()];
  await other.run('true');
  const made = await one.run('echo {} > .mcp.json');
  assert.equal(made.changes[0].state, 'held', JSON.stringify(made.changes));
  assert.equal((await other.run('cat .mcp.json')).stdout, '{}\n');
  const held = async ({ client, id }: TestSession): Promise<string[]> => {
    const { data } = await client.ask('workspace.status', { session_id: id });
    return data.held.map((change: Json) => change.path);
  };
  assert.deepEqual(await held(other), ['.mcp.json']);
  const shown = await other.client.ask('workspace.diff', { session_id: other.id });
  assert.match(shown.data.diff, /^\+\+\+ b\/\.mcp\.json/m, 'who lets it through sees it');
  await one.destroy();
  assert.deepEqual(await held(other), ['.mcp.json']);
  await other.destroy();
  const later = await ws.open();
  assert.deepEqual(await held(later), []);
  assert.equal((await later.run('ls -A')).stdout, '');
});

test('each receipt of a command names those of other sessions beside it', { skip }, async () => {
  await using ws = await scene();
  const [one, other] = [await ws.open(), await ws.open()];
  const running = await one.start('echo up > up; while [ ! -e stop ]; do sleep 0.05; done');
  await other.run('while [ ! -e up ]; do sleep 0.05; done');
  const made = await other.run('echo x > beside');
  const change = made.changes.find((found: Json) => found.path === 'beside');
  assert.deepEqual(change?.concurrent_with, [running]);
  await other.run('touch stop');
  await receipt(one, running);
  const undone = await other.client.ask('exec.undo', { exec_id: made.exec_id });
  assert.equal(undone.data.totals.restored, 1, JSON.stringify(undone));
  assert.equal(existsSync(path.join(ws.dir, 'beside')), false);
});

test('a command is not told what another one wrote before it began', { skip }, async () => {
  await using ws = await scene();
  const [one, other] = [await ws.open(), await ws.open()];
  await other.run('true');
  const running = await startPaused(one, 'echo one > one; pause; echo two > two; pause');
  await running.reached();
  // More than a tick of the clock of a file system: else it may be of either.
  await wait(40);
  assert.deepEqual((await other.run('true')).changes, []);
  const beside = await other.start('read -r go; echo three > three', { stdin_open: true });
  await running.go();
  await running.reached();
  await other.client.ask('exec.write', { exec_id: beside, data: 'go\n', eof: true });
  const names = ({ changes }: Json): string[] => changes.map(({ path: name }: Json) => name);
  assert.deepEqual(
    names((await receipt(other, beside)).receipt),
    ['three', 'two'],
    'it may be of either',
  );
  await running.go();
  assert.deepEqual(names(await running.ended()), ['one', 'three', 'two']);
  assert.equal(readFileSync(path.join(ws.dir, 'one'), 'utf8'), 'one\n');
});

const listen = (port: number): string =>
  `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1",
   LocalPort => ${port}) or die; open(my $f, ">", "up"); sleep 300'`;

test('nothing but the workspace is shared', { skip }, async () => {
  await using ws = await scene();
  const secret = 'c0ffee-of-the-first-session';
  const one = await ws.open({ env: { FIRST: secret } });
  const other = await ws.open();
  const port = 20_000 + (process.pid % 20_000);
  const id = await one.start(
    `echo ${secret} | tee /tmp/a /var/tmp/a ~/a /dev/shm/a > /dev/null; ${listen(port)}`,
    { pty: { columns: 80, rows: 24 } },
  );
  await other.run('while [ ! -e up ]; do sleep 0.05; done');
  const seen = await other.run(
    `ls -A /tmp /var/tmp /dev/shm ~ /dev/pts; env; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ |
       tr '\\0' '\\n'; grep ' - overlay ' /proc/self/mountinfo | wc -l
     (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo connected; true`,
  );
  assert.doesNotMatch(seen.stdout, /c0ffee|LocalPort|connected|^a$/m);
  assert.match(seen.stdout, /^1$/m, 'one overlay is mounted');
  await one.client.ask('exec.cancel', { exec_id: id });
});

test('a view outlives the session that mounted it, and the daemon', { skip }, async () => {
  const patience = { TRL_RUNNER_LINGER_MS: '60000' };
  let daemon = await startRuntime({ env: patience });
  const { home, root } = daemon;
  const file = (name: string): string => path.join(root, name);
  const command = 'echo up >> log; while [ ! -e stop ]; do sleep 0.05; done; echo end >> log';
  try {
    const first = await openSession(daemon.socketPath, { working_dir: root });
    const second = await openSession(daemon.socketPath, { working_dir: root });
    const device = await deviceOf(first);
    const id = await second.start(command);
    await first.run('while [ ! -e log ]; do sleep 0.02; done');
    await first.destroy();
    assert.equal(await deviceOf(second), device);
    const third = await openSession(daemon.socketPath, { working_dir: root });
    assert.equal(await deviceOf(third), device);
    await third.run('echo held > .mcp.json; echo third >> log');
    await third.run('cat log');
    await daemon.kill();
    second.client.drop();
    third.client.drop();
    daemon = await startRuntime({ home, env: patience });
    await using fourth = await openSession(daemon.socketPath, { working_dir: root });
    assert.equal(await deviceOf(fourth), device);
    const seen = await fourth.run('cat .mcp.json; echo fourth >> log; touch stop');
    assert.equal(seen.stdout, 'held\n');
    const end = await receipt(fourth, id);
    assert.equal(end.exit_code, 0, JSON.stringify(end));
    const lines = linesOf(file('log'));
    assert.deepEqual(lines, ['up', 'third', 'fourth', 'end']);
    const { data } = await fourth.client.ask('session.list');
    for (const { session_id: each } of data.sessions) {
      await fourth.client.ask('session.destroy', { session_id: each, force: true });
    }
    assert.deepEqual(readdirSync(layersIn(home)), []);
  } finally {
    await endRuntime(daemon);
  }
});

/** Where the runtime keeps what is mounted. */
function layersIn(home: string): string {
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' });
  const layers = found.find((name) => path.basename(name) === 'layers');
  return path.join(home, layers ?? 'layers');
}
