/** The programs of others that can be given this runtime's tools: where they read that, and how. */
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSingleExecutable } from '../embedded.ts';
import { toolSets } from '../mcp/tool-sets.ts';
import type { ToolSet } from '../mcp/tool-sets.ts';
import { quoteWord } from '../quote.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';

/** Programs whose file can be edited, in the order in which they are shown. */
export const editableClients = ['claude-code', 'codex', 'cursor', 'vscode'] as const;
/** Programs for which only the text to put in is shown. */
const printedClients = ['claude-desktop', 'gemini', 'openclaw', 'hermes'] as const;
export const mcpClients = [...editableClients, ...printedClients] as const;
export const mcpScopes = ['user', 'project'] as const;

export type EditableClient = (typeof editableClients)[number];
export type McpClient = (typeof mcpClients)[number];
export type McpScope = (typeof mcpScopes)[number];

/** How a client starts a server. */
export interface McpEntry {
  readonly command: string;
  readonly args: readonly string[];
}

/** Where a client keeps its servers. */
export interface McpConfigLocation {
  readonly file: string;
  readonly format: 'json' | 'toml' | 'yaml';
  /** Keys that lead to the table of servers, by name. */
  readonly keys: readonly string[];
  /** What stands in an entry besides the command and its arguments. */
  readonly extra: Readonly<Record<string, string>>;
}

/** What a place depends on. */
export interface McpHostEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The directory that is the project. */
  readonly project: string;
  readonly platform: NodeJS.Platform;
}

export const readHostEnvironment = (): McpHostEnvironment => ({
  env: process.env,
  home: homedir(),
  project: process.cwd(),
  platform: process.platform,
});

/** The place of `client`; `null` where it has none in this scope. */
export function locateMcpConfig(
  client: McpClient,
  scope: McpScope,
  around: McpHostEnvironment,
): McpConfigLocation | null {
  const { home, project, env } = around;
  const at = (
    format: McpConfigLocation['format'],
    keys: readonly string[],
    files: Files,
  ): McpConfigLocation | null =>
    files[scope] === null ? null : { file: files[scope], format, keys, extra: {} };
  const under = (name: string, ...rest: string[]): string => {
    const named = env[name] ?? '';
    return named === '' ? path.join(home, ...rest) : path.resolve(named, rest.at(-1) ?? '');
  };
  switch (client) {
    case 'claude-code': {
      const user = under('CLAUDE_CONFIG_DIR', '.claude.json');
      return at('json', ['mcpServers'], { user, project: path.join(project, '.mcp.json') });
    }
    case 'codex': {
      const user = under('CODEX_HOME', '.codex', 'config.toml');
      return at('toml', ['mcp_servers'], {
        user,
        project: path.join(project, '.codex/config.toml'),
      });
    }
    case 'cursor': {
      const user = path.join(home, '.cursor/mcp.json');
      return at('json', ['mcpServers'], { user, project: path.join(project, '.cursor/mcp.json') });
    }
    case 'vscode': {
      const user = path.join(desktopConfig(around), 'Code/User/mcp.json');
      const files = { user, project: path.join(project, '.vscode/mcp.json') };
      const place = at('json', ['servers'], files);
      return place === null ? null : { ...place, extra: { type: 'stdio' } };
    }
    case 'claude-desktop': {
      const user = path.join(desktopConfig(around), 'Claude/claude_desktop_config.json');
      return at('json', ['mcpServers'], { user, project: null });
    }
    case 'gemini': {
      const user = path.join(home, '.gemini/settings.json');
      const files = { user, project: path.join(project, '.gemini/settings.json') };
      return at('json', ['mcpServers'], files);
    }
    case 'openclaw': {
      const user = path.join(home, '.openclaw/openclaw.json');
      return at('json', ['mcp', 'servers'], { user, project: null });
    }
    case 'hermes': {
      const user = path.join(home, '.hermes/config.yaml');
      return at('yaml', ['mcp_servers'], { user, project: null });
    }
  }
}

type Files = Readonly<Record<McpScope, string | null>>;

/** Where programs with windows keep their settings. */
function desktopConfig({ env, home, platform }: McpHostEnvironment): string {
  if (platform === 'darwin') return path.join(home, 'Library/Application Support');
  const named = env['XDG_CONFIG_HOME'] ?? '';
  return path.isAbsolute(named) ? named : path.join(home, '.config');
}

/** The whole text that puts `entry` into an empty file of `place`. */
export function mcpConfigSnippet(place: McpConfigLocation, name: string, entry: McpEntry): string {
  const value = { ...place.extra, command: entry.command, args: entry.args };
  switch (place.format) {
    case 'json': {
      const nested = [...place.keys, name].reduceRight<unknown>((inner, key) => {
        return { [key]: inner };
      }, value);
      return `${JSON.stringify(nested, null, 2)}\n`;
    }
    case 'toml':
      return tomlSection([...place.keys, name], entry, '\n');
    case 'yaml': {
      // Every JSON value is one of YAML, so quoting is JSON's.
      const lines = [`    command: ${JSON.stringify(entry.command)}`];
      lines.push(`    args: ${JSON.stringify(entry.args)}`);
      return `${place.keys.join(':\n  ')}:\n  ${JSON.stringify(name)}:\n${lines.join('\n')}\n`;
    }
  }
}

/** `[mcp_servers.trl]` with its command and arguments; ends with a line end. */
export function tomlSection(keys: readonly string[], entry: McpEntry, eol: string): string {
  const header = keys.map((key) => (/^[\w-]+$/.test(key) ? key : tomlString(key))).join('.');
  const args = entry.args.map(tomlString).join(', ');
  const lines = [`[${header}]`, `command = ${tomlString(entry.command)}`, `args = [${args}]`];
  return lines.map((line) => line + eol).join('');
}

/** A basic string; its escapes are those of JSON, and DEL, which JSON leaves as it is. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', String.raw`\u007f`);
}

// How other programs start this one.

/**
 * For the user an absolute path: programs with windows do not have the PATH of a shell. A
 * project's file is everybody's, so there it is the name alone.
 */
export function ownMcpEntry(scope: McpScope, tools: ToolSet | null = null): McpEntry {
  const args = tools === null ? ['mcp'] : ['mcp', '--tools', tools];
  return { command: scope === 'project' ? 'trl' : ownProgramPath(), args };
}

/**
 * The set that `--tools` names; `null`: none.
 *
 * @throws TrlError `INVALID_PARAMS` for a set that is not known, and for two of them
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

/** Whether `command` starts this program. Nothing else may be started to look at it. */
export function isOwnProgram(command: string): boolean {
  const found = command.includes('/') ? command : inPath(command);
  const own = [ownProgramPath(), ownFile()].map(real);
  return found !== null && own.includes(real(found));
}

/** The path by which this program is started; one in PATH, where it is there, stays. */
export function ownProgramPath(): string {
  const own = ownFile();
  const named = inPath('trl');
  return named !== null && real(named) === real(own) ? named : own;
}

/** The executable, the bundle, or the launcher of the checkout. */
function ownFile(): string {
  if (isSingleExecutable()) return process.execPath;
  const here = path.dirname(fileURLToPath(import.meta.url));
  // What is published has no launcher beside `dist`.
  const launcher = path.join(here, import.meta.url.endsWith('.ts') ? '../../trl' : '../trl');
  return existsSync(launcher) ? launcher : path.join(here, 'trl.cjs');
}

function inPath(name: string): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(':')) {
    // A relative entry means another program in each directory.
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

// Which agents are on this machine, and the line that gives them the runtime's tools.

const programs = {
  'claude-code': 'claude',
  codex: 'codex',
  cursor: 'cursor',
  vscode: 'code',
} as const satisfies Record<EditableClient, string>;

/** Those whose program is in PATH. */
export function findInstalledClients(): EditableClient[] {
  const directories = (process.env['PATH'] ?? '').split(':').filter((one) => path.isAbsolute(one));
  return editableClients.filter((client) =>
    directories.some((directory) => existsSync(path.join(directory, programs[client]))),
  );
}

/** For the first agent that is here; where none is, for the one named first. */
export function mcpInstallLine(): string {
  const [client = editableClients[0]] = findInstalledClients();
  return `${ownCommandName()} mcp install --client ${client}`;
}

/** How a person types this program. */
export function ownCommandName(): string {
  const program = ownProgramPath();
  const directories = (process.env['PATH'] ?? '').split(':');
  return directories.includes(path.dirname(program)) && path.basename(program) === 'trl'
    ? 'trl'
    : quoteWord(program);
}
