/** Directories of user-written files. Apart from their readers, which most starts do not load. */
import os from 'node:os';
import path from 'node:path';

/** `$XDG_CONFIG_HOME/trl`; an empty or relative variable counts as unset. */
export function configDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const given = env['XDG_CONFIG_HOME'] ?? '';
  return path.join(path.isAbsolute(given) ? given : path.join(os.homedir(), '.config'), 'trl');
}

/** What root sets for all users of the machine. */
export const systemConfigDirectory = '/etc/trl';
