// Whatever changed in a tree before the question is in the answer, in the directory where it did.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import {
  TreeWatch,
  type TreeChanges,
  type WatchCursor,
} from '../src/workspace/projection/tree-watch.ts';

const none: TreeChanges = { changed: false };

test('without a watch left to the user, everything may have changed', (t) => {
  using yard = new Yard();
  const { root, cookieDir } = yard;
  const module = path.join(import.meta.dirname, '../src/workspace/projection/tree-watch.ts');
  const program = `
    const { TreeWatch } = await import(${JSON.stringify(module)});
    const [root, cookieDir] = ${JSON.stringify([root, cookieDir])};
    using watch = await TreeWatch.open(root, { cookieDir });
    const settled = await watch.cursor().nextChanges();
    console.log(JSON.stringify([watch.status().lost, settled.directories]));`;
  // A user of its own to the kernel, who may have none.
  const setUp = 'echo 0 > /proc/sys/user/max_inotify_instances || exit 99; exec "$@"';
  const node = [process.execPath, '--input-type=module', '-e', program];
  const args = ['--user', '--map-root-user', 'sh', '-c', setUp, 'sh', ...node];
  const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  if (status === 99) return t.skip('this container does not let a namespace be bounded');
  assert.equal(stdout, '["no-watches","all"]\n', stderr);
});

test('each kind of change is told with its directory, once, to each reader', async () => {
  using yard = new Yard();
  const { root, cookieDir } = yard;
  mkdirSync(`${root}/a/b`, { recursive: true });
  writeFileSync(`${root}/a/b/f`, 'one');
  using watch = await TreeWatch.open(root, { cookieDir });
  const [one, other] = [watch.cursor(), watch.cursor()];
  assert.deepEqual(await one.nextChanges(), none);
  const cases: readonly (readonly [string, () => void, readonly string[]])[] = [
    ['write', () => appendFileSync(`${root}/a/b/f`, 'x'), ['a/b']],
    ['same content', () => writeFileSync(`${root}/a/b/f`, 'x'), ['a/b']],
    ['create', () => writeFileSync(`${root}/n`, ''), ['']],
    ['rename-save', () => saved(`${root}/a/b/f`), ['a/b']],
    ['times', () => utimesSync(`${root}/a/b/f`, 1, 1), ['a/b']],
    ['modes', () => chmodSync(`${root}/a/b/f`, 0o600), ['a/b']],
    ['modes of a directory', () => chmodSync(`${root}/a/b`, 0o700), ['a', 'a/b']],
    ['delete', () => rmSync(`${root}/n`), ['']],
    ['new directories', () => mkdirSync(`${root}/c/d`, { recursive: true }), ['', 'c', 'c/d']],
    ['in them', () => writeFileSync(`${root}/c/d/f`, ''), ['c/d']],
    ['rename of them', () => renameSync(`${root}/c`, `${root}/e`), ['', 'e', 'e/d']],
    ['in the renamed', () => writeFileSync(`${root}/e/d/g`, ''), ['e/d']],
    ['odd name', () => writeFileSync(Buffer.from(`${root}/e/\xff\n`, 'latin1'), ''), ['e']],
  ];
  for (const [name, act, expected] of cases) {
    act();
    assert.deepEqual(directories(await one.nextChanges()), expected, name);
    assert.deepEqual(await one.nextChanges(), none, `${name}, asked again`);
  }
  assert.ok(directories(await other.nextChanges()).includes('e/d'));
  assert.deepEqual(await other.nextChanges(), none);
});

test('a directory that takes the place of another one is watched', async () => {
  using yard = new Yard();
  const { root, cookieDir } = yard;
  mkdirSync(`${root}/a/b`, { recursive: true });
  using watch = await TreeWatch.open(root, { cookieDir });
  const cursor = watch.cursor();
  for (let round = 0; round < 5; round += 1) {
    rmSync(`${root}/a`, { recursive: true });
    mkdirSync(`${root}/a/b/c`, { recursive: true });
    assert.ok(directories(await cursor.nextChanges()).includes('a/b/c'));
    writeFileSync(`${root}/a/b/c/f`, '');
    assert.deepEqual(directories(await cursor.nextChanges()), ['a/b/c']);
  }
  assert.equal(watch.status().directories, 4);
});

test('what cannot be watched is never called unchanged', async () => {
  using yard = new Yard();
  const { root, cookieDir } = yard;
  for (const name of ['a', 'b', 'c']) mkdirSync(`${root}/${name}`);
  using small = await TreeWatch.open(root, { cookieDir, directoriesMax: 2 });
  assert.equal(small.status().lost, 'too-many-directories');
  const everything: TreeChanges = { changed: true, directories: 'all', entries: [], replaced: [] };
  const few = small.cursor();
  assert.deepEqual([await few.nextChanges(), await few.nextChanges()], [everything, everything]);
  using proc = await TreeWatch.open('/proc/self/fdinfo', { cookieDir });
  assert.deepEqual(await proc.cursor().nextChanges(), everything);
  using watch = await TreeWatch.open(root, { cookieDir });
  const cursor = watch.cursor();
  renameSync(root, `${root}2`);
  mkdirSync(root);
  assert.deepEqual(
    [await cursor.nextChanges(), await cursor.nextChanges()],
    [everything, everything],
  );
  using early = TreeWatch.start(root, { cookieDir });
  assert.deepEqual(await early.cursor().nextChanges(), everything);
});

test('a full queue is noticed, and the tree is watched anew', async () => {
  using yard = new Yard();
  const { root, cookieDir } = yard;
  mkdirSync(`${root}/a`);
  using watch = await TreeWatch.open(root, { cookieDir });
  const cursor = watch.cursor();
  // No turn of the event loop meanwhile; different names, as equal events are one.
  spawnSync(
    'sh',
    ['-c', 'i=0; while [ $i -lt 20000 ]; do : > a/$((i % 500)); i=$((i + 1)); done'],
    {
      cwd: root,
    },
  );
  mkdirSync(`${root}/a/lost`);
  assert.deepEqual(await cursor.nextChanges(), {
    changed: true,
    directories: 'all',
    entries: [],
    replaced: [],
  });
  await cursor.nextChanges();
  writeFileSync(`${root}/a/lost/f`, '');
  assert.deepEqual(directories(await cursor.nextChanges()), ['a/lost']);
});

test('random changes by another process are all told', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'a/b', 'a/c', 'b/a', 'a/b/c', 'b/a/c');
  const step = fc.oneof(
    fc.tuple(fc.constant('mkdir -p'), name, fc.constant('')),
    fc.tuple(fc.constant('rm -rf'), name, fc.constant('')),
    fc.tuple(fc.constant('mv -T'), name, name),
    fc.tuple(
      fc.constant('touch'),
      name.map((one) => `${one}/f`),
      fc.constant(''),
    ),
  );
  using yard = new Yard();
  const { cookieDir } = yard;
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 8 }), { maxLength: 5 }),
      async (rounds) => {
        run += 1;
        const root = path.join(yard.path, `run-${run}`);
        mkdirSync(root);
        using watch = await TreeWatch.open(root, { cookieDir });
        const cursor = watch.cursor();
        for (const steps of rounds) await told(root, cursor, steps);
      },
    ),
    { numRuns: 25 },
  );
});

/** Does the steps, and compares what was told with what differs by `find`. */
async function told(
  root: string,
  cursor: WatchCursor,
  steps: readonly (readonly string[])[],
): Promise<void> {
  const before = seen(root);
  const script = steps.map((step) => `${step.join(' ')} 2>/dev/null`).join('\n');
  spawnSync('sh', ['-c', script], { cwd: root });
  const now = await cursor.nextChanges();
  const after = seen(root);
  const differing = new Set(
    [...before, ...after]
      .filter((line) => !(before.has(line) && after.has(line)))
      .map((line) => line.slice(line.indexOf(' ') + 1))
      .map((at) => path.dirname(at).replace(/^\.\/?/, '')),
  );
  const missing = [...differing].filter(
    (directory) => seen(root, directory).size > 0 && !directories(now).includes(directory),
  );
  assert.deepEqual(missing, []);
}

/** Inodes and paths of all below a directory, times of files; nothing where there is none. */
function seen(root: string, directory = '.'): ReadonlySet<string> {
  const args = ['-type', 'd', '-printf', '%i/%y %p\\n', '-o', '-printf', '%i/%C@/%y %p\\n'];
  const { stdout } = spawnSync('find', [path.join('.', directory), ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return new Set(stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' .')));
}

function directories(settled: TreeChanges): readonly string[] {
  if (!settled.changed) return [];
  return settled.directories === 'all' ? ['all'] : settled.directories.toSorted();
}

function saved(file: string): void {
  writeFileSync(`${file}.tmp`, 'saved');
  renameSync(`${file}.tmp`, file);
}

class Yard implements Disposable {
  readonly path = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-watch-')));
  readonly root = path.join(this.path, 'ws');
  readonly cookieDir = path.join(this.path, 'cookies');

  constructor() {
    mkdirSync(this.root);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
