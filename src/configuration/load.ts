/**
 * Gathers facts: the configuration of a runtime. From highest to lowest: flag, `TRL_*` variable,
 * `--config FILE`, the user's file, the system's file, variables of the legacy runtime, defaults.
 * A file that exists and cannot be used is an error, never ignored. What reads files is loaded
 * only where there is one.
 */
import { existsSync, lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { limits, runtimeBounds, type RuntimeBoundName } from '../limits.ts';
import { envModes, variableNameForm } from '../variable-names.ts';
import { configDirectory, systemConfigDirectory } from '../yaml/config-directories.ts';
import {
  runtimeBoundKey,
  runtimeBoundNames,
  defaultConfiguration,
  joinConfiguration,
  configurationKeys,
  configurableRedactionProfiles,
} from './configuration.ts';
import type { Configuration, ConfigurationValues, ConfigurationLayer } from './configuration.ts';
import { legacyVariableLayers } from './legacy-variables.ts';

export interface ConfigurationFlags {
  /** `--config FILE`. */
  readonly config?: string | null;
  /** `--env-mode`. */
  readonly envMode?: string | null;
  /** `--bound`: each such as `sessions_active=128`. */
  readonly bounds?: readonly string[];
}

export interface LoadConfigurationOptions {
  /** The runtime's environment: of it only `TRL_*` and `XDG_CONFIG_HOME` are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags?: ConfigurationFlags;
  /** Version of the runtime. */
  readonly version: string;
  /** Default: `config.yaml` in `$XDG_CONFIG_HOME/trl`. */
  readonly userFile?: string;
  /** Default: `/etc/trl/config.yaml`. */
  readonly systemFile?: string;
}

export const configurationFileName = 'config.yaml';

/** `FILE` of `--config`, else of `TRL_CONFIG`; an empty variable counts as unset. */
const chosenFile = ({ env, flags }: LoadConfigurationOptions): string | null =>
  flags?.config ?? (env['TRL_CONFIG'] || null);

/**
 * @throws ConfigurationError when a file cannot be used; TrlError `INVALID_PARAMS` for a variable
 *   or a flag that cannot be
 */
export async function loadConfiguration(asked: LoadConfigurationOptions): Promise<Configuration> {
  const user = asked.userFile ?? path.join(configDirectory(asked.env), configurationFileName);
  const system = asked.systemFile ?? path.join(systemConfigDirectory, configurationFileName);
  const chosen = chosenFile(asked);
  const files = [
    ...(isThere(system) ? [{ file: system, kind: 'system', owner: 'root' } as const] : []),
    ...(isThere(user) ? [{ file: user, kind: 'user', owner: 'user' } as const] : []),
    ...(chosen === null
      ? []
      : [{ file: path.resolve(chosen), kind: 'file', owner: 'user' } as const]),
  ];
  const above = [...variablesOf(asked.env), ...flagsOf(asked.flags ?? {})];
  const below = legacyVariableLayers(asked.env);
  if (files.length + above.length + below.length === 0) return defaultConfiguration;
  return joinConfiguration([...below, ...(await readFiles(files, asked)), ...above]);
}

interface ReadConfigurationFile {
  readonly file: string;
  readonly kind: 'system' | 'user' | 'file';
  readonly owner: 'user' | 'root';
}

async function readFiles(
  files: readonly ReadConfigurationFile[],
  asked: LoadConfigurationOptions,
): Promise<ConfigurationLayer[]> {
  if (files.length === 0) return [];
  const [{ ConfigurationError, readConfiguration }, { readOwnedFile }] = await Promise.all([
    import('./read.ts'),
    import('../yaml/owned-file.ts'),
  ]);
  const home = homedir();
  return files.map(({ file, kind, owner }) => {
    const bytes = readOwnedFile({ file, Failure: ConfigurationError }, { owner });
    if (bytes === null) {
      throw new ConfigurationError(file, [
        { line: 1, column: 1, message: 'there is no such file' },
      ]);
    }
    return readConfiguration(bytes, { file, kind, home, version: asked.version });
  });
}

/** Also true for a dangling link: reading it fails with an error. */
function isThere(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // An inaccessible path may be a file.
    return existsSync(path.dirname(file));
  }
}

function variablesOf(env: LoadConfigurationOptions['env']): ConfigurationLayer[] {
  const value = (name: string): string | null => env[name]?.trim() || null;
  const mode = value('TRL_ENV_MODE');
  const profile = value('TRL_REDACTION_PROFILE');
  const withhold = value('TRL_WITHHOLD');
  const names = value('TRL_SECRET_NAMES');
  const bounds = runtimeBoundNames.flatMap((name): [RuntimeBoundName, number][] => {
    const { variable } = runtimeBounds[name];
    const text = value(variable);
    return text === null ? [] : [[name, boundIn(variable, name, text)]];
  });
  const given: ConfigurationValues = {
    ...(mode !== null && { envMode: oneOf('TRL_ENV_MODE', mode, envModes) }),
    ...(profile !== null && {
      profile: oneOf('TRL_REDACTION_PROFILE', profile, configurableRedactionProfiles),
    }),
    ...(withhold !== null && { withhold: listOf('TRL_WITHHOLD', withhold, true) }),
    ...(names !== null && { secretNames: listOf('TRL_SECRET_NAMES', names, false) }),
    ...(bounds.length > 0 && { limits: Object.fromEntries(bounds) }),
  };
  const places = new Map([
    ...runtimeBoundNames.map((name): [string, string] => [
      runtimeBoundKey(name),
      runtimeBounds[name].variable,
    ]),
    [configurationKeys.envMode, 'TRL_ENV_MODE'],
    [configurationKeys.profile, 'TRL_REDACTION_PROFILE'],
    [configurationKeys.withhold, 'TRL_WITHHOLD'],
    [configurationKeys.secretNames, 'TRL_SECRET_NAMES'],
  ]);
  return Object.keys(given).length === 0
    ? []
    : [{ kind: 'variable', name: 'TRL_*', given, locations: places }];
}

function flagsOf({ envMode = null, bounds = [] }: ConfigurationFlags): ConfigurationLayer[] {
  const given: ConfigurationValues = {
    ...(envMode !== null && { envMode: oneOf('--env-mode', envMode, envModes) }),
    ...(bounds.length > 0 && { limits: Object.fromEntries(bounds.map(boundFlag)) }),
  };
  if (Object.keys(given).length === 0) return [];
  const places = new Map([
    [configurationKeys.envMode, '--env-mode'],
    ...runtimeBoundNames.map((name): [string, string] => [runtimeBoundKey(name), '--bound']),
  ]);
  return [{ kind: 'flag', name: 'flags', given, locations: places }];
}

function boundFlag(text: string): [RuntimeBoundName, number] {
  const [key = '', value = ''] = text.split('=', 2);
  const keys = runtimeBoundNames.map((name) => runtimeBounds[name].key);
  const known = oneOf('--bound', key, keys);
  const name =
    runtimeBoundNames.find((one) => runtimeBounds[one].key === known) ?? 'sessionsActive';
  return [name, boundIn(`--bound ${key}`, name, value)];
}

/** @throws TrlError `INVALID_PARAMS` for what is no number, or is over the maximum */
function boundIn(where: string, name: RuntimeBoundName, text: string): number {
  const most = limits[name].max ?? Number.MAX_SAFE_INTEGER;
  const value = /^[0-9]+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  const shown = JSON.stringify(text.slice(0, 64));
  const message = `Cannot use ${where}: ${shown} is no whole number from 1 to ${most}`;
  throw new TrlError('INVALID_PARAMS', message);
}

function oneOf<T extends string>(where: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  const shown = JSON.stringify(text.slice(0, 64));
  throw new TrlError(
    'INVALID_PARAMS',
    `Cannot use ${where}: ${shown} is not ${known.join(' or ')}`,
  );
}

/** Names between commas. */
function listOf(where: string, text: string, patterns: boolean): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const wrong = names.find((name) => {
    const bare = patterns ? name.replace(/\*$/, '') : name;
    return !variableNameForm.test(bare);
  });
  if (wrong === undefined) return names;
  const shown = JSON.stringify(wrong.slice(0, 64));
  const message = `Cannot use ${where}: ${shown} is not the name of a variable`;
  throw new TrlError('INVALID_PARAMS', message);
}
