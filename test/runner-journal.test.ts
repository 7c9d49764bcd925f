// What a journal keeps beyond memory: every byte, encrypted, within its bound; then a counted gap.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { JournalSpace, type Journal } from '../src/runner/journal.ts';

const dir = mkdtempSync(path.join(tmpdir(), 'trl-journal-'));
after(() => rmSync(dir, { recursive: true, force: true }));
const KiB = 1024;
const memoryMax = 64 * KiB;

/** All that is held, from an offset on. */
function held(journal: Journal, from: number, max = 7_000): Buffer {
  const pieces: Uint8Array[] = [];
  for (let at = from; ;) {
    const piece = journal.read(at, max);
    if (piece === null) return Buffer.concat(pieces);
    assert.equal(piece.offset, at);
    pieces.push(piece.bytes);
    at += piece.bytes.length;
  }
}

const filesHeld = (): string[] =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir);
    } catch {
      return false;
    }
  });

test('of pieces of any size, every byte comes back, from any offset', () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 200_000 }));
  const runs = fc.array(fc.tuple(size, fc.boolean()), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(runs, fc.nat(), (writes, where) => {
      const space = new JournalSpace(null, 8 * memoryMax, { dir, memoryMax });
      const journal = space.open(100 * memoryMax);
      const all = writes.map(([length, isErr]) => {
        const bytes = randomBytes(length);
        journal.append(isErr ? 'stderr' : 'stdout', bytes);
        return bytes;
      });
      const whole = Buffer.concat(all);
      assert.equal(journal.from, 0);
      const from = where % whole.length;
      assert.ok(held(journal, from).equals(whole.subarray(from)));
      journal.finish();
      assert.ok(held(journal, 0).equals(whole));
      journal.drop();
    }),
    { numRuns: 60 },
  );
  assert.deepEqual(readdirSync(dir), []);
  assert.deepEqual(filesHeld(), []);
});

test('beyond its bound the oldest bytes go, and what is left is right', () => {
  const space = new JournalSpace(null, 8 * memoryMax, { dir, memoryMax });
  const journal = space.open(4 * memoryMax);
  const whole = randomBytes(11 * memoryMax + 5);
  for (let at = 0; at < whole.length; at += 10_001) {
    journal.append('stdout', whole.subarray(at, at + 10_001));
  }
  assert.equal(journal.from, whole.length - 4 * memoryMax);
  assert.ok(held(journal, journal.from).equals(whole.subarray(journal.from)));
  journal.drop();
});

test('on the disk is nothing that can be read, and no name', () => {
  const space = new JournalSpace(null, 8 * memoryMax, { dir, memoryMax });
  const journal = space.open(100 * memoryMax);
  const line = 'a line that nobody is to read on a disk\n';
  journal.append('stdout', Buffer.from(line.repeat(10_000)));
  assert.deepEqual(readdirSync(dir), []);
  const [fd] = filesHeld();
  assert.ok(fd !== undefined);
  const bytes = readFileSync(`/proc/self/fd/${fd}`);
  assert.ok(bytes.length > memoryMax);
  assert.ok(!bytes.includes('line') && !bytes.includes('disk'));
  // Nor is the same text the same twice.
  assert.ok(!bytes.subarray(line.length * 16).includes(bytes.subarray(0, 32)));
  journal.drop();
  assert.deepEqual(filesHeld(), []);
});

test('where no file can be made, the newest bytes stay, and the rest is a gap', () => {
  const nowhere = { dir: path.join(dir, 'missing'), memoryMax };
  const journal = new JournalSpace(null, 8 * memoryMax, nowhere).open(100 * memoryMax);
  const whole = randomBytes(3 * memoryMax);
  for (let at = 0; at < whole.length; at += 9_999) {
    journal.append('stderr', whole.subarray(at, at + 9_999));
  }
  assert.equal(journal.from, 2 * memoryMax);
  assert.ok(held(journal, journal.from).equals(whole.subarray(2 * memoryMax)));
});
