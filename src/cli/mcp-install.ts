/**
 * `trl mcp install` and `uninstall`: gives this runtime's tools to a program of somebody else, by
 * one entry in its file, and takes it back. `--print` writes nothing and says what goes where.
 */
import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { TrlError } from '../errors.ts';
import { usage } from './args.ts';
import type { Args } from './args.ts';
import { editedClients, mcpClients, mcpScopes, ownSurroundings } from './mcp-clients.ts';
import { placeOf, snippetOf, tomlSection } from './mcp-clients.ts';
import type { McpClient, McpEntry, McpPlace, McpScope } from './mcp-clients.ts';
import { unifiedDiff } from './mcp-install-diff.ts';
import { backupsOf, keepBackup, openFile, replaceFile } from './mcp-install-file.ts';
import { CannotEdit, cutJson, putJson, readJson } from './mcp-install-json.ts';
import { isOwnArguments, ownEntry, toolSetOf } from './mcp-install-own.ts';
import { shownText } from './mcp-install-shown.ts';
import { cutToml, putToml, readToml } from './mcp-install-toml.ts';
import { say, sayJson } from './show.ts';
import { Left, Terminal } from './terminal.ts';

/** What is to be done in which file. */
export interface McpTarget {
  readonly client: McpClient;
  readonly scope: McpScope;
  readonly place: McpPlace;
  readonly name: string;
  /** A directory that links must not lead out of. */
  readonly inside: string | null;
}

export async function install(args: Args): Promise<number> {
  const target = targetOf(args, 'mcp install');
  const entry = ownEntry(target.scope, toolSetOf(args, 'mcp install'));
  if (args.has('print')) return print(target, entry, args.has('json'));
  return edit(args, target, 'install', (text) => {
    const old = entryIn(text, target);
    if (isSameEntry(old, entry)) return { after: text, replaces: false, usedUp: null };
    return {
      after: put(text, target, entry),
      replaces: old !== undefined && !isOurs(old),
      usedUp: null,
    };
  });
}

export async function uninstall(args: Args): Promise<number> {
  const target = targetOf(args, 'mcp uninstall');
  return edit(args, target, 'uninstall', (text, real) => {
    const { after, backup } =
      text === null ? { after: null, backup: null } : takenOut(text, real, target);
    return { after, replaces: false, usedUp: backup };
  });
}

/** @throws TrlError INVALID_PARAMS for a client or scope that is not known */
function targetOf(args: Args, verb: string): McpTarget {
  const client = args.oneOf('client', args.has('print') ? mcpClients : editedClients);
  if (client === undefined) {
    throw usage(verb, `it needs --client, one of ${editedClients.join(', ')}`);
  }
  return targetFor(client, args.oneOf('scope', mcpScopes) ?? 'user', nameOf(args));
}

export function targetFor(client: McpClient, scope: McpScope, name: string): McpTarget {
  const around = ownSurroundings();
  const place = placeOf(client, scope, around);
  if (place === null) {
    throw new TrlError('INVALID_PARAMS', `Cannot use --scope ${scope}: ${client} has none`);
  }
  // What a project leads to is not its user's choice.
  return { client, scope, place, name, inside: scope === 'project' ? around.project : null };
}

/** @throws TrlError INVALID_PARAMS for a name that clients do not take */
export function nameOf(args: Args): string {
  const name = args.text('name') ?? 'trl';
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name) && name !== '__proto__') return name;
  const wanted = '1 to 64 letters, digits, - and _';
  throw new TrlError('INVALID_PARAMS', `Cannot use --name "${name}": it must be ${wanted}`);
}

function print(target: McpTarget, entry: McpEntry, json: boolean): number {
  const { client, scope, place, name } = target;
  const text = snippetOf(place, name, entry);
  if (json) {
    sayJson({ client, scope, file: place.file, keys: place.keys, entry, text });
    return 0;
  }
  say(`for ${client}, put this into ${place.file}:`);
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
  args: Args,
  target: McpTarget,
  verb: 'install' | 'uninstall',
  change: Change,
): Promise<number> {
  const { client, scope, place } = target;
  try {
    const opened = openFile(place.file, target.inside);
    const { after, replaces, usedUp } = change(opened.text, opened.real);
    const diff = unifiedDiff(opened.real, opened.text, after);
    const told = { client, scope, file: place.file, name: target.name };
    if (diff === '') return sayNothing(args, verb, told);
    const shown = await shownText(diff);
    if (!args.has('json')) process.stdout.write(shown);
    if (args.has('dry-run')) {
      if (args.has('json')) sayJson({ ...told, action: 'none', dry_run: true, diff: shown });
      else say('nothing was written (--dry-run)');
      return 0;
    }
    await agree(args, replaces, target);
    const kept = opened.text !== null && verb === 'install';
    const backup = kept ? keepBackup(opened, opened.text) : null;
    replaceFile(opened, after);
    if (usedUp !== null) rmSync(usedUp);
    const action = verb === 'uninstall' ? 'removed' : replaces ? 'replaced' : 'added';
    if (args.has('json')) sayJson({ ...told, action, backup, diff: shown });
    else sayDone(action, target, backup);
    return 0;
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    const message = `Cannot edit ${JSON.stringify(place.file)}: ${error.message}`;
    const hint = `; nothing was changed; see: trl mcp install --client ${client} --print`;
    throw new TrlError('INVALID_PARAMS', message + hint, { cause: error });
  }
}

function sayNothing(args: Args, verb: 'install' | 'uninstall', told: object): number {
  if (args.has('json')) sayJson({ ...told, action: 'none', backup: null, diff: '' });
  else say(verb === 'install' ? 'it is installed there already' : 'it is not installed there');
  return 0;
}

function sayDone(action: string, { client, place }: McpTarget, backup: string | null): void {
  say(`${action} ${action === 'removed' ? 'from' : 'in'} ${place.file}`);
  if (backup !== null) say(`what was there before is in ${backup}`);
  say(`start ${client} anew so that it reads it`);
}

/**
 * Asks the person at the terminal. Without one the call itself is the yes, but not for an entry
 * that somebody else has made.
 */
async function agree(args: Args, replaces: boolean, target: McpTarget): Promise<void> {
  if (args.has('yes')) return;
  const isAtTerminal = process.stdin.isTTY && process.stderr.isTTY && !args.has('json');
  if (!isAtTerminal && !replaces) return;
  if (!isAtTerminal) {
    throw new CannotEdit(`"${target.name}" in it starts something else; --yes replaces it`);
  }
  using terminal = Terminal.open('ask');
  const said = await terminal.line('Write it? Type yes: ').catch((error: unknown) => {
    if (error instanceof Left) return '';
    throw error;
  });
  if (said.trim() !== 'yes') throw new CannotEdit('you did not say yes');
}

/** The entry as it is in the text; `undefined`: there is none. @throws CannotEdit */
export function entryIn(text: string | null, { place, name }: McpTarget): unknown {
  const keys = [...place.keys, name];
  if (text === null) return undefined;
  return place.format === 'toml' ? readToml(text, keys) : readJson(text, keys);
}

/** Whether it starts the same, whatever else is set in it. */
function isSameEntry(found: unknown, { command, args }: McpEntry): boolean {
  if (typeof found !== 'object' || found === null) return false;
  const given: unknown = Reflect.get(found, 'args');
  return Reflect.get(found, 'command') === command && isDeepStrictEqual(given, [...args]);
}

function put(text: string | null, { place, name }: McpTarget, entry: McpEntry): string {
  const keys = [...place.keys, name];
  if (place.format === 'toml') {
    const eol = text?.includes('\r\n') === true ? '\r\n' : '\n';
    return putToml(text ?? '', keys, tomlSection(keys, entry, eol));
  }
  return putJson(text ?? '', keys, { ...place.extra, ...entry });
}

/**
 * The text as it was before, where a backup with the entry put in is what stands there now, with
 * what the entry replaced; else without the entry. `after` is `null` where there was no file;
 * `backup` is the one used up.
 */
function takenOut(
  text: string,
  real: string,
  target: McpTarget,
): { readonly after: string | null; readonly backup: string | null } {
  const { place, name } = target;
  const found = entryIn(text, target);
  if (found === undefined) return { after: text, backup: null };
  const entry = asEntry(found);
  if (entry !== null) {
    for (const backup of backupsOf(real)) {
      const after = openFile(backup, null).text ?? '';
      if (isMadeOf(after, text, target, entry)) return { after, backup };
    }
    if (isMadeOf(null, text, target, entry)) return { after: null, backup: null };
  }
  const keys = [...place.keys, name];
  const after = place.format === 'toml' ? cutToml(text, keys) : cutJson(text, keys);
  return { after, backup: null };
}

function isMadeOf(before: string | null, now: string, target: McpTarget, entry: McpEntry): boolean {
  try {
    return !isOurs(entryIn(before, target)) && put(before, target, entry) === now;
  } catch {
    // A backup of something else; the entry is taken out by itself then.
    return false;
  }
}

/** What an earlier install put there is not somebody's to be put back. */
function isOurs(found: unknown): boolean {
  const entry = asEntry(found);
  return entry !== null && isOwnArguments(entry.args) && ownNames.test(entry.command);
}

const ownNames = /(^|\/)trl(\.cjs)?$/;

export function asEntry(found: unknown): McpEntry | null {
  if (typeof found !== 'object' || found === null) return null;
  const command: unknown = Reflect.get(found, 'command');
  const args: unknown = Reflect.get(found, 'args');
  const isText = (one: unknown): one is string => typeof one === 'string';
  return isText(command) && Array.isArray(args) && args.every(isText) ? { command, args } : null;
}
