// Applying changes to the real tree: exactly, by compare-and-swap, never through a link.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { applyChanges } from '../src/workspace/commit/apply.ts';
import { AtomicRenames } from '../src/workspace/commit/atomic-renames.ts';
import {
  apply,
  itemsBetween,
  leftovers,
  makeTrees,
  noContents,
  readTree,
  shell,
  standingAt,
  withoutTime,
} from './support/commit.ts';

function look(root: string): Record<string, string> {
  return Object.fromEntries(
    [...readTree(root)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { entry }]) => [name, withoutTime(entry)]),
  );
}

const cases: readonly (readonly [name: string, setup: string, command: string])[] = [
  ['files', 'echo 1 >a; echo 1 >b; echo 1 >c', 'echo 2 >a; rm b; echo 3 >d; chmod 600 c'],
  ['deep new directories', 'true', 'mkdir -p x/y/z; echo 1 >x/y/z/f; chmod 555 x/y/z x'],
  ['a tree that goes', 'mkdir -p x/y/z; echo 1 >x/y/f; echo 1 >x/y/z/g', 'rm -r x'],
  [
    'a read-only directory',
    'mkdir d; echo 1 >d/f; echo 1 >d/h; chmod 555 d',
    'chmod 755 d; echo 2 >d/f; echo 3 >d/g; rm d/h; chmod 555 d',
  ],
  ['links', 'ln -s a b; ln -s a c; echo 1 >f', 'ln -sfn x b; rm c; ln -s y e; rm f; ln -s a f'],
  [
    'types',
    'echo 1 >f; mkdir -p d/e; echo 1 >d/e/g; ln -s d l',
    'rm f; mkdir f; echo 2 >f/x; rm -r d; echo 3 >d; rm l; mkdir l; echo 4 >l/y',
  ],
  [
    'odd names',
    `echo 1 >"$(printf 'a\\nb\\377')"; mkdir -- '-d ü'`,
    `echo 2 >"$(printf 'a\\nb\\377')"; echo 3 >"-d ü/$(printf '%0255d' 7)"`,
  ],
  ['hard links', 'echo 1 >a; ln a b', 'rm a; echo 2 >a; ln a c'],
  [
    'a large and a sparse file',
    'echo 1 >a; echo 1 >big',
    'head -c 3000000 /dev/urandom >big; truncate -s 200M a; echo end >>a',
  ],
  ['modes', 'echo 1 >a; mkdir d', 'chmod 4711 a; chmod 2750 d; mkdir e; chmod 700 e'],
  [
    'more than a path can be long',
    'true',
    `n=$(printf '%0200d' 7); for i in $(seq 30); do mkdir $n; cd $n; done; echo 1 >end`,
  ],
];

for (const [name, setup, command] of cases) {
  test(`the real tree becomes the session's: ${name}`, async () => {
    using trees = makeTrees(setup);
    trees.run(command);
    const items = deepItems(trees.real, trees.session);
    const results = await apply(trees, items);
    assert.deepEqual(
      results.filter((result) => result.state !== 'applied'),
      [],
    );
    if (name.startsWith('more')) {
      assert.equal(shell('find . -name end -printf %s', trees.real), '2');
      return;
    }
    assert.deepEqual(look(trees.real), look(trees.session));
    const now = readTree(trees.real);
    for (const result of results) {
      assert.equal(result.state === 'applied' ? result.key : '', now.get(result.path)?.key ?? null);
    }
    assert.deepEqual(leftovers(trees.real), []);
  });
}

/** Node cannot read a tree that is deeper than a path may be long, so that one is spelled out. */
function deepItems(real: string, session: string): ReturnType<typeof itemsBetween> {
  try {
    return itemsBetween(real, session);
  } catch {
    const names = shell('find . -mindepth 1 -printf "%P\\n"', session).trim().split('\n');
    return names.toSorted().map((name) => {
      const isFile = name.endsWith('end');
      const file = { type: 'file', mode: 0o644, size: 2, mtimeMs: 1, sha256: null } as const;
      return {
        path: name,
        base: null,
        baseKey: null,
        after: isFile
          ? { ...file, sha256: '4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865' }
          : { type: 'directory', mode: 0o755 },
        source: isFile ? { tree: session, path: name } : null,
        sourceKey: null,
      };
    });
  }
}

test('what somebody else changed, made or deleted meanwhile stands', async () => {
  using trees = makeTrees('for f in a b c d e; do echo 1 >$f; done; mkdir old new2; echo 1 >old/x');
  trees.run(
    'echo 2 >a; rm b; echo 2 >c; echo 2 >n; rm -r old; mkdir made; echo 1 >new2/y; chmod 600 e',
  );
  const items = itemsBetween(trees.real, trees.session);
  shell(
    `echo mine >a; echo mine >b; rm c; echo mine >n; echo mine >old/mine; chmod 640 e
     rm -r new2; ln -s /etc new2; echo mine >made`,
    trees.real,
  );
  const results = await apply(trees, items);
  const states = results.map((one) => [one.path, one.state === 'applied' ? '' : one.reason]);
  assert.deepEqual(Object.fromEntries(states), {
    a: 'changed-meanwhile',
    b: 'changed-meanwhile',
    c: 'changed-meanwhile',
    e: 'changed-meanwhile',
    made: 'changed-meanwhile',
    n: 'changed-meanwhile',
    'new2/y': 'no-directory',
    old: 'not-empty',
    'old/x': '',
  });
  const seen = shell('cat a b n made old/mine; ls; stat -c %a e; readlink new2', trees.real);
  assert.equal(seen, `${'mine\n'.repeat(5)}a\nb\nd\ne\nmade\nn\nnew2\nold\n640\n/etc\n`);
  assert.deepEqual(leftovers(trees.real), []);
});

test('a file that somebody has open for writing is not replaced under them', async () => {
  using trees = makeTrees('echo 1 >log');
  trees.run('echo 2 >log');
  const items = itemsBetween(trees.real, trees.session);
  const writer = spawn('/bin/bash', ['-c', 'exec 3>>log; echo open; read x; echo late >&3'], {
    cwd: trees.real,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(writer.stdout, 'data');
  const [result] = await apply(trees, items);
  writer.stdin.end('\n');
  await once(writer, 'close');
  assert.equal(result?.state === 'applied' ? '' : result?.reason, 'open-elsewhere');
  assert.equal(readFileSync(`${trees.real}/log`, 'utf8'), '1\nlate\n');
});

test('a parent that is swapped for a link again and again leads nowhere', async () => {
  using trees = makeTrees('mkdir -p d/in; echo 1 >d/in/f');
  const outside = `${trees.base}/outside`;
  shell('mkdir -p outside/in; echo secret >outside/in/f', trees.base);
  writeFileSync(`${trees.base}/go`, '');
  trees.run('true');
  writeFileSync(`${trees.session}/new`, 'x');
  const loop = `while [ -e ../go ]; do mv d e; ln -s ${outside} d; rm d; mv e d; done`;
  const swapper = spawn('/bin/bash', ['-c', loop], { cwd: trees.real, stdio: 'ignore' });
  const states = new Set<string>();
  try {
    const { entry, key } = standingAt(`${trees.session}/new`);
    const source = { source: { tree: trees.session, path: 'new' }, sourceKey: key };
    const none = { base: null, baseKey: null, source: null, sourceKey: null };
    // Where the swapper is slow, no round may meet the directory: then a few more are tried.
    for (let round = 0; round < 60 || (!states.has('applied') && round < 2000); round += 1) {
      const directory = { type: 'directory', mode: 0o755 } as const;
      const results = await apply(trees, [
        { ...none, path: `d/in/${round}`, after: directory },
        { ...none, ...source, path: `d/in/${round}/f`, after: entry },
        { ...none, path: `d/in/l${round}`, after: { type: 'symlink', target: 'x' } },
        { ...none, ...source, path: `d/in/n${round}`, after: entry },
      ]);
      for (const { state } of results) states.add(state);
    }
  } finally {
    rmSync(`${trees.base}/go`);
    if (swapper.exitCode === null) await once(swapper, 'close');
  }
  assert.ok(states.has('applied'), 'some were applied between two swaps');
  assert.equal(shell('find . | sort | tr "\\n" " "; cat in/f', outside), '. ./in ./in/f secret\n');
});

test('a source written meanwhile gives way to what was recorded, or is refused', async () => {
  using trees = makeTrees('true');
  trees.run('echo right >a');
  const items = itemsBetween(trees.real, trees.session);
  writeFileSync(`${trees.session}/a`, 'wrong\n');
  const [refused] = await apply(trees, items);
  assert.equal(refused?.state === 'applied' ? '' : refused?.reason, 'no-content');
  assert.equal(existsSync(`${trees.real}/a`), false);
  const [applied] = await apply(trees, items, {
    read: () => Promise.resolve(Buffer.from('right\n')),
  });
  assert.equal(applied?.state, 'applied');
  assert.equal(readFileSync(`${trees.real}/a`, 'utf8'), 'right\n');
  assert.equal(Math.trunc(lstatSync(`${trees.real}/a`).mtimeMs), Math.trunc(mtimeOf(items[0])));
});

function mtimeOf(item: ReturnType<typeof itemsBetween>[number] | undefined): number {
  return item?.after?.type === 'file' ? item.after.mtimeMs : 0;
}

test('who watches the tree sees no temporary name', async () => {
  using trees = makeTrees('mkdir d; for f in a d/b c l; do echo 1 >$f; done; ln -s a s');
  trees.run(`echo 2 >a; echo 2 >d/b; rm c; echo 3 >n; mkdir e; echo 4 >e/f; ln -sfn c s; ln -s n t
    rm l; mkdir l; chmod 600 d/b`);
  const items = itemsBetween(trees.real, trees.session);
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<null>();
  const watchers = ['.', 'd'].map((directory) =>
    watch(path.join(trees.real, directory), (_, name) => {
      seen.push(name ?? '');
      if (name === 'end') resolve(null);
    }),
  );
  try {
    const staging = path.join(trees.base, 'staging');
    using renames = new AtomicRenames(undefined, { staging });
    const tree = { root: trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const contents = noContents;
    const results = await applyChanges({ tree, id: '0badcafe', items, contents, renames });
    assert.deepEqual(
      results.filter(({ state }) => state !== 'applied'),
      [],
    );
    writeFileSync(path.join(trees.real, 'd/end'), '');
    writeFileSync(path.join(trees.real, 'end'), '');
    await promise;
    const names = [...new Set(seen)].toSorted();
    assert.deepEqual(names, ['a', 'b', 'c', 'e', 'end', 'l', 'n', 's', 't']);
    assert.deepEqual(readdirSync(staging), []);
  } finally {
    for (const watcher of watchers) watcher.close();
  }
  rmSync(path.join(trees.real, 'end'));
  rmSync(path.join(trees.real, 'd/end'));
  assert.deepEqual(look(trees.real), look(trees.session));
});

test('what a directory gives to new files by a default ACL is theirs', async (t) => {
  using trees = makeTrees('mkdir d; echo 1 >d/a');
  try {
    setDefaultAcl(path.join(trees.real, 'd'));
  } catch (error) {
    t.skip(`no ACL can be set here: ${String(error)}`);
    return;
  }
  trees.run('echo 2 >d/a; echo 3 >d/n');
  const items = itemsBetween(trees.real, trees.session);
  using renames = new AtomicRenames(undefined, { staging: path.join(trees.base, 'staging') });
  const tree = { root: trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const results = await applyChanges({
    tree,
    id: '0badcafe',
    items,
    contents: noContents,
    renames,
  });
  assert.deepEqual(
    results.map(({ state }) => state),
    ['applied', 'applied'],
  );
  assert.deepEqual(
    ['a', 'n'].map((name) => hasAcl(path.join(trees.real, 'd', name))),
    [true, true],
  );
  assert.deepEqual(leftovers(trees.real), []);
});

test('of many changes each is applied, or stands as somebody else made it meanwhile', async (t) => {
  using trees = makeTrees(
    `mkdir d0 d1 d2 d3; for n in $(seq 0 3 900); do echo old $n >d$((n % 4))/f$n; done`,
  );
  try {
    // From there on, temporary names are in the tree.
    setDefaultAcl(path.join(trees.real, 'd2'));
  } catch (error) {
    t.diagnostic(`no ACL can be set here: ${String(error)}`);
  }
  trees.run(
    `for n in $(seq 0 900); do
       if [ $((n % 15)) = 0 ]; then rm d$((n % 4))/f$n; else echo new $n >d$((n % 4))/f$n; fi
     done; cp -r d1 made`,
  );
  const items = itemsBetween(trees.real, trees.session);
  shell('for n in $(seq 0 7 900); do echo mine $n >d$((n % 4))/f$n; done', trees.real);
  const staging = path.join(trees.base, 'staging');
  using renames = new AtomicRenames(undefined, { staging });
  const tree = { root: trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const contents = noContents;
  const results = await applyChanges({ tree, id: '0badcafe', items, contents, renames });
  const theirs = results.flatMap(({ path: name, state }) => (state === 'applied' ? [] : [name]));
  const mine = Array.from({ length: 129 }, (_, at) => `d${(at * 7) % 4}/f${at * 7}`);
  assert.deepEqual(theirs.toSorted(), mine.toSorted());
  const texts = mine.map((name) => readFileSync(path.join(trees.real, name), 'utf8'));
  assert.deepEqual(
    texts,
    mine.map((_, at) => `mine ${at * 7}\n`),
  );
  assert.deepEqual(leftovers(trees.real), []);
  assert.deepEqual(readdirSync(staging), []);
  for (const name of mine) {
    rmSync(path.join(trees.real, name), { force: true });
    rmSync(path.join(trees.session, name), { force: true });
  }
  assert.deepEqual(look(trees.real), look(trees.session));
});

const xattrCalls: Record<string, [set: number, get: number]> = { x64: [188, 191], arm64: [5, 8] };

/** Version 2; owner, one more user, group, mask and others may read. */
function setDefaultAcl(directory: string): void {
  const [set = 0] = xattrCalls[process.arch] ?? [];
  const script = String.raw`my ($nr, $at) = @ARGV; my $name = "system.posix_acl_default";
    my @entries = ([1, 7, -1], [2, 4, 12345], [4, 5, -1], [16, 5, -1], [32, 5, -1]);
    my $acl = pack("V", 2) . join "", map { pack("vvV", @$_) } @entries;
    exit(syscall($nr + 0, $at, $name, $acl, length $acl, 0) == 0 ? 0 : 1)`;
  execFileSync('perl', ['-e', script, String(set), directory]);
}

function hasAcl(file: string): boolean {
  const [, get = 0] = xattrCalls[process.arch] ?? [];
  const script = String.raw`my ($nr, $at) = @ARGV; my $name = "system.posix_acl_access";
    print syscall($nr + 0, $at, $name, 0, 0) > 0 ? "yes" : "no"`;
  return execFileSync('perl', ['-e', script, String(get), file], { encoding: 'utf8' }) === 'yes';
}
