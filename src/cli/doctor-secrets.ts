/** Secrets whose values cannot be told apart from ordinary text, by name. */
import { loadConfiguration } from '../configuration/load.ts';
import { isTrlError } from '../errors.ts';
import { version } from '../protocol/version.ts';
import { checkMaskable } from '../redaction/known/maskable.ts';
import { DotenvSource } from '../secrets/dotenv-source.ts';
import { EnvironmentSource } from '../secrets/environment-source.ts';
import { SecretStore } from '../secrets/secret-store.ts';
import type { SecretSource } from '../secrets/source.ts';
import { passedCheck, type DoctorCheck } from './doctor-check.ts';

const name = 'secrets';

/** Of the variables that the doctor was started with, and of the `.env` files that are settings. */
export async function checkAmbiguousSecrets(): Promise<DoctorCheck> {
  try {
    const weak = await weakSecrets();
    if (weak.length === 0) {
      return passedCheck(name, 'none of the environment and of .env files is weak');
    }
    const why = 'common words or too short; output hides them only beside their names or in logins';
    const found = `weak: ${weak.join(', ')}; ${why}`;
    return { name, state: 'warning', found, fix: null };
  } catch (error) {
    const found = isTrlError(error) ? error.message : 'they cannot be read';
    return { name, state: 'warning', found, fix: null };
  }
}

async function weakSecrets(): Promise<readonly string[]> {
  const { env } = process;
  const { sources, secretNames: names } = await loadConfiguration({ env, version: version() });
  const read = sources.flatMap((setting): SecretSource[] => {
    if (setting.kind === 'dotenv') return [new DotenvSource(setting.path)];
    if (setting.kind !== 'environment') return [];
    return [new EnvironmentSource(env, { names, isWithheld: () => false })];
  });
  const secrets = new SecretStore({ sources: read, checkMaskable });
  await secrets.load();
  return secrets.weak;
}
