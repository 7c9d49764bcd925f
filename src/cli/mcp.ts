/** `trl mcp`: the tools for an agent's program, on standard input and output. */
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import type { Client } from '../client/index.ts';
import { policyProfiles } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { McpStdioOptions } from '../mcp/stdio.ts';
import { version } from '../protocol/version.ts';
import type { CliArguments } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { readSharedCacheFlags } from './options.ts';
import { parseToolSet } from './own-program.ts';
import { connectForProject, trustProjectOf } from './runtime-connection.ts';

export async function runMcp(args: CliArguments): Promise<number> {
  await serve(args);
  // They had their time; waiting for who does not read them, this would never end.
  if (process.stdout.writableLength > 0) process.exit(0);
  return 0;
}

async function serve(args: CliArguments): Promise<void> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  const directory = realpathSync(args.text('cwd') ?? process.cwd());
  const tools = parseToolSet(args, 'mcp') ?? 'all';
  await using client = await connectForProject(args, { signal });
  const shareCache = readSharedCacheFlags(args);
  const policy = client.ownsDaemon ? undefined : args.oneOf('policy', policyProfiles);
  // Loaded here alone: no other verb pays for it.
  const { serveMcpOnStdio } = await import('../mcp/stdio.ts');
  await serveMcpOnStdio({
    client,
    root: await rootFor(client, args, directory),
    tools,
    ...(policy === undefined ? {} : { policy }),
    ...(shareCache === undefined ? {} : { shareCache }),
    version: version(),
    signal,
  });
}

/** The project of a directory; where that can be none, of one that the client has open. */
async function rootFor(
  client: Client,
  args: CliArguments,
  directory: string,
): Promise<McpStdioOptions['root']> {
  const isNamed = args.has('workspace-root') || args.has('socket-path');
  if (!containsHomeDirectory(directory) || isNamed) {
    const root = await trustProjectOf(client, directory);
    // A named directory is used as it is.
    return args.has('cwd') ? directory : root;
  }
  return async (open) => {
    const [first] = (await open()).filter((one) => !containsHomeDirectory(one));
    if (first === undefined) throw noProject(directory);
    return trustProjectOf(client, first);
  };
}

function noProject(root: string): TrlError {
  const place =
    root === '/' ? 'the root directory' : `"${root}", which is or holds the home directory`;
  return new TrlError(
    'INVALID_PARAMS',
    `Cannot work without a project: "trl mcp" was started in ${place}, and its client has none ` +
      'open. Ask the person to have it started in the project, or to name that in the entry of ' +
      'this server: "args": ["mcp", "--cwd", "/path/to/project"]; some programs take ' +
      '"${workspaceFolder}" there',
  );
}

// Whether a directory can be a project at all.

/** Whether it is the home directory, or holds it: no project, but where programs start servers. */
function containsHomeDirectory(directory: string): boolean {
  return `${realHome()}/`.startsWith(directory === '/' ? directory : `${directory}/`);
}

function realHome(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return homedir();
  }
}
