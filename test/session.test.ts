// What a command leaves behind for the next one of its session, and what it never does.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

const sandboxed = { skip: whyNoBox };
const side = { concurrency: 4, skip: whyNoBox };

function workspace(name: string): string {
  const directory = path.join(daemon.root, name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

const open = (name: string, params: object = {}): Promise<TestSession> =>
  openSession(daemon.socketPath, { working_dir: workspace(name), ...params });

const namesOf = (dropped: Json): string[] => dropped.map(({ name }: Json) => name).toSorted();

describe('state carries as a person at a terminal expects', side, () => {
  for (const shell of ['bash', 'sh', 'zsh']) {
    const installed = ['/bin', '/usr/bin'].some((place) => existsSync(`${place}/${shell}`));
    const skip = installed ? false : `${shell} is not installed`;
    test(
      `${shell}: directory, exports and unset carry, plain variables do not`,
      { skip },
      async () => {
        const name = `carry-${shell}`;
        await using session = await open(name, { shell: `/bin/${shell}`, env: { GIVEN: 'g' } });
        const first = await session.run(
          'mkdir -p a/b; cd a/b; export ONE="x  y\n\'q\' \\$(id) é"; two=2',
        );
        assert.equal(first.state_captured, true);
        assert.equal(first.cwd, path.join(daemon.root, name, 'a/b'));
        const second = await session.run(
          'printf "%s|" "$ONE" "$two" "$GIVEN" "$PWD"; unset GIVEN ONE',
        );
        assert.equal(second.stdout, `x  y\n'q' $(id) é||g|${first.cwd}|`);
        const third = await session.run(
          'echo "[${ONE-none}][${GIVEN-none}]"; cd - >/dev/null; pwd',
        );
        assert.equal(third.stdout, `[none][none]\n${path.join(daemon.root, name)}\n`);
      },
    );
  }

  test('a variable of one command never carries, even exported again', async () => {
    await using session = await open('own', { env: { LEVEL: 'session' } });
    const env = { LEVEL: 'command', OWN: '1' };
    const first = await session.run('echo $LEVEL $OWN; export OWN=changed LEVEL', { env });
    assert.equal(first.stdout, 'command 1\n');
    assert.deepEqual(namesOf(first.state_dropped), ['OWN']);
    assert.equal((await session.run('echo $LEVEL ${OWN-none}')).stdout, 'session none\n');
  });

  test('functions, options and aliases carry only when asked for', async () => {
    const define = 'greet() { echo "hi $1"; }; set -f; shopt -s nullglob; alias ll="echo aliased"';
    const use = 'greet you; echo [*]; shopt -q nullglob && echo on; true';
    await using plain = await open('plain');
    await plain.run(define);
    assert.match((await plain.run(`touch f; ${use}`)).stderr, /greet: command not found/);
    await using whole = await open('whole', { carry: 'shell' });
    await whole.run(define);
    assert.equal((await whole.run(`touch f; ${use}`)).stdout, 'hi you\n[*]\non\n');
  });

  for (const shell of ['bash', 'sh', 'zsh']) {
    test(`${shell}: a name that the shell keeps to itself does not end its session`, async () => {
      await using session = await open(`kept-${shell}`, {
        shell: `/bin/${shell}`,
        env: { UID: '7', PPID: '7', SHELLOPTS: 'noexec', status: '7', path: '/x' },
      });
      const names = 'UID EUID PPID SHELLOPTS BASHOPTS status path RANDOM LINENO _';
      await session.run(`for n in ${names}; do export $n; done 2>/dev/null; export A=1`);
      const next = await session.run('echo "$A works"; ls -d /', { env: { EUID: '7' } });
      assert.equal(next.stdout.replace(/^1?/, ''), ' works\n/\n', JSON.stringify(next));
    });
  }

  test('carry "none" carries nothing', async () => {
    await using session = await open('nothing', { carry: 'none' });
    await session.run('cd /; export A=1');
    const next = await session.run('echo "${A-none} $PWD"');
    assert.equal(next.stdout, `none ${path.join(daemon.root, 'nothing')}\n`);
  });
});

describe('what could take over the next command is dropped and named', side, () => {
  test('a library to preload and a PATH of its own change nothing', async () => {
    await using session = await open('preload');
    const directory = path.join(daemon.root, 'preload');
    mkdirSync(path.join(directory, 'bin'));
    const script = '#!/bin/sh\ntouch "$0.ran"\n';
    for (const name of ['nsenter', 'bwrap', 'sh', 'env', 'ls']) {
      writeFileSync(path.join(directory, 'bin', name), script, { mode: 0o755 });
    }
    writeFileSync(path.join(directory, 'evil.so'), 'no library');
    const first = await session.run('export LD_PRELOAD=./evil.so PATH=./bin');
    assert.deepEqual(namesOf(first.state_dropped), ['LD_PRELOAD', 'PATH']);
    const next = await session.run('echo "[$LD_PRELOAD]"; ls -d /; echo $PATH');
    assert.match(next.stdout, /^\[\]\n\/\n\/\S+\n$/);
    assert.equal(next.stderr, '');
    assert.deepEqual(existsSync(path.join(directory, 'bin/sh.ran')), false);
  });

  test('variables that shells and interpreters obey do not carry', async () => {
    await using session = await open('injection');
    const names = [
      'BASH_ENV',
      'ENV',
      'PROMPT_COMMAND',
      'NODE_OPTIONS',
      'GIT_SSH_COMMAND',
      'PERL5LIB',
    ];
    const dropped = await session.run(names.map((name) => `export ${name}=/tmp/evil`).join('; '));
    assert.deepEqual(namesOf(dropped.state_dropped), names.toSorted());
    const next = await session.run(`env | grep -E '^(${names.join('|')})='; true`);
    assert.equal(next.stdout, '');
  });

  test('a value over 64 KiB is dropped and named, one below carries', async () => {
    await using session = await open('big');
    const make = (bytes: number): string => `$(head -c ${bytes} /dev/zero | tr '\\0' x)`;
    const first = await session.run(`export BIG=${make(66_000)} FITS=${make(65_000)}`);
    assert.deepEqual(namesOf(first.state_dropped), ['BIG']);
    assert.equal((await session.run('echo ${#BIG} ${#FITS}')).stdout, '0 65000\n');
  });
});

describe('where state cannot be captured, the previous state stands', side, () => {
  const rows: readonly (readonly [string, string, object?])[] = [
    ['exec', 'cd /tmp; export A=2; exec true'],
    ['kill', 'cd /tmp; export A=2; kill -9 $$'],
    ['time-out', 'cd /tmp; export A=2; sleep 30', { timeout_ms: 300 }],
  ];
  for (const [name, command, more] of rows) {
    test(name, async () => {
      await using session = await open(`stands-${name}`);
      await session.run('mkdir d; cd d; export A=1');
      const receipt = await session.run(command, more);
      assert.equal(receipt.state_captured, false);
      const next = await session.run('echo $A $PWD');
      assert.equal(next.stdout, `1 ${path.join(daemon.root, `stands-${name}`, 'd')}\n`);
    });
  }
});

describe('state is data: what a command forges reaches nobody else', side, () => {
  const state = '/proc/$PPID/fd/5';
  const status = '/proc/$PPID/fd/4';
  const rows: readonly (readonly [string, string, number])[] = [
    ['garbage as state', `head -c 100000 /dev/urandom >${state}; exit 3`, 3],
    ['megabytes as state', `head -c 8000000 /dev/zero >${state}; exit 3`, 3],
    ['end marks', `for i in 1 2 3; do printf 'E\\0E\\0B\\0E\\0' >${state}; done; exit 3`, 3],
    ['an exit of its own', `echo "exit 0 0" >${status}; exit 3`, 3],
    ['an exit that is no number', `echo "exit x y" >${status}; exit 3`, 3],
    [
      'an exit after its end',
      `(while :; do echo "exit x y" >${status}; done) 2>/dev/null & exit 3`,
      3,
    ],
    ['megabytes as status', `head -c 8000000 /dev/zero >${status}; exit 3`, 3],
    ['many lines as status', `yes exit 0 0 | head -c 300000 >${status}; exit 3`, 3],
    ['a missing directory', `echo nocwd >${status}; exit 3`, 3],
    ['a second ready', `echo "ready core" >${status}; exit 3`, 3],
  ];
  for (const [at, [name, command, code]] of rows.entries()) {
    test(name, async () => {
      await using other = await open(`other-${at}`);
      await other.run('cd /tmp; export SAFE=1');
      await using session = await open(`forged-${at}`);
      await session.run('export KEPT=1');
      const receipt = await session.run(command);
      assert.equal(receipt.exit_code, code);
      assert.ok(Number.isSafeInteger(receipt.ended_background), JSON.stringify(receipt));
      const next = await session.run('echo works; ls -d /');
      assert.equal(next.stdout, 'works\n/\n');
      assert.equal((await other.run('echo $SAFE $PWD')).stdout, '1 /tmp\n');
    });
  }

  test('a forged state holds nothing that the shell could not have left', async () => {
    await using session = await open('forged-whole');
    const parts = [
      'C/nowhere/\n../$(touch /tmp/x)',
      'P/bin/sh',
      'Ftouch /tmp/f',
      'Otouch /tmp/o',
      'B',
    ];
    const forged = ['LD_PRELOAD=/x', 'A b=1', 'Q=$(touch /tmp/q)`touch /tmp/q`', ''];
    const text = [...parts, ...forged, 'E', ''].join('\\0').replaceAll('\n', '\\n');
    const receipt = await session.run(`printf '${text}' >${state}; kill -9 $$`);
    assert.deepEqual(namesOf(receipt.state_dropped), ['A b', 'LD_PRELOAD']);
    const next = await session.run('printf "%s\n" "$Q" "[$LD_PRELOAD]"; ls /tmp/?; pwd');
    const home = path.join(daemon.root, 'forged-whole');
    assert.equal(next.stdout, `$(touch /tmp/q)\`touch /tmp/q\`\n[]\n${home}\n`);
    assert.equal(next.cwd_fallback, home);
  });
});

test('a deleted directory is left for its nearest ancestor, and told', sandboxed, async () => {
  await using session = await open('gone');
  await session.run('mkdir -p a/b/c; cd a/b/c');
  await session.run('rm -r ../../b', { cwd: path.join(daemon.root, 'gone/a/b/c') });
  const next = await session.run('pwd');
  const stands = path.join(daemon.root, 'gone/a');
  assert.deepEqual([next.stdout, next.cwd_fallback], [`${stands}\n`, stands]);
  assert.match(next.hints.join(), /directory was gone/);
});

test('a directory for one call is used, and carries like cd', sandboxed, async () => {
  await using session = await open('per-call');
  mkdirSync(path.join(daemon.root, 'per-call/there'));
  const there = path.join(daemon.root, 'per-call/there');
  assert.equal((await session.run('pwd', { cwd: there })).stdout, `${there}\n`);
  assert.equal((await session.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n');
  assert.equal((await session.run('pwd')).stdout, '/tmp\n');
});

test('executions of one session share its loopback', sandboxed, async () => {
  await using session = await open('loopback');
  const server =
    'perl -MIO::Socket::INET -e \'my $s=IO::Socket::INET->new(LocalAddr=>"127.0.0.1",' +
    'LocalPort=>3000,Listen=>5,ReuseAddr=>1) or die; $|=1; print "up\n"; ' +
    'while(my $c=$s->accept){print $c "SERVED\n"; close $c}\'';
  const started = await session.start(server);
  const up = await session.client.ask('exec.read', { exec_id: started, wait_ms: 60_000 });
  assert.equal(up.data.chunks[0]?.data, 'up\n', JSON.stringify(up));
  const fetch = 'exec 9<>/dev/tcp/127.0.0.1/3000 && cat <&9';
  assert.equal((await session.run(fetch)).stdout, 'SERVED\n');
  await using other = await open('loopback-other');
  assert.notEqual((await other.run(fetch)).exit_code, 0);
  const cancelled = await session.client.ask('exec.cancel', { exec_id: started });
  assert.deepEqual(cancelled.data.stopped, [started]);
});

test('background children end with their command and are counted', sandboxed, async () => {
  await using session = await open('background');
  const receipt = await session.run('sleep 50 & sleep 51 & echo started');
  assert.deepEqual([receipt.stdout, receipt.ended_background], ['started\n', 2]);
  assert.match(receipt.hints.join(), /exec\.start/);
  const next = await session.run('echo /proc/[0-9]*/comm | xargs cat 2>/dev/null | grep -c sleep');
  assert.equal(next.stdout, '0\n');
});

test('a repeated key answers the first execution, run once', sandboxed, async () => {
  await using session = await open('key');
  const asked = { session_id: session.id, command: 'echo x >>count; sleep 0.3; wc -l <count' };
  const params = { ...asked, exec_key: 'k' };
  using second = await raw(daemon.socketPath);
  const both = await Promise.all([
    session.client.ask('exec.run', params),
    second.ask('exec.run', params),
  ]);
  const again = await second.ask('exec.run', params);
  const ids = [...both, again].map(({ data, error }) => data?.exec_id ?? error);
  assert.deepEqual(new Set(ids).size, 1, JSON.stringify(ids));
  assert.deepEqual(
    [...both, again].map(({ data }) => data.stdout.trim()),
    ['1', '1', '1'],
  );
  const detached = { ...asked, exec_key: 'd' };
  const starts = await Promise.all([
    session.client.ask('exec.start', detached),
    second.ask('exec.start', detached),
  ]);
  assert.equal(starts[0].data.exec_id, starts[1].data.exec_id);
});

test(
  'a second foreground command is refused while one runs, others are not',
  sandboxed,
  async () => {
    await using session = await open('busy');
    await session.run('true');
    using second = await raw(daemon.socketPath);
    const running = session.run('echo up; sleep 60; echo NO');
    const params = { session_id: session.id, command: 'echo second' };
    const id = await eventually('the command', async () => {
      const { data } = await second.ask('exec.list', { session_id: session.id });
      const found = data.execs.find(({ state }: Json) => state === 'running');
      return found?.exec_id ?? null;
    });
    const read = await second.ask('exec.read', { exec_id: id, wait_ms: 60_000 });
    assert.equal(read.data.chunks[0]?.data, 'up\n');
    const refused = await second.ask('exec.run', params);
    assert.equal(refused.error?.code, 'SESSION_BUSY');
    const plain = await second.ask('session.destroy', { session_id: session.id });
    assert.equal(plain.error?.code, 'SESSION_BUSY');
    const beside = await second.ask('exec.start', params);
    assert.equal(beside.ok, true);
    const cancelled = await second.ask('exec.cancel', { session_id: session.id });
    assert.ok(cancelled.data.stopped.length >= 1);
    const receipt = await running;
    assert.deepEqual([receipt.stdout, receipt.stopped], ['up\n', 'cancelled']);
    assert.equal((await session.run('echo next')).stdout, 'next\n');
  },
);

test('sessions see nothing of each other', sandboxed, async () => {
  await using one = await open('one');
  await using two = await open('two');
  await one.run('echo SECRET >/tmp/shared; echo SECRET >~/shared; echo SECRET >/dev/shm/shared');
  const started = await one.start('exec -a visible sleep 60');
  const look = `cat /tmp/shared ~/shared /dev/shm/shared ${path.join(daemon.root, 'one')}/* 2>&1 |
    grep -c SECRET
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'visible [6]0'
    true`;
  assert.equal((await two.run(look)).stdout, '0\n0\n');
  await one.client.ask('exec.cancel', { exec_id: started });
});

// What is told to leave, and what crashes.
for (const signal of ['SIGUSR2', 'SIGKILL'] as const) {
  test(`a detached execution outlives ${signal} to the daemon`, sandboxed, async () => {
    const first = await startRuntime();
    const session = await openSession(first.socketPath, { working_dir: first.root });
    await session.run('export A=1; mkdir in; cd in');
    const id = await session.start('for i in $(seq 20); do echo $i; sleep 0.1; done; exit 5');
    await first.kill(signal);
    await using second = await startRuntime({ home: first.home });
    using client = await raw(second.socketPath);
    await client.ask('exec.attach', { exec_id: id, from: 0 });
    let text = '';
    for (;;) {
      const event = await client.json();
      text += event.data ?? '';
      if (event.stream !== 'exit') continue;
      assert.equal(event.exit_code, 5, JSON.stringify(event));
      break;
    }
    assert.equal(text, Array.from({ length: 20 }, (_, at) => `${at + 1}\n`).join(''));
    const params = { session_id: session.id, command: 'echo $A $PWD' };
    const next = await client.ask('exec.run', params);
    assert.equal(next.data?.stdout, `1 ${first.root}/in\n`, JSON.stringify(next));
    session.client.drop();
    await first.stop();
  });
}
