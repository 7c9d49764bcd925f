// Lines are found by bytes in them, whatever their lengths and wherever a read ends; what no head
// covers is not read.
import assert from 'node:assert/strict';
import { appendFileSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { exportLogLines } from '../src/audit/export.ts';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { readEvents } from '../src/audit/read-events.ts';
import { findLinesWith } from '../src/audit/line-reader.ts';
import { logAt, segmentFiles, withAudit, writeLog } from './support/audit-log.ts';

const [red, blue, digit] = [Buffer.from('"red"'), Buffer.from('"blue"'), Buffer.from('"1"')];

/** Some longer than what is read at once. */
const line = fc
  .tuple(
    fc.constantFrom('', '"red"', '"blue"', '"red""1"', '"1""blue"', '"red"x"blue""1"'),
    fc.constantFrom(0, 1, 700, 100_000, 262_143, 262_144, 600_000),
    fc.boolean(),
  )
  .map(([words, count, isFirst]) => {
    const rest = 'x'.repeat(count);
    return isFirst ? `${words}${rest}` : `${rest}${words}`;
  });

test('lines are found that hold one of each list, and no others', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-audit-search-'));
  try {
    const file = path.join(directory, 'lines');
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        writeFileSync(file, lines.map((one) => `${one}\n`).join(''));
        const length = Buffer.byteLength(lines.join('\n')) + (lines.length > 0 ? 1 : 0);
        for (const marks of [[[red]], [[blue, red]], [[digit], [red, blue]], [[red], []]]) {
          const wanted = lines.filter((one) =>
            marks.every((any) => any.some((mark) => one.includes(mark.toString()))),
          );
          assert.deepEqual(found(file, length, marks, 'oldest'), wanted);
          assert.deepEqual(found(file, length, marks, 'newest'), wanted.toReversed());
        }
      }),
      { numRuns: 40 },
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

function found(
  file: string,
  length: number,
  marks: readonly (readonly Buffer[])[],
  order: 'newest' | 'oldest',
): string[] {
  const fd = openSync(file, 'r');
  try {
    return findLinesWith(fd, length, marks, order)
      .map((bytes) => bytes.toString())
      .toArray();
  } finally {
    closeSync(fd);
  }
}

test('a group that was not written to its end is neither read nor exported', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory);
    const [file = ''] = segmentFiles(directory).toReversed();
    const { publicKey } = openAuditKey(directory);
    const events = [...readEvents(directory)];
    const exported = [...exportLogLines(logAt(directory), publicKey)];
    const [last] = events;
    assert.ok(last);
    for (const torn of [`${last.line}\n`, last.line, `${last.line}\n{"head":"trl`]) {
      appendFileSync(file, torn);
      assert.deepEqual([...readEvents(directory)], events);
      assert.deepEqual([...readEvents(directory, {}, 'oldest')], events.toReversed());
      assert.deepEqual([...exportLogLines(logAt(directory), publicKey)], exported);
    }
  });
});
