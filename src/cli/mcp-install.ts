/**
 * `trl mcp install` and `uninstall`: adds this runtime's tools to another program, with one entry
 * in its file, and removes them. `--print` writes nothing and shows what belongs where.
 */
import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { fieldOf } from '../json-shape.ts';
import { TrlError } from '../errors.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import {
  configEditors,
  listConfigBackups,
  mcpConfigDiff,
  mcpConfigSnippet,
  readMcpConfigFile,
  replaceMcpConfigFile,
  writeConfigBackup,
} from './config-file.ts';
import { CannotEditError } from './config-json.ts';
import {
  editableClients,
  locateMcpConfig,
  mcpClients,
  mcpScopes,
  readHostEnvironment,
} from './mcp-clients.ts';
import type { McpClient, McpConfigLocation, McpEntry, McpScope } from './mcp-clients.ts';
import { isOwnArguments, ownMcpEntry, parseToolSet } from './own-program.ts';
import { printJson, printMessage } from './print.ts';
import { redactForDisplay } from './redact.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

/** What is to be done in which file. */
export interface McpTarget {
  readonly client: McpClient;
  readonly scope: McpScope;
  readonly location: McpConfigLocation;
  readonly name: string;
  /** A directory that links must not lead out of. */
  readonly inside: string | null;
}

export async function runMcpInstall(args: CliArguments): Promise<number> {
  const target = targetOf(args, 'mcp install');
  const entry = ownMcpEntry(target.scope, parseToolSet(args, 'mcp install'));
  if (args.has('print')) return print(target, entry, args.has('json'));
  return edit(args, target, 'install', (text) => {
    const old = findMcpEntry(text, target);
    if (isSameEntry(old, entry)) return { after: text, replaces: false, usedUp: null };
    return {
      after: put(text, target, entry),
      replaces: old !== undefined && !isOurs(old),
      usedUp: null,
    };
  });
}

export async function runMcpUninstall(args: CliArguments): Promise<number> {
  const target = targetOf(args, 'mcp uninstall');
  return edit(args, target, 'uninstall', (text, real) => {
    const { after, backup } =
      text === null ? { after: null, backup: null } : takenOut(text, real, target);
    return { after, replaces: false, usedUp: backup };
  });
}

/** @throws TrlError INVALID_PARAMS for a client or scope that is not known */
function targetOf(args: CliArguments, verb: string): McpTarget {
  const client = args.oneOf('client', args.has('print') ? mcpClients : editableClients);
  if (client === undefined) {
    throw usageError(verb, `it needs --client, one of ${editableClients.join(', ')}`);
  }
  return mcpTargetFor(client, args.oneOf('scope', mcpScopes) ?? 'user', readServerName(args));
}

export function mcpTargetFor(client: McpClient, scope: McpScope, name: string): McpTarget {
  const around = readHostEnvironment();
  const location = locateMcpConfig(client, scope, around);
  if (location === null) {
    throw new TrlError('INVALID_PARAMS', `Cannot use --scope ${scope}: ${client} has none`);
  }
  // What a project leads to is not its user's choice.
  return {
    client,
    scope,
    location,
    name,
    inside: scope === 'project' ? around.project : null,
  };
}

/** @throws TrlError INVALID_PARAMS for a name that clients do not take */
export function readServerName(args: CliArguments): string {
  const name = args.text('name') ?? 'trl';
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name) && name !== '__proto__') return name;
  const wanted = '1 to 64 letters, digits, - and _';
  throw new TrlError('INVALID_PARAMS', `Cannot use --name "${name}": it must be ${wanted}`);
}

function print(target: McpTarget, entry: McpEntry, json: boolean): number {
  const { client, scope, location, name } = target;
  const text = mcpConfigSnippet(location, name, entry);
  if (json) {
    printJson({ client, scope, file: location.file, keys: location.keys, entry, text });
    return 0;
  }
  printMessage(`for ${client}, put this into ${location.file}:`);
  process.stdout.write(text);
  return 0;
}

interface Edit {
  readonly after: string | null;
  /** Whether an entry of that name starts something else so far. */
  readonly replaces: boolean;
  /** A backup that is needed no more when this is done. */
  readonly usedUp: string | null;
}

type Change = (text: string | null, real: string) => Edit;

async function edit(
  args: CliArguments,
  target: McpTarget,
  verb: 'install' | 'uninstall',
  change: Change,
): Promise<number> {
  const { client, scope, location } = target;
  try {
    const opened = readMcpConfigFile(location.file, target.inside);
    const { after, replaces, usedUp } = change(opened.text, opened.real);
    const diff = mcpConfigDiff(opened.real, opened.text, after);
    const told = { client, scope, file: location.file, name: target.name };
    if (diff === '') return sayNothing(args, verb, told);
    const shown = await redactForDisplay(diff);
    if (!args.has('json')) process.stdout.write(shown);
    if (args.has('dry-run')) {
      if (args.has('json')) printJson({ ...told, action: 'none', dry_run: true, diff: shown });
      else printMessage('nothing was written (--dry-run)');
      return 0;
    }
    await agree(args, replaces, target);
    const kept = opened.text !== null && verb === 'install';
    const backup = kept ? writeConfigBackup(opened, opened.text) : null;
    replaceMcpConfigFile(opened, after);
    if (usedUp !== null) rmSync(usedUp);
    const action = verb === 'uninstall' ? 'removed' : replaces ? 'replaced' : 'added';
    if (args.has('json')) printJson({ ...told, action, backup, diff: shown });
    else sayDone(action, target, backup);
    return 0;
  } catch (error) {
    if (!(error instanceof CannotEditError)) throw error;
    const message = `Cannot edit ${JSON.stringify(location.file)}: ${error.message}`;
    const hint = `; nothing was changed; see: trl mcp install --client ${client} --print`;
    throw new TrlError('INVALID_PARAMS', message + hint, { cause: error });
  }
}

function sayNothing(args: CliArguments, verb: 'install' | 'uninstall', told: object): number {
  if (args.has('json')) printJson({ ...told, action: 'none', backup: null, diff: '' });
  else {
    printMessage(
      verb === 'install' ? 'it is installed there already' : 'it is not installed there',
    );
  }
  return 0;
}

function sayDone(action: string, { client, location }: McpTarget, backup: string | null): void {
  printMessage(`${action} ${action === 'removed' ? 'from' : 'in'} ${location.file}`);
  if (backup !== null) printMessage(`what was there before is in ${backup}`);
  printMessage(`restart ${client} so that it reads the file`);
}

/**
 * Asks the person at the terminal. Without a terminal, the call itself confirms the change, except
 * for an entry that another program has made.
 */
async function agree(args: CliArguments, replaces: boolean, target: McpTarget): Promise<void> {
  if (args.has('yes')) return;
  const isAtTerminal = process.stdin.isTTY && process.stderr.isTTY && !args.has('json');
  if (!isAtTerminal && !replaces) return;
  if (!isAtTerminal) {
    throw new CannotEditError(`"${target.name}" in it starts something else; --yes replaces it`);
  }
  using terminal = ControllingTerminal.open('ask');
  const said = await terminal.line('Write it? Type yes: ').catch((error: unknown) => {
    if (error instanceof PromptCancelledError) return '';
    throw error;
  });
  if (said.trim() !== 'yes') throw new CannotEditError('you did not say yes');
}

/** The entry as it is in the text; `undefined`: there is none. @throws CannotEdit */
export function findMcpEntry(text: string | null, { location, name }: McpTarget): unknown {
  if (text === null) return undefined;
  return configEditors[location.format].read(text, [...location.keys, name]);
}

/** Whether it starts the same, whatever else is set in it. */
function isSameEntry(found: unknown, { command, args }: McpEntry): boolean {
  if (typeof found !== 'object' || found === null) return false;
  const given = fieldOf(found, 'args');
  return fieldOf(found, 'command') === command && isDeepStrictEqual(given, [...args]);
}

function put(text: string | null, { location, name }: McpTarget, entry: McpEntry): string {
  const { format, keys, extra } = location;
  return configEditors[format].set(text ?? '', [...keys, name], { ...extra, ...entry });
}

/**
 * The text before the install, with what the entry replaced, if a backup with the entry added is
 * exactly the current text; otherwise the current text without the entry. `after` is `null` where
 * there was no file; `backup` is the one used up.
 */
function takenOut(
  text: string,
  real: string,
  target: McpTarget,
): { readonly after: string | null; readonly backup: string | null } {
  const { location, name } = target;
  const found = findMcpEntry(text, target);
  if (found === undefined) return { after: text, backup: null };
  const entry = parseMcpEntry(found);
  if (entry !== null) {
    for (const backup of listConfigBackups(real)) {
      const after = readMcpConfigFile(backup, null).text ?? '';
      if (isMadeOf(after, text, target, entry)) return { after, backup };
    }
    if (isMadeOf(null, text, target, entry)) return { after: null, backup: null };
  }
  const after = configEditors[location.format].remove(text, [...location.keys, name]);
  return { after, backup: null };
}

function isMadeOf(before: string | null, now: string, target: McpTarget, entry: McpEntry): boolean {
  try {
    return !isOurs(findMcpEntry(before, target)) && put(before, target, entry) === now;
  } catch {
    // A backup of something else; the entry is taken out by itself then.
    return false;
  }
}

/** What an earlier install put there is not somebody's to be put back. */
function isOurs(found: unknown): boolean {
  const entry = parseMcpEntry(found);
  return entry !== null && isOwnArguments(entry.args) && ownNames.test(entry.command);
}

const ownNames = /(^|\/)trl(\.cjs)?$/;

export function parseMcpEntry(found: unknown): McpEntry | null {
  if (typeof found !== 'object' || found === null) return null;
  const command = fieldOf(found, 'command');
  const args = fieldOf(found, 'args');
  const isText = (one: unknown): one is string => typeof one === 'string';
  return isText(command) && Array.isArray(args) && args.every(isText) ? { command, args } : null;
}
