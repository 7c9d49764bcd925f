/** The wire over WebSockets without the HTTP door: bytes go to a daemon's socket and back. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createWebSocketStream, WebSocketServer } from 'ws';

export interface Tunnel extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Breaks every connection, as a network does. */
  drop(): void;
  /** From now on no token is taken. */
  revoke(): void;
}

export async function openTunnel(socketPath: string): Promise<Tunnel> {
  const token = 'of-a-tunnel-'.repeat(4);
  const bearer = `bearer.${Buffer.from(token).toString('base64url')}`;
  let isTaken = true;
  const http = createServer((request, response) => {
    const isKnown = isTaken && request.headers.authorization === `Bearer ${token}`;
    response.writeHead(isKnown ? 200 : 401).end();
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: 1024 * 1024,
    handleProtocols: () => 'trl.v2',
  });
  http.on('upgrade', (request, socket, head) => {
    const offered = String(request.headers['sec-websocket-protocol']).split(/, ?/);
    if (!isTaken || request.url !== '/rpc' || !offered.includes(bearer)) {
      socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (found) => {
      const near = createWebSocketStream(found);
      const far = connect({ path: socketPath, allowHalfOpen: true });
      near.on('error', () => far.destroy()).on('close', () => far.destroy());
      far.on('error', () => near.destroy()).on('close', () => near.destroy());
      near.pipe(far).pipe(near);
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const drop = (): void => {
    for (const found of sockets.clients) found.terminate();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    drop,
    revoke: () => {
      isTaken = false;
    },
    [Symbol.asyncDispose]: async () => {
      drop();
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}
