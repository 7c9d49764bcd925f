// Attacks on the host from inside a box; each looks at the host afterwards and asks for a sign
// that the command ran.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { judgeProbe, probeChecks, probeScript } from '../src/sandbox/probe.ts';
import { isRoot, onHost, openBox, temporary, whyNoBox } from './support/box.ts';

const sandboxed = { skip: whyNoBox };
const rootOnly = { skip: whyNoBox || (isRoot ? false : 'needs root') };
const ran = /RAN/;

/** Every name below a directory. */
const tree = (name: string): string[] =>
  readdirSync(name, { recursive: true }).map(String).toSorted();

test('a box probes as fully assured', sandboxed, async () => {
  for (const network of ['off', 'host'] as const) {
    await using box = await openBox({ network });
    const { stdout } = await box.run('ulimit -c 0; exec sh -c "$SCRIPT"', {
      env: { SCRIPT: probeScript([]) },
    });
    const { level } = box.box.holder;
    const judged = judgeProbe(stdout, { level, network });
    const names = probeChecks.filter((name) => network === 'off' || name !== 'loopback_only');
    const checks = names.map((name) => ({ name, enforced: true }));
    assert.deepEqual(judged, { level: 'full', checks }, stdout);
  }
});

test('an unanswered or failed check leaves no assurance', () => {
  const all = probeChecks.map((name) => `${name}=1`).join('\n');
  const judge = (output: string, level: 'user' | 'root-uid' = 'user') =>
    judgeProbe(output, { level, network: 'off' }).level;
  assert.equal(judge(all), 'full');
  assert.equal(judge(''), 'none');
  assert.equal(judge(all.replace('no_capabilities=1', 'no_capabilities=0')), 'none');
  assert.equal(judge(all.replace('loopback_only=1', '')), 'none');
  const asRoot = all.replace('not_host_root=1', 'not_host_root=0');
  assert.equal(judge(asRoot), 'none');
  assert.equal(judge(asRoot, 'root-uid'), 'root-uid');
  assert.equal(judge(all, 'root-uid'), 'root-uid');
});

test('where idmapped mounts are refused, root keeps a box, named root-uid', rootOnly, async () => {
  using ws = temporary();
  using secret = temporary();
  writeFileSync(path.join(secret.path, 'key'), 'TOPSECRET', { mode: 0o600 });
  await using box = await openBox({ root: ws.path, host: { idmap: false } });
  const { stdout } = await box.run('ulimit -c 0; sh -c "$SCRIPT"; touch made; echo RAN', {
    env: { SCRIPT: probeScript([]) },
  });
  assert.equal(judgeProbe(stdout, { level: 'root-uid', network: 'off' }).level, 'root-uid', stdout);
  assert.match(stdout, ran);
  assert.deepEqual(tree(ws.path), ['made']);
  const attack = await box.run(
    `cat ${secret.path}/key /etc/shadow /etc/ssl/private/*; find / -xdev -perm 0600 -type f \
      -not -path '/proc/*' 2>/dev/null | head; echo b > /proc/sysrq-trigger; echo RAN`,
  );
  assert.equal(attack.stdout, 'RAN\n');
});

test('the kernel of the host is not configured from inside', sandboxed, async () => {
  const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
  await using box = await openBox();
  const { stdout } = await box.run(`
    for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger \
      /proc/sys/kernel/hostname /proc/sys/vm/drop_caches; do
      { echo x >> $f; } 2>/dev/null && echo WRITABLE $f
    done
    find /proc/sys -writable -type f 2>/dev/null | head -3; echo RAN`);
  assert.equal(stdout, 'RAN\n');
  assert.equal(readFileSync('/proc/sys/kernel/core_pattern', 'utf8'), before);
});

test('nothing of the host beyond the system is there to read', sandboxed, async () => {
  using home = temporary();
  using other = temporary();
  mkdirSync(path.join(home.path, '.ssh'));
  writeFileSync(path.join(home.path, '.ssh/id'), 'TOPSECRET');
  writeFileSync(path.join(other.path, 'f'), 'TOPSECRET');
  const env = { ...process.env, HOME: home.path };
  await using box = await openBox({ env });
  const { stdout } = await box.run(`
    cat ~/.ssh/id ${other.path}/f /proc/self/root${other.path}/f /proc/1/root${other.path}/f
    for p in /proc/[0-9]*; do cat $p/root${other.path}/f; tr '\\0' '\\n' < $p/environ; done
    ls -A ~ /root /home /srv /var/log /var/lib /mnt /media /boot /run /tmp /var/tmp
    cat /etc/shadow /etc/machine-id; ls /run/docker.sock /run/dbus; echo RAN`);
  assert.match(stdout, ran);
  assert.doesNotMatch(stdout, /TOPSECRET|TRL_|docker|id_/);
  assert.match(stdout, /^\/home|^\/run:\nuser/m);
});

test(
  'only the box’s own processes, IPC objects and descriptors are visible',
  sandboxed,
  async () => {
    const key = 0x54_52_4c;
    onHost(`perl -e 'shmget(${key}, 4096, 01666) // die'`, '/');
    try {
      await using box = await openBox();
      const { stdout } = await box.run(`
      echo processes $(ls -d /proc/[0-9]* | wc -l)
      perl -e 'print defined shmget(${key}, 0, 0) ? "SHARED\\n" : "apart\\n"'
      perl -e 'print "fds"; for (3..255) { print " $_" if -e "/proc/$$/fd/$_" } print "\\n"'
      grep ^Seccomp: /proc/1/status
      hostname; wc -l < /proc/sysvipc/shm; echo RAN`);
      const lines = stdout.split('\n');
      assert.ok(Number(lines[0]?.split(' ')[1]) <= 6, stdout);
      assert.deepEqual(lines.slice(1, 3), ['apart', 'fds']);
      assert.match(stdout, /Seccomp:\t2\ntrl\n1\nRAN\n$/);
    } finally {
      onHost(`perl -e 'my $id = shmget(${key}, 0, 0); shmctl($id, 0, 0)'`, '/');
    }
  },
);

test('a session takes a part of what the host’s user may watch', sandboxed, async () => {
  const perHost = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8'));
  await using box = await openBox();
  const nr = process.arch === 'arm64' ? 26 : 294;
  const open = `$n++ while $n < ${perHost * 2} && syscall(${nr}, 0) >= 0`;
  const script = `my $n = 0; ${open}; print "$n RAN\\n"`;
  const { stdout } = await box.run(`ulimit -n 4096; perl -e '${script}'`);
  const [, taken = ''] = /^(\d+) RAN$/m.exec(stdout) ?? [];
  assert.ok(Number(taken) > 0 && Number(taken) <= perHost / 4, stdout);
});

test('sockets of the host cannot be reached, an own loopback works', sandboxed, async () => {
  using place = temporary();
  chmodSync(place.path, 0o755);
  const listen = async (options: net.ListenOptions): Promise<net.Server> => {
    const server = net.createServer((socket) => socket.on('error', () => undefined).end('HOST'));
    await new Promise<void>((resolve) => server.listen(options, resolve));
    return server;
  };
  const abstract = `trl-test-${process.pid}`;
  const servers = await Promise.all([
    listen({ path: path.join(place.path, 's') }),
    listen({ path: `\0${abstract}` }),
    listen({ port: 0, host: '127.0.0.1' }),
  ]);
  const address = servers[2]?.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const script = `
    use Socket; my @to = (pack_sockaddr_un("${place.path}/s"), pack_sockaddr_un("\\0${abstract}"),
      pack_sockaddr_in(${port}, inet_aton("127.0.0.1")));
    for my $i (0..2) { socket(my $s, $i < 2 ? AF_UNIX : AF_INET, SOCK_STREAM, 0) or next;
      connect($s, $to[$i]) and print "REACHED $i\\n" }
    socket(my $l, AF_INET, SOCK_STREAM, 0); bind($l, pack_sockaddr_in(0, inet_aton("127.0.0.1")));
    listen($l, 1); socket(my $c, AF_INET, SOCK_STREAM, 0);
    print connect($c, getsockname $l) ? "loopback\\n" : "no loopback: $!\\n"; print "RAN\\n";`;
  try {
    await using off = await openBox();
    const closed = await off.run('perl -e "$SCRIPT"', { env: { SCRIPT: script } });
    assert.equal(closed.stdout, 'loopback\nRAN\n', closed.stderr);
    await using on = await openBox({ network: 'host' });
    const open = await on.run('perl -e "$SCRIPT"', { env: { SCRIPT: script } });
    assert.equal(open.stdout, 'REACHED 2\nloopback\nRAN\n', open.stderr);
  } finally {
    for (const server of servers) server.close();
  }
});

test('a user namespace, a mount or a trace of another process is refused', sandboxed, async () => {
  await using box = await openBox();
  const { stdout } = await box.run(`
    for c in 'unshare -U true' 'unshare -Urm true' 'unshare -r true' 'mount -t tmpfs none /tmp' \
      'umount -l /proc/sys' 'bwrap --ro-bind / / true' 'nsenter -t 1 -m true' 'chroot / true'; do
      $c 2>/dev/null && echo PASSED "$c"
    done; echo RAN`);
  assert.equal(stdout, 'RAN\n');
});

test(
  'what one command leaves in HOME and /tmp is there for the next, not on the host',
  sandboxed,
  async () => {
    const name = `trl-left-${process.pid}`;
    await using box = await openBox();
    await box.run(`echo x > ~/${name}; echo x > /tmp/${name}; echo x > /dev/shm/${name}`);
    const { stdout } = await box.run(
      `cat ~/${name} /tmp/${name} /dev/shm/${name}; df -k /tmp | tail -1`,
    );
    assert.match(stdout, /^x\nx\nx\ntmpfs +65536 /);
    for (const place of [box.host.home, '/tmp', '/dev/shm']) {
      assert.equal(statSync(path.join(place, name), { throwIfNoEntry: false }), undefined);
    }
    const full = await box.run('head -c 80000000 /dev/zero > /tmp/big; stat -c %s /tmp/big');
    assert.match(full.stderr, /No space left/);
  },
);

test(
  'a command cannot change what the next one’s bubblewrap is loaded from',
  sandboxed,
  async () => {
    using ws = temporary();
    await using box = await openBox({ root: ws.path });
    const { stdout } = await box.run(`
    for f in /etc/ld.so.preload /etc/ld.so.cache /usr/bin/x /lib/x /lib64/x /x /bin/x /etc/x /dev/x
    do { echo x > $f; } 2>/dev/null && echo WRITTEN $f; done
    mv /etc /e2 2>/dev/null && echo MOVED; mkdir /etc/y 2>/dev/null && echo MADE; echo RAN`);
    assert.equal(stdout, 'RAN\n');
  },
);

test(
  'toolchains under the home directory run, their credentials are not there',
  sandboxed,
  async () => {
    using home = temporary();
    onHost(
      `mkdir -p .cargo/bin .cargo/registry .rustup/toolchains .local/bin .venvs/t/bin
     mkdir -p .nvm/versions/node/v1/bin
     mkdir -p .nvm/versions/node/v1/etc apps/tool/bin apps/tool/lib
     printf '#!/bin/sh\\necho cargo\\n' > .cargo/bin/cargo; echo TOPSECRET > .cargo/credentials.toml
     printf '#!/bin/sh\\necho node\\n' > .nvm/versions/node/v1/bin/nodex
     echo TOPSECRET > .nvm/versions/node/v1/etc/npmrc; echo TOPSECRET > .npmrc
     printf '#!/bin/sh\\necho venv\\n' > .venvs/t/bin/vtool; touch .venvs/t/pyvenv.cfg
     ln -s ../../.venvs/t/bin/vtool .local/bin/vtool
     printf '#!/bin/sh\\ncat "$(dirname "$0")/../lib/text"\\n' > apps/tool/bin/atool
     echo lib > apps/tool/lib/text; echo TOPSECRET > apps/tool/token
     chmod 755 .cargo/bin/* .nvm/versions/node/v1/bin/* .venvs/t/bin/* apps/tool/bin/*
     chmod 700 .`,
      home.path,
    );
    const entries = [
      '.cargo/bin',
      '.local/bin',
      '.nvm/versions/node/v1/bin',
      'apps/tool/bin',
      'none',
    ];
    const PATH = [...entries.map((name) => path.join(home.path, name)), '/usr/bin', '/bin'].join(
      ':',
    );
    await using box = await openBox({ env: { HOME: home.path, PATH } });
    const { stdout, stderr } = await box.run(`
    cargo; vtool; nodex; atool
    cat ~/.cargo/credentials.toml ~/.nvm/versions/node/v1/etc/npmrc ~/.npmrc ~/apps/tool/token
    { echo x > ~/.cargo/bin/cargo; } 2>/dev/null && echo WRITTEN
    touch ~/.cargo/new && echo made`);
    assert.equal(stdout, 'cargo\nvenv\nnode\nlib\nmade\n', stderr);
    assert.equal(
      readFileSync(path.join(home.path, '.cargo/bin/cargo'), 'utf8'),
      '#!/bin/sh\necho cargo\n',
    );
  },
);

test('planning twice gives the same box, with few mounts', sandboxed, async () => {
  using ws = temporary();
  const boxes = [];
  for (let count = 0; count < 2; count += 1) {
    await using box = await openBox({ root: ws.path, env: { HOME: '/root', PATH: '/usr/bin' } });
    boxes.push(box.box);
    const { stdout } = await box.run('wc -l < /proc/self/mountinfo');
    assert.ok(Number(stdout) <= 40, `${stdout} mounts`);
  }
  assert.deepEqual(boxes[0], boxes[1]);
});
