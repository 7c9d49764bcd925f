import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { Entry, TreeId } from '../src/change.ts';
import {
  rootHash,
  TreeIdentity,
  withLeaf,
  withoutLeaf,
  type MerkleTrie,
} from '../src/snapshot/tree-identity.ts';
import { hash } from 'node:crypto';

const sha = (text: string): string => hash('sha256', text, 'hex');
const file = (content: string, mode = 0o644): Entry => ({
  type: 'file',
  mode,
  size: content.length,
  mtimeMs: Math.random(),
  sha256: sha(content),
});

const entry: fc.Arbitrary<Entry | null> = fc.oneof(
  fc.constant(null),
  fc.constantFrom('a', 'b').map((content) => file(content)),
  fc.constantFrom(0o755, 0o700).map((mode): Entry => ({ type: 'directory', mode })),
  fc.constantFrom('x', 'y').map((target): Entry => ({ type: 'symlink', target })),
  fc.constant<Entry>({ type: 'fifo', mode: 0o600 }),
);
const place = fc.constantFrom('', 'a', 'a/b', 'a/b/c', 'a\xff', 'b', 'ab', 'b/a', 'c/d/e/f');
const steps = fc.array(fc.tuple(place, entry), { maxLength: 30 });

type Model = ReadonlyMap<string, Entry | null>;
/** The tree in words, times left out. */
const wordsOf = (model: Model): string =>
  [...model]
    .filter(([, found]) => found !== null)
    .map(([path, found]) => JSON.stringify([path, found, found?.type], skipTime))
    .toSorted()
    .join('\n');
const skipTime = (key: string, value: unknown): unknown => (key === 'mtimeMs' ? null : value);

test('ids of one base are equal exactly where the trees are', () => {
  fc.assert(
    fc.property(steps, steps, (first, later) => {
      const identity = new TreeIdentity(Buffer.alloc(32, 7));
      const model = new Map<string, Entry | null>(first);
      const words = new Map<TreeId, string>([[identity.id(), wordsOf(model)]]);
      const ids = new Map<string, TreeId>([[wordsOf(model), identity.id()]]);
      for (const [path, after] of later) {
        const before = model.get(path) ?? null;
        const view = identity.viewId([{ path, before, after }]);
        identity.change(path, before, after);
        model.set(path, after);
        const [id, text] = [identity.id(), wordsOf(model)];
        assert.equal(view, id);
        assert.equal(words.get(id) ?? text, text, 'one id for two trees');
        assert.equal(ids.get(text) ?? id, id, 'two ids for one tree');
        words.set(id, text);
        ids.set(text, id);
      }
    }),
    { numRuns: 300 },
  );
});

test('the order in which paths changed does not matter, and a view leaves nothing behind', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(place, entry), { selector: ([path]) => path }), (all) => {
      const base = Buffer.alloc(32, 1);
      const [one, other, third] = [base, base, base].map((name) => new TreeIdentity(name));
      assert.ok(one && other && third);
      for (const [path, after] of all) one.change(path, null, after);
      for (const [path, after] of all.toReversed()) other.change(path, null, after);
      assert.equal(one.id(), other.id());
      const empty = third.id();
      const view = third.viewId(all.map(([path, after]) => ({ path, before: null, after })));
      assert.equal(view, one.id());
      assert.equal(third.id(), empty);
      assert.match(view, /^tree:sha256:[0-9a-f]{64}$/);
    }),
  );
});

test('a trie has the hash of what is in it, built afresh in any order', () => {
  const keys = fc.array(fc.tuple(fc.nat(40), fc.boolean()), { maxLength: 80 });
  fc.assert(
    fc.property(keys, (steps_) => {
      let trie: MerkleTrie | null = null;
      const present = new Set<number>();
      // Keys that share their first bytes, so that branches lie deep and fold again.
      const keyOf = (n: number): Buffer => {
        const key = Buffer.from(sha(`${n}`), 'hex');
        return n % 2 === 0 ? Buffer.concat([Buffer.alloc(2, n % 3), key.subarray(2)]) : key;
      };
      for (const [n, isAdded] of steps_) {
        trie = isAdded ? withLeaf(trie, keyOf(n), keyOf(n)) : withoutLeaf(trie, keyOf(n));
        if (isAdded) present.add(n);
        else present.delete(n);
      }
      let fresh: MerkleTrie | null = null;
      for (const n of [...present].toSorted((a, b) => a - b)) {
        fresh = withLeaf(fresh, keyOf(n), keyOf(n));
      }
      assert.deepEqual(trie, fresh);
      assert.deepEqual(rootHash(trie), rootHash(fresh));
    }),
  );
});

test('nobody who began to watch at another time, or missed something, has an equal id', () => {
  const identity = new TreeIdentity();
  const first = identity.id();
  assert.notEqual(new TreeIdentity().id(), first);
  identity.noteUnrecordedChange();
  assert.notEqual(identity.id(), first);
});

test('a change from something else than was recorded makes the tree another one', () => {
  const identity = new TreeIdentity();
  const first = identity.id();
  identity.change('a', file('1'), file('2'));
  identity.change('a', file('unseen'), file('1'));
  assert.notEqual(identity.id(), first, 'who wrote "unseen" may have written more');
});

test('a content that nobody read equals no other', () => {
  const unread = (): Entry => ({ type: 'file', mode: 0o644, size: 3, mtimeMs: 0, sha256: null });
  const identity = new TreeIdentity();
  const first = identity.id();
  identity.change('a', unread(), unread());
  assert.notEqual(identity.id(), first);
  const one = unread();
  assert.equal(
    identity.viewId([{ path: 'b', before: null, after: one }]),
    identity.viewId([{ path: 'b', before: null, after: one }]),
    'the same unread thing is still itself',
  );
});

test('mode, type, size and target make another tree; a time does not', () => {
  const identity = new TreeIdentity();
  const first = identity.id();
  identity.change('a', file('1'), file('1', 0o755));
  assert.notEqual(identity.id(), first);
  identity.change('a', file('1', 0o755), { type: 'symlink', target: sha('1') });
  assert.notEqual(identity.id(), first);
  identity.change('a', { type: 'symlink', target: sha('1') }, file('1'));
  assert.equal(identity.id(), first);
});

test('five changes cost the same with 50,000 others in one directory', (t) => {
  const identity = new TreeIdentity();
  for (let n = 0; n < 50_000; n += 1) identity.change(`d/${n}`, null, file(`${n}`));
  identity.id();
  const times = Array.from({ length: 200 }, (_, round) => {
    const start = performance.now();
    for (let n = 0; n < 5; n += 1) {
      const before = round === 0 ? file(`${n}`) : file(`${n} ${round - 1}`);
      identity.change(`d/${n}`, before, file(`${n} ${round}`));
    }
    identity.id();
    return performance.now() - start;
  }).toSorted((one, other) => one - other);
  t.diagnostic(`5 changes and the id: p50 ${(times[100] ?? 0).toFixed(3)} ms`);
});
