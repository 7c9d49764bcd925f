/** `/mcp` of the HTTP door. What it needs is loaded with its first request. */
import type { McpHttp } from '../../mcp/http.ts';
import { insideClient } from '../door/inside.ts';
import type { DoorOptions } from '../door/listen.ts';
import type { Mounted } from './answerer.ts';

export interface McpMount {
  readonly mounted: Mounted;
  /** Ends what callers have under way. */
  close(): Promise<void>;
}

/** `root`: where sessions of callers start; they name another below any root of the runtime. */
export function mcpMount(options: DoorOptions, root: string): McpMount {
  let opened: Promise<McpHttp> | null = null;
  const open = async (): Promise<McpHttp> => {
    const { mcpOverHttp } = await import('../../mcp/http.ts');
    return mcpOverHttp({
      clientFor: (caller) => insideClient({ ...options, caller }),
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
