// The feed: everything that there is, then everything that changes. And leases, which it shows.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Duplex } from 'node:stream';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { isTrlError } from '../src/client/index.ts';
import type { Client, ErrorCode, FeedEvent } from '../src/client/index.ts';
import { LatestValueBuffer } from '../src/client/event-buffer.ts';
import type { Caller, ExecId } from '../src/command.ts';
import { FeedWatch } from '../src/daemon/transport/feed-watch.ts';
import { ConnectionWriter } from '../src/daemon/transport/connection-writer.ts';
import { Leases } from '../src/daemon/executions/leases.ts';
import { connectLocal } from '../src/local/index.ts';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { eventually } from './support/processes.ts';

const skip = whyNoBox;
const timeout = 240_000;
let daemon: Daemon;
let client: Client;
before(async () => {
  daemon = await startRuntime();
  client = await connectLocal({ socketPath: daemon.socketPath });
});
after(async () => {
  await client.close();
  await daemon.stop();
});

const coded = (code: ErrorCode, message: RegExp) => (error: unknown) =>
  isTrlError(error, code) && message.test(error.message);

/** Everything that is told, in order, as a reader of the test looks for it. */
class Told implements AsyncDisposable {
  readonly events: FeedEvent[] = [];
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  #wake = (): void => {};

  constructor(of: Client) {
    this.#reading = this.#read(of);
  }

  async #read(of: Client): Promise<void> {
    try {
      for await (const event of of.watch(this.#stop.signal)) {
        this.events.push(event);
        this.#wake();
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  async first<T>(look: (event: FeedEvent) => T | null): Promise<T> {
    for (;;) {
      for (const event of this.events) {
        const found = look(event);
        if (found !== null) return found;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }
}

test(
  'who watches is told of what there is, then of each change to its end',
  { skip, timeout },
  async () => {
    writeFileSync(path.join(daemon.root, 'a.txt'), 'text\n');
    const before = await client.createSession({ working_dir: daemon.root, name: 'before' });
    const known = await before.start('cat');
    await client.call('secrets.request', { name: 'FEED_TOKEN', reason: 'to look' });
    await using told = new Told(client);
    const names = (): string[] =>
      told.events.flatMap((event) => (event.kind === 'session' ? [event.session.name ?? ''] : []));
    await told.first((event) => (event.kind === 'secret-requests' ? event : null));
    assert.ok(names().includes('before'));
    const exec = await told.first((event) =>
      event.kind === 'exec' && event.exec.exec_id === known ? event.exec : null,
    );
    assert.equal('receipt' in exec, false);
    await told.first((event) =>
      event.kind === 'secret-requests' && event.requests.some(({ name }) => name === 'FEED_TOKEN')
        ? event
        : null,
    );

    const session = await client.createSession({
      working_dir: daemon.root,
      name: 'after',
      policy: 'guarded',
    });
    const receipt = await session.run('cat a.txt');
    const statesOf = (id: string): string[] =>
      told.events.flatMap((event) =>
        event.kind === 'exec' && event.exec.exec_id === id ? [event.exec.state] : [],
      );
    await told.first((event) =>
      event.kind === 'exec' && event.exec.exec_id === receipt.exec_id && event.exec.exit_code === 0
        ? event
        : null,
    );
    assert.equal(statesOf(receipt.exec_id).at(-1), 'exited');
    const sessionStates = told.events.flatMap((event) =>
      event.kind === 'session' && event.session.session_id === session.id
        ? [event.session.state]
        : [],
    );
    assert.ok(sessionStates.includes('running'), sessionStates.join());

    await assert.rejects(session.run('touch made'), coded('APPROVAL_REQUIRED', /must decide/));
    const approval = await told.first((event) =>
      event.kind === 'approval' && event.approval.asked.command === 'touch made'
        ? event.approval
        : null,
    );
    assert.equal(approval.state, 'pending');
    const { approval_id: id, digest } = approval;
    await client.decide({ approval_id: id, decision: 'deny', digest });
    await told.first((event) =>
      event.kind === 'approval' && event.approval.approval_id === id
        ? event.approval.state === 'denied' || null
        : null,
    );
    await client.call('secrets.delete', { name: 'FEED_TOKEN' });
    await told.first((event) =>
      event.kind === 'secret-requests' && event.requests.length === 0 ? event : null,
    );
    await session.destroy();
    await told.first((event) =>
      event.kind === 'session-ended' && event.session_id === session.id ? event : null,
    );
    await before.destroy({ force: true });
  },
);

test('changes that a person must let through are counted', { skip, timeout }, async () => {
  writeFileSync(path.join(daemon.root, 'Makefile'), 'all:\n');
  const session = await client.createSession({ working_dir: daemon.root });
  await using told = new Told(client);
  await session.run('mkdir -p .git/hooks && echo x > .git/hooks/pre-commit');
  const held = await told.first((event) =>
    event.kind === 'held' && event.session_id === session.id && event.count > 0 ? event : null,
  );
  const status = await client.call('workspace.status', { session_id: session.id });
  assert.equal(held.count, status.totals.held);
  await session.destroy({ force: true });
});

test('one connection watches once, tells nothing before that, ends with its client', async () => {
  using one = await raw(daemon.socketPath);
  const { data } = await one.ask('system.watch');
  assert.match(data.stream_id, /^f-[0-9a-f]{32}$/);
  const events: { stream_id?: string; error?: { message: string } }[] = [];
  await one.send({ id: 'again', method: 'system.watch', params: {} });
  for (let event = await one.json(); event.id === undefined; event = await one.json()) {
    events.push(event);
    assert.equal(event.stream_id, data.stream_id);
  }
  assert.match(one.received(), /this connection does already/);
  const stopped = client.watch(AbortSignal.abort(new Error('enough')));
  await assert.rejects(stopped.next(), /enough/);
});

test('a reader that is slower than what changes gets the last state of each thing', async () => {
  const sent: string[] = [];
  let release = (): void => {};
  const slow = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      sent.push(String(chunk));
      release = () => {
        release = () => {};
        done();
      };
    },
  });
  const gone = new AbortController();
  let tell: (key: string, value: number) => void = () => {};
  const runtime = {
    masking: { json: (value: unknown) => JSON.stringify(value) },
    feed: {
      watch: (_: Caller, told: (key: string, look: () => unknown) => void) => {
        tell = (key, value) => told(key, () => ({ key, value }));
        return () => {};
      },
    },
  };
  const options = { runtime, caller: {}, writer: new ConnectionWriter(slow), signal: gone.signal };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all of them that it uses
  const watch = new FeedWatch(options as unknown as ConstructorParameters<typeof FeedWatch>[0]);
  watch.announce().start();
  const padding = 'x'.repeat(1_000);
  for (let value = 0; value < 5_000; value += 1) {
    tell('a', value);
    tell(`${padding}${value % 3}`, value);
    if (value % 100 === 0) await new Promise(setImmediate);
  }
  // It reads on: a queue as long as what changed would now come out.
  for (let quiet = 0; quiet < 20; quiet += 1) {
    const before = sent.length;
    release();
    await new Promise(setImmediate);
    if (sent.length > before) quiet = 0;
  }
  const events = sent.map((line) => JSON.parse(line).event);
  assert.ok(events.length < 200, `${events.length} of 10,000 changes were sent`);
  const last = new Map(events.map(({ key, value }) => [key.slice(-1), value]));
  assert.deepEqual(Object.fromEntries(last), { 0: 4_998, 1: 4_999, 2: 4_997, a: 4_999 });
  gone.abort();
  slow.destroy();
  await once(slow, 'close');
});

test('a client that reads late gets the last value of each key, in order of change', async () => {
  const change = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat());
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 50 }), async (changes) => {
      const latest = new LatestValueBuffer<string>();
      for (const [key, value] of changes) latest.put(key, `${key}${value}`);
      latest.fail(new Error('over'));
      const got: string[] = [];
      const read = async (): Promise<void> => {
        for await (const value of latest) got.push(value);
      };
      await assert.rejects(read(), /over/);
      const wanted = changes
        .filter(([key], at) => changes.findLastIndex(([other]) => other === key) === at)
        .map(([key, value]) => `${key}${value}`);
      assert.deepEqual(got, wanted);
    }),
    { numRuns: 50 },
  );
  const behind = new LatestValueBuffer<number>();
  for (let at = 0; at <= 65_536; at += 1) behind.put(String(at), at);
  const all = async (): Promise<void> => {
    for await (const _ of behind) continue;
  };
  await assert.rejects(all(), coded('QUOTA_EXCEEDED', /behind with over 65536/));
});

test(
  'while somebody has taken a command, nobody else types into it',
  { skip, timeout },
  async () => {
    const session = await client.createSession({ working_dir: daemon.root });
    const id = await session.start('cat', { stdin_open: true });
    await client.write({ exec_id: id, data: 'one\n' });
    const { lease_id, holder, expires_at } = await client.lease({ exec_id: id, action: 'take' });
    assert.equal(holder, `uid:${process.getuid?.() ?? ''}`);
    const busy = coded('SESSION_BUSY', new RegExp(`${holder} has taken it until`));
    await assert.rejects(client.write({ exec_id: id, data: 'no\n' }), busy);
    await assert.rejects(client.write({ exec_id: id, data: 'no\n', lease_id: 'guess' }), busy);
    await assert.rejects(client.resize({ exec_id: id, columns: 80, rows: 24 }), busy);
    await assert.rejects(client.lease({ exec_id: id, action: 'take' }), busy);
    await assert.rejects(client.lease({ exec_id: id, action: 'release', lease_id: 'guess' }), busy);
    const longer = await client.lease({ exec_id: id, action: 'take', lease_id, ttl_ms: 3_600_000 });
    assert.equal(longer.lease_id, lease_id);
    assert.ok(longer.expires_at > expires_at);
    await client.write({ exec_id: id, data: 'two\n', lease_id });
    await client.lease({ exec_id: id, action: 'release', lease_id });
    const none = coded('INVALID_PARAMS', /nobody holds a lease/);
    await assert.rejects(client.lease({ exec_id: id, action: 'release', lease_id }), none);
    await client.lease({ exec_id: id, action: 'take' });
    await eventually('both lines came back', async () => {
      const { chunks } = await client.call('exec.read', { exec_id: id });
      return JSON.stringify(chunks).includes('two');
    });
    await client.cancel({ exec_id: id });
    const receipt = await client.attach(id).collect();
    assert.equal(receipt.stdout, 'one\ntwo\n');
    await assert.rejects(
      client.lease({ exec_id: id, action: 'take' }),
      coded('INVALID_PARAMS', /it has ended/),
    );
    const passed = await client.call('audit.list', { session_id: session.id });
    assert.match(JSON.stringify(passed.events), /exec\.lease/, 'the log tells who took it');
    await session.destroy({ force: true });
  },
);

test('a lease is over in time, and a person takes it from whoever has it', () => {
  let now = 1_000_000;
  const leases = new Leases(() => now);
  const by = (actor: string, ...roles: Caller['roles']): Caller => ({
    actor,
    kind: 'agent',
    authenticatedBy: 'token',
    roles,
  });
  const exec: ExecId = 'x-1';
  const params = { exec_id: exec, action: 'take' } as const;
  const agents = leases.take(by('token:a', 'agent'), { ...params, ttl_ms: 1_000 });
  assert.throws(
    () => leases.take(by('token:b', 'agent'), params),
    coded('SESSION_BUSY', /token:a/),
  );
  const persons = leases.take(by('person:eve', 'approver'), params);
  assert.throws(() => leases.check(exec, agents.lease_id), coded('SESSION_BUSY', /person:eve/));
  assert.throws(() => leases.check(exec, null), coded('SESSION_BUSY', /person:eve/));
  assert.throws(() => leases.take(by('token:a', 'agent'), params), coded('SESSION_BUSY', /eve/));
  leases.check(exec, persons.lease_id);
  now += 59_999;
  assert.throws(() => leases.check(exec, null), coded('SESSION_BUSY', /eve/));
  now += 1;
  leases.check(exec, null);
  const next = leases.take(by('token:b', 'agent'), { ...params, lease_id: persons.lease_id });
  assert.notEqual(next.lease_id, persons.lease_id);
});
