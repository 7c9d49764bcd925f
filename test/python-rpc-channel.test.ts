// The runner's end of a script's descriptor, alone: what a hostile script can make it keep.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { limits } from '../src/limits.ts';
import { ScriptChannel } from '../src/runner/script-channel.ts';

/** A channel, the script's end of it, and the calls that were passed on. */
function open(takes = true) {
  const [near, far] = duplexPair();
  const calls: [number, string][] = [];
  const channel = new ScriptChannel(near, 'text', (call, text) => {
    calls.push([call, text]);
    return takes;
  });
  far.setEncoding('utf8');
  return { channel, near, far, calls };
}

const settled = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** All that has come out by now, besides the script itself. */
async function said(far: ReturnType<typeof open>['far']): Promise<string> {
  await settled();
  const text = String(far.read() ?? '');
  return text.replace(/^4\ntext/, '');
}

test('the script comes first, then an answer for each call', async () => {
  const { channel, far, calls } = open();
  far.write('1 {"a":1}\n2 {"b"');
  await settled();
  far.write(':2}\n');
  await settled();
  assert.deepEqual(calls, [
    [1, '{"a":1}'],
    [2, '{"b":2}'],
  ]);
  channel.answer(2, '"two"');
  channel.answer(2, '"again"');
  channel.answer(3, '"nobody asked"');
  channel.answer(1, '"one"');
  assert.equal(await said(far), '2 "two"\n1 "one"\n');
});

test('at most 64 calls are open, and the rest waits with the script', async () => {
  const { channel, far, calls } = open();
  const most = limits.scriptCallsOpen.max;
  far.write(Array.from({ length: most + 40 }, (_, at) => `${at + 1} {}\n`).join(''));
  await settled();
  assert.equal(calls.length, most);
  for (let at = 1; at <= most; at += 1) channel.answer(at, '1');
  await settled();
  assert.equal(calls.length, most + 40);
});

test('more calls than a script may make are answered, and not passed on', async () => {
  const { channel, far, calls } = open();
  const most = limits.scriptCalls.default;
  let answered = 0;
  far.on('data', (text: string) => {
    answered += text.split('\n').length - 1;
  });
  for (let at = 1; at <= most + 10; at += 1) {
    far.write(`${at} {}\n`);
    await new Promise(setImmediate);
    channel.answer(at, '1');
  }
  await settled();
  assert.equal(calls.length, most);
  assert.ok(answered >= most + 10);
});

test('answers that nobody reads are not piled up', async () => {
  const { channel, near, far } = open();
  const large = JSON.stringify('x'.repeat(limits.scriptCallBytes.max - 16));
  for (let at = 1; at <= 60; at += 1) far.write(`${at} {}\n`);
  await settled();
  for (let at = 1; at <= 60; at += 1) channel.answer(at, large);
  assert.ok(near.writableLength < 8 * limits.scriptCallBytes.max, `${near.writableLength}`);
  let text = '';
  far.on('data', (more: string) => {
    text += more;
  });
  await settled();
  await settled();
  assert.match(text, /QUOTA_EXCEEDED/);
});

test('an answer that is too long is told as one', async () => {
  const { channel, far } = open();
  far.write('1 {}\n');
  await settled();
  channel.answer(1, JSON.stringify('x'.repeat(limits.scriptCallBytes.max)));
  assert.match(await said(far), /^1 .*QUOTA_EXCEEDED.*\n$/);
});

test('without a daemon, and when it goes, each call is told that it is lost', async () => {
  const alone = open(false);
  alone.far.write('1 {}\n2 {}\n'.repeat(1));
  assert.equal((await said(alone.far)).match(/BACKEND_UNAVAILABLE/g)?.length, 2);
  // One chunk of many calls, each answered at once, is no recursion.
  const many = open(false);
  many.far.on('data', () => {});
  many.far.write(Array.from({ length: 9_000 }, (_, at) => `${at + 1} {}\n`).join(''));
  await settled();
  assert.equal(many.calls.length, 9_000);
  const { channel, far } = open();
  far.write('1 {}\n2 {}\n');
  await settled();
  channel.lose();
  assert.equal((await said(far)).match(/BACKEND_UNAVAILABLE/g)?.length, 2);
});

test('whatever bytes come, only calls are passed on, and nothing throws', async () => {
  const line = fc.oneof(
    fc.constant('{}\n'),
    fc.constant('1 {}\n'),
    fc.constant('\n'),
    fc.string(),
    fc.integer().map((number) => `${number} x\n`),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line), async (lines) => {
      const { far, near, calls } = open();
      for (const one of lines) if (!near.destroyed) far.write(one);
      await settled();
      assert.ok(calls.every(([call]) => Number.isSafeInteger(call) && call > 0));
      assert.equal(new Set(calls.map(([call]) => call)).size, calls.length);
      near.destroy();
    }),
    { numRuns: 60 },
  );
});

test('a line without an end closes the channel before it is kept', async () => {
  const { far, near } = open();
  const closed = once(near, 'close');
  for (let at = 0; at < 20 && !near.destroyed; at += 1) {
    far.write('x'.repeat(65_536));
    await settled();
  }
  await closed;
});
