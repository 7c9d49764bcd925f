// What an append-only file promises, whoever owns it.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { listNumberedFiles, SegmentFile } from '../src/segment-files.ts';

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-segments-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('an append that fails does not count, and what it left is cut off', async (t) => {
  const file = path.join(directoryFor(t), '1.segment');
  const segment = SegmentFile.create(file);
  await segment.append(Buffer.from('one'));
  const fails = (size: number): void => {
    assert.equal(size, 6);
    throw new Error('it is not confirmed');
  };
  await assert.rejects(segment.append(Buffer.from('two'), fails), /not confirmed/);
  assert.deepEqual([segment.end, readFileSync(file, 'utf8')], [3, 'onetwo']);
  await segment.cut();
  await segment.append(Buffer.from('2'));
  assert.deepEqual([segment.end, readFileSync(file, 'utf8')], [4, 'one2']);
  assert.deepEqual((await segment.read(2, 99)).toString(), 'e2');
  await segment.close();
});

test('a file that was replaced or grew is not the one that was opened', async (t) => {
  const file = path.join(directoryFor(t), '1.segment');
  writeFileSync(file, 'abc');
  const segment = SegmentFile.open(file);
  assert.deepEqual([segment.isInPlace(3), segment.isInPlace(2)], [true, false]);
  appendFileSync(file, 'd');
  assert.equal(segment.isInPlace(3), false);
  rmSync(file);
  assert.throws(() => segment.isInPlace(3), { code: 'ENOENT' });
  writeFileSync(file, 'abc');
  const isSame = segment.isInPlace(3);
  await segment.close();
  assert.equal(isSame, false);
});

test('a running read ends before the file is closed; a later one is refused', async (t) => {
  const file = path.join(directoryFor(t), '1.segment');
  writeFileSync(file, Buffer.alloc(2 ** 22, 'x'));
  const segment = SegmentFile.open(file);
  const reads = [segment.read(0, 2 ** 22), segment.read(0, 2 ** 21)];
  await segment.remove();
  assert.deepEqual(
    (await Promise.all(reads)).map(({ length }) => length),
    [2 ** 22, 2 ** 21],
  );
  assert.equal(existsSync(file), false);
  await assert.rejects(segment.read(0, 1), /is closed/);
});

test('a symbolic link is not opened, and an existing file is not created', (t) => {
  const directory = directoryFor(t);
  const [file, link] = [path.join(directory, '1.segment'), path.join(directory, '2.segment')];
  writeFileSync(file, '');
  symlinkSync(file, link);
  assert.throws(() => SegmentFile.open(link), { code: 'ELOOP' });
  assert.throws(() => SegmentFile.create(file), { code: 'EEXIST' });
});

test('files are listed by number, others not at all', (t) => {
  const directory = directoryFor(t);
  for (const name of ['00000010.a', '00000009.a', '100000000.a', '9.a', '00000001.b', 'x.a']) {
    writeFileSync(path.join(directory, name), '');
  }
  const found = listNumberedFiles(directory, /^(\d{8,})\.a$/);
  assert.deepEqual(
    found.map(({ file, number }) => [path.basename(file), number]),
    [
      ['00000009.a', 9],
      ['00000010.a', 10],
      ['100000000.a', 100_000_000],
    ],
  );
  assert.deepEqual(listNumberedFiles(path.join(directory, 'none'), /^(\d+)$/), []);
});
