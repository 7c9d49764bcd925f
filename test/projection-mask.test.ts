// The mask hides what the rules say, no more, and knows again when the tree changed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { PathRules } from '../src/command.ts';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { compileMask, type Mask } from '../src/workspace/projection/mask.ts';
import { readVisibility } from '../src/workspace/projection/visibility.ts';
import { TreeWatch } from '../src/workspace/projection/tree-watch.ts';

const tree = [
  '.env',
  'a.txt',
  'conf/.env',
  'conf/prod/key.pem',
  'conf/prod/note',
  'src/a.ts',
  'src/in/b.ts',
  'src/in/b.js',
  'odd\nname/.env',
  'ünï/ké.pem',
] as const;

const cases: readonly (readonly [Partial<PathRules>, readonly string[]])[] = [
  [{}, []],
  [{ deny: ['nothing', 'no/thing'] }, []],
  [{ deny: ['.env'] }, ['.env', 'conf/.env', 'odd\nname/.env']],
  [{ deny: ['/ROOT/.env'] }, ['.env']],
  [{ deny: ['conf/**'] }, ['conf']],
  [{ deny: ['conf/*'] }, ['conf/.env', 'conf/prod']],
  [{ deny: ['conf/prod/'] }, ['conf/prod']],
  [{ deny: ['**/*.pem'] }, ['conf/prod/key.pem', 'ünï/ké.pem']],
  [{ deny: ['conf', 'conf/prod', '.env'] }, ['.env', 'conf', 'odd\nname/.env']],
  [{ deny: ['.ENV', 'A.txt'] }, []],
  // Written with a combining accent it is another name.
  [{ deny: ['u\u0308ni\u0308'] }, []],
  [{ deny: ['ünï'] }, ['ünï']],
  [{ deny: ['~/x', '/ROOT/..', '/'] }, []],
  [{ deny: ['.'] }, ['.env', 'a.txt', 'conf', 'odd\nname', 'src', 'ünï']],
  [{ allow: ['src'] }, ['.env', 'a.txt', 'conf', 'odd\nname', 'ünï']],
  [{ allow: ['src'], deny: ['src/in'] }, ['.env', 'a.txt', 'conf', 'odd\nname', 'src/in', 'ünï']],
  [{ allow: ['src/**/*.ts'] }, ['.env', 'a.txt', 'conf', 'odd\nname', 'src/in/b.js', 'ünï']],
  [
    { allow: ['conf/prod/note'], deny: ['.env'] },
    ['.env', 'a.txt', 'conf/.env', 'conf/prod/key.pem', 'odd\nname', 'src', 'ünï'],
  ],
  [{ allow: ['**'] }, []],
];

test('what is hidden is what the rules say', async () => {
  for (const [rules, expected] of cases) {
    using yard = new Yard(tree);
    const mask = await yard.mask(rules);
    const names = mask.state.hidden.map((one) => Buffer.from(one, 'latin1').toString());
    assert.deepEqual(names.toSorted(), expected.toSorted(), JSON.stringify(rules));
    for (const name of expected) {
      assert.ok(mask.state.hides(Buffer.from(`${name}/x`).toString('latin1')), name);
      assert.ok(lstatSync(`${mask.state.directory}/${name}`).isCharacterDevice(), name);
    }
    assert.equal(mask.state.directory === null, expected.length === 0);
  }
});

test('other names of a denied file are hidden, other names of others are not', async () => {
  using yard = new Yard(tree);
  linkSync(`${yard.root}/conf/prod/key.pem`, `${yard.root}/src/copy`);
  linkSync(`${yard.root}/.env`, `${yard.root}/src/in/env`);
  linkSync(`${yard.root}/a.txt`, `${yard.root}/src/a.txt`);
  linkSync(`${yard.root}/conf/.env`, `${yard.path}/outside`);
  symlinkSync('../a.txt', `${yard.root}/src/private.pem`);
  symlinkSync('..', `${yard.root}/src/up.pem`);
  const mask = await yard.mask({ deny: ['conf', '/ROOT/.env', '**/*.pem'] });
  assert.deepEqual(
    mask.state.hidden.map((one) => Buffer.from(one, 'latin1').toString()),
    [
      ['.env', 'a.txt', 'conf', 'src/copy', 'src/in/env', 'src/private.pem', 'src/up.pem'],
      ['ünï/ké.pem'],
    ].flat(),
  );
});

test('directories of the layer are as the real ones, and follow them', async () => {
  using yard = new Yard(tree);
  const like = (mask: Mask, name: string): void => {
    const [real, layer] = [`${yard.root}/${name}`, `${mask.state.directory}/${name}`].map((one) => {
      const { mode, mtimeMs, uid, gid } = statSync(one);
      return { mode, mtimeMs, uid, gid };
    });
    assert.deepEqual(layer, real);
  };
  chmodSync(`${yard.root}/conf`, 0o750);
  utimesSync(`${yard.root}/conf/prod`, 1_000, 2_000);
  const mask = await yard.mask({ deny: ['**/*.pem'] });
  for (const name of ['', 'conf', 'conf/prod', 'ünï']) like(mask, name);
  const { generation } = mask.state;
  utimesSync(`${yard.root}/conf`, 3_000, 4_000);
  chmodSync(`${yard.root}/conf`, 0o1777);
  assert.equal((await mask.update(['conf'])).generation, generation);
  like(mask, 'conf');
  writeFileSync(`${yard.root}/conf/new.pem`, '');
  assert.notEqual((await mask.update(['conf'])).generation, generation);
  const used = mask.state.generation;
  assert.ok(readdirSync(yard.maskDir).includes(generation));
  rmSync(`${yard.root}/conf/new.pem`);
  assert.equal((await mask.update('all')).generation, generation);
  mask.prune(new Set());
  assert.ok(!readdirSync(yard.maskDir).includes(used));
});

test('paths deeper than the system takes at once are hidden', async () => {
  using yard = new Yard(['top']);
  const go = 'for (1 .. 30) { mkdir "d" x 200; chdir "d" x 200 or die $! }';
  const make = 'for (qw(key.pem other.pem note)) { open my $f, ">", $_ or die $! }';
  assert.equal(spawnSync('perl', ['-e', `${go}${make}`], { cwd: yard.root }).status, 0);
  const mask = await yard.mask({ deny: ['**/*.pem'] });
  assert.deepEqual(
    mask.state.hidden.map((one) => [one.length > 6_000, path.basename(one)]),
    [
      [true, 'key.pem'],
      [true, 'other.pem'],
    ],
  );
  const found = spawnSync('perl', ['-e', `${go} -c "key.pem" or die; exec "ls"`], {
    cwd: mask.state.directory ?? '',
    encoding: 'utf8',
  });
  assert.deepEqual([found.stdout, found.status], ['key.pem\nother.pem\n', 0]);
});

test('a tree beyond the bound is not shown at all', async () => {
  using yard = new Yard(tree);
  await assert.rejects(yard.mask({ deny: ['.env'] }, 5), { code: 'QUOTA_EXCEEDED' });
});

test('looking again at what changed finds what looking at everything finds', async () => {
  const names = ['a', 'b', '.env', 'a/b', 'a/.env', 'a/x.pem', 'b/a', 'b/a/.env', 'b/keep'];
  const name = fc.constantFrom(...names);
  const step = fc.oneof(
    name.map((one) => `mkdir -p ${one}`),
    name.map((one) => `rm -rf ${one}`),
    name.map((one) => `mkdir -p $(dirname ${one}); : > ${one}`),
    fc.tuple(name, name).map(([from, to]) => `mv -T ${from} ${to}`),
    fc.tuple(name, name).map(([from, to]) => `ln ${from} ${to}`),
  );
  const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 4 });
  const rules = fc.constantFrom<Partial<PathRules>>(
    { deny: ['.env', '**/*.pem'] },
    { allow: ['a', 'b/keep'], deny: ['.env'] },
    { deny: ['b/a'] },
  );
  await fc.assert(
    fc.asyncProperty(rules, rounds, async (some, all) => {
      using yard = new Yard(['b/keep', 'a/.env']);
      const mask = await yard.mask(some);
      using watch = await TreeWatch.open(yard.root, { cookieDir: path.join(yard.path, 'cookies') });
      const cursor = watch.cursor();
      for (const steps of all) {
        spawnSync('sh', ['-c', steps.join('\n')], { cwd: yard.root });
        const settled = await cursor.nextChanges();
        if (settled.changed) await mask.update(settled.directories);
        const fresh = await yard.mask(some);
        assert.deepEqual(mask.state.hidden, fresh.state.hidden, steps.join('\n'));
        assert.equal(mask.state.generation, fresh.state.generation);
      }
    }),
    { numRuns: 25 },
  );
});

class Yard implements Disposable {
  readonly path = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-mask-')));
  readonly root = path.join(this.path, 'ws');
  readonly maskDir = path.join(this.path, 'mask');
  readonly #marks = new LayerAttributes();

  constructor(files: readonly string[]) {
    for (const name of files) {
      mkdirSync(path.dirname(path.join(this.root, name)), { recursive: true });
      writeFileSync(path.join(this.root, name), name);
    }
  }

  /** `ROOT` in a rule is the workspace. */
  async mask(rules: Partial<PathRules>, entriesMax = 1_000): Promise<Mask> {
    const { root, maskDir } = this;
    const read = (list: readonly string[] = []): string[] =>
      list.map((one) => one.replace('/ROOT', root));
    const { uid, gid } = statSync(root);
    return compileMask({
      root,
      maskDir,
      visibility: readVisibility(
        { allow: read(rules.allow), deny: read(rules.deny) },
        { root, home: '/nonexistent' },
      ),
      owner: { uid, gid },
      marks: this.#marks,
      entriesMax,
    });
  }

  [Symbol.dispose](): void {
    this.#marks[Symbol.dispose]();
    spawnSync('rm', ['-rf', this.path]);
  }
}
