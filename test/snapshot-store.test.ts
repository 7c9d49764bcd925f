import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { isTrlError } from '../src/errors.ts';
import type { SnapshotStoreOptions } from '../src/snapshot/options.ts';
import { SnapshotStore } from '../src/snapshot/store.ts';

const key = Buffer.alloc(32, 9);
const MiB = 2 ** 20;
const isFull = process.env['TRL_PROVE'] === 'full';
const sha = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

class Place implements Disposable {
  readonly root = mkdtempSync(path.join(tmpdir(), 'trl-store-'));
  readonly dir = path.join(this.root, 'store');
  readonly lines: string[] = [];

  open(options: Partial<SnapshotStoreOptions> = {}, dir = this.dir): Promise<SnapshotStore> {
    const log = (line: string): void => void this.lines.push(line);
    const bounds = { storeBytesMax: 64 * MiB, fileBytesMax: 4 * MiB, keepMs: 86_400_000 };
    return SnapshotStore.open(dir, { key, log, ...bounds, ...options });
  }

  files(end: string): string[] {
    const names = readdirSync(this.dir).filter((name) => name.endsWith(end));
    return names.toSorted().map((name) => path.join(this.dir, name));
  }

  file(bytes: Uint8Array): number {
    const name = path.join(this.root, 'file');
    writeFileSync(name, bytes);
    return openSync(name, 'r');
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

const kindly = fc.constantFrom('changes', 'commit');
const name = fc.constantFrom('x-1', 'x-2', 'é"\n', '');
const bytesOf = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.nat(400_000).map((length) => Buffer.alloc(length, `${length} `)),
);
const step = fc.oneof(
  fc.record({ type: fc.constant('put' as const), bytes: bytesOf }),
  fc.record({ type: fc.constant('file' as const), bytes: bytesOf }),
  fc.record({ type: fc.constant('append' as const), kind: kindly, id: name, n: fc.nat() }),
  fc.record({ type: fc.constant('drop' as const), kind: kindly, id: name }),
  fc.record({ type: fc.constant('sync' as const) }),
  fc.record({ type: fc.constant('sweep' as const) }),
  fc.record({ type: fc.constant('reopen' as const) }),
);

test('what was put and appended is there, across restarts and sweeps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      using place = new Place();
      const options = { segmentBytes: 2_000 };
      let store = await place.open(options);
      const contents = new Map<string, Uint8Array>();
      const records = new Map<string, { kind: string; id: string; n: number }>();
      const check = async (): Promise<void> => {
        for (const [sha256, bytes] of contents) {
          assert.ok(store.has(sha256));
          assert.deepEqual(await store.read(sha256), Buffer.from(bytes));
        }
        for (const kind of ['changes', 'commit']) {
          const wanted = [...records.values()].filter((record) => record.kind === kind);
          const found = [...store.records(kind)];
          const byId = (one: { id: string }, other: { id: string }): number =>
            one.id < other.id ? -1 : 1;
          assert.deepEqual(
            found.toSorted(byId),
            wanted.map(({ id, n }) => ({ id, value: { n } })).toSorted(byId),
          );
        }
      };
      try {
        for (const it of steps) {
          if (it.type === 'put') {
            assert.equal(store.put(it.bytes), sha(it.bytes));
            contents.set(sha(it.bytes), it.bytes);
          } else if (it.type === 'file') {
            const fd = place.file(it.bytes);
            const { length: size } = it.bytes;
            const wanted = { sha256: sha(it.bytes), size, kept: true, isSteady: true };
            assert.deepEqual(await store.putFile(fd), wanted);
            closeSync(fd);
            contents.set(sha(it.bytes), it.bytes);
          } else if (it.type === 'append') {
            store.append(it.kind, it.id, { n: it.n }, { contents: [...contents.keys()] });
            records.set(`${it.kind} ${it.id}`, it);
            assert.deepEqual(store.get(it.kind, it.id), { n: it.n });
          } else if (it.type === 'drop') {
            store.drop(it.kind, it.id);
            // Nothing else may refer to these now; the property is about what is referred to.
            if (records.delete(`${it.kind} ${it.id}`) && records.size === 0) contents.clear();
            assert.equal(store.get(it.kind, it.id), null);
          } else if (it.type === 'sync') await store.sync();
          else if (it.type === 'sweep') await store.retain();
          else {
            await store.close();
            store = await place.open(options);
            await check();
          }
          if (records.size > 0) {
            const first = [...records.values()][0];
            assert.ok(first);
            store.append(first.kind, first.id, { n: first.n }, { contents: [...contents.keys()] });
          }
        }
        await check();
        await store.sync();
        await check();
        assert.deepEqual(place.lines, []);
      } finally {
        await store.close();
      }
    }),
    { numRuns: 60 },
  );
});

test('cut at any byte, the store holds what a sync had answered for, and no half', async () => {
  using place = new Place();
  const store = await place.open();
  /** After each sync: how long the file was, and what was in it. */
  const synced: { end: number; contents: string[]; records: string[] }[] = [
    { end: 0, contents: [], records: [] },
  ];
  const all = new Map<string, Buffer>();
  for (let n = 0; n < 5; n += 1) {
    const last = synced.at(-1);
    assert.ok(last);
    const bytes = [Buffer.from(`content ${n}`), randomBytes(40 * n)];
    const added = bytes.map((content) => store.put(content));
    added.forEach((sha256, index) => all.set(sha256, bytes[index] ?? Buffer.alloc(0)));
    store.append('changes', `x-${n}`, { n, added }, { contents: added });
    await store.sync();
    const end = statSync(place.files('.segment')[0] ?? '').size;
    const contents = [...last.contents, ...added];
    synced.push({ end, contents, records: [...last.records, `x-${n}`] });
  }
  const [file = ''] = place.files('.segment');
  const { length: size } = readFileSync(file);
  const dir = path.join(place.root, 'cut');
  const isNearEnd = (cut: number): boolean => synced.some(({ end }) => Math.abs(cut - end) < 3);
  for (let cut = 0; cut <= size; cut += 1) {
    if (!isFull && cut % 5 > 0 && !isNearEnd(cut)) continue;
    mkdirSync(dir, { mode: 0o700 });
    const copy = path.join(dir, path.basename(file));
    copyFileSync(file, copy);
    truncateSync(copy, cut);
    const opened = await place.open({}, dir);
    const wanted = synced.findLast(({ end }) => end <= cut);
    assert.ok(wanted);
    assert.deepEqual(
      [...opened.records('changes')].map(({ id }) => id),
      wanted.records,
      `cut at ${cut}`,
    );
    for (const [sha256, bytes] of all) {
      const expected: Buffer | null = wanted.contents.includes(sha256) ? bytes : null;
      assert.deepEqual(await opened.read(sha256), expected, `cut at ${cut}`);
    }
    // The head of a file alone is no loss.
    const start = wanted.end === 0 && cut >= 76 ? 76 : wanted.end;
    assert.equal(opened.stats().tornBytes, cut - start, `cut at ${cut}`);
    // It can be written to as if nothing had been; that takes long, so not every time.
    const more = cut % 13 === 0 ? opened.put(Buffer.from('more')) : null;
    await opened.close();
    if (more !== null) {
      const again = await place.open({}, dir);
      assert.equal(String(await again.read(more)), 'more');
      assert.equal(again.stats().tornBytes, 0);
      await again.close();
    }
    rmSync(dir, { recursive: true });
  }
  await store.close();
});

test('a batch of which the disk kept a part only is not there at all', async () => {
  using place = new Place();
  let store = await place.open();
  const contents: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    const sha256 = store.put(randomBytes(20_000));
    contents.push(sha256);
    store.append('changes', `x-${n}`, { n }, { contents: [sha256] });
    await store.sync();
  }
  const [file = ''] = place.files('.segment');
  const bytes = readFileSync(file);
  // The length is known, the directory is there, and a page of the content is not.
  bytes.fill(0, bytes.length - 12_000, bytes.length - 8_000);
  await store.close();
  rmSync(file.replace('segment', 'index'));
  writeFileSync(file, bytes);
  store = await place.open();
  assert.deepEqual([...store.records('changes')], [{ id: 'x-0', value: { n: 0 } }]);
  assert.equal((await store.read(contents[0] ?? ''))?.length, 20_000);
  assert.equal(store.has(contents[1] ?? ''), false);
  assert.ok(store.stats().tornBytes > 20_000);
  assert.match(place.lines.join('\n'), /torn write of \d+ B is cut off/);
  await store.close();
});

test('a flipped bit anywhere is never read as content', async () => {
  using place = new Place();
  const store = await place.open();
  const all = [0, 1, 2].map((n) => Buffer.from(`content ${n} `.repeat(9)));
  for (const [n, bytes] of all.entries()) {
    store.append('changes', `x-${n}`, { n }, { contents: [store.put(bytes)] });
    await store.sync();
  }
  await store.close();
  const [segment = ''] = place.files('.segment');
  const whole = readFileSync(segment);
  const indexed = readFileSync(place.files('.index')[0] ?? '');
  const dir = path.join(place.root, 'flip');
  for (let at = 0; at < whole.length; at += isFull ? 1 : 3) {
    const isIndexed = at % 2 === 0;
    mkdirSync(dir, { mode: 0o700 });
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    writeFileSync(path.join(dir, path.basename(segment)), damaged);
    if (isIndexed) writeFileSync(path.join(dir, '00000001.index'), indexed);
    const opened = await place.open({}, dir).catch((error: unknown) => error);
    if (!(opened instanceof SnapshotStore)) {
      assert.ok(isTrlError(opened, 'INTERNAL_ERROR') && at < 76, `at ${at}: ${String(opened)}`);
      rmSync(dir, { recursive: true });
      continue;
    }
    let lost = 0;
    for (const bytes of all) {
      const found: Buffer | null = await opened.read(sha(bytes)).catch((error: unknown) => {
        assert.ok(isTrlError(error, 'INTERNAL_ERROR'));
        return null;
      });
      if (found === null) lost += 1;
      else assert.deepEqual(found, bytes);
      // Given anew it is whole again.
      assert.deepEqual(await opened.read(opened.put(bytes)), bytes);
    }
    const records = [...opened.records('changes')];
    for (const { id, value } of records) assert.deepEqual(value, { n: Number(id.slice(2)) });
    const { damaged: seen, damagedBytes, tornBytes } = opened.stats();
    assert.ok(lost + (3 - records.length) === 0 || seen + damagedBytes + tornBytes > 0, `${at}`);
    assert.ok(lost <= 1, 'one batch at most is lost');
    await opened.close();
    rmSync(dir, { recursive: true });
  }
});

test('nothing in the state directory tells a content, a name or a hash of either', async () => {
  using place = new Place();
  const store = await place.open();
  const secret = 'sk-live-51H8xTRLsecretSECRET';
  const long = Buffer.from(secret.repeat(40_000));
  const hashes = [store.put(Buffer.from(secret)), store.put(long)];
  store.append('changes', 'x-1', { path: `src/${secret}.ts`, hashes }, { contents: hashes });
  await store.sync();
  await store.close();
  assert.equal(statSync(place.dir).mode & 0o777, 0o700);
  for (const file of readdirSync(place.dir).map((found) => path.join(place.dir, found))) {
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const bytes = readFileSync(file);
    const told = [secret, 'x-1', 'changes', ...hashes, ...hashes.map((it) => it.slice(0, 16))];
    for (const text of told) {
      for (const form of [Buffer.from(text), Buffer.from(text, 'hex'), Buffer.from(btoa(text))]) {
        if (form.length > 2) assert.equal(bytes.indexOf(form), -1, text);
      }
    }
  }
  await assert.rejects(place.open({ key: Buffer.alloc(32, 8) }), (error) =>
    isTrlError(error, 'INTERNAL_ERROR'),
  );
  // The wrong key has destroyed nothing.
  const again = await place.open();
  assert.equal(String(await again.read(hashes[0] ?? '')), secret);
  assert.deepEqual(await again.read(hashes[1] ?? ''), long);
  await again.close();
});

test('equal contents are kept once, also the equal pieces of large ones', async () => {
  using place = new Place();
  await using it = closing(await place.open());
  const { store } = it;
  const large = randomBytes(2 * MiB);
  const appended = Buffer.concat([large, Buffer.from('one more line')]);
  const [one, other] = [store.put(large), store.put(appended)];
  for (let n = 0; n < 20; n += 1) store.put(large);
  await store.sync();
  const fd = place.file(appended);
  assert.equal((await store.putFile(fd)).sha256, other);
  closeSync(fd);
  await store.sync();
  assert.deepEqual(await store.read(one), large);
  assert.deepEqual(await store.read(other), appended);
  assert.ok(store.stats().bytes < 2.1 * MiB, `${store.stats().bytes}`);
});

test('everybody who syncs at once shares a wait for the disk', async () => {
  using place = new Place();
  await using it = closing(await place.open());
  const { store } = it;
  await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      store.append('changes', `x-${n}`, { n }, { contents: [store.put(Buffer.from(`${n}`))] });
      await store.sync();
    }),
  );
  assert.ok(store.stats().syncs <= 3, `${store.stats().syncs} waits`);
  assert.equal(store.stats().pendingBytes, 0);
  const before = store.stats().syncs;
  await store.sync();
  assert.equal(store.stats().syncs, before, 'nothing waits, so nothing is waited for');
});

test('of a file that is written to while it is read, what was read is kept and told', async () => {
  using place = new Place();
  await using it = closing(await place.open());
  const { store } = it;
  for (const length of [1.5 * MiB, 10]) {
    const before = Buffer.alloc(length, 'before ');
    const fd = place.file(before);
    // The kernel's clock has ticks of milliseconds: within one, two writings look like one.
    const probe = path.join(place.root, 'probe');
    do writeFileSync(probe, '');
    while (statSync(probe, { bigint: true }).ctimeNs === fstatSync(fd, { bigint: true }).ctimeNs);
    const reading = store.putFile(fd);
    writeFileSync(path.join(place.root, 'file'), Buffer.alloc(length, 'meanwhile '));
    const { sha256, size, kept, isSteady } = await reading;
    closeSync(fd);
    assert.ok(kept);
    const found = await store.read(sha256);
    assert.ok(found);
    assert.equal(sha(found), sha256);
    assert.equal(found.length, size);
    // A small file is read before anybody else has a turn.
    assert.equal(isSteady, length === 10);
  }
});

test('a file that is too large has its hash told and is not kept', async () => {
  using place = new Place();
  await using it = closing(await place.open({ fileBytesMax: 300_000 }));
  const { store } = it;
  const large = randomBytes(700_000);
  const fd = place.file(large);
  const wanted = { sha256: sha(large), size: 700_000, kept: false, isSteady: true };
  assert.deepEqual(await store.putFile(fd), wanted);
  closeSync(fd);
  assert.equal(store.put(large), sha(large));
  assert.equal(store.has(sha(large)), false);
  assert.equal(await store.read(sha(large)), null);
  assert.equal(store.stats().refusedContents, 2);
});

function closing(store: SnapshotStore): AsyncDisposable & { store: SnapshotStore } {
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
