/** `/mcp` of the HTTP door. What it needs is loaded with its first request. */
import type { Undelivered } from '../../mcp/call-keys.ts';
import type { McpHttp } from '../../mcp/http.ts';
import { insideClient } from '../door/inside.ts';
import type { DoorOptions } from '../door/listen.ts';
import type { UsedKeys } from '../used-keys.ts';
import type { Mounted } from './answerer.ts';

export interface McpMount {
  readonly mounted: Mounted;
  /** Ends what callers have under way. */
  close(): Promise<void>;
}

export interface McpMountOptions extends DoorOptions {
  /** Where sessions of callers start; they name another below any root of the runtime. */
  readonly root: string;
  readonly keys: UsedKeys;
}

/** For how long a call that the runtime before this one did not answer may be made again, in ms. */
const afterRestartMs = 300_000;

/** What `actor` waits for; `openedAt`: Unix ms since which this runtime answers. */
export function undelivered({
  keys,
  actor,
  openedAt = Date.now(),
}: {
  readonly keys: UsedKeys;
  readonly actor: string;
  readonly openedAt?: number;
}): Undelivered {
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
    const { mcpOverHttp } = await import('../../mcp/http.ts');
    return mcpOverHttp({
      clientFor: (caller) => insideClient({ ...options, caller }),
      undelivered: ({ actor }) => undelivered({ keys, actor, openedAt }),
      root,
      version: options.version,
    });
  };
  return {
    mounted: async (exchange) => {
      opened ??= open();
      await (await opened).serve(exchange);
    },
    close: async () => {
      await (await opened?.catch(() => null))?.close();
    },
  };
}
