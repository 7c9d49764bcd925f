/** `trl mcp`: the tools for an agent's program, on standard input and output. */
import { realpathSync } from 'node:fs';
import { version } from '../protocol/version.ts';
import type { Args } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { reach } from './reach.ts';

export async function mcp(args: Args): Promise<number> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  const root = realpathSync(args.text('cwd') ?? process.cwd());
  const roots = args.all('workspace-root');
  const policy = args.text('policy');
  const ephemeral = {
    workspaceRoots: roots.length === 0 ? [root] : roots,
    ...(policy === undefined ? {} : { policy }),
  };
  await using client = await reach(args, { ephemeral, signal });
  // Loaded here alone: no other verb pays for it.
  const { serveMcpOnStdio } = await import('../mcp/stdio.ts');
  await serveMcpOnStdio({ client, root, version: version(), signal });
  return 0;
}
