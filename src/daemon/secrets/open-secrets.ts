/** Opens the secrets of a daemon: its configured sources and its own environment. */
import type { Configuration, SecretSourceSetting } from '../../configuration/configuration.ts';
import { isWithheldVariable } from '../../environment/base.ts';
import { checkMaskable } from '../../redaction/known/maskable.ts';
import type { CredentialFile } from '../../secrets/credential-file.ts';
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

/** Variables that the daemon removes from its own environment before it reads configuration. */
export const shouldTakeAlways: ShouldTakeVariable = (name, value) =>
  isSecretVariable(name, value) || isWithheldVariable(name);

/** Variables that it removes because configuration says so. */
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
  readonly credentialFiles: readonly CredentialFile[];
  /** The environment that the daemon was started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Real paths of directories that commands may write. */
  readonly roots: readonly string[];
  readonly log: (text: string) => void;
}

/**
 * Reads the sources that cost nothing, and logs warnings by name. If a source fails, the daemon
 * starts without its secrets, and an error explains the cause to anyone who requests one.
 */
export async function openSecrets(options: OpenSecretsOptions): Promise<SecretStore> {
  const { configuration, env, log } = options;
  const sources = configuration.sources.flatMap((setting) => sourceOf(setting, options));
  sources.push(...options.credentialFiles);
  // A systemd service gets its credentials without configuration.
  const credentials = env['CREDENTIALS_DIRECTORY'];
  const isNamed = configuration.sources.some(({ kind }) => kind === 'systemd');
  if (credentials && !isNamed) sources.push(new SystemdSource(credentials));
  // Commands never get this token, but it must always be masked, in any form and with any sources.
  const own = env[mainToken];
  if (own) {
    const options = { names: [mainToken], isWithheld: () => true };
    sources.push(new EnvironmentSource({ [mainToken]: own }, options));
  }
  const secrets = new SecretStore({ sources, checkMaskable });
  await secrets.load();
  for (const { problem } of secrets.problems) log(problem);
  // Only the operator's log says this: it would help an agent to guess the value.
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
