// The TypeScript client does what every client must, over each way to a runtime that it has.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { connect as connectAnywhere, isTrlError } from '../src/client/index.ts';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { conform } from './support/conformance.ts';
import { startHttp } from './support/http.ts';
import type { HttpDaemon } from './support/http.ts';

// Another than that of other tests, whose digits are in what the list prints.
const token = randomBytes(32).toString('base64url');
let daemon: HttpDaemon;
before(async () => {
  const secret = ['cOnf0rmance', 'tok3n', 'of', '32', 'char', 'xyz'].join('-');
  daemon = await startHttp({ env: { CONFORMANCE_TOKEN: secret, TRL_AUTH_TOKEN: token } });
});
after(() => daemon.stop());

test('the client does what every client must', { concurrency: true }, async (t) => {
  const over = async (way: string, open: () => Promise<Client>, offers: readonly string[]) => {
    await t.test(way, async (one) => {
      await using client = await open();
      await conform(one, client, offers);
    });
  };
  const { socketPath, origin: url } = daemon;
  await Promise.all([
    over('over the socket, in frames', () => connectLocal({ socketPath }), ['secrets', 'approver']),
    over('over the socket, in lines', () => connectLocal({ socketPath, frames: 'json' }), [
      'secrets',
      'approver',
      'connection',
    ]),
    // Who asks by a token may not decide.
    over('over a WebSocket of the HTTP door', () => connectAnywhere({ url, token }), ['secrets']),
  ]);
});

test('the HTTP door tells why it refuses, by code', async () => {
  const wrong = connectAnywhere({ url: daemon.origin, token: `${token}x` });
  await assert.rejects(wrong, (error) => isTrlError(error, 'AUTH_FAILED'));
  assert.doesNotMatch(daemon.log(), new RegExp(token));
});
