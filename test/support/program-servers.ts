/** Servers that real programs speak to: HTTP, HTTPS, HTTP/2, WebSocket, git, gRPC. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createSecureServer,
  Http2ServerResponse,
  type Http2SecureServer,
  type Http2ServerRequest,
} from 'node:http2';
import type { Server } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { WebSocketServer } from 'ws';
import { programAnswer, programArchives, type ServedFile } from './program-archives.ts';
import type { TlsAuthority } from './tls-authority.ts';

/** A request as a server got it. */
export interface ServerRequest {
  readonly method: string;
  readonly host: string;
  /** With its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface ProgramServers extends Disposable {
  /** `address:port` */
  readonly https: string;
  readonly http: string;
  /** In the order of their arrival. */
  readonly requests: ServerRequest[];
  /** Of their authority. PEM. */
  readonly root: string;
}

export interface ProgramServersOptions {
  /** Where files are made. */
  readonly dir: string;
  readonly authority: TlsAuthority;
  /** All names that are served over TLS. */
  readonly names: readonly string[];
  /** Answers in the place of the files; `null`: they answer. */
  readonly answer?: (request: ServerRequest) => ServerAnswer | null;
  /** A local repository of Maven, which is served too. */
  readonly maven?: string;
}

export interface ServerAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

export async function openProgramServers(options: ProgramServersOptions): Promise<ProgramServers> {
  const files = programArchives(options.dir);
  const requests: ServerRequest[] = [];
  const waiting: (() => void)[] = [];
  const take = async (request: Request, response: Response): Promise<void> => {
    if (request.url?.endsWith('/Chat') === true) {
      requests.push({ ...headOf(request), body: Buffer.alloc(0) });
      answerChat(request, response);
      return;
    }
    const got = await read(request);
    requests.push(got);
    const given = options.answer?.(got) ?? null;
    if (given !== null) {
      writeHead(response, given.status, { ...given.headers });
      response.end(given.body);
      return;
    }
    // `/open/text` is `/text`: the prefix is what rules are about.
    const [, prefix = '', below = '/'] = /^\/([^/?]*)([^?]*)/.exec(got.target) ?? [];
    if (got.headers['content-type']?.startsWith('application/grpc') === true) {
      answerGrpc(got, below, response);
    } else if (below === '/wait') waiting.push(() => response.end());
    else if (below === '/count') response.end(`${got.body.length} bytes: ${programAnswer}\n`);
    else if (below.startsWith('/git/')) answerGit(got, { below, response, dir: options.dir });
    else answerFile({ files, below, base: `https://${got.host}/${prefix}` }, response, options);
  };
  const listener = (request: Request, response: Response): void => {
    take(request, response).catch(() => response.end());
  };
  const http = createHttp(listener);
  const certified = options.authority.certify(options.names);
  const https = createSecureServer({ ...certified, allowHTTP1: true }, listener);
  const sockets = new WebSocketServer({ noServer: true });
  https.on('upgrade', (request, socket, head) => {
    requests.push({ ...headOf(request), body: Buffer.alloc(0) });
    sockets.handleUpgrade(request, socket, head, (peer) => {
      peer.on('close', () => waiting.splice(0).forEach((answer) => answer()));
      peer.on('message', (data, isBinary) => {
        peer.send(data, { binary: isBinary });
        peer.send(programAnswer);
      });
    });
  });
  return {
    https: await listen(https),
    http: await listen(http),
    requests,
    root: options.authority.root,
    [Symbol.dispose]: () => {
      for (const server of [http, https]) server.close();
      http.closeAllConnections();
    },
  };
}

/** Both kinds of answers have these. */
function writeHead(
  response: Response,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

async function listen(server: Server | Http2SecureServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${Number(Object(server.address())['port'])}`;
}

function headOf(request: Request): Omit<ServerRequest, 'body'> {
  const pairs = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const headers: Record<string, string> = Object.fromEntries(pairs);
  const host = headers[':authority'] ?? headers['host'] ?? '';
  return { method: request.method ?? '', host, target: request.url ?? '', headers };
}

const read = async (request: Request): Promise<ServerRequest> => ({
  ...headOf(request),
  body: await buffer(request),
});

interface FileRequest {
  readonly files: ReadonlyMap<string, ServedFile>;
  readonly below: string;
  readonly base: string;
}

function answerFile(
  { files, below, base }: FileRequest,
  response: Response,
  { maven }: ProgramServersOptions,
): void {
  const found = files.get(below) ?? ofMaven(maven, below);
  const isNpm = below.startsWith('/npm/') && !below.endsWith('.tgz');
  writeHead(response, found === null ? 404 : 200, {
    'content-type': isNpm ? 'application/json' : 'text/html',
  });
  response.end(typeof found === 'function' ? found(base) : (found ?? ''));
}

function ofMaven(repository: string | undefined, below: string): Buffer | null {
  const [, name] = /^\/maven\/((?:[\w-][\w.-]*\/?)+)$/.exec(below) ?? [];
  if (repository === undefined || name === undefined) return null;
  const file = path.join(repository, name);
  return existsSync(file) ? readFileSync(file) : null;
}

/** Each message comes back at once. */
function answerChat(request: Request, response: Response): void {
  if (!(response instanceof Http2ServerResponse)) return;
  writeHead(response, 200, { 'content-type': 'application/grpc' });
  response.addTrailers({ 'grpc-status': '0' });
  request.pipe(response);
}

/** The message comes back; a method that is not there is refused in the head of the answer. */
function answerGrpc({ body }: ServerRequest, below: string, response: Response): void {
  if (!(response instanceof Http2ServerResponse)) return;
  const headers = { 'content-type': 'application/grpc' };
  if (below !== '/Say') {
    writeHead(response, 200, { ...headers, 'grpc-status': '12', 'grpc-message': 'no such method' });
    response.end();
    return;
  }
  writeHead(response, 200, headers);
  response.addTrailers({ 'grpc-status': '0', 'x-of-test': programAnswer });
  response.end(body);
}

interface GitRequest {
  readonly below: string;
  readonly response: Response;
  readonly dir: string;
}

/** By git's own program for it (CGI). */
function answerGit(request: ServerRequest, { below, response, dir }: GitRequest): void {
  const { method, target, headers, body } = request;
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: '/usr/bin:/bin',
      GIT_PROJECT_ROOT: path.join(dir, 'git'),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: below.slice('/git'.length),
      REQUEST_METHOD: method,
      QUERY_STRING: target.split('?')[1] ?? '',
      CONTENT_TYPE: headers['content-type'] ?? '',
      CONTENT_LENGTH: String(body.length),
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: headers['git-protocol'] ?? '',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(body);
  const answer = (out: Buffer): void => {
    const end = out.indexOf('\r\n\r\n');
    const lines = out.toString('latin1', 0, end).split('\r\n');
    const pairs = lines.map((line): [string, string] => {
      const [name = '', value = ''] = line.split(': ');
      return [name.toLowerCase(), value];
    });
    const { status = '200', ...own } = Object.fromEntries(pairs);
    writeHead(response, Number(status.split(' ')[0]), own);
    response.end(out.subarray(end + 4));
  };
  void buffer(child.stdout)
    .then(answer)
    .catch(() => response.end());
}
