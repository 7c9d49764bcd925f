// The client in a page of another origin: what a browser does not say of a refused WebSocket.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { Browser, noBrowser } from './support/browser.ts';
import { mainToken, startHttp } from './support/http.ts';

const root = path.dirname(import.meta.dirname);

/** Of this machine's architecture, as the build takes it. */
function bundled(): string {
  const [esbuild = ''] = globSync('node_modules/@esbuild/*/bin/esbuild', { cwd: root });
  const args = ['src/client/index.ts', '--bundle', '--format=esm', '--platform=browser'];
  return execFileSync(path.join(root, esbuild), args, { cwd: root, encoding: 'utf8' });
}

/** A web server with a page and the client as a module. */
async function site(): Promise<{ readonly origin: string; readonly close: () => void }> {
  const client = bundled();
  const server = createServer(({ url }, response) => {
    const isPage = url === '/';
    response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
    response.end(isPage ? '<!doctype html><title>page</title>' : client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

test(
  'a page is told that its token is not taken, and one with a good token works',
  { skip: noBrowser },
  async () => {
    const { origin, close } = await site();
    const daemon = await startHttp({ flags: ['--http-origin', origin] });
    try {
      await using browser = await Browser.start();
      const { page } = await browser.page();
      await page.goto(origin);
      const connected = (token: string): Promise<unknown> =>
        page.evaluate(
          async ([url, given, module]) => {
            const { connect } = await import(module);
            try {
              const client = await connect({ url, token: given });
              const { version } = await client.ping();
              await client.close();
              return typeof version;
            } catch (error) {
              return [Reflect.get(Object(error), 'code'), String(error)];
            }
          },
          [daemon.origin, token, `${origin}/client.js`] as const,
        );
      const refused = await connected('wrong'.padEnd(40, 'x'));
      assert.ok(Array.isArray(refused), JSON.stringify(refused));
      assert.equal(refused[0], 'AUTH_FAILED', String(refused[1]));
      assert.match(refused[1], /the token is not taken/);
      assert.equal(await connected(mainToken), 'string');
    } finally {
      await daemon.stop();
      close();
    }
  },
);

test('a program without a page gets the status of the refused hand-shake', async () => {
  const daemon = await startHttp();
  const place = `${daemon.origin.replace('http', 'ws')}/rpc`;
  try {
    const headers = { authorization: 'Bearer wrong' };
    assert.equal(await end(new WebSocket(place, ['trl.v2'], { headers })), 'HTTP 401');
    const { origin } = daemon;
    const offered = ['trl.v2', 'bearer.d3Jvbmc'];
    assert.equal(await end(new WebSocket(place, offered, { origin })), '4401 AUTH_FAILED');
    // Pages that may not ask are not greeted.
    const stranger = { origin: 'http://elsewhere.example' };
    assert.equal(await end(new WebSocket(place, offered, stranger)), 'HTTP 403');
  } finally {
    await daemon.stop();
  }
});

/** How the runtime refuses it. */
function end(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.on('unexpected-response', (_, answer) => {
      resolve(`HTTP ${answer.statusCode}`);
      socket.terminate();
    });
    socket.on('close', (code, reason) => resolve(`${code} ${reason.toString()}`));
    socket.on('error', () => {});
  });
}
