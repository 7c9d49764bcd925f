// What the HTTP door is made of, alone: rates, kept answers, pages, shares, the ring.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, connect, Socket } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { readHttpFlags } from '../src/daemon/http/address.ts';
import { Connections } from '../src/daemon/http/connections.ts';
import { IdempotencyCache } from '../src/daemon/http/idempotency-cache.ts';
import { RouteTable } from '../src/daemon/http/route-table.ts';
import { cutAnswerPage, parsePageRequest } from '../src/daemon/http/pages.ts';
import { RateLimiter } from '../src/daemon/http/rate-limiter.ts';
import { RefusalLog } from '../src/daemon/http/refusal-log.ts';
import { ChunkRing } from '../src/daemon/http/chunk-ring.ts';
import type { EncodedChunk } from '../src/daemon/http/chunk-ring.ts';
import { routes } from '../src/daemon/http/routes.ts';
import { parseTraceparent } from '../src/daemon/http/trace.ts';
import { UnsentBudget } from '../src/daemon/http/unsent-budget.ts';
import { Semaphore } from '../src/daemon/executions/semaphore.ts';
import type { TrlError } from '../src/errors.ts';

const token = 'x'.repeat(32);
const flags = { http: '127.0.0.1:0', cert: null, key: null, names: [], origins: [] };

test('HTTP opens only with a token, where others cannot listen in', () => {
  assert.deepEqual(readHttpFlags({ ...flags, http: null }, undefined), null);
  assert.equal(readHttpFlags(flags, token)?.host, '127.0.0.1');
  assert.equal(readHttpFlags({ ...flags, http: '[::1]:80' }, token)?.host, '::1');
  assert.equal(readHttpFlags({ ...flags, http: 'localhost:80' }, token)?.host, '127.0.0.1');
  for (const wrong of [undefined, '', 'short', 'x'.repeat(31), `${token}\n`]) {
    assert.throws(() => readHttpFlags(flags, wrong), /TRL_AUTH_TOKEN/);
  }
  const refused: readonly (readonly [Partial<typeof flags> | object, RegExp])[] = [
    [{ http: '0.0.0.0:80' }, /--http-cert/],
    [{ http: '[::]:80' }, /--http-cert/],
    [{ http: '192.0.2.1:80' }, /--http-cert/],
    [{ http: '[::ffff:192.0.2.1]:80' }, /--http-cert/],
    [{ http: '128.0.0.1:80' }, /--http-cert/],
    [{ http: '8080' }, /ADDRESS:PORT/],
    [{ http: ':8080' }, /ADDRESS:PORT/],
    [{ http: '127.0.0.1:99999' }, /ADDRESS:PORT/],
    [{ http: 'box.example:80' }, /ADDRESS:PORT/],
    [{ cert: '/c' }, /together/],
    [{ http: null, names: ['a'] }, /--http/],
    [{ origins: ['null'] }, /--http-origin/],
    [{ origins: ['https://a.example/path'] }, /--http-origin/],
    [{ names: ['a/b'] }, /--http-host/],
  ];
  for (const [change, why] of refused) {
    assert.throws(() => readHttpFlags({ ...flags, ...change }, token), why, JSON.stringify(change));
  }
});

test('a bucket gives its burst, and then what comes back', () => {
  let now = 0;
  const rates = new RateLimiter({ burst: 3, perSecond: 2 }, () => now);
  const takes = (): boolean => rates.take('a').isAllowed;
  assert.deepEqual([takes(), takes(), takes(), takes()], [true, true, true, false]);
  assert.equal(rates.take('b').isAllowed, true);
  now = 500;
  assert.deepEqual([takes(), takes()], [true, false]);
  assert.equal(rates.take('a').waitS, 1);
});

test('a key gives its answer again, as long as it was one', async () => {
  let now = 0;
  const kept = new IdempotencyCache(() => now);
  let calls = 0;
  const act = async () => {
    calls += 1;
    return { status: 201, body: `${calls}`, headers: {} };
  };
  const keyed = { actor: 'a', target: 'POST /x', key: 'k', params: { value: 1, other: 2 } };
  assert.equal((await kept.answerOnce(keyed, act)).body, '1');
  const sorted = { ...keyed, params: { other: 2, value: 1 } };
  assert.equal((await kept.answerOnce(sorted, act)).body, '1');
  await assert.rejects(
    kept.answerOnce({ ...keyed, params: { value: 2 } }, act),
    (error: TrlError) => error.code === 'IDEMPOTENCY_CONFLICT',
  );
  assert.equal((await kept.answerOnce({ ...keyed, actor: 'b' }, act)).body, '2');
  now = 86_400_001;
  assert.equal((await kept.answerOnce(keyed, act)).body, '3');
  const fails = () => Promise.reject(new Error('no'));
  await assert.rejects(kept.answerOnce({ ...keyed, key: 'f' }, fails));
  assert.equal((await kept.answerOnce({ ...keyed, key: 'f' }, act)).body, '4');
});

test('answers that are kept are bounded in number and in bytes', async () => {
  const kept = new IdempotencyCache();
  const big = 'x'.repeat(1_000_000);
  let calls = 0;
  const act = async () => {
    calls += 1;
    return { status: 200, body: big, headers: {} };
  };
  const asked = (key: string) => ({ actor: 'a', target: 'p', key, params: {} });
  for (let at = 0; at < 40; at += 1) await kept.answerOnce(asked(`k${at}`), act);
  await kept.answerOnce(asked('k39'), act);
  assert.equal(calls, 40);
  await kept.answerOnce(asked('k0'), act);
  assert.equal(calls, 41);
});

test('who keeps much takes nothing from others, also by answers that are slow', async () => {
  const kept = new IdempotencyCache();
  const calls = new Map<string, number>();
  const once = (actor: string, key: string, body: () => Promise<string>) =>
    kept.answerOnce({ actor, target: 'p', key, params: {} }, async () => {
      calls.set(`${actor} ${key}`, (calls.get(`${actor} ${key}`) ?? 0) + 1);
      return { status: 200, body: await body(), headers: {} };
    });
  await once('victim', 'k', async () => 'theirs');
  const big = 'x'.repeat(4_000_000);
  for (let round = 0; round < 8; round += 1) {
    let finish = (): void => {};
    const slow = once('greedy', `slow ${round}`, async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return big;
    });
    // Beyond as many keys as one caller has, the first is let go before its answer is there.
    for (let at = 0; at < 1_000; at += 1) await once('greedy', `${round} ${at}`, async () => '');
    finish();
    await slow;
    await once('greedy', `big ${round}`, async () => big);
  }
  await once('victim', 'k', async () => 'theirs');
  assert.equal(calls.get('victim k'), 1);
});

test('pages are the list, whatever their size', () => {
  const paging = { items: 'all', key: 'id', by: 'whole', usual: 3, max: 50 } as const;
  fc.assert(
    fc.property(fc.nat(60), fc.integer({ min: 1, max: 50 }), (count, limit) => {
      const all = Array.from({ length: count }, (_, at) => ({ id: `i${at}` }));
      const found: unknown[] = [];
      let cursor: string | undefined;
      do {
        const page = cutAnswerPage(paging, parsePageRequest(paging, limit, cursor), { all });
        found.push(...JSON.parse(JSON.stringify(page.answer)).all);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      assert.deepEqual(found, all);
    }),
  );
});

test('what leaves a list between two pages hides nothing of the rest', () => {
  const paging = { items: 'all', key: 'id', by: 'whole', usual: 2, max: 50 } as const;
  const all = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
  const { next } = cutAnswerPage(paging, parsePageRequest(paging, undefined, undefined), { all });
  const later = cutAnswerPage(paging, parsePageRequest(paging, undefined, next), {
    all: all.slice(1),
  });
  assert.deepEqual(JSON.parse(JSON.stringify(later.answer)).all, [{ id: 'c' }, { id: 'd' }]);
});

const paths = fc
  .array(fc.constantFrom('v1', 'execs', 'sessions', 'x-1', 'audit', '%2e', '..', '', 'ä', '%'))
  .map((parts) => `/${parts.join('/')}`);

test('no path matches two rows, and none that a row does not have', () => {
  const table = new RouteTable(routes);
  for (const { method, path } of routes) {
    const filled = path.replaceAll(/\{\w+\}/g, 'x-1');
    assert.equal(table.find(method, filled)?.row.path, path);
  }
  fc.assert(
    fc.property(paths, (path) => {
      try {
        const found = table.find('GET', path);
        if (found !== null) assert.equal(found.row.path.split('/').length, path.split('/').length);
      } catch (error) {
        assert.ok(error instanceof Error && error.constructor.name === 'HttpRefusal');
      }
    }),
  );
});

test('a trace goes on only in the form that it has', () => {
  const right = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  assert.equal(parseTraceparent(right).isGiven, true);
  for (const wrong of [right.toUpperCase(), `${right}-x`, `${right} `, right.slice(1), '']) {
    assert.equal(parseTraceparent(wrong).isGiven, false, wrong);
  }
  assert.equal(parseTraceparent(`cc${right.slice(2)}-more`).isGiven, true);
});

test('refusals of one kind are told once, counted, and told again with their number', () => {
  const told: unknown[] = [];
  const auditing = { note: (one: { data: unknown }) => void told.push(one.data) };
  const refusals = new RefusalLog({ auditing, door: 'http' });
  for (let at = 0; at < 1_000; at += 1) refusals.note('host', '192.0.2.1');
  for (let at = 0; at < 1_000; at += 1) refusals.note('origin', `192.0.2.${at}`);
  assert.ok(told.length < 300, `${told.length}`);
  refusals[Symbol.dispose]();
  const sum = told.reduce((all: number, one) => all + Number(Reflect.get(Object(one), 'count')), 0);
  assert.equal(sum, 2_000);
});

async function pair(): Promise<{ server: Socket; client: Socket; close: () => void }> {
  const listening = createServer();
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const accepted = once(listening, 'connection');
  const client = connect(port, '127.0.0.1');
  const [server] = await accepted;
  client.on('error', () => {});
  return {
    server,
    client,
    close: () => void [server.destroy(), client.destroy(), listening.close()],
  };
}

test('who shows no token makes room, who shows one stays', async (t) => {
  const connections = new Connections({ connectionsMax: 3, newMax: 2, ofCallerMax: 2 });
  const pairs = await Promise.all(Array.from({ length: 5 }, pair));
  t.after(() => pairs.forEach(({ close }) => close()));
  const [first, second, third, fourth, fifth] = pairs.map(({ server }) => server);
  assert.ok(first && second && third && fourth && fifth);
  connections.add(first);
  const end = connections.begin(first, 'a');
  for (const one of [second, third, fourth]) connections.add(one);
  assert.deepEqual(
    [first, second, third, fourth].map((one) => one.destroyed),
    [false, true, false, false],
  );
  assert.ok(connections.begin(third, 'a') !== null);
  assert.equal(connections.begin(fourth, 'a'), null);
  assert.ok(connections.begin(fourth, 'b') !== null);
  end?.();
  connections.add(fifth);
  assert.equal(first.destroyed, true);
  assert.equal(connections.evicted, 2);
});

const piece = (from: number, to: number): EncodedChunk => ({
  from,
  to,
  output: { stream: 'stdout', bytes: new Uint8Array(to - from) },
  payload: new Uint8Array(to - from),
  isEnd: false,
});

test('a ring waits for those within it, and leaves the others behind', async () => {
  const ring = new ChunkRing(0);
  const fast = ring.join(0);
  const stuck = ring.join(0);
  assert.ok(fast !== null && stuck !== null);
  for (let at = 0; at < 10; at += 1) ring.push(piece(at * 1_000, (at + 1) * 1_000));
  for (let at = 0; at < 10; at += 1) assert.equal(Object(ring.take(fast)).from, at * 1_000);
  assert.equal(ring.take(fast), null);
  await ring.shrink(5_000, 20);
  assert.ok(ring.bytes <= 5_000);
  assert.equal(ring.take(stuck), 'behind');
  assert.equal(ring.join(0), null);
  const late = ring.join(9_500);
  assert.ok(late !== null);
  assert.equal(Object(ring.take(late)).from, 9_000);
});

test('a ring goes on as soon as the last one has passed', async () => {
  const ring = new ChunkRing(0);
  const cursors = [ring.join(0), ring.join(0)];
  for (let at = 0; at < 4; at += 1) ring.push(piece(at * 1_000, (at + 1) * 1_000));
  const shrunk = ring.shrink(2_500, 600_000);
  for (const cursor of cursors) {
    assert.ok(cursor !== null);
    while (typeof ring.take(cursor) === 'object' && cursor.next < 4);
  }
  await shrunk;
  assert.ok(ring.bytes <= 2_500);
});

test('a caller that reads nothing fills its share and no other', () => {
  const unsent = new UnsentBudget({ ofCallerMax: 1_000_000, allMax: 2_500_000 });
  const answer = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));
  const first = answer();
  // One alone is sent whatever its size; a second one beside it is not.
  assert.equal(unsent.hold('a', first, 3_000_000), true);
  assert.equal(unsent.isFull('a'), false);
  assert.equal(unsent.hold('a', answer(), 20_000), false);
  assert.equal(unsent.hold('a', answer(), 10_000), true, 'a small one is no matter');
  first.emit('close');
  const held = [1, 2, 3, 4].map(() => answer());
  for (const one of held) assert.equal(unsent.hold('a', one, 200_000), true);
  assert.equal(unsent.isFull('a'), true);
  assert.equal(unsent.isFull('b'), false);
  for (const caller of ['b', 'c']) {
    assert.equal(unsent.hold(caller, answer(), 800_000), true, caller);
  }
  assert.equal(unsent.hold('c', answer(), 150_000), false, 'all together hold too much');
  for (const one of held) one.emit('close');
  assert.equal(unsent.isFull('a'), false);
  assert.equal(unsent.hold('c', answer(), 150_000), true);
});

test('so many at once, the others in their order', async () => {
  const slots = new Semaphore(2);
  const order: string[] = [];
  const gates: (() => void)[] = [];
  const run = (key: string, name: string) =>
    slots.run(key, async () => {
      order.push(name);
      await new Promise<void>((resolve) => gates.push(resolve));
      if (name === '2') throw new Error('it failed');
    });
  const all = ['1', '2', '3', '4'].map((name) => run('a', name));
  void run('b', 'other');
  assert.deepEqual(order, ['1', '2', 'other']);
  gates[1]?.();
  await assert.rejects(all[1] ?? Promise.resolve());
  assert.deepEqual(order, ['1', '2', 'other', '3']);
  while (order.length < 5) {
    gates.shift()?.();
    await new Promise(setImmediate);
  }
  assert.deepEqual(order.at(-1), '4');
  for (const open of gates) open();
  await Promise.all([all[0], all[2], all[3]]);
});
