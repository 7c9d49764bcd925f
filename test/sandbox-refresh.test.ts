// An overlay that is refreshed shows what lies in its layers now, to what runs and to what follows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { onHost, whyNoBox } from './support/box.ts';
import { openLayered } from './support/overlay.ts';
import { eventually } from './support/processes.ts';

const sandboxed = { skip: whyNoBox };
const files = { 'a.txt': 'old\n', 'd/f': 'f\n', 'd/e/g': 'g\n', 'x.sh': 'x\n', empty: '' };

/** What somebody else does to the workspace, what is asked before and after, and what is seen. */
const changes: readonly (readonly [name: string, host: string, ask: string, seen: string])[] = [
  ['saves by rename', 'echo new > t && mv t a.txt', 'cat a.txt', 'new\n'],
  ['saves by rename, shorter', 'printf n > t && mv t a.txt', 'stat -c %s a.txt; cat a.txt', '1\nn'],
  ['writes in place', 'echo more >> a.txt', 'cat a.txt', 'old\nmore\n'],
  ['deletes', 'rm a.txt', 'test -e a.txt; echo $?; ls', '1\nd\nempty\nx.sh\n'],
  ['makes what was absent', 'echo n > n', 'cat n 2>&1', 'n\n'],
  ['makes what was absent, deeper', 'mkdir d/n && echo n > d/n/n', 'cat d/n/n 2>&1', 'n\n'],
  ['replaces a directory', 'cp -r d t && rm -r d && mv t d && echo n > d/e/n', 'ls d/e', 'g\nn\n'],
  ['exchanges directories', 'mkdir t && echo 1 > t/1 && mv d u && mv t d', 'ls d', '1\n'],
  ['makes a file a directory', 'rm a.txt && mkdir a.txt && echo 1 > a.txt/1', 'cat a.txt/1', '1\n'],
  ['makes a directory a file', 'rm -r d && echo 1 > d', 'cat d', '1\n'],
  ['makes a file a link', 'ln -sf x.sh a.txt', 'readlink a.txt; cat a.txt', 'x.sh\nx\n'],
  ['leads a link elsewhere', 'ln -sf x.sh l', 'ls -l l | grep -c x.sh; cat l', '1\nx\n'],
  ['changes a mode', 'chmod 751 x.sh', 'stat -c %a x.sh', '751\n'],
  ['changes a mode by rename', 'cp x.sh t && chmod 751 t && mv t x.sh', 'stat -c %a x.sh', '751\n'],
  ['makes hard links', 'ln x.sh y && ln x.sh d/y', 'stat -c %h y; cat d/y', '3\nx\n'],
  ['checks out', 'rm -r d a.txt && mkdir -p d/e && echo 2 > d/e/g', 'cat d/e/g; ls d', '2\ne\n'],
];

test('what somebody else changes is seen after a refresh', sandboxed, async () => {
  for (const [name, host, ask, seen] of changes) {
    await using ws = await openLayered({ files });
    onHost('ln -s a.txt l', ws.tree);
    await ws.run(`${ask}; find . -type f -exec cat {} +; ls -lR; git status`);
    onHost(host.replace('ln -sf x.sh l', 'ln -sfn x.sh l'), ws.tree);
    await ws.refresh();
    const filter = name === 'deletes' ? ' | grep -v ^l$' : '';
    assert.equal(await ws.run(ask + filter), seen, name);
  }
});

test('a write after a refresh lands on what lies there now', sandboxed, async () => {
  await using ws = await openLayered({ files });
  await ws.run('cat a.txt d/f');
  onHost('echo new > t && mv t a.txt && rm -r d && mkdir d && echo 2 > d/f', ws.tree);
  await ws.refresh();
  assert.equal(
    await ws.run('echo mine >> a.txt; echo mine >> d/f; cat a.txt d/f'),
    'new\nmine\n2\nmine\n',
  );
  const upper = ['a.txt', 'd/f'].map((name) =>
    readFileSync(path.join(ws.overlay.upper, name), 'utf8'),
  );
  assert.deepEqual(upper, ['new\nmine\n', '2\nmine\n']);
});

test(
  'what was written is shown as the workspace’s own once it was moved there',
  sandboxed,
  async () => {
    await using ws = await openLayered({ files });
    const { tree, overlay } = ws;
    for (const round of ['1', '2', '3']) {
      const wrote = await ws.run(`
      echo ${round} > a.txt; rm -rf d; mkdir -p d/e; echo ${round} > d/e/g
      echo ${round} > n${round}
      [ -d empty ] || rm empty; mkdir -p empty; ln -sfn a.txt l; cat a.txt d/e/g`);
      assert.equal(wrote, `${round}\n${round}\n`);
      onHost(
        `rm -rf d empty && mkdir -p d/e empty && echo ${round} | tee a.txt d/e/g > n${round}
       ln -sfn a.txt l`,
        tree,
      );
      onHost('find . -mindepth 1 -delete', overlay.upper);
      await ws.refresh();
      const found = await ws.run('find . ! -name . | sort; cat a.txt d/e/g l');
      const made = ['1', '2', '3'].filter((n) => n <= round).map((n) => `./n${n}`);
      const all = ['./a.txt', './d', './d/e', './d/e/g', './empty', './l', ...made, './x.sh'];
      assert.equal(found, `${all.join('\n')}\n${`${round}\n`.repeat(3)}`);
    }
  },
);

test('a server keeps its directory and its open log through refreshes', sandboxed, async () => {
  await using ws = await openLayered({ files });
  const log = path.join(ws.overlay.upper, 'd/log');
  const server = ws.run(String.raw`
    cd d && exec 5>> log && echo begun >&5
    for i in $(seq 400); do
      [ -e ../stop ] && break
      echo "$(ls | tr '\n' ' ')" >&5; sleep 0.05
    done
    echo "$(cat f)" >&5; pwd -P`);
  const lastLine = (): string => readFileSync(log, 'utf8').trim().split('\n').at(-1) ?? '';
  await eventually('its first lines', () => readable(log) && lastLine() === 'e f log');
  onHost('echo new > d/t && mv d/t d/f && echo 1 > d/new', ws.tree);
  await ws.refresh();
  await eventually('the new name', () => lastLine() === 'e f log new');
  onHost('rm d/new', ws.tree);
  await ws.refresh();
  await eventually('the name is gone', () => lastLine() === 'e f log');
  assert.match(await ws.run('cat d/log'), /^begun\n/);
  onHost('echo > stop', ws.tree);
  await ws.refresh();
  assert.equal(await server, `${ws.tree}/d\n`);
  const said = readFileSync(log, 'utf8').trim().split('\n');
  assert.deepEqual([said[0], said.at(-1)], ['begun', 'new']);
});

test('a file of the overlay that is mapped or open stays whole', sandboxed, async () => {
  await using ws = await openLayered({ files: { ...files, big: 'x'.repeat(1 << 20) } });
  const reader = ws.run(String.raw`
    exec 5< big 6> out; head -c 10 <&5 > /dev/null; echo ready > ready
    for i in $(seq 400); do [ -e stop ] && break; sleep 0.02; done
    wc -c <&5; echo end >&6; cat out`);
  await eventually('it is open', () => readable(path.join(ws.overlay.upper, 'ready')));
  onHost('echo short > t && mv t big && echo > stop', ws.tree);
  for (let count = 0; count < 50; count += 1) await ws.refresh();
  const [rest, end] = (await reader).split('\n');
  assert.deepEqual([Number(rest) > 1_000_000, end], [true, 'end']);
  // What a process is using stays under its name until it is let go of.
  await ws.refresh();
  assert.equal(await ws.run('cat big'), 'short\n');
});

test('a mask that changed is obeyed after a refresh', sandboxed, async () => {
  await using ws = await openLayered({ files, mask: 'mkdir d; mknod d/f c 0 0' });
  assert.equal(await ws.run('ls d; cat a.txt'), 'e\nold\n');
  onHost('rm d/f; mknod a.txt c 0 0; mknod d/e c 0 0; mknod n c 0 0', ws.overlay.mask ?? '');
  onHost('echo n > n', ws.tree);
  await ws.refresh();
  assert.equal(await ws.run('ls d; ls'), 'f\nd\nempty\nx.sh\n');
});

test(
  'refreshes at once, with commands and changes, end with what is there',
  sandboxed,
  async () => {
    await using ws = await openLayered({ files });
    const rounds = Array.from({ length: 20 }, (_, index) => index);
    await Promise.all([
      ...rounds.map(async (round) => {
        onHost(`echo ${round} > t && mv t a.txt`, ws.tree);
        await ws.refresh();
      }),
      ...rounds
        .slice(0, 5)
        .map((round) => ws.run(`echo ${round} > own${round}; cat a.txt d/f; ls`)),
    ]);
    await ws.refresh();
    const last = readFileSync(path.join(ws.tree, 'a.txt'), 'utf8');
    assert.equal(await ws.run('cat a.txt own?'), `${last}0\n1\n2\n3\n4\n`);
  },
);

function readable(name: string): boolean {
  try {
    return readFileSync(name).length > 0;
  } catch {
    return false;
  }
}
