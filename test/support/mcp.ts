/** The official MCP client against `trl mcp`, and against `/mcp` of a daemon. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { surroundings } from './daemon.ts';
import type { Daemon, Json } from './daemon.ts';
import { mainToken } from './http.ts';
import type { HttpDaemon } from './http.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');

export type Era = '2025-11-25' | '2026-07-28';

export interface Person {
  /** What the client's person answers; `null`: the client shows no forms. */
  says: 'approve' | 'deny' | 'done' | 'decline' | 'cancel' | null;
  /** For how long their yes holds; absent: they leave that field as it is. */
  scope?: 'once' | 'session' | 'project';
  /** What they do before they answer. */
  readonly before?: (message: string) => Promise<void>;
  /** What the person was shown. */
  readonly seen: string[];
}

export const nobody = (): Person => ({ says: null, seen: [] });

/** A client of one era, not yet connected, with directories that its program has open. */
export function mcpClient(era: Era, person: Person, open: readonly string[] = []): McpClient {
  const client = new McpClient(
    { name: 'test', version: '1' },
    {
      capabilities: {
        ...(person.says === null ? {} : { elicitation: { form: {} } }),
        ...(open.length === 0 ? {} : { roots: {} }),
      },
      versionNegotiation: { mode: era === '2025-11-25' ? 'legacy' : { pin: era } },
    },
  );
  if (open.length > 0) {
    const roots = open.map((one) => ({ uri: pathToFileURL(one).href }));
    client.setRequestHandler('roots/list', () => ({ roots }));
  }
  if (person.says !== null) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      person.seen.push(params.message);
      await person.before?.(params.message);
      const { says, scope } = person;
      if (says === 'decline' || says === 'cancel') return { action: says };
      return { action: 'accept', content: { decision: says ?? '', ...(scope && { scope }) } };
    });
  }
  return client;
}

/** `trl mcp` of a daemon's project, as an agent's program starts it. */
export function stdioOf(
  daemon: Daemon,
  more: {
    readonly own?: boolean;
    readonly cwd?: string;
    readonly home?: string;
    readonly tools?: string;
    readonly shareCache?: string;
  } = {},
): StdioClientTransport {
  const socket = more.own === true ? [] : ['--socket-path', daemon.socketPath];
  const { tools, shareCache } = more;
  const tooled = tools === undefined ? [] : ['--tools', tools];
  const shared = shareCache === undefined ? [] : ['--share-cache', shareCache];
  return new StdioClientTransport({
    command: trl,
    args: ['mcp', ...socket, ...tooled, ...shared],
    cwd: more.cwd ?? daemon.root,
    env: {
      ...variables(),
      ...surroundings(daemon.home),
      ...(more.home === undefined ? {} : { HOME: more.home }),
    },
    stderr: 'inherit',
  });
}

const variables = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );

/** `/mcp` of a daemon, for the holder of a token. */
export function httpTo(
  daemon: HttpDaemon,
  token: string = mainToken,
  headers: Readonly<Record<string, string>> = {},
): StreamableHTTPClientTransport {
  const fields = { ...headers, Authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL('/mcp', daemon.origin), {
    requestInit: { headers: fields },
  });
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
