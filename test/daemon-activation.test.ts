// A socket that a service manager has made: the daemon takes it over, and only a private one.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { connectLocal, daemonCommand } from '../src/local/index.ts';
import { surroundings } from './support/daemon.ts';

const base = mkdtempSync(path.join(tmpdir(), 'trl-fd3-'));
const running: ChildProcess[] = [];
after(async () => {
  for (const child of running.filter((one) => one.exitCode === null && one.signalCode === null)) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  rmSync(base, { recursive: true, force: true });
});

/** As a service manager: binds, listens, and becomes the daemon with it as descriptor 3. */
const manager = `$^F = 9; $| = 1; use Socket; use POSIX; my ($path, $mode, $count, @argv) = @ARGV;
socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; bind($s, pack_sockaddr_un($path)) or die "$!";
listen($s, 16) or die; chmod oct($mode), $path if $path =~ m{^/};
POSIX::dup2(fileno($s), 3); print "ready"; $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = $count;
exec { $argv[0] } @argv;`;

const hasPerl = spawnSync('perl', ['-MSocket', '-MPOSIX', '-e', '1']).status === 0;
const skip = hasPerl ? false : 'perl is not here';

interface Given {
  readonly socket: string;
  readonly mode?: string;
  readonly count?: string;
}

function start(name: string, { socket, mode = '600', count = '1' }: Given): ChildProcess {
  const home = path.join(base, name);
  const work = path.join(home, 'work');
  mkdirSync(work, { recursive: true });
  const daemon = [process.execPath, ...daemonCommand(), 'serve', '--workspace-root', work];
  const child = spawn('perl', ['-e', manager, socket, mode, count, ...daemon], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...surroundings(home) },
    cwd: base,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  return child;
}

async function complaintOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 125, text);
  return text;
}

test('who connects before the daemon runs is answered; the file stays', { skip }, async () => {
  const socketPath = path.join(base, 'a.sock');
  const child = start('a', { socket: socketPath });
  if (child.stdout !== null) await once(child.stdout, 'data');
  child.stdout?.resume();
  const client = await connectLocal({ socketPath });
  const session = await client.createSession();
  const seen = await session.run('env');
  assert.doesNotMatch(seen.stdout, /LISTEN_/);
  await session.destroy();
  await client.close();
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  // The manager goes on listening: the next client starts the next daemon.
  assert.ok(existsSync(socketPath));
});

test('a socket that others may connect to is refused', { skip }, async () => {
  const child = start('b', { socket: path.join(base, 'b.sock'), mode: '666' });
  assert.match(await complaintOf(child), /open to others \(mode 666, wanted 600\)/);
});

test('a socket without a file is refused, and more than one', { skip }, async () => {
  const named = start('c', { socket: 'relative.sock' });
  assert.match(await complaintOf(named), /it has no path/);
  const two = start('d', { socket: path.join(base, 'd.sock'), count: '2' });
  assert.match(await complaintOf(two), /2 were given, wanted one/);
});
