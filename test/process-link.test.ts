// The daemon's end of the runner's socket, held against what `runner/wire.ts` says of it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { approveByPolicy } from '../src/approval/approve.ts';
import type { Plan } from '../src/command.ts';
import { isTrlError } from '../src/errors.ts';
import { frameTypes } from '../src/frame.ts';
import { allowVerdict } from '../src/policy/verdict.ts';
import { RunnerLink, type OutputFollower } from '../src/process/runner-link.ts';
import { hmac } from '../src/runner/wire.ts';
import { resolveBounds } from '../src/session/bounds.ts';
import { openPeer, RunnerPeer } from './support/runner-peer.ts';

const { stdout, stderr } = frameTypes;
const gone = { code: 'BACKEND_UNAVAILABLE' } as const;

/** An answer with the fields of each operation that is requested below. */
const accepted = { ok: true, executions: [], journal_from: 0, journal_bytes: 0, state: 'running' };

/** A reader that keeps what it gets. */
class Reader implements OutputFollower {
  readonly got: unknown[][] = [];
  #peer: RunnerPeer;
  /** What `output` answers: when the bytes are taken. */
  taken: Promise<void> | undefined = undefined;

  constructor(peer: RunnerPeer) {
    this.#peer = peer;
  }
  #keep(...what: unknown[]): void {
    this.got.push(what);
    this.#peer.wake();
  }
  output(stream: string, offset: number, bytes: Uint8Array): void | Promise<void> {
    this.#keep(stream, offset, Buffer.from(bytes).toString());
    return this.taken;
  }
  gap(from: number, to: number): void {
    this.#keep('gap', from, to);
  }
  end(offset: number, reason: string): void {
    this.#keep('end', offset, reason);
  }
}

const plan: Plan = {
  exec_id: 'x-1',
  session_id: 's-1',
  command: 'true',
  argv: null,
  shell: { path: '/bin/bash', dialect: 'bash' },
  cwd: '/w',
  cwd_fallback: '/',
  env: {},
  command_env: {},
  carry: 'none',
  mode: 'foreground',
  stdin: { kind: 'closed' },
  pty: null,
  bounds: resolveBounds({}, 'foreground'),
  box: { kind: 'none' },
};

test('both ends greet as the wire says', async () => {
  using peer = new RunnerPeer();
  const link = await peer.open();
  const [hello, proof] = [await peer.hear(), await peer.hear()];
  const { nonce } = hello.hello;
  assert.match(nonce, /^[0-9a-f]{64}$/);
  assert.deepEqual(hello, { hello: { versions: [5], epoch: peer.epoch, nonce } });
  const wanted = hmac(peer.key, 'daemon', '7'.repeat(64), nonce, String(peer.epoch));
  assert.deepEqual(proof, { proof: wanted });
  assert.deepEqual(
    [link.pid, link.journal, link.canPrepare, link.closed],
    [42, 'tmpfs', true, false],
  );
  assert.equal(link.epoch, peer.epoch);
});

test('what a welcome does not say is not so', async () => {
  for (const welcome of [{ pid: 1 }, { pid: 1, journal: 'ram', holds: 'yes' }]) {
    using peer = new RunnerPeer(welcome);
    const link = await peer.open();
    assert.deepEqual([link.pid, link.journal, link.canPrepare], [1, 'ram', false]);
  }
});

test('where nobody answers there is no link', async () => {
  const nowhere = path.join(tmpdir(), 'trl-no-runner-here');
  const nothing = (): void => {};
  const events = {
    exit: nothing,
    progress: nothing,
    waiting: nothing,
    toolCall: nothing,
    hostAsked: () => {},
  };
  const lost = (): void => assert.fail('a link that never was is not lost');
  const auth = { key: Buffer.alloc(32), epoch: 1 };
  await assert.rejects(
    RunnerLink.open(nowhere, auth, { ...events, lost }),
    (error: unknown) =>
      isTrlError(error, gone.code) &&
      error.cause instanceof Error &&
      /ENOENT/.test(String(error.cause)),
  );
});

test('who does not prove the key in five seconds is left; who did is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { peer, link } = await openPeer();
  using _peer = peer;
  using silent = new RunnerPeer();
  silent.say = () => {};
  const opening = silent.open();
  await silent.until(() => silent.heard.length === 1);
  t.mock.timers.tick(4_999);
  const asked = link.request('list', {});
  await peer.hear();
  t.mock.timers.tick(1);
  await assert.rejects(opening, gone);
  peer.say({ n: 1, ...accepted });
  await asked;
  assert.deepEqual([peer.told, link.closed], [[], false]);
  link.close();
});

test('each request gets its own answer, in whatever order they come', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const one = link.request('list', {});
  const two = link.request('info', { exec_id: 'x-1' });
  const three = link.request('unfollow', { channel: 9 });
  assert.deepEqual(await peer.hear(), { n: 1, op: 'list' });
  assert.deepEqual(await peer.hear(), { n: 2, op: 'info', exec_id: 'x-1' });
  assert.deepEqual(await peer.hear(), { n: 3, op: 'unfollow', channel: 9 });
  const data = { why: 'busy' };
  peer.say({ n: 2, ok: false, code: 'EXEC_NOT_FOUND', message: 'Cannot find it', data });
  peer.say({ n: 3, ok: false, code: 'INTERNAL_ERROR', message: 'The runner failed' });
  peer.say({ n: 1, ...accepted });
  assert.deepEqual(await one, { n: 1, ...accepted });
  await assert.rejects(two, { code: 'EXEC_NOT_FOUND', message: 'Cannot find it', data });
  await assert.rejects(three, { code: 'INTERNAL_ERROR', data: null });
});

test('events are told with all that they say', async () => {
  const { peer } = await openPeer();
  using _peer = peer;
  peer.say({ event: 'exit', exit: { exec_id: 'x-1', code: 3 } });
  peer.say({ event: 'progress', progress: { exec_id: 'x-1', bytes: 5 } });
  const waiting = { pid: 7, program: 'ssh', certain: true };
  peer.say({ event: 'waiting', exec_id: 'x-1', ...waiting });
  peer.say({ event: 'call', exec_id: 'x-1', call: 4, text: 'read' });
  await peer.until(() => peer.told.length === 4);
  assert.deepEqual(peer.told, [
    ['exit', { exec_id: 'x-1', code: 3 }],
    ['progress', { exec_id: 'x-1', bytes: 5 }],
    ['waiting', 'x-1', waiting],
    ['called', 'x-1', 4, 'read'],
  ]);
});

test('a journal is followed on a channel, and what is taken is acknowledged', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const [reader, other] = [new Reader(peer), new Reader(peer)];
  const following = link.follow('x-1', { from: 5, max: 100 }, reader);
  const follow = { op: 'follow', exec_id: 'x-1', channel: 1, from: 5 };
  assert.deepEqual(await peer.hear(), { n: 1, ...follow, max: 100 });
  peer.say({ n: 1, ...accepted });
  await following;
  const second = link.follow('x-1', { from: 5 }, other);
  assert.deepEqual(await peer.hear(), { n: 2, ...follow, channel: 2 });
  peer.say({ n: 2, ...accepted });
  await second;
  peer.send(stdout, 1, 5, 'abc');
  assert.deepEqual(await peer.hear(), { n: 0, op: 'ack', channel: 1, offset: 8 });
  peer.send(stderr, 2, 8, 'de');
  assert.deepEqual(await peer.hear(), { n: 0, op: 'ack', channel: 2, offset: 10 });
  peer.say({ event: 'gap', channel: 1, from: 8, to: 20 });
  peer.say({ event: 'end', channel: 1, offset: 20, reason: 'max' });
  // What comes behind the end, or on a channel of nobody, is nothing.
  peer.send(stdout, 1, 20, 'late');
  peer.send(stdout, 9, 0, 'stray');
  peer.say({ event: 'gap', channel: 1, from: 20, to: 30 });
  peer.send(stdout, 2, 10, 'f');
  assert.deepEqual(await peer.hear(), { n: 0, op: 'ack', channel: 2, offset: 11 });
  assert.deepEqual(reader.got, [
    ['stdout', 5, 'abc'],
    ['gap', 8, 20],
    ['end', 20, 'max'],
  ]);
  assert.deepEqual(other.got, [
    ['stderr', 8, 'de'],
    ['stdout', 10, 'f'],
  ]);
});

test('bytes are acknowledged when their reader has taken them, even if it failed', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const reader = new Reader(peer);
  const following = link.follow('x-1', { from: 0 }, reader);
  await peer.hear();
  peer.say({ n: 1, ...accepted });
  await following;
  const { promise, resolve } = Promise.withResolvers<void>();
  reader.taken = promise;
  peer.send(stdout, 1, 0, 'slow');
  await peer.until(() => reader.got.length === 1);
  const asked = link.request('list', {});
  assert.equal((await peer.hear()).op, 'list', 'nothing is acknowledged before');
  peer.say({ n: 2, ...accepted });
  await asked;
  resolve();
  assert.deepEqual(await peer.hear(), { n: 0, op: 'ack', channel: 1, offset: 4 });
  const failing = Promise.withResolvers<void>();
  reader.taken = failing.promise;
  peer.send(stdout, 1, 4, 'x');
  await peer.until(() => reader.got.length === 2);
  failing.reject(new Error('the reader failed'));
  assert.deepEqual(await peer.hear(), { n: 0, op: 'ack', channel: 1, offset: 5 });
});

test('a reader that leaves says so once, and hears no more', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const reader = new Reader(peer);
  const following = link.follow('x-1', { from: 0 }, reader);
  await peer.hear();
  peer.say({ n: 1, ...accepted });
  const leave = await following;
  leave();
  leave();
  assert.deepEqual(await peer.hear(), { n: 2, op: 'unfollow', channel: 1 });
  peer.send(stdout, 1, 0, 'late');
  peer.say({ n: 2, ok: false, code: 'EXEC_NOT_FOUND', message: 'it is gone' });
  const list = link.request('list', {});
  assert.deepEqual(await peer.hear(), { n: 3, op: 'list' });
  peer.say({ n: 3, ...accepted });
  await list;
  assert.deepEqual(reader.got, []);
});

test('what cannot be followed leaves its channel to nobody', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const reader = new Reader(peer);
  const following = link.follow('x-1', { from: 0 }, reader);
  await peer.hear();
  peer.say({ n: 1, ok: false, code: 'EXEC_NOT_FOUND', message: 'Cannot find it' });
  await assert.rejects(following, { code: 'EXEC_NOT_FOUND' });
  peer.end();
  await peer.until(() => peer.told.length > 0);
  assert.deepEqual(reader.got, []);
});

test('there are as many channels as the wire can name, each once', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const reader = new Reader(peer);
  const all = Array.from({ length: 65_535 }, () => link.follow('x-1', { from: 0 }, reader));
  await assert.rejects(link.follow('x-1', { from: 0 }, reader), { code: 'QUOTA_EXCEEDED' });
  await peer.until(() => peer.heard.length === all.length);
  const channels = peer.heard.map(({ channel }) => channel);
  assert.deepEqual([channels[0], channels.at(-1)], [1, 65_535]);
  assert.equal(new Set(channels).size, all.length);
  peer.heard.splice(0);
  // One that is free again is found, wherever it is.
  peer.say({ event: 'end', channel: 700, offset: 0, reason: 'exit' });
  await peer.until(() => reader.got.length === 1);
  const again = link.follow('x-1', { from: 0 }, reader);
  assert.equal((await peer.hear()).channel, 700);
  link.close();
  await Promise.allSettled([...all, again]);
});

test('a runner that ends takes with it what was asked and followed, and says so once', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const reader = new Reader(peer);
  const following = link.follow('x-1', { from: 0 }, reader);
  const asked = link.request('list', {});
  await peer.until(() => peer.heard.length === 2);
  peer.end();
  await assert.rejects(asked, gone);
  await assert.rejects(following, gone);
  assert.deepEqual(peer.told, [['lost']]);
  assert.deepEqual(reader.got, [['end', 0, 'lost']]);
  assert.equal(link.closed, true);
  await assert.rejects(link.request('list', {}), gone);
});

test('a runner whose words are none is left', async () => {
  for (const [type, text] of [
    [frameTypes.control, 'no JSON'],
    [9, ''],
  ] as const) {
    const { peer, link } = await openPeer();
    using _peer = peer;
    const asked = link.request('list', {});
    peer.send(type, 0, 0, text);
    await assert.rejects(asked, gone);
    assert.deepEqual(peer.told, [['lost']]);
  }
});

test('a link that is closed is not lost', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const asked = link.request('list', {});
  await peer.hear();
  const reader = new Reader(peer);
  const following = link.follow('x-1', { from: 0 }, reader);
  link.close();
  assert.equal(link.closed, true);
  await assert.rejects(asked, gone);
  await assert.rejects(following, gone);
  assert.deepEqual([peer.told, reader.got], [[], [['end', 0, 'lost']]]);
});

test('a plan is sealed with a number of its own, and its box is sent once', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const allow = allowVerdict('test', 'is its own');
  const approved = approveByPolicy(plan, allow);
  const sealed = link.seal(approved);
  const macOf = (seq: number): string =>
    hmac(peer.key, 'plan', approved.digest, 'x-1', String(peer.epoch), String(seq));
  const { canonical, box } = approved;
  assert.deepEqual(sealed, { plan: canonical, seq: 1, mac: macOf(1), box: box.canonical });
  assert.equal(createHash('sha256').update(sealed.plan).digest('hex'), approved.digest);
  assert.deepEqual(link.seal(approved), { plan: canonical, seq: 2, mac: macOf(2) });
  // Both ends forget the oldest of more than 64.
  const isNew = (at: number): boolean => {
    const other: Plan = { ...plan, box: { kind: 'none', at } as Plan['box'] };
    return link.seal(approveByPolicy(other, allow)).box !== undefined;
  };
  assert.deepEqual(
    Array.from({ length: 63 }, (_, at) => isNew(at)).filter((one) => !one),
    [],
  );
  assert.equal(link.seal(approved).box, undefined);
  assert.equal(isNew(63), true);
  assert.equal(link.seal(approved).box, box.canonical);
  assert.equal(isNew(2), false);
});

test('no output is taken before the proof', async () => {
  using peer = new RunnerPeer();
  const say = peer.say.bind(peer);
  peer.say = (message) => {
    peer.send(stdout, 1, 0, 'early');
    say(message);
  };
  await assert.rejects(peer.open(), gone);
});

test('a refusal in the place of a welcome is one', async () => {
  using peer = new RunnerPeer();
  const say = peer.say.bind(peer);
  peer.say = (message) => say('welcome' in message ? { refused: 'epoch 3 is old' } : message);
  await assert.rejects(peer.open(), gone);
});

test('output leaves what is behind it in its order', async () => {
  const { peer, link } = await openPeer();
  using _peer = peer;
  const reader = new Reader(peer);
  const following = link.follow('x-1', { from: 0 }, reader);
  await peer.hear();
  peer.say({ n: 1, ...accepted });
  await following;
  peer.send(stdout, 1, 0, 'a');
  peer.send(stderr, 1, 1, 'b');
  peer.say({ event: 'end', channel: 1, offset: 2, reason: 'exit' });
  await peer.until(() => reader.got.length === 3);
  assert.deepEqual(reader.got, [
    ['stdout', 0, 'a'],
    ['stderr', 1, 'b'],
    ['end', 2, 'exit'],
  ]);
});
