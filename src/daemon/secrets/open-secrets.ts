/** The secrets of a daemon: its configured sources, over its own environment. */
import type { Configuration, SecretSourceSetting } from '../../configuration/configuration.ts';
import { isWithheldVariable } from '../../environment/base.ts';
import { checkMaskable } from '../../redaction/known/maskable.ts';
import { CommandSource } from '../../secrets/command-source.ts';
import { DotenvSource } from '../../secrets/dotenv-source.ts';
import { EnvironmentSource } from '../../secrets/environment-source.ts';
import { KeyringSource } from '../../secrets/keyring-source.ts';
import { isSecretVariable } from '../../secrets/secret-name.ts';
import { SecretStore } from '../../secrets/secret-store.ts';
import type { SecretSource } from '../../secrets/source.ts';
import { SystemdSource } from '../../secrets/systemd-source.ts';
import type { ShouldTakeVariable } from '../own-environment.ts';
import { findHijackablePath } from '../tools/hijackable-path.ts';

const mainToken = 'TRL_AUTH_TOKEN';

type Settings = Pick<Configuration, 'withhold' | 'secretNames' | 'sources'>;

/** What the daemon takes out of its own environment before it has read any configuration. */
export const shouldTakeAlways: ShouldTakeVariable = (name, value) =>
  isSecretVariable(name, value) || isWithheldVariable(name);

/** What it takes out besides, because people say so. */
export function shouldTakeBySettings(
  { withhold, secretNames }: Settings,
  byPolicy: readonly string[],
): ShouldTakeVariable {
  const named = new Set(secretNames);
  const patterns = [...withhold, ...byPolicy];
  return (name) => named.has(name) || isWithheldVariable(name, patterns);
}

export interface OpenSecretsOptions {
  readonly configuration: Settings;
  /** All that the daemon was started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Directories that commands may write, by real path. */
  readonly roots: readonly string[];
  readonly log: (text: string) => void;
}

/**
 * Reads what costs nothing, and says by name what a person should know. A source that fails is no
 * end of the start: only its secrets are missing, and whoever wants one is told why.
 */
export async function openSecrets(options: OpenSecretsOptions): Promise<SecretStore> {
  const { configuration, env, log } = options;
  const sources = configuration.sources.flatMap((setting) => sourceOf(setting, options));
  // A service of systemd has its credentials without a word in a file.
  const credentials = env['CREDENTIALS_DIRECTORY'];
  const isNamed = configuration.sources.some(({ kind }) => kind === 'systemd');
  if (credentials && !isNamed) sources.push(new SystemdSource(credentials));
  // It is no secret of commands, but must not show, whatever sources people name and however it
  // looks.
  const own = env[mainToken];
  if (own) {
    const options = { names: [mainToken], isWithheld: () => true };
    sources.push(new EnvironmentSource({ [mainToken]: own }, options));
  }
  const secrets = new SecretStore({ sources, checkMaskable });
  await secrets.load();
  for (const { problem } of secrets.problems) log(problem);
  // Told to whoever runs the daemon alone: an agent that knew it would need few guesses.
  const said = new Set<string>();
  const sayWeak = (): void => {
    for (const name of secrets.weak.filter((one) => !said.has(one))) {
      said.add(name);
      log(`the secret ${name} is weak: output hides it only beside its name or in a login`);
    }
  };
  sayWeak();
  secrets.watch(sayWeak);
  return secrets;
}

function sourceOf(
  setting: SecretSourceSetting,
  { configuration: settings, env, roots }: OpenSecretsOptions,
): SecretSource[] {
  switch (setting.kind) {
    case 'environment': {
      const { secretNames: names, withhold } = settings;
      const isHeld = (name: string): boolean => isWithheldVariable(name, withhold);
      return [new EnvironmentSource(env, { names, isWithheld: isHeld })];
    }
    case 'dotenv':
      return [new DotenvSource(setting.path)];
    case 'keyring':
      return [new KeyringSource({ name: setting.name, service: setting.service })];
    case 'systemd': {
      const directory = setting.path ?? env['CREDENTIALS_DIRECTORY'];
      return directory ? [new SystemdSource(directory)] : [];
    }
    case 'command': {
      const places = { path: env['PATH'] ?? '', writable: roots };
      const openPlace = (): string | null => findHijackablePath(setting.argv[0], places);
      return [new CommandSource({ ...setting, env, findHijackablePath: openPlace })];
    }
  }
}
