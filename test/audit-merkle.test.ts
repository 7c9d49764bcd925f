// RFC 6962 trees against the published vectors of certificate-transparency, and against the
// definition itself.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import {
  buildConsistencyProof,
  emptyRoot,
  buildInclusionProof,
  isConsistent,
} from '../src/audit/merkle.ts';
import { isIncluded, leafHash, storedHashCount, storedHashIndex } from '../src/audit/merkle.ts';
import { MerkleTree, readMerkleTreeAt } from '../src/audit/merkle.ts';

const leaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((hex) => Buffer.from(hex, 'hex').toString('latin1'));

const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** What gets known of a tree over these, in its order, and the root after each. */
function built(lines: readonly string[]): { readonly stored: Buffer[]; readonly roots: Buffer[] } {
  const tree = new MerkleTree();
  const stored: Buffer[] = [];
  const all = [tree.root()];
  for (const line of lines) {
    assert.equal(stored.length, storedHashCount(tree.size));
    stored.push(...tree.append(leafHash(line)));
    all.push(tree.root());
  }
  return { stored, roots: all };
}

const reader =
  (stored: readonly Buffer[]) =>
  (index: number): Buffer =>
    stored[index] ?? Buffer.alloc(0);

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
};

/** MTH as section 2.1 of the RFC writes it. */
function rootOf(lines: readonly string[]): Buffer {
  const [only] = lines;
  if (only === undefined) return sha256();
  if (lines.length === 1) return sha256(Buffer.of(0), Buffer.from(only));
  let k = 1;
  while (k * 2 < lines.length) k *= 2;
  return sha256(Buffer.of(1), rootOf(lines.slice(0, k)), rootOf(lines.slice(k)));
}

test('roots and proofs are those of the published vectors', async () => {
  const made = built(leaves);
  assert.deepEqual(
    made.roots.map((root) => root.toString('hex')),
    roots,
  );
  assert.equal(emptyRoot().toString('hex'), roots[0]);
  const read = reader(made.stored);
  const hex = (proof: readonly Buffer[]): string[] => proof.map((one) => one.toString('hex'));
  assert.deepEqual(hex(await buildInclusionProof(0, 8, read)), [
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ]);
  assert.deepEqual(hex(await buildInclusionProof(5, 8, read)), [
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
  assert.deepEqual(hex(await buildInclusionProof(2, 3, read)), [roots[2]]);
  assert.deepEqual(hex(await buildConsistencyProof(6, 8, read)), [
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
  assert.deepEqual(hex(await buildConsistencyProof(2, 5, read)), [
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  ]);
});

test('every proof of small trees holds, and for nothing else', async () => {
  const lines = Array.from({ length: 17 }, (_, n) => `event ${n}`);
  const made = built(lines);
  const read = reader(made.stored);
  for (let size = 1; size <= lines.length; size += 1) {
    const root = made.roots[size] ?? emptyRoot();
    assert.deepEqual(root, rootOf(lines.slice(0, size)));
    assert.deepEqual((await readMerkleTreeAt(size, read)).root(), root);
    for (let seq = 0; seq < size; seq += 1) {
      const proof = await buildInclusionProof(seq, size, read);
      const leaf = leafHash(lines[seq] ?? '');
      const good = { leaf, seq, size, root, proof };
      assert.ok(isIncluded(good));
      for (let other = 0; other < lines.length; other += 1) {
        assert.equal(isIncluded({ ...good, leaf: leafHash(lines[other] ?? '') }), other === seq);
        if (other !== seq) assert.ok(!isIncluded({ ...good, seq: other }));
      }
      assert.ok(!isIncluded({ ...good, proof: [...proof, root] }));
      if (proof.length > 0) assert.ok(!isIncluded({ ...good, proof: proof.slice(1) }));
    }
    for (let old = 0; old <= size; old += 1) {
      const proof = await buildConsistencyProof(old, size, read);
      const older = { size: old, root: made.roots[old] ?? emptyRoot() };
      const good = { older, newer: { size, root }, proof };
      assert.ok(isConsistent(good), `${old} of ${size}`);
      const another = { size: old, root: leafHash('another') };
      assert.ok(!isConsistent({ ...good, older: another }), `${old} of ${size}`);
      assert.ok(!isConsistent({ ...good, proof: [...proof, root] }));
    }
  }
});

test('proofs hold in trees of any size', async () => {
  const lines = Array.from({ length: 1500 }, (_, n) => `event ${n}`);
  const { stored, roots: all } = built(lines);
  const read = reader(stored);
  assert.equal(stored.length, storedHashCount(1500));
  const size = fc.integer({ min: 1, max: 1500 });
  const property = fc.asyncProperty(size, size, async (one, other) => {
    const [older, newer] = [Math.min(one, other), Math.max(one, other)];
    const root = all[newer] ?? emptyRoot();
    const seq = older - 1;
    const leaf = leafHash(lines[seq] ?? '');
    const proof = await buildInclusionProof(seq, newer, read);
    assert.ok(isIncluded({ leaf, seq, size: newer, root, proof }));
    const consistency = {
      older: { size: older, root: all[older] ?? emptyRoot() },
      newer: { size: newer, root },
      proof: await buildConsistencyProof(older, newer, read),
    };
    assert.ok(isConsistent(consistency));
    assert.deepEqual(read(storedHashIndex(0, seq)), leaf);
  });
  await fc.assert(property, { numRuns: 300 });
});
