// What of the runtime's own descriptors reaches a program that it starts: nothing. All that can be
// open is open meanwhile: terminals, followers, pipes, streams over HTTP.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { enclosedArgv } from '../src/runner/enclose.ts';
import { whyNoBox } from './support/box.ts';
import { raw } from './support/daemon.ts';
import { data, startHttp, type HttpDaemon } from './support/http.ts';
import { openEvents, openSocket } from './support/http-streams.ts';
import { descendantsOf, eventually, runnerPid, runnerRecord } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = whyNoBox;
const skipPython =
  whyNoBox || (existsSync('/usr/bin/python3') ? false : 'there is no /usr/bin/python3');
const atTerminal = { stdin_open: true, pty: { columns: 80, rows: 24 } };

let daemon: HttpDaemon;
/** With a shell of the host at a terminal. */
let host: TestSession;
let shell: string;
/** In a sandbox, with a shell at a terminal, too. */
let boxed: TestSession;
const open: { close(): void }[] = [];

before(async () => {
  if (skip !== false) return;
  daemon = await startHttp();
  host = await openSession(daemon.socketPath, { sandbox: 'none', working_dir: daemon.root });
  shell = await host.start('exec bash --norc --noprofile', atTerminal);
  boxed = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const inside = await boxed.start('exec bash --norc --noprofile', atTerminal);
  const waiting = await boxed.start('cat', { stdin_open: true });
  for (const execId of [shell, inside, waiting]) {
    const follower = await raw(daemon.socketPath);
    await follower.send({ id: 'f', method: 'exec.attach', params: { exec_id: execId } });
    open.push({ close: () => follower.drop() });
  }
  await openOverHttp();
});
after(async () => {
  if (skip !== false) return;
  for (const one of open) one.close();
  await boxed[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
  await daemon.stop();
});

async function openOverHttp(): Promise<void> {
  const { port } = daemon;
  const { session_id: id } = await data(daemon, '/v1/sessions', { body: {} });
  const body = { command: 'cat', stdin_open: true };
  const target = `/v1/sessions/${id}/execs?mode=detached`;
  const { exec_id: execId } = await data(daemon, target, { body });
  const events = await openEvents({ port, execId });
  const socket = openSocket(port, `/v1/execs/${execId}/ws`);
  socket.on('error', () => {});
  open.push({ close: () => events.destroy() }, { close: () => socket.terminate() });
}

/** Waits until the shell at the terminal has read everything that was typed before. */
async function typed(): Promise<void> {
  const { client } = host;
  await client.ask('exec.write', { exec_id: shell, data: 'echo DONE-$((1 + 1))\n' });
  await eventually('the line', async () => {
    const { chunks } = (await client.ask('exec.read', { exec_id: shell })).data;
    return JSON.stringify(chunks).includes('DONE-2');
  });
}

test('a command types nothing into another session’s terminal', { skip }, async () => {
  const mark = path.join(daemon.home, 'marked');
  await using session = await openSession(daemon.socketPath);
  await session.run(
    `for f in /proc/1/fd/* /proc/$$/fd/*; do [ "\${f##*/}" -gt 2 ] || continue
     { printf '\\ntouch ${mark}\\n' >&"\${f##*/}"; printf '\\ntouch ${mark}\\n' >"$f"; } &
     done 2>/dev/null; wait`,
    { timeout_ms: 2_000 },
  );
  await typed();
  assert.equal(existsSync(mark), false);
});

/** Number of each of its own descriptors, and of those of process 1. */
const ownDescriptors = `for p in 1 $$; do for f in /proc/$p/fd/*; do
  [ -e "$f" ] && echo "$((p == 1 ? 1 : 2)) \${f##*/}"; done; done`;

test('a command and its first process hold what they were given', { skip }, async () => {
  const of = (process: number, fds: readonly number[]): string[] =>
    fds.map((fd) => `${process} ${fd}`);
  const wanted = [...of(1, [0, 1, 2, 3, 4, 5, 8]), ...of(2, [0, 1, 2])];
  await using session = await openSession(daemon.socketPath);
  for (const how of ['cold', 'prepared', 'at a terminal'] as const) {
    const more = how === 'at a terminal' ? { pty: atTerminal.pty } : {};
    const { stdout } = await session.run(ownDescriptors, more);
    assert.deepEqual(stdout.replaceAll('\r', '').trim().split('\n').toSorted(), wanted, how);
  }
});

test('a script holds its channel and nothing else', { skip: skipPython }, async () => {
  const script = `
import os
print(sorted(int(n) for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)))
print(sorted(int(n) for n in os.listdir('/proc/1/fd')))`;
  await using session = await openSession(daemon.socketPath);
  const { stdout } = await session.run(script, { language: 'python', timeout_ms: 30_000 });
  assert.equal(stdout, '[0, 1, 2, 7]\n[0, 1, 2, 3, 4, 5, 7, 8]\n');
});

/** What the descriptors of a process lead to; a process that has ended has none. */
function targetsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

function textOf(name: string): string {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(name: string): string[] {
  try {
    return [readlinkSync(name)];
  } catch {
    return [];
  }
}

/** Whatever a process starts, each with all that it started: what is open in it. */
function groupsBelow(pid: number, skipped: number): Map<string, Set<string>> {
  const below = descendantsOf(pid);
  return new Map(
    below
      .filter((one) => one.parent === pid && one.pid !== skipped)
      .map((child) => {
        const all = [child.pid, ...descendantsOf(child.pid).map((one) => one.pid)];
        const named = all.flatMap(targetsOf).filter((target) => !isNobodys.test(target));
        return [`${child.pid} ${child.command.slice(0, 60)}`, new Set(named)];
      }),
  );
}
const isNobodys = /^\/dev\/null$|^anon_inode:|^\/proc\//;

test('a terminal where nobody reads holds up no other command', { skip }, async () => {
  const { client } = boxed;
  const deaf = await boxed.start('stty raw -echo; echo READY; exec sleep 600', atTerminal);
  await eventually('the sleep', async () => {
    const { chunks } = (await client.ask('exec.read', { exec_id: deaf })).data;
    return JSON.stringify(chunks).includes('READY');
  });
  const written = await client.ask('exec.write', { exec_id: deaf, data: 'x'.repeat(500_000) });
  assert.equal(written.ok, true);
  await using session = await openSession(daemon.socketPath);
  const receipt = await session.run('echo through', { timeout_ms: 20_000 });
  assert.equal(receipt.stdout, 'through\n');
  assert.equal((await client.ask('exec.cancel', { exec_id: deaf })).ok, true);
});

test('no two programs that the runtime starts share a descriptor', { skip }, async () => {
  // Helpers of the workspace and of its overlay, and a sandbox that is prepared.
  await boxed.run('echo made > made.txt');
  writeFileSync(path.join(daemon.root, 'seen.txt'), 'by the host');
  await boxed.run('cat seen.txt');
  const runner = runnerPid(daemon) ?? 0;
  const groups = await eventually('helpers, commands and a prepared sandbox', () => {
    const all = new Map([...groupsBelow(daemon.pid, runner), ...groupsBelow(runner, 0)]);
    const sandboxes = [...all.keys()].filter((name) => /bwrap/.test(name));
    return sandboxes.length >= 4 && all.size >= 8 ? all : null;
  });
  const holders = new Map<string, string>();
  for (const [name, targets] of groups) {
    for (const target of targets) {
      assert.equal(holders.get(target), undefined, `${target} is open in ${name}, too`);
      holders.set(target, name);
    }
  }
  // A pipe has two ends; nothing else of the daemon and of the runner is anybody's.
  const own = [...targetsOf(daemon.pid), ...targetsOf(runner)];
  const { dir } = runnerRecord(daemon);
  const isPipe = (target: string): boolean =>
    target.startsWith(`${dir}/p`) && target.endsWith(' (deleted)');
  const shared = own.filter((target) => holders.has(target) && !isPipe(target));
  assert.deepEqual(
    shared.map((target) => `${target} in ${holders.get(target)}`),
    [],
  );
  assert.ok(own.some((target) => target.endsWith('/ptmx')));
});

test('the daemon and the runner open nothing inheritable', { skip }, () => {
  for (const pid of [daemon.pid, runnerPid(daemon) ?? 0]) {
    const fds = readdirSync(`/proc/${pid}/fd`).filter((fd) => Number(fd) > 2);
    const flags = fds.flatMap((fd) => {
      const found = /^flags:\s+(\d+)$/m.exec(textOf(`/proc/${pid}/fdinfo/${fd}`))?.[1];
      return found === undefined ? [] : [[fd, (Number.parseInt(found, 8) & closeOnExec) !== 0]];
    });
    assert.ok(flags.length > 5);
    assert.deepEqual(
      flags.filter(([, isClosed]) => isClosed === false),
      [],
    );
  }
});
const closeOnExec = 0o2000000;

test('a program is started with the descriptors on its list alone', () => {
  const list = ['/bin/sh', '-c', 'for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done'];
  const started = (words: readonly string[]): string[] => {
    const [file = '', ...args] = words;
    const stdio = ['ignore', 'pipe', 'pipe', ...Array<'pipe'>(9).fill('pipe')] as const;
    const { stdout, stderr } = spawnSync(file, args, { stdio: [...stdio], encoding: 'utf8' });
    return `${stdout}${stderr}`.trim().split('\n');
  };
  assert.deepEqual(started(list).length, 12);
  assert.deepEqual(started(enclosedArgv(list, [0, 1, 2, 5, 10], {})), ['0', '1', '10', '2', '5']);
});
