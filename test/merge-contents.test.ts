// Merging two changes of one content: nothing that one side added is lost, and where git merges
// cleanly by lines, the result is git's.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  mergeAppends,
  mergeAppendsAfterSeen,
  mergeContents,
  mergeModes,
  rebaseContent,
  mergeOverlappingAppends,
  type MergeResult,
} from '../src/workspace/merge/merge-contents.ts';

function merge(base: string, ours: string, theirs: string): string {
  const found = mergeContents(Buffer.from(base), Buffer.from(ours), Buffer.from(theirs));
  return found.kind === 'merged' ? found.bytes.toString() : 'CONFLICT';
}

test('appends of both are kept whole, and cut ends stay cut', () => {
  const told = [
    ['', 'a\n', 'b\n'],
    ['0\n', '0\na\n', '0\nb\nc\n'],
    ['0\n', '0\na\n', '0\na\nb\n'],
    ['0\n', '0\na\n', '0\nhalf'],
    ['0\n', '0\nhal', '0\nhalf'],
    ['0', '0a\n', '0b\n'],
    ['0\n1\n', '0\n1\na\n', ''],
    ['0\n1\n', '0\n', '0\n1\nb\n'],
    ['0\n1\n', '0', '0\n1\nb\n'],
    ['0\n\0', '0\n\0\n', 'x'],
  ].map(([base = '', ours = '', theirs = '']) => merge(base, ours, theirs));
  const appended = ['b\na\n', '0\nb\nc\na\n', '0\na\nb\na\n', '0\na\nhalf', 'CONFLICT', 'CONFLICT'];
  assert.deepEqual(told, [...appended, 'a\n', '0\nb\n', 'CONFLICT', 'CONFLICT']);
});

test('what both do at the end is kept where one of them edits above, too', () => {
  const told = [
    ['0\n1\n2\n', 'X\n1\n2\na\n', '0\n1\n2\nb\n'],
    ['0\n1\n2\n', '0\n1\n2\na\n', 'X\n1\n2\nb\n'],
    ['0\n1\n2\n', 'X\n1\n2\ntick\n', '0\n1\n2\ntick\n'],
    ['0\n1\n2\n', 'X\n1\n2\na\n', '0\n1\n'],
    ['0\n1\n2\n', 'X\n1\n', '0\n1\n2\nb\n'],
    ['0\n1\n2\n', 'X\n1\n2\nhal', '0\n1\n2\nhalf'],
    ['0\n1\n2', 'X\n1\n2\na\n', '0\n1\n2\nb\n'],
    ['0\n1\n2\n', 'X\n1\nY\na\n', '0\n1\n2\nb\n'],
  ].map((three) => {
    const [base, ours, theirs] = three.map((one) => Buffer.from(one));
    assert.ok(base !== undefined && ours !== undefined && theirs !== undefined);
    return [false, true].map((isApart) => {
      const found = mergeContents(base, ours, theirs, isApart);
      return found.kind === 'merged' ? found.bytes.toString() : 'CONFLICT';
    });
  });
  const no = 'CONFLICT';
  assert.deepEqual(told, [
    [no, 'X\n1\n2\nb\na\n'],
    [no, 'X\n1\n2\nb\na\n'],
    // Who may have seen the other's line wrote it once.
    ['X\n1\n2\ntick\n', 'X\n1\n2\ntick\ntick\n'],
    ['X\n1\na\n', 'X\n1\na\n'],
    ['X\n1\nb\n', 'X\n1\nb\n'],
    [no, no],
    [no, no],
    [no, no],
  ]);
});

test('equal lines that both appended are no matter, but what one may have seen is once', () => {
  const [start, mine, others] = ['0\n', '0\nc {\n}\n', '0\np {\n}\n'].map((one) =>
    Buffer.from(one),
  );
  assert.ok(start !== undefined && mine !== undefined && others !== undefined);
  const text = (found: MergeResult | null): string =>
    found?.kind === 'merged' ? found.bytes.toString() : 'CONFLICT';
  const both = '0\np {\n}\nc {\n}\n';
  const seen = Buffer.concat([others, Buffer.from('c\n')]);
  const told = [
    mergeAppends(start, mine, others),
    mergeAppends(start, mine, mine),
    mergeAppends(start, start, others),
    mergeAppendsAfterSeen(start, mine, others, true),
    mergeAppendsAfterSeen(start, mine, mine, true),
    mergeAppendsAfterSeen(start, mine, mine, false),
    mergeAppendsAfterSeen(start, seen, others, true),
  ].map(text);
  const twice = '0\nc {\n}\n}\n';
  assert.deepEqual(told, [
    both,
    '0\nc {\n}\nc {\n}\n',
    'CONFLICT',
    both,
    '0\nc {\n}\n',
    twice,
    '0\np {\n}\nc\n',
  ]);
});

test('what one side had seen of the other, who then put a line before it, is not doubled', () => {
  const [base, ours, theirs] = ['0\n', '0\np 2\nc 3\n', '0\np 4\np 2\n'].map((one) =>
    Buffer.from(one),
  );
  assert.ok(base !== undefined && ours !== undefined && theirs !== undefined);
  assert.equal(mergeAppendsAfterSeen(base, ours, theirs, true)?.kind, 'conflict');
});

test('lines merge only where the edits are apart', () => {
  const base = '1\n2\n3\n4\n5\n';
  const told = [
    merge(base, base.replace('1', 'A'), base.replace('3', 'B')),
    merge(base, base.replace('1', 'A'), base.replace('2', 'B')),
    merge(base, base.replace('2', 'A'), base.replace('2', 'A').replace('5', 'B')),
    merge(base, base.replace('2\n', ''), base.replace('4\n', '')),
    merge(base, base.replace('2', '\0'), base.replace('5', 'B')),
    merge(base, base.replace('2', '\u00e4'), base.replace('5', '\u20ac')),
  ];
  const clean = ['A\n2\nB\n4\n5\n', 'CONFLICT', '1\nA\n3\n4\nB\n', '1\n3\n5\n', 'CONFLICT'];
  assert.deepEqual(told, [...clean, '1\n\u00e4\n3\n4\n\u20ac\n']);
});

test('modes merge where one side changed, and a delta goes onto another content', () => {
  const modes = [
    mergeModes(1, 2, 1),
    mergeModes(1, 1, 2),
    mergeModes(1, 2, 2),
    mergeModes(1, 2, 3),
  ];
  assert.deepEqual(modes, [2, 2, 2, null]);
  const onto = rebaseContent(Buffer.from('a\n'), Buffer.from('a\nb\n'), Buffer.from('x\na\ny\n'));
  assert.deepEqual(onto, { kind: 'merged', bytes: Buffer.from('x\na\ny\nb\n') });
  const half = rebaseContent(
    Buffer.from('a\nha'),
    Buffer.from('a\nhalf\n'),
    Buffer.from('a\nx\nha'),
  );
  assert.deepEqual(half, { kind: 'merged', bytes: Buffer.from('a\nx\nhalf\n') });
});

test('of a side that may have seen the other, lines that both added are one', () => {
  const united = (ours: string, theirs: string): string => {
    const [base, mine, others] = ['0\n', `0\n${ours}`, `0\n${theirs}`].map((text) =>
      Buffer.from(text),
    );
    const found = mergeOverlappingAppends(
      base ?? Buffer.of(),
      mine ?? Buffer.of(),
      others ?? Buffer.of(),
    );
    return found?.kind === 'merged' ? found.bytes.toString() : 'null';
  };
  const told = [
    united('c\np\n', 'p\n'),
    united('p\nc\n', 'p\nq\n'),
    united('c\np\n', 'p\nq\n'),
    united('c\n', 'p\n'),
  ];
  assert.deepEqual(told, ['0\nc\np\n', '0\np\nq\nc\n', '0\nc\np\nq\n', '0\np\nc\n']);
});

/** Edits of a base of numbered lines, each new line by its own name. */
interface Edits {
  readonly gone: readonly number[];
  readonly added: readonly (readonly [number, number])[];
}
const size = 12;
const place = fc.nat({ max: size });
const edits: fc.Arbitrary<Edits> = fc.record({
  gone: fc.array(place, { maxLength: 3 }),
  added: fc.array(fc.tuple(place, fc.integer({ min: 1, max: 3 })), { maxLength: 3 }),
});
const baseLines = Array.from({ length: size }, (_, at) => `base ${at}\n`);

function edited({ gone, added }: Edits, who: string): string {
  let count = 0;
  const at = (place: number): string =>
    added
      .filter(([where]) => where === place)
      .flatMap(([, many]) => Array.from({ length: many }, () => `${who} ${(count += 1)}\n`))
      .join('');
  const kept = baseLines.map((line, index) => at(index) + (gone.includes(index) ? '' : line));
  return kept.join('') + at(size);
}

test('no line that one side added is lost, whoever is called ours', () => {
  const property = fc.property(edits, edits, (left, right) => {
    const [base, ours, theirs] = [baseLines.join(''), edited(left, 'o'), edited(right, 't')];
    const [one, other] = [merge(base, ours, theirs), merge(base, theirs, ours)];
    const sorted = (text: string): string[] => text.split('\n').toSorted();
    assert.deepEqual(sorted(one), sorted(other));
    if (one === 'CONFLICT') return;
    const sides = [ours.split('\n'), theirs.split('\n')].map((lines) => new Set(lines));
    const wanted = [...ours.split('\n'), ...theirs.split('\n'), ...base.split('\n')].filter(
      (line) => !line.startsWith('base') || sides.every((side) => side.has(line)),
    );
    assert.deepEqual([...new Set(sorted(one))], [...new Set(wanted)].toSorted());
  });
  fc.assert(property, { numRuns: 400 });
});

test('what git merges cleanly by lines is merged the same', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-merge-'));
  let clean = 0;
  try {
    const property = fc.property(edits, edits, (left, right) => {
      const texts = [edited(left, 'o'), baseLines.join(''), edited(right, 't')];
      const files = texts.map((text, at) => {
        const file = path.join(dir, String(at));
        writeFileSync(file, text);
        return file;
      });
      const git = spawnSync('git', ['merge-file', '-p', ...files], { encoding: 'utf8' });
      const own = merge(texts[1] ?? '', texts[0] ?? '', texts[2] ?? '');
      if (git.status === 0) {
        assert.equal(own, git.stdout);
        clean += 1;
      }
    });
    fc.assert(property, { numRuns: 60 });
  } finally {
    rmSync(dir, { recursive: true });
  }
  assert.ok(clean > 0);
});
