/** Where policy files lie. Apart from what reads them, which most starts need not load. */
import os from 'node:os';
import path from 'node:path';

export const managedFile = '/etc/trl/policy.yaml';
/** At the root of a workspace. */
export const projectFileName = '.trl.yaml';
/** In {@link configDirectory}. */
export const userFileName = 'policy.yaml';
export const trustFileName = 'trusted.json';

/** `$XDG_CONFIG_HOME/trl`; an empty or relative variable counts as unset. */
export function configDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const given = env['XDG_CONFIG_HOME'] ?? '';
  return path.join(path.isAbsolute(given) ? given : path.join(os.homedir(), '.config'), 'trl');
}
