import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { orAborted } from '../src/daemon/execs/reading.ts';

test('a wait leaves no listener with the signal of its connection, however it ends', async () => {
  const connection = new AbortController();
  const { signal } = connection;
  const count = (): number => getEventListeners(signal, 'abort').length;
  await orAborted(Promise.resolve(), signal);
  assert.equal(count(), 0);
  await assert.rejects(orAborted(Promise.reject(new Error('lost')), signal), /lost/);
  assert.equal(count(), 0);
  const waiting = orAborted(new Promise(() => {}), signal);
  assert.equal(count(), 1);
  connection.abort();
  await waiting;
  assert.equal(count(), 0);
  await orAborted(new Promise(() => {}), signal);
  assert.equal(count(), 0);
});
