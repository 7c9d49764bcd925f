// Undo takes back what commands did and nothing else, also beside somebody who writes all the time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  CommitItem,
  ItemResult,
  UndoableChange,
} from '../src/workspace/commit/commit-item.ts';
import { planUndo } from '../src/workspace/commit/undo.ts';
import { history } from './support/commit-histories.ts';
import {
  apply,
  itemsBetween,
  KeptContents,
  makeTrees,
  readTree,
  shell,
  withoutTime,
  type Trees,
} from './support/commit.ts';

class Session {
  readonly trees: Trees;
  readonly kept = new KeptContents();
  readonly records: UndoableChange[][] = [];

  constructor(trees: Trees) {
    this.trees = trees;
  }

  async run(script: string): Promise<void> {
    this.trees.run(script);
    this.kept.keep(this.trees.real);
    this.kept.keep(this.trees.session);
    const items = itemsBetween(this.trees.real, this.trees.session);
    this.records.unshift(recordOf(items, await apply(this.trees, items)));
  }

  /** Undoes the newest records; what is refused, by path. */
  async undo(count: number): Promise<Record<string, string>> {
    const records = this.records.splice(0, count);
    const tree = { root: this.trees.real, uid: 0, gid: 0 };
    const plan = await planUndo({ tree, records, contents: this.kept });
    const results = await apply(this.trees, plan.items, this.kept);
    const refused = [...plan.refused, ...results].flatMap((one) =>
      one.state === 'applied' ? [] : [[one.path, one.reason]],
    );
    return Object.fromEntries(refused);
  }

  look(): string {
    const all = [...readTree(this.trees.real)].map(([name, { entry }]) => [
      name,
      withoutTime(entry),
    ]);
    return JSON.stringify(
      all.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
      null,
      1,
    );
  }
}

function recordOf(items: readonly CommitItem[], results: readonly ItemResult[]): UndoableChange[] {
  return results.flatMap((result, at) => {
    const item = items[at];
    assert.equal(result.state, 'applied', JSON.stringify(result));
    if (item === undefined || result.state !== 'applied') return [];
    return [{ path: item.path, before: item.base, after: item.after, key: result.key }];
  });
}

const setup = 'echo 1 >a; mkdir -p d/e; echo 1 >d/e/f; ln -s a l; echo 1 >m; chmod 640 m; mkdir x';

test('everything a command did is taken back', async () => {
  using trees = makeTrees(setup);
  const session = new Session(trees);
  const before = session.look();
  const scripts = [
    'echo 2 >a; rm -r d; echo 3 >d; ln -sfn x l; chmod 755 m; rmdir x; mkdir -p n/o; echo 1 >n/o/p',
    'rm d; mkdir d; echo 4 >d/g; rm -r n; echo 5 >a; echo 6 >n',
  ];
  for (const script of scripts) await session.run(script);
  const between = session.look();
  await session.run('rm -rf *; echo 7 >a');
  assert.deepEqual(await session.undo(1), {});
  assert.equal(session.look(), between);
  assert.deepEqual(await session.undo(2), {});
  assert.equal(session.look(), before);
});

test('what somebody made meanwhile stands, and the rest is taken back', async () => {
  using trees = makeTrees(setup);
  const session = new Session(trees);
  await session.run('echo 2 >a; mkdir n; echo 2 >n/p; rm m; echo 2 >d/e/f');
  shell('echo mine >a; echo mine >n/mine; echo mine >m; chmod 600 d/e/f', trees.real);
  assert.deepEqual(await session.undo(1), {
    a: 'changed-meanwhile',
    m: 'changed-meanwhile',
    n: 'not-empty',
  });
  assert.equal(shell('cat a m n/mine d/e/f; ls n', trees.real), 'mine\nmine\nmine\n1\nmine\n');
  // Their mode is theirs, what the command wrote is taken out from under it.
  assert.equal(shell('stat -c %a d/e/f', trees.real), '600\n');
});

test('an edit between two commands stands when both are undone', async () => {
  using trees = makeTrees(setup);
  const session = new Session(trees);
  await session.run('echo 2 >a; echo 2 >m');
  shell('echo mine >a', trees.real);
  await session.run('echo 3 >>a; echo 3 >m');
  assert.deepEqual(await session.undo(2), { a: 'changed-between' });
  assert.equal(shell('cat a m', trees.real), 'mine\n1\n');
});

test('what is not kept is said, and the rest is undone', async () => {
  using trees = makeTrees(setup);
  const session = new Session(trees);
  await session.run('echo 2 >a; echo 2 >m');
  const [record = []] = session.records;
  const without = record.map((one): UndoableChange =>
    one.path === 'a' && one.before?.type === 'file'
      ? { ...one, before: { ...one.before, sha256: null } }
      : one,
  );
  session.records[0] = without;
  assert.deepEqual(await session.undo(1), { a: 'before-unknown' });
  assert.equal(shell('cat a m', trees.real), '2\n1\n');
});

test('nothing that a second writer does is lost', async (t) => {
  const tally = { applied: 0, conflicts: 0, undone: 0, writes: 0, kept: 0 };
  for (let count = 0; count < 12; count += 1) await history(tally, 12);
  t.diagnostic(JSON.stringify(tally));
  assert.ok(tally.applied > 0 && tally.writes > 0);
});
