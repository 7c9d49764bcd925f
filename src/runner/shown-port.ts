/**
 * A port of a session, shown to a person on this machine's loopback. Every process and every page
 * in a browser can connect there: so it is HTTP alone, with a token, under its own name.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Connects to the port inside; `null`: nothing listens there. */
export type ConnectInside = () => Promise<Socket | null>;

const tokenBytes = 24;
const tokenName = 'trl_token';
const names = ['127.0.0.1', 'localhost'];

export class ShownPort {
  readonly token = randomBytes(tokenBytes).toString('base64url');
  readonly #inner: number;
  readonly #connect: ConnectInside;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  #port = 0;

  private constructor(inner: number, connect: ConnectInside) {
    this.#inner = inner;
    this.#connect = connect;
    const server = createServer((request, response) => this.#serve(request, response));
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    // It must not keep a runner alive that has nothing else to do.
    this.#server = server.unref();
  }

  /** @param inner the port inside */
  static async open(inner: number, connect: ConnectInside): Promise<ShownPort> {
    const shown = new ShownPort(inner, connect);
    await new Promise<void>((resolve, reject) => {
      shown.#server.once('error', reject);
      shown.#server.listen(0, '127.0.0.1', resolve);
    });
    shown.#port = Number(Object(shown.#server.address())['port']);
    return shown;
  }

  /** On the loopback of the host. */
  get port(): number {
    return this.#port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  get #cookie(): string {
    return `${tokenName}_${this.#port}`;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = URL.parse(request.url ?? '/', 'http://localhost');
    const given = url?.searchParams.get(tokenName) ?? null;
    if (url !== null && given !== null && this.#isOwnHost(request) && this.#isToken(given)) {
      url.searchParams.delete(tokenName);
      const cookie = `${this.#cookie}=${this.token}; HttpOnly; SameSite=Strict; Path=/`;
      response.writeHead(303, { Location: `${url.pathname}${url.search}`, 'Set-Cookie': cookie });
      response.end();
      return;
    }
    if (!this.#isPermitted(request)) {
      response.writeHead(403, { 'Content-Type': 'text/plain' });
      response.end('Open the address that trl printed: it has a token.\n');
      return;
    }
    void this.#forward(request, response);
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const inside = await this.#connect().catch(() => null);
    if (inside === null) {
      response.writeHead(502, { 'Content-Type': 'text/plain' });
      response.end(`Nothing listens on port ${this.#inner} of the session.\n`);
      return;
    }
    const outgoing = send({ ...this.#sent(request), createConnection: () => inside });
    outgoing.on('response', (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, incoming.rawHeaders);
      incoming.pipe(response);
      incoming.on('error', () => response.destroy());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    request.pipe(outgoing);
  }

  #upgrade(request: IncomingMessage, client: Duplex, head: Buffer): void {
    client.on('error', () => client.destroy());
    if (!this.#isPermitted(request) || !this.#isOwnOrigin(request)) {
      client.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
      return;
    }
    void this.#switch(request, client, head);
  }

  /** What follows is the two ends' own. */
  async #switch(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const inside = await this.#connect().catch(() => null);
    if (inside === null) {
      client.destroy();
      return;
    }
    inside.on('error', () => client.destroy());
    client.on('close', () => inside.destroy());
    inside.on('close', () => client.destroy());
    const { method, path, headers } = this.#sent(request);
    const fields = headers.flatMap((one, at) =>
      at % 2 === 0 ? [`${one}: ${headers[at + 1] ?? ''}`] : [],
    );
    const lines = [`${method} ${path} HTTP/1.1`, ...fields, '', ''];
    inside.write(lines.join('\r\n'), 'latin1');
    if (head.length > 0) inside.write(head);
    inside.pipe(client);
    client.pipe(inside);
  }

  /** As the server inside gets it: under its own port, without the token. */
  #sent(request: IncomingMessage): { method: string; path: string; headers: string[] } {
    const { method = 'GET', url = '/', rawHeaders } = request;
    const headers = rawHeaders.flatMap((name, at) => {
      if (at % 2 === 1) return [];
      const value = rawHeaders[at + 1] ?? '';
      const key = name.toLowerCase();
      if (key === 'host') return [name, `localhost:${this.#inner}`];
      if (key === 'origin') return [name, `http://localhost:${this.#inner}`];
      if (key !== 'cookie') return [name, value];
      const others = value.split(/;\s*/).filter((one) => !one.startsWith(`${this.#cookie}=`));
      return others.length === 0 ? [] : [name, others.join('; ')];
    });
    return { method, path: url, headers };
  }

  #isPermitted(request: IncomingMessage): boolean {
    const cookies = (request.headers.cookie ?? '').split(/;\s*/);
    const own = cookies.find((one) => one.startsWith(`${this.#cookie}=`));
    return this.#isOwnHost(request) && this.#isToken(own?.slice(this.#cookie.length + 1) ?? '');
  }

  /** A name that leads here by somebody else's DNS is another one. */
  #isOwnHost({ headers }: IncomingMessage): boolean {
    return names.some((name) => headers.host === `${name}:${this.#port}`);
  }

  #isOwnOrigin({ headers: { origin } }: IncomingMessage): boolean {
    return names.some((name) => origin === undefined || origin === `http://${name}:${this.#port}`);
  }

  #isToken(given: string): boolean {
    const [a, b] = [Buffer.from(given), Buffer.from(this.token)];
    return a.length === b.length && timingSafeEqual(a, b);
  }
}
