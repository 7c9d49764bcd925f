/** The official MCP client against `trl mcp`, and against `/mcp` in a server of the test's own. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import path from 'node:path';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Caller } from '../../src/command.ts';
import { connect } from '../../src/local/index.ts';
import { mcpOverHttp } from '../../src/mcp/http.ts';
import { surroundings } from './daemon.ts';
import type { Daemon, Json } from './daemon.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');

export type Era = '2025-11-25' | '2026-07-28';

export interface Person {
  /** What the client's person answers; `null`: the client shows no forms. */
  readonly says: 'approve' | 'deny' | 'decline' | 'cancel' | null;
  /** What the person was shown. */
  readonly seen: string[];
}

export const nobody = (): Person => ({ says: null, seen: [] });

/** A client of one era, not yet connected. */
export function mcpClient(era: Era, person: Person): McpClient {
  const client = new McpClient(
    { name: 'test', version: '1' },
    {
      capabilities: person.says === null ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: era === '2025-11-25' ? 'legacy' : { pin: era } },
    },
  );
  const { says } = person;
  if (says !== null) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      person.seen.push(params.message);
      if (says === 'decline' || says === 'cancel') return { action: says };
      return { action: 'accept', content: { decision: says } };
    });
  }
  return client;
}

/** `trl mcp` of a daemon's project, as an agent's program starts it. */
export function stdioOf(
  daemon: Daemon,
  more: { readonly own?: boolean; readonly cwd?: string } = {},
): StdioClientTransport {
  const socket = more.own === true ? [] : ['--socket-path', daemon.socketPath];
  return new StdioClientTransport({
    command: trl,
    args: ['mcp', ...socket],
    cwd: more.cwd ?? daemon.root,
    env: { PATH: process.env['PATH'] ?? '', HOME: daemon.home, ...surroundings(daemon.home) },
    stderr: 'inherit',
  });
}

export interface HttpServer extends AsyncDisposable {
  readonly url: URL;
  transport(headers?: Record<string, string>): StreamableHTTPClientTransport;
}

/** `/mcp` on loopback for one caller, over a real runtime. */
export async function httpOf(daemon: Daemon, roles: Caller['roles']): Promise<HttpServer> {
  const caller: Caller = { actor: 'token:test', kind: 'agent', authenticatedBy: 'token', roles };
  const mcp = mcpOverHttp({
    clientFor: () => connect({ socketPath: daemon.socketPath }),
    root: daemon.root,
    version: '0.0.0',
  });
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.once('close', () => response.writableFinished || gone.abort());
    const { signal } = gone;
    bodyOf(request)
      .then((body) => mcp.serve({ request, response, caller, body, signal }))
      .catch(() => response.headersSent || response.writeHead(500).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return {
    url,
    transport: (headers = {}) =>
      new StreamableHTTPClientTransport(url, { requestInit: { headers } }),
    [Symbol.asyncDispose]: async () => {
      await mcp.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function bodyOf(stream: AsyncIterable<Uint8Array>): Promise<Json> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
}

/** What a tool answered, to look into. */
export async function callOf(
  client: McpClient,
  name: string,
  args: Record<string, unknown>,
  options: Parameters<McpClient['callTool']>[1] = {},
): Promise<Json> {
  const result: Json = await client.callTool({ name, arguments: args }, options);
  return { ...result.structuredContent, isError: result.isError === true, text: textOf(result) };
}

const textOf = (result: Json): string => result.content?.[0]?.text ?? '';
