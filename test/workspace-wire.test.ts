// Changes on the wire: names that are no text, lists with bounds, digests, paths that are meant.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';

import './support/seed.ts';
import type { Change, Entry } from '../src/change.ts';
import { netChanges } from '../src/daemon/diffs/net-changes.ts';
import { changesDigest } from '../src/workspace/changes/change-kind.ts';
import {
  changeHints,
  changeView,
  kindCounts,
  pathFilter,
  createReceiptChanges,
  stateCounts,
} from '../src/daemon/workspaces/change-views.ts';
import { limits } from '../src/limits.ts';
import { isTrlError } from '../src/errors.ts';

const file = (sha256: string | null, mode = 0o644): Entry => ({
  type: 'file',
  mode,
  size: 3,
  mtimeMs: 1.5,
  sha256,
});
const change = (path: string, more: Partial<Change> = {}): Change => ({
  path,
  kind: 'added',
  before: null,
  after: file('aa'),
  marks: [],
  state: 'applied',
  reason: null,
  concurrentWith: [],
  ...more,
});

test('a change on the wire has text, and its bytes where they are no UTF-8', () => {
  assert.deepEqual(
    changeView(
      change('a/caf\u00e9', {
        kind: 'type',
        before: { type: 'symlink', target: '\u00ff' },
        after: file('bb', 0o4755),
        marks: ['hardlink-split'],
        state: 'held',
        reason: 'set-id',
        concurrentWith: ['x-1'],
      }),
    ),
    {
      path: 'a/caf\ufffd',
      path_base64: Buffer.from('a/caf\u00e9', 'latin1').toString('base64'),
      kind: 'type',
      before: { type: 'symlink', mode: null, target: '\ufffd', target_base64: '/w==' },
      after: { type: 'file', mode: '4755', size: 3, sha256: 'bb' },
      marks: ['hardlink-split'],
      state: 'held',
      reason: 'set-id',
      concurrent_with: ['x-1'],
      kept_as: null,
    },
  );
  const text = changeView(change(Buffer.from('é/ü').toString('latin1')));
  assert.equal(text.path, 'é/ü');
  assert.equal('path_base64' in text, false);
});

test('a receipt names what waits first, and counts what it leaves out', () => {
  const many = Array.from({ length: 500 }, (_, at) => change(`f${at}`));
  const held = change('.git/hooks/pre-commit', { state: 'held', reason: 'git-hooks' });
  const pair = { before: 'tree:sha256:1', after: 'tree:sha256:2', method: 'overlay' } as const;
  const found = createReceiptChanges(pair, 'direct', [...many, held]);
  assert.equal(found.changes.length, limits.receiptChanges.max);
  assert.equal(found.changes_omitted, 501 - limits.receiptChanges.max);
  assert.equal(found.changes[0]?.path, '.git/hooks/pre-commit');
  assert.deepEqual(
    [found.snapshot, found.workspace_mode],
    [{ before: 'tree:sha256:1', after: 'tree:sha256:2', method: 'overlay' }, 'direct'],
  );
  assert.deepEqual(changeHints(many, 's-1'), []);
  assert.match(changeHints([held], 's-1').join(), /^1 path is held back/);
  assert.deepEqual([kindCounts([held]).added, stateCounts([...many, held]).held], [1, 1]);
});

test('a digest names exactly what was seen', () => {
  const seen = [change('a'), change('b', { after: file('bb') })];
  assert.equal(changesDigest([]), null);
  assert.equal(changesDigest(seen), changesDigest(seen.toReversed()));
  for (const other of [
    [change('a'), change('b', { after: file('bc') })],
    [change('a'), change('b', { after: file('bb', 0o755) })],
    [change('a'), change('c', { after: file('bb') })],
    [change('a')],
    [change('a'), change('b', { after: { type: 'symlink', target: 'bb' } })],
  ]) {
    assert.notEqual(changesDigest(seen), changesDigest(other));
  }
});

test('paths mean themselves and what lies below them, never their namesakes', () => {
  const meant = pathFilter({ paths: ['src/a', './lib//', '/work/docs/é'] }, '/work');
  const names = ['src/a', 'src/a/b/c', 'src/ab', 'lib/x', 'library', 'src', 'docs/Ã©/x', 'docs'];
  assert.deepEqual(
    names.filter((name) => meant(name)),
    ['src/a', 'src/a/b/c', 'lib/x', 'docs/Ã©/x'],
  );
  const odd = pathFilter({ paths_base64: ['/2E='] }, '/work');
  assert.deepEqual([odd('\u00ffa'), odd('\u00ffa/b'), odd('a')], [true, true, false]);
  for (const everything of [{}, { paths: ['.'] }, { paths: ['/work'] }, { paths: ['a/..'] }]) {
    assert.equal(pathFilter(everything, '/work')('any/thing'), true);
  }
  for (const out of ['..', '../x', '/etc', '/workshop', 'a/../../x']) {
    assert.throws(
      () => pathFilter({ paths: [out] }, '/work'),
      (error) => isTrlError(error, 'WORKSPACE_ESCAPE'),
    );
  }
});

test('the net of several commands is what the first found against what the last left', () => {
  const old = file('aa');
  const now = file('bb');
  const last = file('cc', 0o755);
  const edits = [
    [change('f', { kind: 'modified', before: old, after: now }), change('new')],
    [
      change('f', { kind: 'modified', before: now, after: last }),
      change('new', { kind: 'deleted', before: file('aa'), after: null }),
      change('theirs', { state: 'conflict' }),
      change('gone', { kind: 'deleted', before: old, after: null }),
    ],
    [change('gone', { kind: 'added', before: null, after: now })],
  ];
  assert.deepEqual(
    netChanges(edits).map(({ path, kind, before, after }) => [path, kind, before, after]),
    [
      ['f', 'modified', old, last],
      ['gone', 'modified', old, now],
    ],
  );
});

test('whatever happens on the way, the net says what a walk over the states says', () => {
  const state = fc.option(fc.constantFrom(file('aa'), file('bb'), file('bb', 0o755)));
  fc.assert(
    fc.property(fc.array(state, { minLength: 2, maxLength: 8 }), (states) => {
      const runs = states.slice(1).flatMap((after, at) => {
        const before = states[at] ?? null;
        return before === after ? [] : [[change('p', { kind: 'modified', before, after })]];
      });
      const [first, final] = [states[0] ?? null, states.at(-1) ?? null];
      const [net] = netChanges(runs);
      if (first === final) assert.equal(net, undefined);
      else assert.deepEqual([net?.before, net?.after], [first, final]);
    }),
  );
});
