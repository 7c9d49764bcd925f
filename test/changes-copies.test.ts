// What a process that told watchers of saves left in a layer when it was killed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { LayerCopy } from '../src/workspace/changes/layer-copies.ts';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../src/workspace/changes/overlay-diff.ts';
import { MemoryContents, Yard } from './support/changes.ts';

const staging = '.trl-view-0123456789abcdef';
const entry = { type: 'file', mode: 0o644, mtimeMs: 1 } as const;

interface Swept {
  readonly isHalf: boolean;
  readonly left: string | null;
}

/** With `text` in the file of what was on its way, or on its way out. */
async function swept(text: string): Promise<Swept> {
  using yard = new Yard();
  const [root, upper] = [yard.directory('real'), yard.directory('upper')];
  const file = path.join(yard.directory(`upper/${staging}`), '0');
  using attributes = new LayerAttributes();
  const contents = new MemoryContents();
  const ids = { idShift: { uid: 0, gid: 0 }, isMasked: () => false };
  const layer = new OverlayCapture({ root, upper, contents, attributes, ...ids });
  contents.put(Buffer.from('as it was told\n'));
  const [sha256, size] = [contents.put(Buffer.from('what you saved\n')), 15];
  const copy: LayerCopy = { entry: { ...entry, size, sha256 }, key: '' };
  writeFileSync(file, text);
  const isHalf = await layer.removeStaging(staging, [copy]);
  return { isHalf, left: existsSync(file) ? readFileSync(file, 'utf8') : null };
}

test('a line that a command wrote to a file in the moment it gave way is not swept', async () => {
  const added = 'as it was told\nand a line more\n';
  assert.deepEqual(await swept(added), { isHalf: true, left: added });
  for (const known of ['as it was told\n', 'what you saved\n', 'what you', '']) {
    assert.deepEqual(await swept(known), { isHalf: true, left: null }, known);
  }
});
