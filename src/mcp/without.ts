/**
 * An MCP server where there is nothing to work in: it lists the tools, and each call says what to
 * do. A program whose server ended at its start shows its person no reason.
 */
import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { TrlError } from '../errors.ts';
import { builtinTools, failedResult } from '../tools/index.ts';
import { listedTool, toolResult } from './server.ts';
import { Wire } from './wire.ts';

/** Serves until the input ends or `signal` aborts. */
export async function serveMcpWithout(
  problem: TrlError,
  { version, signal }: { readonly version: string; readonly signal: AbortSignal },
): Promise<void> {
  const server = (): Server => {
    const made = new Server(
      { name: 'trl', title: 'Terminal Runtime Layer', version },
      { capabilities: { tools: {} }, instructions: problem.message },
    );
    made.setRequestHandler('tools/list', () => ({ tools: builtinTools.map(listedTool) }));
    made.setRequestHandler('tools/call', () => toolResult(failedResult(problem)));
    return made;
  };
  const ended = Promise.withResolvers<void>();
  const transport = new Wire(process.stdin, process.stdout, () => ended.resolve());
  const handle = serveStdio(server, { transport });
  signal.addEventListener('abort', () => ended.resolve(), { once: true });
  if (signal.aborted) ended.resolve();
  await ended.promise;
  await handle.close().catch(() => {});
  await transport.flush();
}
