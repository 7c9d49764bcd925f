import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { isTrlError } from '../src/errors.ts';
import type { SegmentFile } from '../src/segment-files.ts';
import { Catalog, createStoredContent } from '../src/snapshot/catalog.ts';
import { RecordText } from '../src/snapshot/record-text.ts';
import { Segments } from '../src/snapshot/segments.ts';
import { SnapshotStore } from '../src/snapshot/store.ts';
import { SegmentWriter } from '../src/snapshot/segment-writer.ts';

const key = Buffer.alloc(32, 4);
const log = (): void => undefined;

/** The file fails once at this step, as a failing disk does. */
type Failing = 'append' | 'cut';

const failures = [
  { steps: ['append'], code: 'EIO', told: 'BACKEND_UNAVAILABLE' },
  { steps: ['append'], code: 'ENOSPC', told: 'BACKEND_UNAVAILABLE' },
  { steps: ['append', 'cut'], code: 'ENOSPC', told: 'BACKEND_UNAVAILABLE' },
] as const satisfies { steps: readonly Failing[]; code: string; told: string }[];

for (const { steps, code, told } of failures) {
  test(`a disk that fails at ${steps.join(', ')} (${code}) is told; nothing is lost`, async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'trl-writer-'));
    try {
      const segments = await Segments.open({ directory: dir, key, segmentBytes: 1e6, log }, log);
      const catalog = new Catalog();
      const broken = new Set<Failing>();
      const segment = async (): ReturnType<Segments['active']> => {
        const active = await segments.active();
        for (const step of broken) failOnce(active.data, step, code);
        broken.clear();
        return active;
      };
      const writer = new SegmentWriter({ catalog, directory: dir, activeSegment: segment });
      const append = (id: string): void => {
        const at = { kind: 'changes', id, atMs: 1, pinned: false, contents: [], originals: 0 };
        const record = { ...at, location: null, text: new RecordText({ id }) };
        catalog.addRecord(record, 1);
        writer.add({ type: 'record', record, payload: null });
      };
      append('before');
      await writer.sync();
      steps.forEach((step) => broken.add(step));
      append('during');
      const [one, other] = [writer.sync(), writer.sync()];
      await assert.rejects(one, (error) => isTrlError(error, told));
      await assert.rejects(other, (error) => isTrlError(error, told));
      assert.ok(writer.failure !== null);
      append('after');
      await writer.sync();
      assert.equal(writer.failure, null);
      assert.equal(writer.pendingBytes, 0);
      await segments.close();
      const bounds = { storeBytesMax: 1e8, fileBytesMax: 1e6, keepMs: Number.MAX_SAFE_INTEGER };
      const store = await SnapshotStore.open(dir, { key, log, ...bounds });
      const found = [...store.records('changes')];
      assert.deepEqual(
        found.map(({ id }) => id),
        ['before', 'during', 'after'],
      );
      assert.deepEqual(
        found.map(({ value }) => value),
        ['before', 'during', 'after'].map((id) => ({ id })),
      );
      await store.close();
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
}

test('many contents go out in batches, in order, while others run', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-writer-'));
  try {
    const segments = await Segments.open({ directory: dir, key, segmentBytes: 1e9, log }, log);
    const catalog = new Catalog();
    const segment = (): ReturnType<Segments['active']> => segments.active();
    const writer = new SegmentWriter({ catalog, directory: dir, activeSegment: segment });
    const all = Array.from({ length: 40 }, (_, n) => {
      const content = createStoredContent(`${n}`, null, 1);
      content.plain = Buffer.alloc(200_000, n);
      catalog.addContent(content);
      writer.add({ type: 'content', content, payload: null });
      return content;
    });
    let turns = 0;
    const count = setInterval(() => (turns += 1), 0);
    await writer.sync();
    clearInterval(count);
    assert.ok(turns > 0, 'the event loop went on');
    assert.ok(writer.syncs > 1 && writer.syncs <= 10, `${writer.syncs}`);
    const offsets = all.map(({ location }) => location?.offset ?? -1);
    assert.deepEqual(
      offsets,
      offsets.toSorted((one, other) => one - other),
    );
    assert.ok(all.every(({ plain }) => plain === null));
    await segments.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

function failOnce(file: SegmentFile, step: Failing, code: string): void {
  Object.defineProperty(file, step, {
    configurable: true,
    value: () => {
      Reflect.deleteProperty(file, step);
      return Promise.reject(Object.assign(new Error('the disk fails'), { code }));
    },
  });
}
