/** Flags as parameters of the wire. */
import { requestedNetworkModes } from '../network-access.ts';
import path from 'node:path';
import { cacheTools } from '../caches.ts';
import type { CacheTool } from '../caches.ts';
import { workspaceModes } from '../change.ts';
import type { WorkspaceMode } from '../change.ts';
import type { LimitParams, SessionCreateParams, StartOptions } from '../client/index.ts';
import { policyProfiles } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import type { FlagName } from './flags.ts';
import {
  countFlagHint,
  durationFlagHint,
  parseCount,
  parseDuration,
  parseSize,
  sizeFlagHint,
} from './units.ts';
import { grantFlags } from './verb.ts';

/**
 * What a new session gets.
 *
 * @param workingDir absolute
 * @param ownsDaemon whether the runtime was started for it and has its policy already
 */
export function sessionParams(
  args: CliArguments,
  workingDir: string,
  ownsDaemon = false,
): SessionCreateParams {
  return given<SessionCreateParams>({
    // A workspace that was opened is a place of its own.
    working_dir: args.has('workspace') && !args.has('cwd') ? undefined : workingDir,
    name: args.text('name'),
    // The runtime takes another shell where bash is missing, and says so.
    shell: args.text('shell') ?? 'bash',
    ...networkOf(args),
    sandbox: args.oneOf('sandbox', ['bubblewrap', 'none']),
    carry: args.oneOf('carry', ['none', 'cwd+env', 'shell']),
    files: filesOf(args),
    share_cache: readSharedCacheFlags(args),
    policy: ownsDaemon ? undefined : args.oneOf('policy', policyProfiles),
    workspace_id: workspaceOf(args),
    workspace_mode: args.oneOf('workspace-mode', workspaceModes),
  });
}

/** `--net` is a mode, or hosts and presets with commas. */
function networkOf(args: CliArguments): Pick<SessionCreateParams, 'network' | 'hosts'> {
  if (args.has('network')) return { network: 'host' };
  const text = args.text('net');
  if (text === undefined) return {};
  const mode = requestedNetworkModes.find((one) => one === text);
  return mode === undefined ? { hosts: text.split(',') } : { network: mode };
}

/** What a command gets besides its text. */
export function execParams(args: CliArguments): StartOptions {
  return given<StartOptions>({
    timeout_ms: args.read('timeout', parseDuration, durationFlagHint),
    idle_timeout_ms: args.read('idle-timeout', parseDuration, durationFlagHint),
    env: readEnvironmentFlags(args),
    env_keys: args.has('env-key') ? args.all('env-key') : undefined,
    broker: args.has('broker') ? args.all('broker') : undefined,
    wait_ms: args.read('wait', parseDuration, durationFlagHint),
    limits: readLimitFlags(args),
  });
}

/** What becomes of what a command changes; `undefined`: as the session says. */
export function readWorkspaceModeFlag(args: CliArguments): WorkspaceMode | undefined {
  const mode = args.oneOf('workspace-mode', workspaceModes);
  if (!args.has('dry-run')) return mode;
  if (mode === undefined || mode === 'discard') return 'discard';
  const message = `Cannot use --dry-run with --workspace-mode ${mode}: it is "discard"`;
  throw new TrlError('INVALID_PARAMS', message);
}

function workspaceOf(args: CliArguments): SessionCreateParams['workspace_id'] {
  const word = args.text('workspace');
  if (word === undefined || isWorkspaceId(word)) return word;
  const message = `Cannot use --workspace "${word}": it is no w-… id; see: trl workspace open`;
  throw new TrlError('INVALID_PARAMS', message);
}

function isWorkspaceId(word: string): word is NonNullable<SessionCreateParams['workspace_id']> {
  return /^w-[0-9a-f]+$/.test(word);
}

/**
 * Refuses what an existing session has decided already.
 *
 * @throws TrlError INVALID_PARAMS with the flag.
 */
export function checkSessionFlags(args: CliArguments): void {
  const found = grantFlags.find((name) => args.has(name));
  if (found !== undefined) {
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot use --${found} with --session: the session decides it; give it to ` +
        `"trl session create"`,
    );
  }
}

/** `K=V` as they are; `K` alone takes the value from this process, when it has one. */
function readEnvironmentFlags(args: CliArguments): Readonly<Record<string, string>> | undefined {
  const entries = args.all('env').flatMap((text): [string, string][] => {
    const at = text.indexOf('=');
    const value = at === -1 ? process.env[text] : text.slice(at + 1);
    return value === undefined ? [] : [[at === -1 ? text : text.slice(0, at), value]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function readLimitFlags(args: CliArguments): LimitParams | undefined {
  const params = given<LimitParams>({
    memory_bytes: args.read('memory', parseSize, sizeFlagHint),
    cpu_s: args.read('cpu', parseCount, countFlagHint),
    processes: args.read('processes', parseCount, countFlagHint),
    open_files: args.read('open-files', parseCount, countFlagHint),
    file_bytes: args.read('file-size', parseSize, sizeFlagHint),
  });
  return Object.keys(params).length === 0 ? undefined : params;
}

function filesOf(args: CliArguments): SessionCreateParams['files'] | undefined {
  const rules = (allow: FlagName, deny: FlagName) =>
    args.has(allow) || args.has(deny)
      ? { allow: args.all(allow).map(absolute), deny: args.all(deny).map(absolute) }
      : undefined;
  const files = given<NonNullable<SessionCreateParams['files']>>({
    read: rules('allow-read', 'deny-read'),
    write: rules('allow-write', 'deny-write'),
  });
  return Object.keys(files).length === 0 ? undefined : files;
}

/** @throws TrlError INVALID_PARAMS for a program that has none */
export function readSharedCacheFlags(args: CliArguments): readonly CacheTool[] | undefined {
  if (!args.has('share-cache')) return undefined;
  const words = args.all('share-cache').flatMap((text) => text.split(','));
  return words.map((word) => {
    const found = cacheTools.find((one) => one === word);
    if (found !== undefined) return found;
    const wanted = `it takes ${cacheTools.join(', ')}, with commas`;
    throw new TrlError('INVALID_PARAMS', `Cannot use --share-cache "${word}": ${wanted}`);
  });
}

/** A path as seen from here; a glob that begins with `**` matches anywhere. */
function absolute(pattern: string): string {
  return pattern.startsWith('**') ? pattern : path.resolve(pattern);
}

type Loose<T> = { [K in keyof T]: T[K] | undefined };

/** Without the fields that are not given: the wire knows no `undefined`. */
function given<T extends object>(fields: Loose<T>): T;
function given(fields: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
