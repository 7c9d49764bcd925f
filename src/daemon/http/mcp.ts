/** `/mcp` of the HTTP door. What it needs is loaded with its first request. */
import type { UndeliveredCalls } from '../../mcp/call-keys.ts';
import type { McpHttp } from '../../mcp/http.ts';
import { createInProcessClient } from '../transport/in-process-client.ts';
import type { TransportOptions } from '../transport/listen.ts';
import type { UsedKeys } from '../used-keys.ts';
import type { MountedHandler } from './request-handler.ts';
import type { HttpProblem } from './problem.ts';

export interface McpMount {
  readonly mounted: MountedHandler;
  /** Ends what callers have under way. */
  close(): Promise<void>;
}

export interface McpMountOptions extends TransportOptions {
  /** Where sessions of callers start; they name another below any root of the runtime. */
  readonly root: string;
  readonly keys: UsedKeys;
}

/** For how long a call that the runtime before this one did not answer may be made again, in ms. */
const afterRestartMs = 300_000;

/** What `actor` waits for; `openedAt`: Unix ms since which this runtime answers. */
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
/** Codes of JSON-RPC 2.0 by the status of HTTP; of any other status the server's own. */
const rpcCodes: ReadonlyMap<number, number> = new Map([
  [400, -32_600],
  [500, -32_603],
]);

/** What the door says no to before it read a message, so that it answers none by its id. */
function rpcRefusal({ status, detail, code, retry, data }: HttpProblem): object {
  const more = { code, retry, ...data };
  const error = { code: rpcCodes.get(status) ?? ofServer, message: detail, data: more };
  return { jsonrpc: '2.0', error, id: null };
}
