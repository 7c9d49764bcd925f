// Whether somebody may have changed what a command saw, where nobody watched.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Staleness } from '../src/host/staleness.ts';
import { WorkspaceTree } from '../src/host/workspace-tree.ts';
import { TreeWatch } from '../src/workspace/projection/tree-watch.ts';

test('a name without a base was deleted only if a directory above it changed since', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-stale-'));
  const cookieDir = mkdtempSync(path.join(tmpdir(), 'trl-stale-'));
  for (const name of ['d/e', 'f']) mkdirSync(path.join(root, name), { recursive: true });
  // Of a tree with more directories than are watched, all is unknown.
  const watch = await TreeWatch.open(root, { cookieDir, directoriesMax: 1 });
  const tree = new WorkspaceTree(root, cookieDir);
  const staleness = new Staleness(watch.cursor(), () => {});
  t.after(() => {
    watch.close();
    tree.close();
    for (const one of [root, cookieDir]) rmSync(one, { recursive: true });
  });
  const suspects = async (sinceMs: number): Promise<string[]> => {
    staleness.refreshed(sinceMs, true);
    assert.equal(await staleness.look(), 'all');
    const isBehind = staleness.captured(tree);
    return ['d/e/x', 'f/x', 'new/dir/x'].filter((name) => isBehind({ ...copied, path: name }));
  };
  const made = statSync(root).ctimeMs;
  assert.deepEqual(await suspects(made + 1_000), []);
  assert.deepEqual(await suspects(made - 1_000), ['d/e/x', 'f/x', 'new/dir/x']);
  for (let now = 0; now < made + 50;) {
    writeFileSync(path.join(root, 'd/e/made'), '');
    rmSync(path.join(root, 'd/e/made'));
    now = statSync(path.join(root, 'd/e')).ctimeMs;
  }
  assert.deepEqual(await suspects(made + 30), ['d/e/x']);
});

/** A file of the real tree whose name is not there, or not any more. */
const copied = {
  kind: 'added',
  before: null,
  after: null,
  base: null,
  baseKey: null,
  baseCtimeNs: null,
  isCopyUp: true,
  marks: [],
  isMasked: false,
  hasMaskedBelow: false,
  sourceAt: null,
  upperKey: null,
} as const;
