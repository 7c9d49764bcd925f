// What a look while commands run leaves to the next one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../src/workspace/changes/overlay-diff.ts';
import { MemoryContents, noOverlay, Stage, Yard } from './support/changes.ts';
import { eventually } from './support/processes.ts';

const skip = noOverlay();

test('what is gone while it is being replaced is told as replaced', { skip }, async () => {
  using yard = new Yard();
  const [root, upper, work] = ['real', 'upper', 'work'].map((name) => yard.directory(name));
  assert.ok(root !== undefined && upper !== undefined && work !== undefined);
  spawnSync('sh', ['-c', 'printf 1 > known; printf 1 > fresh'], { cwd: root });
  await using stage = await Stage.overlay(yard, [root], upper, work);
  using attributes = new LayerAttributes();
  const contents = new MemoryContents();
  const ids = { idShift: { uid: 0, gid: 0 }, isMasked: () => false };
  const capturing = new OverlayCapture({ root, upper, contents, attributes, ...ids });
  await stage.run('printf 2 > known');
  await capturing.capture();
  await stage.run('rm known fresh');
  const longMs = 3_600_000;
  assert.deepEqual((await capturing.capture(longMs)).changes, [], 'the moment between was told');
  await stage.run('ln -s /etc known; printf 3 > fresh');
  const changes = (await capturing.capture(longMs)).changes.map((one) => [one.path, one.kind]);
  assert.deepEqual(changes, [
    ['fresh', 'modified'],
    ['known', 'type'],
  ]);
  await stage.run('rm known fresh');
  const gone: string[] = [];
  await eventually('what stays away is told by a later look', async () => {
    gone.push(...(await capturing.capture(1)).changes.map((one) => `${one.kind} ${one.path}`));
    return gone.length > 0;
  });
  assert.deepEqual(gone, ['deleted fresh', 'deleted known']);
});
