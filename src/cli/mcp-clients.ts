/** The programs that can use this runtime's tools: where each keeps its servers, and how. */
import { homedir } from 'node:os';
import path from 'node:path';

/** Programs whose file is edited, in the order in which they are shown. */
export const editableClients = ['claude-code', 'codex', 'cursor', 'vscode'] as const;
/** Programs for which only the text to add is printed. */
const printedClients = ['claude-desktop', 'gemini', 'openclaw', 'hermes'] as const;
export const mcpClients = [...editableClients, ...printedClients] as const;
export const mcpScopes = ['user', 'project'] as const;

export type EditableClient = (typeof editableClients)[number];
export type McpClient = (typeof mcpClients)[number];
export type McpScope = (typeof mcpScopes)[number];
export type ConfigFormat = 'json' | 'toml' | 'yaml';

/** How a client starts a server. */
export interface McpEntry {
  readonly command: string;
  readonly args: readonly string[];
}

interface ClientRow {
  /** The name of its program in PATH. */
  readonly program?: string;
  /** JSON may have comments and trailing commas. */
  readonly format: ConfigFormat;
  /** Keys that lead to the table of servers. */
  readonly keys: readonly string[];
  /** The user's file, below the home directory or that of desktop settings. */
  readonly user: { readonly below: 'home' | 'desktop'; readonly file: string };
  /** A variable that names the directory of the user's file. */
  readonly variable?: string;
  /** The project's file; absent: the client has none. */
  readonly project?: string;
  /** Fields of an entry besides the command and its arguments. */
  readonly extra?: Readonly<Record<string, string>>;
}

const home = (file: string) => ({ below: 'home', file }) as const;
const desktop = (file: string) => ({ below: 'desktop', file }) as const;

export const clientTable = {
  'claude-code': {
    program: 'claude',
    format: 'json',
    keys: ['mcpServers'],
    user: home('.claude.json'),
    variable: 'CLAUDE_CONFIG_DIR',
    project: '.mcp.json',
  },
  codex: {
    program: 'codex',
    format: 'toml',
    keys: ['mcp_servers'],
    user: home('.codex/config.toml'),
    variable: 'CODEX_HOME',
    project: '.codex/config.toml',
  },
  cursor: {
    program: 'cursor',
    format: 'json',
    keys: ['mcpServers'],
    user: home('.cursor/mcp.json'),
    project: '.cursor/mcp.json',
  },
  vscode: {
    program: 'code',
    format: 'json',
    keys: ['servers'],
    user: desktop('Code/User/mcp.json'),
    project: '.vscode/mcp.json',
    extra: { type: 'stdio' },
  },
  'claude-desktop': {
    format: 'json',
    keys: ['mcpServers'],
    user: desktop('Claude/claude_desktop_config.json'),
  },
  gemini: {
    format: 'json',
    keys: ['mcpServers'],
    user: home('.gemini/settings.json'),
    project: '.gemini/settings.json',
  },
  openclaw: {
    format: 'json',
    keys: ['mcp', 'servers'],
    user: home('.openclaw/openclaw.json'),
  },
  hermes: {
    format: 'yaml',
    keys: ['mcp_servers'],
    user: home('.hermes/config.yaml'),
  },
} as const satisfies Record<McpClient, ClientRow>;

/** The servers of one client in one scope. */
export interface McpConfigLocation {
  readonly file: string;
  readonly format: ConfigFormat;
  readonly keys: readonly string[];
  readonly extra: Readonly<Record<string, string>>;
}

/** What the location of a file depends on. */
interface McpHostEnvironment {
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

/** `null` if the client has no file in this scope. */
export function locateMcpConfig(
  client: McpClient,
  scope: McpScope,
  host: McpHostEnvironment,
): McpConfigLocation | null {
  const { format, keys, extra = {}, project, ...row }: ClientRow = clientTable[client];
  if (scope === 'user') return { file: userFile(row, host), format, keys, extra };
  if (project === undefined) return null;
  return { file: path.join(host.project, project), format, keys, extra };
}

function userFile(
  { user, variable }: Pick<ClientRow, 'user' | 'variable'>,
  host: McpHostEnvironment,
): string {
  const directory = variable === undefined ? '' : (host.env[variable] ?? '');
  if (directory !== '') return path.resolve(directory, path.basename(user.file));
  return path.join(user.below === 'home' ? host.home : desktopDirectory(host), user.file);
}

/** Where desktop programs keep their settings. */
function desktopDirectory({ env, home: homeDirectory, platform }: McpHostEnvironment): string {
  if (platform === 'darwin') return path.join(homeDirectory, 'Library/Application Support');
  const named = env['XDG_CONFIG_HOME'] ?? '';
  return path.isAbsolute(named) ? named : path.join(homeDirectory, '.config');
}
