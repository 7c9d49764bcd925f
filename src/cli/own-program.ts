/** How other programs start this one. */
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSingleExecutable } from '../embedded.ts';
import { toolSets } from '../mcp/tool-sets.ts';
import type { ToolSet } from '../mcp/tool-sets.ts';
import { quoteWord } from '../quote.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { clientTable, editableClients } from './mcp-clients.ts';
import type { EditableClient, McpEntry, McpScope } from './mcp-clients.ts';

/**
 * For the user an absolute path, since desktop programs do not have the PATH of a shell. A
 * project's file is shared by its developers, so it has the name alone.
 */
export function ownMcpEntry(scope: McpScope, tools: ToolSet | null = null): McpEntry {
  const args = tools === null ? ['mcp'] : ['mcp', '--tools', tools];
  return { command: scope === 'project' ? 'trl' : ownProgramPath(), args };
}

/**
 * The tool set that `--tools` names; `null`: all tools.
 *
 * @throws TrlError `INVALID_PARAMS` for an unknown set, and for two sets
 */
export function parseToolSet(args: CliArguments, verb: string): ToolSet | null {
  const [given, ...rest] = args.all('tools');
  if (given === undefined) return null;
  const found = toolSets.find((one) => one === given);
  if (found !== undefined && rest.length === 0) return found;
  throw usageError(verb, `"--tools" takes one of ${toolSets.join(', ')}`);
}

/** Whether arguments are those of an entry that this program writes. */
export const isOwnArguments = (args: readonly string[]): boolean =>
  args[0] === 'mcp' &&
  (args.length === 1 ||
    (args.length === 3 && args[1] === '--tools' && toolSets.some((one) => one === args[2])));

/** Whether `command` starts this program: no other program may be started to check it. */
export function isOwnProgram(command: string): boolean {
  const found = command.includes('/') ? command : inPath(command);
  const own = [ownProgramPath(), ownFile()].map(real);
  return found !== null && own.includes(real(found));
}

/** The path that starts this program: the one in PATH if there is one. */
function ownProgramPath(): string {
  const own = ownFile();
  const named = inPath('trl');
  return named !== null && real(named) === real(own) ? named : own;
}

/** The executable, the bundle, or the launcher of the checkout. */
function ownFile(): string {
  if (isSingleExecutable()) return process.execPath;
  const here = path.dirname(fileURLToPath(import.meta.url));
  // The published package has no launcher beside `dist`.
  const launcher = path.join(here, import.meta.url.endsWith('.ts') ? '../../trl' : '../trl');
  return existsSync(launcher) ? launcher : path.join(here, 'trl.cjs');
}

function inPath(name: string): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(':')) {
    // A relative entry finds a different program in each directory.
    if (!path.isAbsolute(directory)) continue;
    const file = path.join(directory, name);
    if (existsSync(file) && isExecutable(file)) return file;
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

/** Clients whose program is in PATH. */
export function findInstalledClients(): EditableClient[] {
  const directories = (process.env['PATH'] ?? '').split(':').filter((one) => path.isAbsolute(one));
  return editableClients.filter((client) =>
    directories.some((directory) => existsSync(path.join(directory, clientTable[client].program))),
  );
}

/** The command that gives the first installed client the tools. */
export function mcpInstallLine(): string {
  const [client = editableClients[0]] = findInstalledClients();
  return `${ownCommandName()} mcp install --client ${client}`;
}

/** How a person types the name of this program. */
export function ownCommandName(): string {
  const program = ownProgramPath();
  const directories = (process.env['PATH'] ?? '').split(':');
  return directories.includes(path.dirname(program)) && path.basename(program) === 'trl'
    ? 'trl'
    : quoteWord(program);
}
