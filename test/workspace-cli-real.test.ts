// What commands changed, from the command line: looked at and taken back, with a server or not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { shareRuntime, startRuntime, surroundings } from './support/daemon.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A workspace, and the command line in it. */
class Place {
  readonly home: string;
  readonly work: string;
  readonly #socketPath: string;

  constructor(home: string, work: string, socketPath = '') {
    this.home = home;
    this.work = work;
    this.#socketPath = socketPath;
  }

  async run(...args: readonly string[]): Promise<Ran> {
    const env = { ...surroundings(this.home), TRL_SOCKET_PATH: this.#socketPath };
    const child = spawn(trl, args, {
      cwd: this.work,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text;
      });
    }
    const [code] = await once(child, 'close');
    return { code, ...said };
  }

  write(name: string, text: string): void {
    writeFileSync(path.join(this.work, name), text);
  }

  /** `null`: there is none. */
  read(name: string): string | null {
    const file = path.join(this.work, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  }
}

async function alone(body: (place: Place) => Promise<void>): Promise<void> {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-cli-')));
  try {
    const work = path.join(home, 'work');
    mkdirSync(work);
    await body(new Place(home, work));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const corner = shareRuntime();

async function served(body: (place: Place) => Promise<void>): Promise<void> {
  const daemon = await corner();
  await body(new Place(daemon.home, daemon.root, daemon.socketPath));
}

/** The command that `trl run -v` says how to take back. */
function execIn({ stderr }: Ran): string {
  const [, exec = ''] = /; undo: trl undo (x-[0-9a-f]{32})/.exec(stderr) ?? [];
  assert.notEqual(exec, '', stderr);
  return exec;
}

/** What `trl run --dry-run` says of the files that the command changed. */
const discarded =
  /^(?:[AM] {2}[ab] {2}\(discarded\)\n)+.*nothing of it was kept; look: trl diff x-/;
const skip = whyNoBox;
test('a command is looked at and taken back', { skip }, () =>
  served(async (place) => {
    place.write('a', 'old\n');
    place.write('gone', 'here\n');
    const ran = await place.run('run', '-v', 'echo new > a; echo b > b; rm gone');
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stderr, /^M {2}a\nA {2}b\nD {2}gone\n/);
    const exec = execIn(ran);
    const diff = await place.run('diff');
    assert.equal(diff.code, 0, diff.stderr);
    assert.match(diff.stdout, /^-old\n\+new\n/m);
    const named = await place.run('diff', exec, 'b');
    assert.match(named.stdout, /^\+b\n/m);
    assert.doesNotMatch(named.stdout, /[+]new/);
    const listed = await place.run('snapshot', 'list');
    assert.match(listed.stdout, new RegExp(`^${exec} .* A1 M1 D1 +direct +echo new > a;`, 'm'));
    const shown = await place.run('snapshot', 'show', exec);
    assert.match(shown.stdout, /undone +no\n\nM {2}a\nA {2}b\nD {2}gone\n$/);
    const dry = await place.run('undo', '--dry-run', exec);
    assert.deepEqual([dry.code, dry.stderr], [0, 'trl: 3 paths would be restored\n']);
    assert.equal(place.read('a'), 'new\n');
    const undone = await place.run('undo', exec);
    assert.deepEqual([undone.code, undone.stderr], [0, 'trl: 3 paths restored\n']);
    const now = ['a', 'b', 'gone'].map((name) => place.read(name));
    assert.deepEqual(now, ['old\n', null, 'here\n']);
    assert.match((await place.run('snapshot', 'show', exec)).stdout, /undone +yes\n/);
  }),
);

test('what somebody changed since stays when a command is undone', { skip }, () =>
  served(async (place) => {
    place.write('a', '1\n');
    place.write('b', '1\n');
    const exec = execIn(await place.run('run', '-v', 'echo 2 > a; echo 2 > b'));
    place.write('b', 'mine\n');
    const undone = await place.run('undo', exec);
    assert.equal(undone.code, 1, undone.stderr);
    assert.match(undone.stderr, /1 path changed by somebody since, so theirs stands:\n.* b /);
    assert.deepEqual([place.read('a'), place.read('b')], ['1\n', 'mine\n']);
  }),
);

test('to go back before a command takes back the later ones as well', { skip }, () =>
  served(async (place) => {
    place.write('a', '0\n');
    const first = execIn(await place.run('run', '-v', 'echo 1 > a'));
    await place.run('run', 'echo 2 >> a; echo x > later');
    place.write('mine', 'mine\n');
    const back = await place.run('snapshot', 'restore', first);
    assert.equal(back.code, 0, back.stderr);
    const now = ['a', 'later', 'mine'].map((name) => place.read(name));
    assert.deepEqual(now, ['0\n', null, 'mine\n']);
  }),
);

// Each call without a server is a runtime of its own, which costs as much as a daemon.
test('without a server; and what it recorded a server finds, and the other way', { skip }, () =>
  alone(async (place) => {
    place.write('a', '1\n');
    place.write('gone', 'here\n');
    const dry = await place.run('run', '--dry-run', 'echo dry > a');
    assert.match(dry.stderr, discarded);
    assert.match(dry.stderr, /^M {2}a .*\n[^MA]/);
    const [, dryExec = ''] = / (x-[0-9a-f]{32})/.exec(dry.stderr) ?? [];
    assert.equal(place.read('a'), '1\n');
    const before = execIn(await place.run('run', '-v', 'echo 2 > a; rm gone'));
    assert.match((await place.run('diff')).stdout, /^-1\n\+2\n/m);
    const listed = await place.run('snapshot', 'list');
    assert.match(listed.stdout, new RegExp(`^${before} .* M1 D1 +direct +echo 2 > a;`, 'm'));
    const daemon = await startRuntime({ home: place.home });
    try {
      const there = new Place(place.home, place.work, daemon.socketPath);
      assert.match((await there.run('diff', dryExec)).stdout, /^-1\n\+dry\n/m);
      assert.equal((await there.run('undo', before)).stderr, 'trl: 2 paths restored\n');
      assert.deepEqual([place.read('a'), place.read('gone')], ['1\n', 'here\n']);
      const during = execIn(await there.run('run', '-v', 'echo 3 > a; rm gone'));
      // A store belongs to the runtime that has it open.
      assert.match((await place.run('undo', during)).stderr, /no record is kept/);
      await daemon.kill('SIGTERM');
      const undone = await place.run('undo', during);
      assert.deepEqual([undone.code, undone.stderr], [0, 'trl: 2 paths restored\n']);
      assert.deepEqual([place.read('a'), place.read('gone')], ['1\n', 'here\n']);
    } finally {
      await daemon.stop();
    }
  }),
);

test('a dry run is shown, changes nothing and leaves nothing for later commands', { skip }, () =>
  served(async (place) => {
    place.write('a', 'old\n');
    const session = (await place.run('session', 'create')).stdout.trim();
    const inSession = ['run', '--session', session];
    const ran = await place.run(...inSession, '--dry-run', 'echo dry > a; echo x > b');
    assert.match(ran.stderr, discarded);
    assert.match(ran.stderr, /^M {2}a .*\nA {2}b /);
    assert.deepEqual([place.read('a'), place.read('b')], ['old\n', null]);
    assert.match((await place.run('diff')).stdout, /^-old\n\+dry\n/m);
    const later = await place.run(...inSession, 'cat a; ls; echo more >> a');
    assert.equal(later.stdout, 'old\na\n');
    assert.equal(place.read('a'), 'old\nmore\n');
  }),
);
