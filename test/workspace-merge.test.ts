// A command and a person change the same file: what both wrote is there afterwards, or both
// versions can be had and the receipt says so; undo takes back what the command wrote, no more.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { FileMerger, syncPointOf } from '../src/host/file-merger.ts';
import { WorkspaceTrees } from '../src/host/workspace-tree.ts';
import { SnapshotStore } from '../src/snapshot/store.ts';
import { noOverlay } from './support/changes.ts';
import { raw, shareRuntime, startRuntime, type Json } from './support/daemon.ts';
import { save, startPaused } from './support/second-writer.ts';
import { openSession, type TestSession } from './support/session.ts';
import { appenders, killedWriters, savers } from './support/writer-kill.ts';

const skip = noOverlay();
const corner = shareRuntime();

interface Scene extends AsyncDisposable {
  readonly dir: string;
  readonly session: TestSession;
  readonly text: (name?: string) => string;
  readonly ask: (method: string, params?: object) => Promise<Json>;
}

async function scene(files: Readonly<Record<string, string>>, params = {}): Promise<Scene> {
  const { root: dir, socketPath } = await corner();
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(dir, name), text);
  const session = await openSession(socketPath, { working_dir: dir, ...params });
  return {
    dir,
    session,
    text: (name = 'f') => readFileSync(path.join(dir, name), 'utf8'),
    ask: async (method, more = {}) => {
      const answer = await session.client.ask(method, more);
      assert.equal(answer.ok, true, JSON.stringify(answer));
      return answer.data;
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

const lines = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, at) => `${name} ${at}`);
const states = (receipt: Json): string[] =>
  receipt.changes.map(({ path: name, state, marks }: Json) => [name, state, ...marks].join(' '));

describe('each line is there once', { skip, concurrency: 4 }, () => {
  for (const how of ['opens it each time', 'has it open'] as const) {
    for (const [way, append] of Object.entries(savers)) {
      test(`of a command that ${how} and a person who appends ${way}`, async () => {
        await using one = await scene({ f: 'start\n' });
        const { dir, session, text } = one;
        const running = session.run(appenders[how]);
        const mine = lines(40, 'p');
        for (const line of mine) {
          await wait(70);
          append(dir, `${line}\n`);
        }
        const receipt = await running;
        assert.deepEqual(states(receipt), ['f applied merged']);
        const found = text().split('\n').slice(0, -1);
        const wanted = ['start', ...lines(30, 'c'), ...mine];
        assert.deepEqual(found.toSorted(), wanted.toSorted());
      });
    }
  }
});

test('a stale read does not overwrite what was saved meanwhile', { skip }, async () => {
  const old = 'one\ntwo\nthree\nfour\nfive\n';
  await using one = await scene({ f: old, g: old });
  const { dir, session, text, ask } = one;
  const run = await startPaused(
    session,
    'a=$(cat f); b=$(cat g); pause; echo "${a/five/FIVE}" >f; echo "${b/one/mine}" >g',
  );
  await run.reached();
  save(dir, 'f', old.replace('one', 'ONE'));
  save(dir, 'g', old.replace('one', 'theirs'));
  await wait(2_500);
  await run.go();
  const receipt = await run.ended();
  assert.deepEqual(states(receipt), ['g conflict', 'f applied merged']);
  assert.equal(text(), old.replace('one', 'ONE').replace('five', 'FIVE'));
  assert.equal(text('g'), old.replace('one', 'theirs'));
  const [{ kept_as: kept }] = receipt.changes;
  assert.equal(kept, `${run.id}:g`);
  const { content } = await ask('snapshot.get', { exec_id: run.id, content: 'g' });
  assert.equal(Buffer.from(content.base64, 'base64').toString(), old.replace('one', 'mine'));
});

for (const [mine, theirs] of [
  ['c {\n  1\n}\n', 'p {\n  2\n}\n'],
  ['tick\ntick\n', 'tick\n'],
] as const) {
  test(
    `equal lines that both append are no matter: ${JSON.stringify(mine)}`,
    { skip },
    async () => {
      await using one = await scene({ f: 'start\n' });
      const { dir, session, text } = one;
      const run = await startPaused(session, `printf '${mine.replaceAll('\n', '\\n')}' >>f; pause`);
      await run.reached();
      // Clocks of file systems tick every 4 ms.
      await wait(20);
      appendFileSync(path.join(dir, 'f'), theirs);
      await run.go();
      assert.deepEqual(states(await run.ended()), ['f applied merged']);
      assert.equal(text(), `start\n${theirs}${mine}`);
    },
  );
}

test('a line that a command saw is there once, wherever it writes its own', { skip }, async () => {
  const old = '1\n2\n3\n';
  await using one = await scene({ early: old, late: old, between: old });
  const { dir, session, text } = one;
  const insert = (at: string, file: string): string => `sed -i '${at}i mine' ${file}`;
  const run = await startPaused(
    session,
    `pause; ${insert('$', 'early')}
      until grep -q theirs late && grep -q theirs between; do sleep 0.05; done
      ${insert('$', 'late')}; ${insert('3', 'between')}`,
  );
  await run.reached();
  appendFileSync(path.join(dir, 'early'), 'theirs\n');
  await run.go();
  while (!text('early').includes('mine')) await wait(50);
  appendFileSync(path.join(dir, 'late'), 'theirs\n');
  save(dir, 'between', '1\n2\ntheirs\n3\n');
  assert.deepEqual(
    (await run.ended()).changes.map(({ path: name, state }: Json) => `${name} ${state}`).toSorted(),
    ['between applied', 'early applied', 'late applied'],
  );
  assert.equal(text('early'), `${old}mine\ntheirs\n`);
  assert.equal(text('late'), `${old}mine\ntheirs\n`);
  assert.equal(text('between'), '1\n2\nmine\ntheirs\n3\n');
});

test('what was saved or deleted just before a command does stands', { skip }, async () => {
  await using one = await scene({ edited: 'a\n', gone: 'a\n', made: '' });
  const { dir, session, text } = one;
  rmSync(path.join(dir, 'made'));
  const command = 'cat edited gone; pause; rm edited; echo c >>gone; echo c >made; pause';
  const run = await startPaused(session, command);
  await run.reached();
  save(dir, 'edited', 'theirs\n');
  rmSync(path.join(dir, 'gone'));
  await run.go();
  await run.reached();
  // Two looks: at the first of them what is young waits.
  while (!existsSync(path.join(dir, 'made'))) await wait(50);
  await run.go();
  const meanwhile = 'conflict changed-meanwhile';
  const told = (await run.ended()).changes.map((each: Json) => [
    each.path,
    each.state,
    each.reason,
  ]);
  assert.deepEqual(told.map((each: Json) => each.join(' ').trim()).toSorted(), [
    `edited ${meanwhile}`,
    `gone ${meanwhile}`,
    'made applied',
  ]);
  assert.equal(text('edited'), 'theirs\n');
  assert.equal(existsSync(path.join(dir, 'gone')), false);
});

test('a command that saw what was saved since it began doubles nothing', { skip }, async () => {
  await using one = await scene({ f: 'one\ntwo\n', g: 'one\ntwo\n' });
  const { dir, session, text } = one;
  const inserts = `sed -i '$i command' f; { head -n 2 g; echo command; tail -n 1 g; } >t; cat t >g`;
  const run = await startPaused(session, `pause; ${inserts}; rm t`);
  await run.reached();
  for (const name of ['f', 'g']) appendFileSync(path.join(dir, name), 'person\n');
  await run.go();
  await run.ended();
  for (const name of ['f', 'g']) assert.equal(text(name), 'one\ntwo\ncommand\nperson\n', name);
});

test('a stale write beside a younger command of the view loses no save', { skip }, async () => {
  const old = 'one\ntwo\nthree\nfour\nfive\n';
  await using one = await scene({ f: old });
  const { dir, session, text } = one;
  const { socketPath } = await corner();
  await using other = await openSession(socketPath, { working_dir: dir });
  const stale = await startPaused(session, 'a=$(cat f); pause; echo "${a/five/FIVE}" >f');
  await stale.reached();
  save(dir, 'f', old.replace('one', 'ONE'));
  const younger = await startPaused(other, 'pause; sed -i "s/three/THREE/" f');
  await younger.reached();
  await stale.go();
  assert.deepEqual(states(await stale.ended()), ['f applied merged']);
  assert.equal(text(), old.replace('one', 'ONE').replace('five', 'FIVE'));
  await younger.go();
  await younger.ended();
  const both = old.replace('one', 'ONE').replace('five', 'FIVE').replace('three', 'THREE');
  assert.equal(text(), both);
});

test('a merge goes on after a kill of the daemon', { skip }, async () => {
  const first = await startRuntime();
  const { home, root: dir } = first;
  const file = path.join(dir, 'f');
  const text = (): string => readFileSync(file, 'utf8');
  writeFileSync(file, 'start\n');
  const session = await openSession(first.socketPath, { working_dir: dir });
  const command = 'exec 3>>f; echo c1 >&3; pause; echo c2 >&3; pause; echo c3 >&3';
  const run = await startPaused(session, command);
  await run.reached();
  while (!text().includes('c1')) await wait(50);
  await run.go();
  await run.reached();
  appendFileSync(file, 'p1\n');
  while (!text().includes('c2')) await wait(50);
  await first.kill();
  session.client.drop();
  await using second = await startRuntime({ home });
  using client = await raw(second.socketPath);
  await client.ask('exec.write', { exec_id: run.id, data: 'go\n' });
  while (!text().includes('c3')) await wait(50);
  assert.deepEqual(text().split('\n').toSorted(), ['', 'c1', 'c2', 'c3', 'p1', 'start']);
  await client.ask('session.destroy', { session_id: session.id, force: true });
});

describe('no line is lost when the daemon is killed', { skip, concurrency: 3 }, () => {
  for (const killMs of [300, 1_020, 1_700]) {
    test(`${killMs} ms after the command began`, async () => {
      await killedWriters({ command: appenders['has it open'], saver: 'in place', killMs });
    });
  }
});

test('what a merge makes is judged, and stays out where it is held', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-merging-'));
  const root = path.join(dir, 'tree');
  mkdirSync(root);
  const trees = new WorkspaceTrees(path.join(dir, 'cookies'));
  const store = await SnapshotStore.open(path.join(dir, 'store'), {
    key: Buffer.alloc(32),
    storeBytesMax: 2 ** 24,
    fileBytesMax: 2 ** 20,
    keepMs: 1_000,
    log: () => undefined,
  });
  try {
    const entryOf = (text: string) => {
      const sha256 = store.put(Buffer.from(text));
      return { type: 'file', mode: 0o644, size: text.length, mtimeMs: 1, sha256 } as const;
    };
    writeFileSync(path.join(root, 'f'), 'one\ntheirs\n');
    const [base, after] = [entryOf('one\n'), entryOf('one\nours\n')];
    const rest = { base, after, source: null, sourceKey: null };
    const wanted = [
      { item: { path: 'f', baseKey: 'gone', ...rest }, start: syncPointOf(base, null) },
    ];
    const applied: string[] = [];
    const put = await new FileMerger({ tree: trees.use(root, 's-1'), store }).put(wanted, {
      apply: (items) => {
        applied.push(...items.map((item) => item.path));
        return Promise.resolve(new Map());
      },
      held: (items) => Promise.resolve(new Map(items.map((item) => [item.path, 'git-config']))),
    });
    assert.deepEqual([applied, put.get('f')?.result.state], [[], 'conflict']);
  } finally {
    trees.close();
    await store.close();
    rmSync(dir, { recursive: true });
  }
});

test('undo takes back what the command wrote and leaves a paragraph', { skip }, async () => {
  await using one = await scene({ f: 'one\n' });
  const { dir, session, text, ask } = one;
  const run = await startPaused(session, 'echo c1 >>f; pause; echo c2 >>f');
  await run.reached();
  while (text() !== 'one\nc1\n') await wait(50);
  appendFileSync(path.join(dir, 'f'), 'a paragraph\n');
  await wait(2_500);
  await run.go();
  await run.ended();
  assert.equal(text(), 'one\nc1\na paragraph\nc2\n');
  const { totals } = await ask('exec.undo', { exec_id: run.id });
  assert.equal(text(), 'one\na paragraph\n');
  assert.deepEqual(totals, { restored: 1, conflicts: 0, impossible: 0 });
});

test('undo of a command that changed nothing says so', { skip }, async () => {
  await using one = await scene({ f: 'one\n' });
  const { exec_id: id } = await one.session.run('cat f');
  assert.equal((await one.ask('exec.undo', { exec_id: id })).nothing, 'it changed nothing');
});

test('an edit above is no matter to what both do at the end', { skip }, async () => {
  const old = '1\n2\n3\n';
  await using one = await scene({ f: old });
  const { dir, session, text, ask } = one;
  const run = await startPaused(session, 'sed -i s/3/THREE/ f; echo c1 >>f; pause; echo c2 >>f');
  await run.reached();
  const first = '1\n2\nTHREE\nc1\n';
  while (text() !== first) await wait(50);
  save(dir, 'f', `${first.replace('1', 'ONE')}p\n`);
  await run.go();
  assert.deepEqual(states(await run.ended()), ['f applied merged']);
  assert.equal(text(), 'ONE\n2\nTHREE\nc1\np\nc2\n');
  const { exec_id: next } = await session.run('sed -i s/ONE/I/ f; echo d >>f');
  appendFileSync(path.join(dir, 'f'), 'q\n');
  const { totals } = await ask('exec.undo', { exec_id: next });
  assert.deepEqual(totals, { restored: 1, conflicts: 0, impossible: 0 });
  assert.equal(text(), 'ONE\n2\nTHREE\nc1\np\nc2\nq\n');
});

test('undo takes back what was merged with a save of that moment', { skip }, async () => {
  await using one = await scene({ f: 'one\n' });
  const { dir, session, text, ask } = one;
  const run = await startPaused(session, 'echo c1 >>f; pause; echo c2 >>f');
  await run.reached();
  while (text() !== 'one\nc1\n') await wait(50);
  appendFileSync(path.join(dir, 'f'), 'a paragraph\n');
  await run.go();
  await run.ended();
  assert.equal(text(), 'one\nc1\na paragraph\nc2\n');
  const { totals } = await ask('exec.undo', { exec_id: run.id });
  assert.deepEqual(totals, { restored: 1, conflicts: 0, impossible: 0 });
  assert.equal(text(), 'one\na paragraph\n');
});

test('undo empties no new file that a person has a hand in', { skip }, async () => {
  await using one = await scene({});
  const { dir, session, text, ask } = one;
  const { exec_id: exec } = await session.run('echo hi >f');
  chmodSync(path.join(dir, 'f'), 0o755);
  const { conflicts } = await ask('exec.undo', { exec_id: exec });
  assert.deepEqual([conflicts[0].reason, text()], ['changed-meanwhile', 'hi\n']);
});

test('undo of what was staged and published takes it back', { skip }, async () => {
  await using one = await scene({ f: 'one\n' }, { workspace_mode: 'staged' });
  const { session, text, ask } = one;
  const { exec_id: exec } = await session.run('echo two >>f');
  await ask('workspace.apply', { session_id: session.id });
  assert.equal(text(), 'one\ntwo\n');
  assert.equal((await ask('exec.undo', { exec_id: exec })).totals.restored, 1);
  assert.equal(text(), 'one\n');
  const again = await ask('exec.undo', { exec_id: exec });
  assert.match(again.nothing, /undone/);
});

describe('what comes after a conflict is in the version that is kept', { skip }, () => {
  for (const [how, command] of [
    ['by name', 'echo c1 >>f; pause; echo c2 >>f; pause; echo c3 >>f'],
    ['through an open file', 'exec 3>>f; echo c1 >&3; pause; echo c2 >&3; pause; echo c3 >&3'],
  ] as const) {
    test(how, async () => {
      await using one = await scene({ f: 'one\n' });
      const { dir, session, text, ask } = one;
      const run = await startPaused(session, command);
      await run.reached();
      while (text() !== 'one\nc1\n') await wait(50);
      writeFileSync(path.join(dir, 'f'), 'another\n');
      await run.go();
      await run.reached();
      await wait(2_500);
      await run.go();
      const receipt = await run.ended();
      // The runtime may have looked between the two: then the command saw the other version.
      if (text() === 'another\nc2\nc3\n') return;
      assert.deepEqual([text(), states(receipt)], ['another\n', ['f conflict']]);
      const { content } = await ask('snapshot.get', { exec_id: run.id, content: 'f' });
      const kept = Buffer.from(content.base64, 'base64').toString();
      assert.equal(kept, 'one\nc1\nc2\nc3\n');
    });
  }
});

test('make builds again after an undo', { skip }, async () => {
  const makefile = 'out: in\n\tcp in out\n';
  await using one = await scene({ in: 'old\n', Makefile: makefile });
  const { dir, session, text, ask } = one;
  const make = (): string => execFileSync('make', { cwd: dir, encoding: 'utf8' });
  make();
  const { exec_id: exec } = await session.run('echo new >in');
  make();
  assert.equal(text('out'), 'new\n');
  await ask('exec.undo', { exec_id: exec });
  make();
  assert.equal(text('out'), 'old\n');
});
