/** A real daemon with its HTTP door, and clients of bytes for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRuntime } from './daemon.ts';
import type { Daemon, DaemonOptions, Json } from './daemon.ts';

export const mainToken = 'main-0123456789abcdef0123456789abcdef';

export interface HttpDaemon extends Daemon {
  readonly origin: string;
  readonly port: number;
}

const places = ['--socket-path', '{socket}', '--workspace-root', '{root}'];
const args = ['serve', ...places, '--http', '127.0.0.1:0'];

export async function startHttp(
  options: Omit<DaemonOptions, 'args'> & { readonly flags?: readonly string[] } = {},
): Promise<HttpDaemon> {
  const { flags = [], env, ...others } = options;
  const own = { TRL_AUTH_TOKEN: mainToken, ...env };
  const daemon = await startRuntime({ ...others, args: [...args, ...flags], env: own });
  for (;;) {
    const [, origin = '', port = ''] = /HTTP on (https?:\/\/\S+:(\d+))/.exec(daemon.log()) ?? [];
    // Said before the socket is there; its way through the pipe may be longer.
    if (origin !== '') return { ...daemon, origin, port: Number(port) };
    await sleep(10);
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request; a body that is neither text nor bytes is sent as JSON. */
export async function ask(daemon: HttpDaemon, target: string, what: Ask = {}): Promise<Answer> {
  const { token = mainToken, body, headers } = what;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const sent = body === undefined ? undefined : isRaw ? body : JSON.stringify(body);
  const asked = request({
    host: '127.0.0.1',
    port: daemon.port,
    path: target,
    method: what.method ?? (body === undefined ? 'GET' : 'POST'),
    agent: false,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(sent === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
  });
  asked.end(sent);
  const [response] = await once(asked, 'response');
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  return { status: response.statusCode, headers: response.headers, text };
}

/** The JSON of a success. */
export async function data(daemon: HttpDaemon, target: string, what: Ask = {}): Promise<Json> {
  const { status, text } = await ask(daemon, target, what);
  assert.ok(status >= 200 && status < 300, `${target}: ${status} ${text}`);
  return JSON.parse(text);
}

/** Everything that comes back for bytes that are sent as they are, until the other side ends. */
export async function sendRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return text;
}

/** The numbers of all the answers in what came back. */
export const statuses = (text: string): readonly number[] =>
  [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));

/** Everything that the audit log holds so far, as text. */
export function auditText({ home }: Daemon): string {
  const directory = path.join(home, 'state/trl/audit/logs');
  return globSync('**/*', { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'utf8'))
    .join('');
}
