import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { waitOrAbort } from '../src/daemon/executions/read-output.ts';

test('a wait leaves no listener with the signal of its connection, however it ends', async () => {
  const connection = new AbortController();
  const { signal } = connection;
  const count = (): number => getEventListeners(signal, 'abort').length;
  await waitOrAbort(Promise.resolve(), signal);
  assert.equal(count(), 0);
  await assert.rejects(waitOrAbort(Promise.reject(new Error('lost')), signal), /lost/);
  assert.equal(count(), 0);
  const waiting = waitOrAbort(new Promise(() => {}), signal);
  assert.equal(count(), 1);
  connection.abort();
  await waiting;
  assert.equal(count(), 0);
  await waitOrAbort(new Promise(() => {}), signal);
  assert.equal(count(), 0);
});
