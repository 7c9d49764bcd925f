/** Where a daemon keeps what it keeps, and which places it refuses to work in. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { locateSocket } from '../protocol/socket-location.ts';
import type { DaemonArgs } from './args.ts';

type Env = Readonly<Record<string, string | undefined>>;

export const stateHomeDirectory = (): string =>
  join(process.env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'trl');

/** The state directory, 0700, by its real path; one of its own for an ephemeral daemon. */
export function openStateDir(ephemeral: boolean): string {
  if (ephemeral) return realpathSync(mkdtempSync(join(tmpdir(), 'trl-state-')));
  const dir = stateHomeDirectory();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return realpathSync(dir);
}

export function locateDaemonSocket(
  args: DaemonArgs,
  env: Env,
): ReturnType<typeof locateSocket> | null {
  if (args.verb === 'stdio') return null;
  const flag = args.socketPath === null ? {} : { flag: args.socketPath };
  return locateSocket({ ...flag, env, uid: process.getuid?.() ?? 0 });
}

/** The runner's built program: beside the bundle, or in the checkout's `dist`. */
export function runnerProgram(): string {
  const here = fileURLToPath(import.meta.url);
  const place = here.endsWith('.ts') ? join(dirname(here), '../../dist') : dirname(here);
  return join(place, 'runner.js');
}
