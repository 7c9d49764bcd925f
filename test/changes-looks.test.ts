// How often a capture looks at each file: what a command makes of many files costs as much.
import assert from 'node:assert/strict';
import fs, { mkdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { mock, test } from 'node:test';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../src/workspace/changes/overlay-diff.ts';
import { MemoryContents, noOverlay, Yard } from './support/changes.ts';

const files = 500;
/** As while commands run; what was made a moment ago is told all the same. */
const ageMs = -60_000;

test('a new file is looked at once and opened once', { skip: noOverlay() }, async () => {
  using yard = new Yard();
  const [root, upper] = ['real', 'upper'].map((name) => yard.directory(name));
  assert.ok(root !== undefined && upper !== undefined);
  using attributes = new LayerAttributes();
  const contents = new MemoryContents();
  const ids = { idShift: { uid: 0, gid: 0 }, isMasked: () => false };
  const capturing = new OverlayCapture({ root, upper, contents, attributes, ...ids });
  mkdirSync(path.join(upper, 'new/in'), { recursive: true });
  for (let n = 0; n < files; n += 1) writeFileSync(path.join(upper, `new/in/${n}`), `${n}`);
  const looks = mock.method(fs, 'lstatSync');
  const opens = mock.method(fs, 'openSync');
  syncBuiltinESMExports();
  try {
    const { changes } = await capturing.capture(ageMs);
    assert.equal(changes.length, files + 2);
    const [looked, opened] = [looks.mock.callCount(), opens.mock.callCount()];
    const some = 100;
    assert.ok(looked < files + some, `${looked} looks at ${files} files`);
    // By name, and then what was found to be a file.
    assert.ok(opened < 2 * files + some, `${opened} opens of ${files} files`);
  } finally {
    mock.restoreAll();
    syncBuiltinESMExports();
  }
});
