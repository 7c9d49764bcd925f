// A session's way to hosts: names by rule, through the bridge, with real programs in a real sandbox.
import assert from 'node:assert/strict';
import { createServer as createHttp, type Server } from 'node:http';
import { createServer as createTcp, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { egressExec, openBox, whyNoBox } from './support/box.ts';

const skip = whyNoBox;

/** An HTTP server on the loopback of the host, which a person names as the place of a host. */
async function serve(): Promise<
  { readonly at: string; readonly seen: string[] } & AsyncDisposable
> {
  const seen: string[] = [];
  const server: Server = createHttp((request, response) => {
    seen.push(`${request.method} ${request.headers.host} ${request.url}`);
    response.end(`hello ${request.url}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return {
    at: `127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('an allowed host answers by its name; any other has none', { skip }, async () => {
  await using server = await serve();
  const connect = { 'files.test': server.at, 'other.test': server.at };
  await using box = await openBox({ network: 'hosts', egress: { allow: ['files.test'], connect } });
  const got = await box.run('curl -sS http://files.test/a; curl -sS http://other.test/b');
  assert.match(got.stdout, /^hello \/a$/m);
  assert.match(got.stderr, /Could not resolve host: other\.test/);
  assert.deepEqual(server.seen, ['GET files.test /a']);
  const connections = (await box.bridge?.end(egressExec)) ?? [];
  assert.deepEqual(
    connections.map(({ host, port, allowed, rule }) => [host, port, allowed, rule]),
    [
      ['files.test', 80, true, 'files.test'],
      ['other.test', 0, false, 'not allowed'],
    ],
  );
});
