/** Serves `/mcp` over HTTP. The first request loads its modules. */
import type { UndeliveredCalls } from '../../mcp/call-keys.ts';
import type { McpHttp } from '../../mcp/http.ts';
import { createInProcessClient } from '../transport/in-process-client.ts';
import type { TransportOptions } from '../transport/listen.ts';
import type { UsedKeys } from '../used-keys.ts';
import type { MountedHandler } from './request-handler.ts';
import type { HttpProblem } from './problem.ts';

export interface McpMount {
  readonly mounted: MountedHandler;
  /** Ends the callers' running calls. */
  close(): Promise<void>;
}

export interface McpMountOptions extends TransportOptions {
  /** The default directory of callers' sessions; they may choose another one below any root. */
  readonly root: string;
  readonly keys: UsedKeys;
}

/** How long after a restart a call without an answer may be repeated, in ms. */
const afterRestartMs = 300_000;

/** Calls whose answers `actor` did not get; `openedAt`: Unix ms when this runtime started. */
export function undeliveredCalls({
  keys,
  actor,
  openedAt = Date.now(),
}: {
  readonly keys: UsedKeys;
  readonly actor: string;
  readonly openedAt?: number;
}): UndeliveredCalls {
  const scope = `mcp of ${actor}`;
  return {
    find: (name) => {
      const found = keys.find(scope, name);
      const isLate = Date.now() - openedAt > afterRestartMs;
      return found === null || (found.at < openedAt && isLate) ? null : found.state;
    },
    put: (name, key) => keys.put({ scope, key: name, state: key, at: Date.now() }),
    forget: (name) => keys.forget(scope, name),
  };
}

export function mcpMount({ root, keys, ...options }: McpMountOptions): McpMount {
  const openedAt = Date.now();
  let opened: Promise<McpHttp> | null = null;
  const open = async (): Promise<McpHttp> => {
    const { createMcpHttp } = await import('../../mcp/http.ts');
    return createMcpHttp({
      clientFor: (caller) => createInProcessClient({ ...options, caller }),
      undelivered: ({ actor }) => undeliveredCalls({ keys, actor, openedAt }),
      root,
      version: options.version,
    });
  };
  return {
    mounted: {
      handle: async (exchange) => {
        opened ??= open();
        await (await opened).serve(exchange);
      },
      formatProblem: rpcRefusal,
    },
    close: async () => {
      await (await opened?.catch(() => null))?.close();
    },
  };
}

const ofServer = -32_000;
/** JSON-RPC 2.0 codes by HTTP status; other statuses have the code for server errors. */
const rpcCodes: ReadonlyMap<number, number> = new Map([
  [400, -32_600],
  [500, -32_603],
]);

/** A refusal before any message is read, and therefore without a message id. */
function rpcRefusal({ status, detail, code, retry, data }: HttpProblem): object {
  const more = { code, retry, ...data };
  const error = { code: rpcCodes.get(status) ?? ofServer, message: detail, data: more };
  return { jsonrpc: '2.0', error, id: null };
}
