/** Which shell a session gets: the one asked for, or one that is here in its place. */
import { accessSync, constants } from 'node:fs';
import { basename } from 'node:path';
import type { Shell, ShellDialect } from '../command.ts';
import { TrlError } from '../errors.ts';

/** Shells that are replaced when they are missing: existing clients hard-code them. */
const known: ReadonlyMap<string, ShellDialect> = new Map([
  ['sh', 'posix'],
  ['dash', 'posix'],
  ['ash', 'posix'],
  ['ksh', 'posix'],
  ['mksh', 'posix'],
  ['bash', 'bash'],
  ['zsh', 'zsh'],
]);
const replaced = new Set(['fish', 'tcsh', 'csh', 'nu', 'pwsh', 'xonsh', 'elvish']);
const places = ['/bin', '/usr/bin', '/usr/local/bin'];

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

function find(name: string): string | null {
  return places.map((place) => `${place}/${name}`).find(isProgram) ?? null;
}

/** The runtime's own choice: bash where it is installed, else sh. */
export function defaultShell(): Shell {
  const bash = find('bash');
  return bash === null ? { path: '/bin/sh', dialect: 'posix' } : { path: bash, dialect: 'bash' };
}

/**
 * @param asked a name or an absolute path, or `null` for the default
 * @returns the shell, and whether it differs from what was asked for
 * @throws TrlError `INVALID_PARAMS` for a program that is no shell we can carry state for
 */
export function resolveShell(asked: string | null): { shell: Shell; substituted: boolean } {
  if (asked === null) return { shell: defaultShell(), substituted: false };
  const name = basename(asked);
  const dialect = known.get(name);
  if (dialect !== undefined) {
    const path = asked.startsWith('/') && isSystem(asked) && isProgram(asked) ? asked : find(name);
    if (path !== null) {
      return { shell: { path, dialect }, substituted: asked !== name && path !== asked };
    }
  }
  if (dialect === undefined && !replaced.has(name)) {
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot use shell "${asked}": known shells are ${[...known.keys()].join(', ')}`,
    );
  }
  return { shell: defaultShell(), substituted: true };
}

/** Only a shell that every sandbox shows: others would be missing inside. */
const isSystem = (path: string): boolean => places.some((place) => path.startsWith(`${place}/`));
