// What the runner makes of overlays: it keeps them, refreshes them when asked, and lets go of them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Box } from '../src/command.ts';
import { openNamespace } from '../src/runner/namespace.ts';
import { newSessionId } from '../src/session/record.ts';
import { hostMounts, onHost, whyNoBox } from './support/box.ts';
import { layered, openLayered, type Layered } from './support/overlay.ts';
import { eventually, noneLeft, processesWhere } from './support/processes.ts';
import { openLoneRunner } from './support/runner.ts';

const sandboxed = { skip: whyNoBox };
const files = { 'a.txt': 'old\n', 'd/f': 'f\n' };
const fresh = { holder: 'fresh', why: null };

const written = (ws: Layered, name: string): string =>
  readFileSync(path.join(ws.overlay.upper, name), 'utf8');
const isThere = (name: string): boolean => statSync(name, { throwIfNoEntry: false }) !== undefined;

/** Below the time after which what refreshes an overlay ends by itself. */
const unaskedMs = 25_000;

/** Processes in a mount namespace that has this workspace's overlay; none may be left behind. */
const inside = (ws: Layered) => () =>
  processesWhere((pid) => {
    try {
      const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n');
      return mounts.some((line) => line.includes(` ${ws.tree} `) && line.includes(' - overlay '));
    } catch {
      return false;
    }
  });

test(
  'a refresh reaches the next command, also where its sandbox was made ahead',
  sandboxed,
  async () => {
    using ws = await layered({ files });
    await using runner = await openLoneRunner(ws.tree);
    assert.deepEqual(await runner.refresh(), { holder: 'none', why: null });
    await runner.run('cat a.txt n d/f', ws.box);
    let warm = 0;
    // How soon one is made ahead is the machine's affair.
    for (let round = 1; round <= 3 || (warm === 0 && round < 300); round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      onHost(
        `echo ${round} > t && mv t a.txt && rm -r d && mkdir d && echo ${round} > d/f`,
        ws.tree,
      );
      assert.deepEqual(await runner.refresh(['a.txt', 'd/f', 'd', 't']), fresh);
      const exit = await runner.run(`cat a.txt d/f > out; ls > names`, ws.box);
      warm += exit.warm ? 1 : 0;
      assert.equal(written(ws, 'out'), `${round}\n${round}\n`);
    }
    assert.ok(warm > 0, 'no sandbox was made ahead');
    assert.equal(readdirSync(ws.overlay.work).length, 1, 'it was mounted once');
    await runner.link.request('close', { session_id: runner.session });
    assert.deepEqual(await runner.refresh(), { holder: 'none', why: null });
    assert.deepEqual(await noneLeft(inside(ws), unaskedMs), []);
  },
);

test('a sandbox without an overlay needs no refresh', sandboxed, async () => {
  using ws = await layered({ files });
  await using runner = await openLoneRunner('/tmp');
  await runner.run('true', ws.plainBox);
  assert.deepEqual(await runner.refresh(), { holder: 'none', why: null });
});

test(
  'what a process uses as it was is told, and later commands see what lies there',
  sandboxed,
  async () => {
    using ws = await layered({ files });
    await using runner = await openLoneRunner(ws.tree);
    const server = await runner.start(
      `exec 5< a.txt; cd d; echo up > ../ready
     for i in $(seq 600); do [ -e ../stop ] && break; sleep 0.02; done
     cat <&5 > ../read; cat ../after > ../other`,
      ws.box,
      { mode: 'detached' },
    );
    await eventually('it is ready', () => isThere(path.join(ws.overlay.upper, 'ready')));
    onHost('echo new > t && mv t a.txt', ws.tree);
    assert.deepEqual(await runner.refresh(['d/f']), fresh);
    const told = await runner.refresh(['d/f', 'a.txt']);
    assert.deepEqual(told, { holder: 'dropped', why: '"a.txt" is in use as it was before' });
    await runner.run('cat a.txt > seen; echo after > after', ws.box);
    assert.equal(written(ws, 'seen'), 'new\n');
    assert.deepEqual(await runner.refresh(['a.txt']), fresh);
    await runner.run('touch stop', ws.box);
    assert.deepEqual(await runner.refresh(), fresh);
    const { exit_code: code } = await server.ended;
    assert.deepEqual([code, written(ws, 'read'), written(ws, 'other')], [0, 'old\n', 'after\n']);
  },
);

test('sessions of one view are in one mount, whichever of them made it', sandboxed, async () => {
  using ws = await layered({ files });
  await using runner = await openLoneRunner(ws.tree);
  const mounts = (): number => readdirSync(ws.overlay.work).length;
  const [second, third] = [newSessionId(), newSessionId()];
  await Promise.all([
    runner.run('echo 1 >> log', ws.box),
    runner.run('echo 2 >> log', ws.box, { session_id: second }),
  ]);
  assert.equal(written(ws, 'log').length, 4);
  assert.equal(mounts(), 1, 'two that came at once mounted it once');
  const server = await runner.start(
    `exec 5< a.txt; echo up > ready
     for i in $(seq 600); do [ -e stop ] && break; sleep 0.02; done`,
    ws.box,
    { mode: 'detached', session_id: second },
  );
  const stranger: Box = { ...ws.box, holder: { ...ws.box.holder, id: 'x', hostGid: 1 } };
  await assert.rejects(runner.run('true', stranger, { session_id: third }), /another user/);
  await runner.link.request('close', { session_id: runner.session });
  await runner.run('echo 3 >> log', ws.box, { session_id: third });
  assert.equal(mounts(), 1, 'it outlives the session that mounted it');
  await eventually('it is ready', () => isThere(path.join(ws.overlay.upper, 'ready')));
  onHost('echo new > t && mv t a.txt', ws.tree);
  const told = await runner.refresh(['a.txt']);
  assert.deepEqual(told, { holder: 'dropped', why: '"a.txt" is in use as it was before' });
  await runner.run('cat a.txt > seen3', ws.box, { session_id: third });
  await runner.run('cat a.txt > seen2', ws.box, { session_id: second });
  assert.deepEqual([written(ws, 'seen2'), written(ws, 'seen3'), mounts()], ['new\n', 'new\n', 2]);
  await runner.run('touch stop', ws.box, { session_id: third });
  assert.deepEqual(await runner.refresh(), fresh);
  await server.ended;
  for (const session_id of [second, third]) await runner.link.request('close', { session_id });
  assert.deepEqual(await runner.refresh(), { holder: 'none', why: null });
  assert.deepEqual(await noneLeft(inside(ws), unaskedMs), []);
});

test('a holder that cannot take the mount of its view mounts no other', sandboxed, async () => {
  await using ws = await openLayered({ files });
  const { overlay } = ws.holder;
  assert.ok(overlay !== null);
  await using other = await openLayered({ files });
  const root = other.holder.overlay?.root ?? -1;
  const another = openNamespace(ws.box.holder, undefined, { ...overlay, root });
  await assert.rejects(another, /changed meanwhile/);
  const gone = { ...overlay, mnt: openSync('/proc/self/ns/mnt', 'r') };
  await assert.rejects(openNamespace(ws.box.holder, undefined, gone), /view: open|enter the view/);
  closeSync(gone.mnt);
  assert.equal(readdirSync(ws.overlay.work).length, 1);
});

/** Enters the namespaces and waits for its standard input to end. */
const visitor = `my $setns = shift; my @open = map { open(my $f, "<", $_) or die; $f } @ARGV;
  for (@open) { syscall($setns, fileno($_), 0) == 0 or die "enter: $!" }
  syswrite(STDOUT, "in\\n"); sysread(STDIN, my $end, 1)`;

test('what keeps the mount of a view keeps no mount of the host', sandboxed, async () => {
  await using ws = await openLayered({ files });
  const { overlay } = ws.holder;
  assert.ok(overlay !== null);
  const fds = [overlay.user, overlay.mnt].filter((fd) => fd !== null);
  const calls = process.arch === 'arm64' ? '268' : '308';
  const paths = fds.map((fd) => `/proc/${process.pid}/fd/${fd}`);
  const child = spawn(ws.host.tools.perl ?? 'perl', ['-e', visitor, calls, ...paths], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const lines = readFileSync(`/proc/${child.pid}/mountinfo`, 'utf8').trim().split('\n');
  child.stdin.end();
  await once(child, 'exit');
  const points = lines.map((line) => line.split(' ')[4]);
  assert.deepEqual(points, ['/', '/tree']);
  assert.match(lines[1] ?? '', / - overlay /);
});

test('a box for one command leaves the session’s own as it is', sandboxed, async () => {
  using ws = await layered({ files });
  await using runner = await openLoneRunner(ws.tree);
  const layers = path.dirname(ws.overlay.upper);
  const [upper, work] = [path.join(layers, 'upper2'), path.join(layers, 'work2')];
  const once: Box = ws.plan({ ...ws.overlay, upper, work }, true);
  await runner.run('echo own > a.txt', ws.box);
  const running = await runner.start(
    'for i in $(seq 600); do [ -e stop ] && break; sleep 0.02; done; cat a.txt > own',
    ws.box,
    { mode: 'detached' },
  );
  const trial = await runner.run('cat a.txt > seen; rm -r d; echo trial > a.txt', once);
  assert.equal(trial.exit_code, 0);
  assert.equal(readFileSync(path.join(upper, 'seen'), 'utf8'), 'old\n');
  assert.equal(readFileSync(path.join(upper, 'a.txt'), 'utf8'), 'trial\n');
  assert.deepEqual(await runner.refresh(), fresh);
  await runner.run('touch stop; ls > names', ws.box);
  await running.ended;
  assert.equal(written(ws, 'own'), 'own\n');
  assert.match(written(ws, 'names'), /^a.txt\nd\nnames\n(?:own\n)?stop\n$/);
  assert.equal(readdirSync(ws.overlay.work).length, 1, 'the session’s own was mounted once');
});

test('an overlay that cannot be mounted is told to whoever launches', sandboxed, async () => {
  using ws = await layered({ files });
  await using runner = await openLoneRunner(ws.tree);
  const box = ws.plan({ ...ws.overlay, mask: '/nowhere/at/all' });
  await assert.rejects(runner.run('true', box), {
    code: 'SANDBOX_UNAVAILABLE',
    data: { reason: 'overlay' },
  });
  const { exit_code: code } = await runner.run('cat a.txt', ws.box);
  assert.equal(code, 0);
});

test('a killed runner leaves no mount and no process', sandboxed, async () => {
  using ws = await layered({ files });
  const before = hostMounts(path.dirname(ws.tree));
  {
    await using runner = await openLoneRunner(ws.tree);
    await runner.run('true', ws.box);
    await runner.start('echo up > ready; sleep 300', ws.box, { mode: 'detached' });
    await eventually('it runs', () => isThere(path.join(ws.overlay.upper, 'ready')));
    await runner.refresh();
    assert.ok(inside(ws)().length > 0);
    process.kill(runner.link.pid, 'SIGKILL');
    assert.deepEqual(await noneLeft(inside(ws), unaskedMs), []);
  }
  assert.equal(hostMounts(path.dirname(ws.tree)), before);
  assert.equal(readFileSync(path.join(ws.tree, 'a.txt'), 'utf8'), 'old\n');
});
