// What a capture of an upper layer says besides the changes: what stands in the real tree, what it
// must not look at, what it cannot keep.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { CapturedChange, OverlayCaptureOptions } from '../src/workspace/changes/capture.ts';
import { openSource } from '../src/workspace/changes/entries.ts';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../src/workspace/changes/overlay-diff.ts';
import { hash, MemoryContents, noOverlay, picture, Stage, Yard } from './support/changes.ts';
import { told } from './support/changes-told.ts';

const skip = noOverlay();

class Scene implements AsyncDisposable {
  readonly yard = new Yard();
  readonly root = this.yard.directory('real');
  readonly upper = this.yard.directory('upper');
  readonly attributes = new LayerAttributes();
  readonly contents: MemoryContents;
  readonly stages: Stage[] = [];

  constructor(tree: string, fileBytesMax?: number) {
    this.contents = new MemoryContents(fileBytesMax);
    spawnSync('sh', ['-c', `umask 022; ${tree}`], { cwd: this.root });
  }

  async stage(masks: readonly string[] = []): Promise<Stage> {
    const work = this.yard.directory('work');
    const stage = await Stage.overlay(this.yard, [...masks, this.root], this.upper, work);
    this.stages.push(stage);
    return stage;
  }

  capturing(more: Partial<OverlayCaptureOptions> = {}): OverlayCapture {
    const { root, upper, contents, attributes } = this;
    const isMasked = (): boolean => false;
    return new OverlayCapture({
      root,
      upper,
      contents,
      attributes,
      isMasked,
      idShift: { uid: 0, gid: 0 },
      ...more,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stage of this.stages) await stage[Symbol.asyncDispose]();
    this.attributes[Symbol.dispose]();
    this.yard[Symbol.dispose]();
  }
}

const by = (changes: readonly CapturedChange[]): ReadonlyMap<string, CapturedChange> =>
  new Map(changes.map((change) => [change.path, change]));

test('what somebody else did to a path meanwhile is seen beside the change', { skip }, async () => {
  await using scene = new Scene(
    'printf 1 > edited; printf 1 > removed; printf 1 > kept; mkdir d; printf 1 > d/gone',
  );
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('for n in edited removed kept made d/gone; do printf 2 > $n; done');
  const before = BigInt(Date.now()) * 1_000_000n;
  spawnSync('sleep', ['0.05']);
  writeFileSync(path.join(scene.root, 'theirs'), 'theirs');
  renameSync(path.join(scene.root, 'theirs'), path.join(scene.root, 'edited'));
  rmSync(path.join(scene.root, 'removed'));
  rmSync(path.join(scene.root, 'd'), { recursive: true });
  writeFileSync(path.join(scene.root, 'made'), 'theirs');
  const changes = by((await capturing.capture()).changes);
  assert.deepEqual([...changes.keys()], ['d', 'd/gone', 'edited', 'kept', 'made', 'removed']);
  assert.equal(changes.get('d/gone')?.isCopyUp, true);
  const isLater = (name: string): boolean => (changes.get(name)?.baseCtimeNs ?? 0n) > before;
  assert.deepEqual(['edited', 'kept', 'made'].map(isLater), [true, false, true]);
  const removed = changes.get('removed');
  assert.equal(removed?.base, null);
  assert.equal(removed?.isCopyUp, true);
  assert.deepEqual(removed?.marks, ['before-unknown']);
  assert.equal(changes.get('made')?.isCopyUp, false);
  assert.equal(changes.get('kept')?.before?.type, 'file');
});

test(
  'the second command that changes a path starts from what the first one left',
  { skip },
  async () => {
    await using scene = new Scene('printf 1 > a; mkdir d; printf y > d/y');
    const stage = await scene.stage();
    const capturing = scene.capturing();
    await stage.run('printf 2 > a; rm d/y');
    await capturing.capture();
    await stage.run('printf 3 > a; rm -r d; printf new > n; rm n');
    const [a, d, ...rest] = (await capturing.capture()).changes;
    assert.deepEqual(rest, []);
    const shas = [a?.before, a?.after, a?.base].map((side) => side?.type === 'file' && side.sha256);
    assert.deepEqual(
      shas,
      ['2', '3', '1'].map((text) => hash(Buffer.from(text))),
    );
    assert.deepEqual([d?.path, d?.kind], ['d', 'deleted']);
  },
);

test(
  'what others make below a replaced directory was never seen by a command',
  { skip },
  async () => {
    await using scene = new Scene('mkdir d; printf 1 > d/a');
    const stage = await scene.stage();
    const capturing = scene.capturing();
    await stage.run('rm -r d; mkdir d');
    await capturing.capture();
    writeFileSync(path.join(scene.root, 'd/new'), 'theirs');
    await stage.run('printf ours > d/new');
    const { changes } = await capturing.capture();
    assert.deepEqual(
      changes.map(({ path: at, kind, before, base }) => [at, kind, before, base?.type]),
      [['d/new', 'added', null, 'file']],
    );
  },
);

test('masked paths are not looked at, and neither are those below', { skip }, async () => {
  await using scene = new Scene(
    'mkdir -p d/priv; printf s > d/priv/key; printf o > d/o; printf e > .env',
  );
  const mask = scene.yard.directory('mask');
  mkdirSync(path.join(mask, 'd'));
  await scene.attributes.makeWhiteouts([`${mask}/d/priv`, `${mask}/.env`]);
  const stage = await scene.stage([mask]);
  assert.equal((await stage.picture()).has('.env'), false);
  const capturing = scene.capturing({ isMasked: (at) => at === '.env' || at === 'd/priv' });
  await stage.run('printf guess > .env; mkdir d/priv; printf k > d/priv/other');
  const written = by((await capturing.capture()).changes);
  for (const name of ['.env', 'd/priv', 'd/priv/other']) {
    const { isMasked, base, baseKey, before } = written.get(name) ?? {};
    assert.deepEqual([isMasked, base, baseKey, before], [true, null, null, null], name);
  }
  await capturing.discard();
  await stage.refresh();
  await stage.run('rm -r d');
  const { changes } = await capturing.capture();
  assert.deepEqual(
    changes.map((change) => [change.path, change.kind, change.hasMaskedBelow]),
    [
      ['d', 'deleted', true],
      ['d/o', 'deleted', false],
    ],
  );
  assert.equal(scene.contents.has(hash(Buffer.from('s'))), false);
});

test('a content that is too large is hashed, marked, and can be opened', { skip }, async () => {
  await using scene = new Scene('head -c 5000 /dev/zero > big', 1_000);
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('printf x >> big; head -c 600000 /dev/zero > huge');
  const changes = by((await capturing.capture()).changes);
  assert.deepEqual(changes.get('big')?.marks, ['over-cap']);
  const { after, sourceAt } = changes.get('huge') ?? {};
  const fd = sourceAt == null ? null : openSource(sourceAt);
  assert.ok(fd !== null && after?.type === 'file');
  assert.equal(hash(readFileSync(fd)), after.sha256);
  closeSync(fd);
});

test('contents are opened at any depth, and never through a link', { skip }, async () => {
  await using scene = new Scene('mkdir d');
  const part = 'n'.repeat(200);
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run(`i=0; while [ $i -lt 30 ]; do mkdir ${part}; cd -P ./${part}; i=$((i+1)); done
printf bottom > bottom`);
  const { changes } = await capturing.capture();
  const bottom = changes.at(-1);
  assert.ok((bottom?.path.length ?? 0) > 6_000);
  const fd = bottom?.sourceAt == null ? null : openSource(bottom.sourceAt);
  assert.ok(fd !== null);
  assert.equal(readFileSync(fd, 'utf8'), 'bottom');
  closeSync(fd);
  symlinkSync('/etc', path.join(scene.upper, 'd-link'));
  assert.equal(openSource({ tree: scene.upper, path: 'd-link/hostname' }), null);
  await capturing.discard();
  assert.deepEqual([...picture(scene.upper).keys()], ['']);
});

test('what is written while it is read is found again', { skip }, async () => {
  await using scene = new Scene('true');
  const stage = await scene.stage();
  await stage.run('printf 1 > log');
  const file = path.join(scene.upper, 'log');
  // Stands for a server that goes on writing: more comes before the hash is known.
  class Growing extends MemoryContents {
    override put(content: Uint8Array): string {
      if (content.length < 3) appendFileSync(file, 'x');
      return super.put(content);
    }
  }
  const capturing = scene.capturing({ contents: new Growing() });
  const seen: (string | null)[] = [];
  for (let at = 0; at < 4; at += 1) {
    for (const { after } of (await capturing.capture()).changes) {
      seen.push(after?.type === 'file' ? after.sha256 : null);
    }
  }
  assert.deepEqual(
    seen,
    ['1', '1x', '1xx'].map((text) => hash(Buffer.from(text))),
  );
});

test('clearing leaves what was changed since, and what nobody named', { skip }, async () => {
  await using scene = new Scene('printf 1 > a; printf 1 > b');
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('printf 2 > a; printf 2 > b; printf 2 > c');
  await capturing.capture();
  await stage.run('printf 3 > a');
  assert.deepEqual(await capturing.clearApplied(['a', 'c', 'nothing']), ['a']);
  await stage.refresh();
  const { changes } = await capturing.capture();
  assert.deepEqual(
    changes.map((change) => change.path),
    ['a'],
  );
  assert.deepEqual([...picture(scene.upper).keys()].toSorted(), ['', 'a', 'b']);
});

test('a file that lost one of its names can still be cleared', { skip }, async () => {
  await using scene = new Scene('printf 1 > a');
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('ln a b; printf 2 > c; ln c d');
  await capturing.capture();
  // The link copied its first name up, which says nothing new; the other ones are given up.
  assert.deepEqual(await capturing.clearApplied(['c']), []);
  assert.deepEqual(await capturing.clearApplied(['b', 'd']), []);
  assert.deepEqual([...picture(scene.upper).keys()], ['']);
});

test(
  'what was only opened for writing does not hide what others write later',
  { skip },
  async () => {
    await using scene = new Scene('printf 1 > a');
    const stage = await scene.stage();
    const capturing = scene.capturing();
    await stage.run('exec 3<> a');
    assert.deepEqual((await capturing.capture()).changes, []);
    assert.equal(capturing.isClearDue([]), true);
    assert.deepEqual(await capturing.clearApplied([]), []);
    assert.equal(capturing.isClearDue([]), false);
    writeFileSync(path.join(scene.root, 'a'), 'theirs');
    await stage.refresh();
    assert.equal(readFileSync(path.join(stage.view, 'a'), 'utf8'), 'theirs');
  },
);

test(
  'a directory that says nothing stays, for its walk is cached, until it must go',
  { skip },
  async () => {
    await using scene = new Scene('mkdir d e m; printf 1 > d/f; printf 1 > e/f; printf 1 > m/f');
    const stage = await scene.stage();
    let hidden = '';
    const capturing = scene.capturing({ isMasked: (path) => path === hidden });
    await stage.run('for d in d e m; do touch $d/lock; rm $d/lock; done');
    assert.deepEqual((await capturing.capture()).changes, []);
    assert.equal(capturing.isClearDue([]), false);
    rmSync(path.join(scene.root, 'd'), { recursive: true });
    hidden = 'm';
    await stage.run('touch e/made');
    await capturing.dropStaleDirectories();
    await stage.refresh();
    assert.deepEqual([...picture(scene.upper).keys()].toSorted(), ['', 'e', 'e/made']);
    assert.deepEqual(
      (await capturing.capture()).changes.map((change) => change.path),
      ['e/made'],
    );
    assert.equal(capturing.isClearDue(['e/made']), true);
    assert.deepEqual(await capturing.clearApplied(['e/made']), []);
    assert.deepEqual([...picture(scene.upper).keys()], ['']);
  },
);

test('of directories that say nothing only some stay', { skip }, async () => {
  await using scene = new Scene('seq 40 | xargs mkdir');
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('for d in *; do touch $d/lock; rm $d/lock; done');
  await capturing.capture();
  assert.equal(capturing.isClearDue([]), true);
  await capturing.clearApplied([]);
  assert.deepEqual([...picture(scene.upper).keys()], ['']);
});

test('a tree deeper than can be told is reported, not forgotten', { skip }, async () => {
  await using scene = new Scene('true');
  const stage = await scene.stage();
  const part = 'n'.repeat(250);
  await stage.run(`i=0; while [ $i -lt 80 ]; do mkdir ${part}; cd -P ./${part}; i=$((i+1)); done`);
  const capturing = scene.capturing();
  const { complete, skipped, changes } = await capturing.capture();
  assert.equal(complete, false);
  assert.equal(skipped.length, 1);
  assert.equal(skipped[0], changes.at(-1)?.path);
  await capturing.discard();
  assert.deepEqual([...picture(scene.upper).keys()], ['']);
});

test('captures that are asked for at once tell each change once', { skip }, async () => {
  await using scene = new Scene('printf 1 > a');
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('printf 2 > a');
  const both = await Promise.all([capturing.capture(), capturing.capture()]);
  assert.deepEqual(
    both.map(({ changes }) => changes.length),
    [1, 0],
  );
});

test('without perl a capture fails, and a later one with it tells all', { skip }, async () => {
  await using scene = new Scene('mkdir d; printf 1 > d/a');
  const stage = await scene.stage();
  await stage.run('printf 2 > d/a');
  using attributes = new LayerAttributes({ perl: '/nowhere/perl' });
  const capturing = scene.capturing({ attributes });
  await assert.rejects(capturing.capture(), { code: 'SANDBOX_UNAVAILABLE' });
  const state = capturing.ledgerJson();
  const again = scene.capturing();
  again.restoreLedger(state);
  const capture = await again.capture();
  assert.deepEqual(Object.keys(await told(capture, scene.contents)), ['d/a']);
  assert.throws(() => again.restoreLedger('{'), { code: 'INTERNAL_ERROR' });
});

test('what was made just now waits; what others do meanwhile is seen', { skip }, async () => {
  await using scene = new Scene('printf 1 > old; printf 1 > gone');
  const stage = await scene.stage();
  const capturing = scene.capturing();
  await stage.run('printf 2 > old; rm gone; printf 2 > n; mkdir d; printf 2 > d/n; printf 2 > m');
  const first = (await capturing.capture(60_000)).changes;
  assert.deepEqual(
    first.map(({ path: name }) => name),
    ['old'],
  );
  writeFileSync(path.join(scene.root, 'n'), 'theirs');
  writeFileSync(path.join(scene.root, 'gone'), 'theirs');
  mkdirSync(path.join(scene.root, 'd'));
  writeFileSync(path.join(scene.root, 'd/n'), 'theirs');
  const changes = by((await capturing.capture()).changes);
  assert.deepEqual([...changes.keys()], ['d/n', 'gone', 'm', 'n']);
  const overtaken = [...changes.values()].filter(({ isOvertaken }) => isOvertaken === true);
  assert.deepEqual(
    overtaken.map(({ path: name }) => name),
    ['d/n', 'gone', 'n'],
  );
});

test('what was applied and deleted in the same moment is deleted', { skip }, async () => {
  await using scene = new Scene(':');
  const stage = await scene.stage();
  const keys = new Map<string, string>();
  const capturing = scene.capturing({ appliedKeyAt: (name) => keys.get(name) ?? null });
  await stage.run('printf 1 > ours; printf 1 > theirs');
  await capturing.capture();
  for (const name of ['ours', 'theirs']) {
    rmSync(path.join(scene.upper, name));
    writeFileSync(path.join(scene.root, name), '1');
  }
  const { ino, mode, size, mtimeNs, ctimeNs } = lstatSync(path.join(scene.root, 'ours'), {
    bigint: true,
  });
  const key = `${ino}:${mode}:${size}:${mtimeNs}:${ctimeNs}`;
  keys.set('ours', key);
  const { changes } = await capturing.capture();
  assert.deepEqual(
    changes.map(({ path: name, kind }) => `${kind} ${name}`),
    ['deleted ours'],
  );
});
