// What capturing tells is held against two pictures of the whole tree, made without it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { CaptureResult } from '../src/workspace/changes/capture.ts';
import { IndexCapture } from '../src/workspace/changes/index-capture.ts';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../src/workspace/changes/overlay-diff.ts';
import { battery, treeScript } from './support/changes-battery.ts';
import { differences, MemoryContents, noOverlay, picture, Stage, Yard } from './support/changes.ts';
import { isFull } from './support/form.ts';
import { told } from './support/changes-told.ts';

test('every operation on an overlay is told exactly', { skip: noOverlay() }, async (t) => {
  using yard = new Yard();
  const [root, upper, work] = [
    yard.directory('real'),
    yard.directory('upper'),
    yard.directory('work'),
  ];
  spawnSync('sh', ['-c', treeScript], { cwd: root });
  await using stage = await Stage.overlay(yard, [root], upper, work);
  using attributes = new LayerAttributes();
  const contents = new MemoryContents();
  const idShift = { uid: 0, gid: 0 };
  const capturing = new OverlayCapture({
    root,
    upper,
    idShift,
    isMasked: () => false,
    contents,
    attributes,
  });
  let before = await stage.picture();
  assert.deepEqual(differences(picture(root), before), {});
  for (const operation of battery) {
    await t.test(operation.name, async () => {
      const code = await stage.run(operation.script);
      const after = await stage.picture();
      const capture = await capturing.capture();
      assert.equal(code, operation.overlayCode ?? 0, stage.complaints.slice(-300));
      assert.deepEqual(await told(capture, contents), differences(before, after));
      assert.equal(capture.complete, true);
      if (operation.metadataOnly !== undefined) {
        assert.deepEqual(metadataOnly(capture), operation.metadataOnly);
      }
      for (const [at, marks] of Object.entries(operation.overlayMarks ?? {})) {
        const change = capture.changes.find((one) => one.path === at);
        assert.deepEqual(change?.marks, marks);
      }
      assert.deepEqual(await capturing.capture(), { changes: [], complete: true, skipped: [] });
      await capturing.discard();
      await stage.refresh();
      const again = await stage.picture();
      assert.deepEqual(differences(before, again), {});
      before = again;
      assert.deepEqual(readdirSync(upper), []);
    });
  }
});

// In `npm test` one of three; what an overlay tells of each is above.
test('every operation on the real tree is told exactly by two scans', async (t) => {
  using yard = new Yard();
  const contents = new MemoryContents();
  const template = yard.directory('template');
  spawnSync('sh', ['-c', treeScript], { cwd: template });
  const before = picture(template);
  for (const [at, operation] of battery.entries()) {
    if (!isFull && at % 3 !== 0) continue;
    const isShut = operation.keepsOwnerOut === true && process.getuid?.() !== 0;
    const skip = isShut && 'only root may read what its own modes keep out';
    await t.test(operation.name, { skip }, async () => {
      const root = path.join(yard.path, `real${at}`);
      spawnSync('cp', ['-a', template, root]);
      const capturing = await IndexCapture.open({ root, contents, entriesMax: 100_000 });
      await using stage = await Stage.plain(yard, root);
      const code = await stage.run(operation.script);
      const after = await stage.picture();
      const capture = await capturing.capture();
      assert.equal(code, 0, stage.complaints.slice(-300));
      assert.deepEqual(await told(capture, contents), differences(before, after));
      assert.equal(capture.complete, true);
      if (operation.metadataOnly !== undefined) {
        assert.deepEqual(metadataOnly(capture), operation.metadataOnly);
      }
      assert.deepEqual(await capturing.capture(), { changes: [], complete: true, skipped: [] });
    });
  }
});

function metadataOnly(capture: CaptureResult): string[] {
  return capture.changes
    .filter(({ kind }) => kind === 'metadata-only')
    .map((change) => change.path);
}
