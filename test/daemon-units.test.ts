// The runtime in the background: units that a service manager takes, and a process without one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';

import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { launchAgent, serviceUnit, socketUnit } from '../src/cli/daemon-service.ts';
import { isTrlError } from '../src/errors.ts';
import { surroundings } from './support/daemon.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const base = mkdtempSync(path.join(tmpdir(), 'trl-units-'));
after(() => rmSync(base, { recursive: true, force: true }));

const service = {
  argv: ['/opt/a b/node', '--flag', '/x/100%/daemon.js', 'serve', '--workspace-root', '/$HOME "q"'],
  env: { XDG_STATE_HOME: '/s t\\u' },
  socketPath: null,
  logFile: '/tmp/<log>&',
};

test('systemd takes the units', (t) => {
  const program = path.join(base, 'node');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const named = { ...service, argv: [program, ...service.argv.slice(1)] };
  const files = ['trl.socket', 'trl.service'].map((name) => path.join(base, name));
  writeFileSync(files[0] ?? '', socketUnit(named));
  writeFileSync(files[1] ?? '', serviceUnit(named));
  const env = { ...process.env, XDG_RUNTIME_DIR: base };
  const ran = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', ...files], {
    env,
    encoding: 'utf8',
  });
  if (ran.error !== undefined) return t.skip('there is no systemd-analyze');
  // Other units of this host may be what it complains of.
  const ours = ran.stderr.split('\n').filter((line) => line.includes('trl.'));
  assert.deepEqual([ran.status, ours], [0, []]);
});

test('every word of a command reaches the program as it is', () => {
  const word = fc.string({ unit: 'grapheme-ascii', maxLength: 20 });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (argv) => {
      const all = ['/a b/node', ...argv];
      const line = /^ExecStart=(.*)$/m.exec(serviceUnit({ ...service, argv: all }))?.[1] ?? '';
      assert.deepEqual(asSystemd(line), all);
    }),
  );
});

/** Words as systemd.service(5) reads them: quotes, escapes, then `%%` and `$$`. */
function asSystemd(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, inner = '']) =>
    inner.replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'),
  );
}

test('no line end gets into a unit, where it would be a line of its own', () => {
  for (const bad of ['/a\nExecStartPre=/bin/evil', '/a\r', '/\0']) {
    for (const write of [serviceUnit, launchAgent]) {
      assert.throws(
        () => write({ ...service, argv: ['/n', bad] }),
        (error) => isTrlError(error, 'INVALID_PARAMS'),
      );
    }
    assert.throws(() => socketUnit({ ...service, socketPath: bad }));
  }
});

test('what a unit would read otherwise than it is written is refused', () => {
  const program = (path: string): string => serviceUnit({ ...service, argv: [path, '$x'] });
  assert.match(program('/a $HOME/node'), /^ExecStart="\/a \$HOME\/node" "\$\$x"$/m);
  for (const bad of ['/a"b/node', "/a'b/node", '/a\\b/node']) {
    assert.throws(() => program(bad), /systemd starts no program with quotes/);
  }
  // A backslash at the end would take SocketMode=0600 into the path.
  for (const socketPath of ['/run/trl\\', '/run/trl ', '/run/trl\u2003']) {
    assert.throws(() => socketUnit({ ...service, socketPath }), /ends in a backslash or a space/);
  }
  assert.match(socketUnit({ ...service, socketPath: '/a b/%t' }), /^ListenStream=\/a b\/%%t$/m);
  assert.throws(() => launchAgent({ ...service, logFile: '/\ufffe' }), /control character/);
});

test("somebody else's unit of that name, or a link, is neither written nor obeyed", () => {
  const home = path.join(base, 'foreign');
  const bin = path.join(home, 'bin');
  const units = path.join(home, 'config/systemd/user');
  mkdirSync(bin, { recursive: true });
  mkdirSync(units, { recursive: true });
  // It stands for systemd, which does not run everywhere; what it was asked is looked at.
  const calls = path.join(home, 'calls');
  writeFileSync(path.join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >>'${calls}'\n`, {
    mode: 0o755,
  });
  const env = {
    ...surroundings(home),
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, 'config'),
  };
  const daemon = (...args: string[]): string => {
    const { stdout, stderr } = spawnSync(trl, ['daemon', ...args], {
      env,
      cwd: base,
      encoding: 'utf8',
    });
    return stdout + stderr;
  };
  const [socket, unit] = ['trl.socket', 'trl.service'].map((name) => path.join(units, name));
  const foreign = '[Unit]\nDescription=Tape robot\n';
  writeFileSync(unit ?? '', foreign);
  const install = ['install', '--workspace-root', bin];
  assert.match(daemon(...install), /trl\.service" is of somebody else, and is left as it is/);
  rmSync(unit ?? '');
  writeFileSync(path.join(home, 'target'), foreign);
  symlinkSync(path.join(home, 'target'), socket ?? '');
  assert.match(daemon(...install), /trl\.socket" is a link, and is left as it is/);
  writeFileSync(unit ?? '', foreign);
  assert.match(daemon('stop'), /it does not run/);
  assert.match(daemon('uninstall'), /it is not installed/);
  assert.equal(readFileSync(unit ?? '', 'utf8'), foreign);
  assert.equal(readFileSync(path.join(home, 'target'), 'utf8'), foreign);
  assert.doesNotMatch(readFileSync(calls, 'utf8'), /stop|start|enable|disable|reload/);
});

test('the units take nothing away that sandboxes are made of', () => {
  const breaks =
    /NoNewPrivileges|Restrict(?:Namespaces|SUID)|PrivateTmp|Protect|SystemCall|PrivateUsers/;
  assert.doesNotMatch(serviceUnit(service), breaks);
  assert.match(socketUnit(service), /^ListenStream=%t\/trl\.sock\nSocketMode=0600$/m);
  assert.match(launchAgent(service), /<string>\/tmp\/&lt;log&gt;&amp;<\/string>/);
});

test('it is started, found, shown, not started twice, and stopped', () => {
  const home = path.join(base, 'home');
  const work = path.join(home, 'work');
  mkdirSync(work, { recursive: true });
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, ...surroundings(home) };
  const coverage = path.join(base, 'coverage');
  const daemon = (...args: string[]): { status: number | null; text: string } => {
    const more = args[0] === 'start' ? { NODE_V8_COVERAGE: coverage } : {};
    const options = { env: { ...env, ...more }, cwd: work, encoding: 'utf8', input: '' } as const;
    const { status, stdout, stderr } = spawnSync(trl, ['daemon', ...args], options);
    return { status, text: stdout + stderr };
  };
  assert.equal(daemon('status').status, 3);
  const bad = daemon('start', '--workspace-root', home);
  assert.equal(bad.status, 125);
  assert.match(bad.text, /the runtime keeps ".*" in it; name a project directory/);
  const started = daemon('start');
  assert.equal(started.status, 0, started.text);
  try {
    const told: unknown = JSON.parse(daemon('status', '--json').text);
    assert.ok(typeof told === 'object' && told !== null);
    const pid: unknown = Reflect.get(told, 'pid');
    assert.equal(Reflect.get(told, 'running'), true);
    assert.equal(Reflect.get(told, 'started_by'), 'trl daemon start');
    assert.match(daemon('start').text, /listens on .* already/);
    assert.match(daemon('logs').text, /listening on/);
    // Another process of that number, as after a restart of the host, is left alone.
    const file = path.join(home, 'state/trl/daemon.json');
    const record = readFileSync(file, 'utf8');
    writeFileSync(file, JSON.stringify({ pid: process.pid, startedAt: 'x', socketPath: 'y' }));
    assert.match(daemon('stop').text, /it was started elsewhere/);
    writeFileSync(file, record);
    assert.equal(typeof pid, 'number');
  } finally {
    const stopped = daemon('stop');
    assert.equal(stopped.status, 0, stopped.text);
  }
  assert.ok(!existsSync(path.join(home, 'run/trl.sock')));
  // Node passes this variable on by itself. The client's file is there, none of the runtime.
  const wrote = readdirSync(coverage).filter((name) => {
    return readFileSync(path.join(coverage, name), 'utf8').includes('/dist/daemon.js');
  });
  assert.deepEqual(wrote, []);
  assert.equal(daemon('status').status, 3);
});
