/** `trl mcp`: the tools for an agent's program, on standard input and output. */
import { realpathSync } from 'node:fs';
import { TrlError } from '../errors.ts';
import { toolSets } from '../mcp/tool-sets.ts';
import type { ToolSet } from '../mcp/tool-sets.ts';
import { version } from '../protocol/version.ts';
import { usage } from './args.ts';
import type { Args } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { isTooWide, projectOf } from './project.ts';
import { reach } from './reach.ts';

export async function mcp(args: Args): Promise<number> {
  await serve(args);
  // They had their time; waiting for who does not read them, this would never end.
  if (process.stdout.writableLength > 0) process.exit(0);
  return 0;
}

async function serve(args: Args): Promise<void> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  const given = args.text('cwd');
  const root = realpathSync(given ?? projectOf(process.cwd()));
  const tools = toolSetOf(args);
  const roots = args.all('workspace-root');
  if (isTooWide(root) && roots.length === 0 && !args.has('socket-path')) {
    const { serveMcpWithout } = await import('../mcp/without.ts');
    return await serveMcpWithout(noProject(root), { version: version(), signal });
  }
  const policy = args.text('policy');
  const ephemeral = {
    workspaceRoots: roots.length === 0 ? [root] : roots,
    ...(policy === undefined ? {} : { policy }),
  };
  await using client = await reach(args, { ephemeral, signal });
  // Loaded here alone: no other verb pays for it.
  const { serveMcpOnStdio } = await import('../mcp/stdio.ts');
  await serveMcpOnStdio({ client, root, tools, version: version(), signal });
}

function noProject(root: string): TrlError {
  const place =
    root === '/' ? 'the root directory' : `"${root}", which is or holds the home directory`;
  return new TrlError(
    'INVALID_PARAMS',
    `Cannot work without a project: "trl mcp" was started in ${place}. Ask the person to have it ` +
      'started in the project, or to name that in the entry of this server: ' +
      '"args": ["mcp", "--cwd", "/path/to/project"]; some programs take "${workspaceFolder}" there',
  );
}

function toolSetOf(args: Args): ToolSet {
  const [given = 'all', ...rest] = args.all('tools');
  const found = toolSets.find((one) => one === given);
  if (found === undefined || rest.length > 0) {
    throw usage('mcp', `"--tools" takes one of ${toolSets.join(', ')}`);
  }
  return found;
}
