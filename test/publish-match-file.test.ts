// The index of denied content on disk: what is restored answers as what was saved, and what is
// damaged or not the user's own is not read.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { restoreIndex, saveIndex } from '../src/publish/index-file.ts';
import { DeniedIndex } from '../src/publish/denied-index.ts';

const source = readFileSync(import.meta.filename);
const library = readFileSync(path.join(import.meta.dirname, '../src/publish/index-file.ts'));

function place(t: TestContext): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-index-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return path.join(directory, 'publish');
}

function filled(): DeniedIndex {
  const index = new DeniedIndex();
  index.put('private/source.ts', source);
  index.put('private/copy.ts', source);
  index.put('private/library.ts', library);
  index.put('private/empty', Buffer.alloc(0));
  index.put('private/token', Buffer.from('Zx81-Kq33-Lm90-PPq7'));
  index.putVisible('docs/a.md', library.subarray(0, 900));
  index.putVisible('docs/b.md', library.subarray(0, 900));
  return index;
}

const asked = Buffer.concat([library, source, Buffer.from('\nZx81-Kq33-Lm90-PPq7\n')]);

test('a restored index answers as the saved one and goes on from it', async (t) => {
  const directory = place(t);
  const index = filled();
  await saveIndex(index, directory);
  const restored = await restoreIndex(directory);
  assert.ok(index.match(asked).length >= 2);
  assert.deepEqual(restored.match(asked), index.match(asked));
  assert.deepEqual([...restored.deniedPaths()].toSorted(), [...index.deniedPaths()].toSorted());
  assert.deepEqual([...restored.visiblePaths()], ['docs/a.md', 'docs/b.md']);
  for (const one of [index, restored]) {
    one.remove('private/source.ts');
    one.removeVisible('docs/a.md');
    one.removeVisible('docs/b.md');
    one.put('private/new.ts', asked);
  }
  assert.deepEqual(restored.match(asked), index.match(asked));
  assert.equal(restored.stats().fingerprints, index.stats().fingerprints);
});

test('the file is its owner’s alone, and is not written again where nothing changed', async (t) => {
  const directory = place(t);
  const index = filled();
  await saveIndex(index, directory);
  const file = path.join(directory, 'index.bin');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  const { ino } = statSync(file);
  await saveIndex(index, directory);
  assert.equal(statSync(file).ino, ino);
  index.put('private/more', Buffer.from('more'));
  await saveIndex(index, directory);
  assert.notEqual(statSync(file).ino, ino);
});

test('an index that is damaged, cut, or may be read by others is not taken', async (t) => {
  const directory = place(t);
  await saveIndex(filled(), directory);
  const file = path.join(directory, 'index.bin');
  const bytes = readFileSync(file);
  const denied = async (): Promise<number> => (await restoreIndex(directory)).stats().deniedFiles;
  assert.equal(await denied(), 5);
  for (const at of [0, 9, 13, 200, bytes.length >> 1, bytes.length - 1]) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    writeFileSync(file, damaged);
    assert.equal(await denied(), 0, `byte ${at}`);
  }
  for (const length of [0, 7, 15, 40, bytes.length - 1]) {
    writeFileSync(file, bytes.subarray(0, length));
    assert.equal(await denied(), 0, `${length} bytes`);
  }
  writeFileSync(file, bytes);
  chmodSync(file, 0o644);
  assert.equal(await denied(), 0);
  chmodSync(file, 0o600);
  assert.equal(await denied(), 5);
});

test('an index that was never saved is empty', async (t) => {
  const restored = await restoreIndex(place(t));
  assert.equal(restored.stats().deniedFiles, 0);
  assert.deepEqual(restored.match(asked), []);
});
