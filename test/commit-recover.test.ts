// What was being applied when the process was killed is finished at the next start.
import assert from 'node:assert/strict';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { AtomicRenames } from '../src/workspace/commit/atomic-renames.ts';
import type { ItemResult } from '../src/workspace/commit/commit-item.ts';
import { ManifestWriter } from '../src/workspace/commit/move-directory.ts';
import { recoverCommit } from '../src/workspace/commit/recover.ts';
import { killOnce } from './support/commit-kills.ts';
import {
  itemsBetween,
  KeptContents,
  leftovers,
  makeTrees,
  noContents,
  readTree,
  shell,
  standingAt,
  type Trees,
} from './support/commit.ts';

const id = '0badf00d';

/** Recovers the change of `a` from `old` to `new`, after `interrupt` has made a half-done state. */
async function after(interrupt: (trees: Trees) => void): Promise<[ItemResult | undefined, string]> {
  using trees = makeTrees('echo old >a');
  trees.run('echo new >a');
  const items = itemsBetween(trees.real, trees.session);
  interrupt(trees);
  const tree = { root: trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  using renames = new AtomicRenames();
  const [result] = await recoverCommit({
    intent: { id, tree, items },
    contents: noContents,
    renames,
  });
  assert.deepEqual(
    leftovers(trees.real).filter((name) => name.includes('-0badf00d-0') && !name.includes('kept')),
    [],
  );
  return [result, shell('cat a; ls -A', trees.real)];
}

/** As `after`, with what has a temporary name beside the tree. */
async function afterStaged(
  interrupt: (trees: Trees, staging: string) => void,
): Promise<[ItemResult | undefined, string, string[]]> {
  using trees = makeTrees('echo old >a');
  trees.run('echo new >a');
  const items = itemsBetween(trees.real, trees.session);
  const staging = `${trees.base}/staging`;
  mkdirSync(staging);
  interrupt(trees, `${staging}/${temporary}`);
  const tree = { root: trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  using renames = new AtomicRenames(undefined, { staging });
  const [result] = await recoverCommit({
    intent: { id, tree, items },
    contents: noContents,
    renames,
  });
  return [result, shell('cat a; ls -A', trees.real), readdirSync(staging)];
}

const temporary = `.trl-${id}-0`;

test('beside the tree: half-written, exchanged, exchanged with what somebody saved', async () => {
  const half = await afterStaged((_, staging) => {
    writeFileSync(staging, 'ne');
  });
  assert.deepEqual([half[0]?.state, ...half.slice(1)], ['applied', 'new\na\n', []]);
  const exchanged = await afterStaged(({ real, session }, staging) => {
    renameSync(`${real}/a`, staging);
    shell(`cp -a ${session}/a a`, real);
  });
  assert.deepEqual([exchanged[0]?.state, ...exchanged.slice(1)], ['applied', 'new\na\n', []]);
  const saved = await afterStaged(({ real, session }, staging) => {
    shell(`echo mine >${staging}; cp -a ${session}/a a`, real);
  });
  assert.deepEqual([saved[0]?.state, ...saved.slice(1)], ['conflict', 'mine\na\n', []]);
});

test('nothing was done yet: it is done', async () => {
  const [result, seen] = await after(() => undefined);
  assert.deepEqual([result?.state, seen], ['applied', 'new\na\n']);
});

test('a half-written temporary file goes', async () => {
  const [result, seen] = await after(({ real }) => {
    writeFileSync(`${real}/${temporary}`, 'ne');
  });
  assert.deepEqual([result?.state, seen], ['applied', 'new\na\n']);
});

test('exchanged, with the old file still under the temporary name', async () => {
  const [result, seen] = await after(({ real, session }) => {
    renameSync(`${real}/a`, `${real}/${temporary}`);
    shell(`cp -a ${session}/a a`, real);
  });
  assert.deepEqual([result?.state, seen], ['applied', 'new\na\n']);
});

test('exchanged with what somebody had just saved: theirs goes back', async () => {
  const [result, seen] = await after(({ real, session }) => {
    shell(`echo mine >${temporary}; cp -a ${session}/a a`, real);
  });
  assert.deepEqual([result?.state, seen], ['conflict', 'mine\na\n']);
});

test('exchanged with what somebody was just appending to: theirs goes back', async () => {
  const [result, seen] = await after(({ real, session }) => {
    renameSync(`${real}/a`, `${real}/${temporary}`);
    shell(`echo mine >>${temporary}; cp -a ${session}/a a`, real);
  });
  assert.deepEqual([result?.state, seen], ['conflict', 'old\nmine\na\n']);
});

test('somebody saved after the exchange: theirs stands, what was replaced goes', async () => {
  const [result, seen] = await after(({ real }) => {
    renameSync(`${real}/a`, `${real}/${temporary}`);
    writeFileSync(`${real}/a`, 'mine\n');
  });
  assert.deepEqual([result?.state, seen], ['conflict', 'mine\na\n']);
});

test('a new file that has both names keeps one', async () => {
  using trees = makeTrees('true');
  trees.run('echo new >a');
  const items = itemsBetween(trees.real, trees.session);
  shell(`cp -a ${trees.session}/a a`, trees.real);
  linkSync(`${trees.real}/a`, `${trees.real}/${temporary}`);
  const tree = { root: trees.real, uid: 0, gid: 0 };
  using renames = new AtomicRenames();
  const [result] = await recoverCommit({
    intent: { id, tree, items },
    contents: noContents,
    renames,
  });
  assert.equal(result?.state, 'applied');
  assert.equal(shell('ls -A', trees.real), 'a\n');
  assert.equal(readFileSync(`${trees.real}/a`, 'utf8'), 'new\n');
});

test('a directory that is moved whole is moved, was moved, or stays', async () => {
  const at = async (interrupt: (trees: Trees) => void): Promise<[string | undefined, string]> => {
    using trees = makeTrees('true');
    trees.run('mkdir t; echo 1 >t/a; echo 2 >t/b; ln -s a t/c');
    const kept = new KeptContents();
    const list = new ManifestWriter(kept);
    const entries = readTree(`${trees.session}/t`);
    for (const [path, { key }] of entries) list.add({ path, key });
    const whole = { files: 2, directories: 0, links: 1, bytes: 4, manifest: list.end() };
    const after = { type: 'directory', mode: 0o755, whole } as const;
    const source = { tree: trees.session, path: 't' };
    const items = [{ path: 't', base: null, baseKey: null, after, source, sourceKey: null }];
    interrupt(trees);
    const tree = { root: trees.real, uid: 0, gid: 0 };
    using renames = new AtomicRenames();
    const [result] = await recoverCommit({ intent: { id, tree, items }, contents: kept, renames });
    return [result?.state, shell('ls real session; cat */t/a', trees.base)];
  };
  const moved = ['applied', 'real:\nt\n\nsession:\n1\n'];
  assert.deepEqual(await at(() => {}), moved);
  assert.deepEqual(await at(({ base }) => shell('mv session/t real/', base)), moved);
  // As after a power cut.
  const emptied = await at(({ base }) => shell(': >session/t/b', base));
  assert.deepEqual(emptied, ['conflict', 'real:\n\nsession:\nt\n1\n']);
  const [state, seen] = await at(({ base }) => shell('mkdir real/t; echo mine >real/t/a', base));
  assert.deepEqual([state, seen], ['conflict', 'real:\nt\n\nsession:\nt\nmine\n1\n']);
});

test('a directory that is moved away whole goes, is gone, or stays as it was changed', async () => {
  const at = async (interrupt: (trees: Trees) => void): Promise<[string | undefined, string]> => {
    using trees = makeTrees('mkdir t; echo 1 >t/a; echo 2 >t/b');
    const list = new ManifestWriter(kept);
    for (const [path, { key }] of readTree(`${trees.real}/t`)) list.add({ path, key });
    const counts = { files: 2, directories: 0, links: 0, bytes: 4, manifest: list.end() };
    const away = { tree: `${trees.base}/away`, path: 'was-t' };
    mkdirSync(away.tree);
    const { entry, key } = standingAt(`${trees.real}/t`);
    assert.equal(entry.type, 'directory');
    const whole = { type: 'directory', mode: 0o755, whole: { ...counts, kept: away } } as const;
    const sides = { base: whole, baseKey: key, after: null };
    const items = [{ path: 't', ...sides, source: null, sourceKey: null }];
    interrupt(trees);
    const tree = { root: trees.real, uid: 0, gid: 0 };
    using renames = new AtomicRenames();
    const [result] = await recoverCommit({ intent: { id, tree, items }, contents: kept, renames });
    return [result?.state, shell('ls real away; cat */*/a', trees.base)];
  };
  const kept = new KeptContents();
  const moved = ['applied', 'away:\nwas-t\n\nreal:\n1\n'];
  assert.deepEqual(await at(() => {}), moved);
  assert.deepEqual(await at(({ base }) => shell('mv real/t away/was-t', base)), moved);
  const [state, seen] = await at(({ base }) => shell('echo mine >real/t/a', base));
  assert.deepEqual([state, seen], ['conflict', 'away:\n\nreal:\nt\nmine\n']);
});

test('killed at random moments, it is whole after recovery', async (t) => {
  const kills = { untouched: 0, between: 0, finished: 0 };
  for (let count = 0; count < 6; count += 1) {
    await killOnce(kills, 40, count % 2 === 0);
  }
  t.diagnostic(JSON.stringify(kills));
});
