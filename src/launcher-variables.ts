/**
 * What the launcher of a checkout sets for Node alone (`tools/ready.sh`): the place of compiled
 * code, and the mark that says whose value that is. No command and no other program gets either.
 */
type Variables = Readonly<Record<string, string | undefined>>;

const [cache, mark] = ['NODE_COMPILE_CACHE', 'TRL_COMPILE_CACHE'] as const;

/** Names of those that are in `env`: none if the value is the caller's own. */
export function launcherVariables(env: Variables): readonly string[] {
  return env[mark] !== undefined && env[mark] === env[cache] ? [cache, mark] : [];
}

/** Those that are in `env`, for what is a Node of ours and starts nothing with them. */
export function launcherEnvironment(env: Variables): Record<string, string> {
  return Object.fromEntries(launcherVariables(env).map((name) => [name, env[name] ?? '']));
}

const taken = new Map<string, string>();

/** Takes them out of this process's environment, so that nothing that it starts has them. */
export function takeLauncherVariables(env: Record<string, string | undefined>): void {
  for (const name of launcherVariables(env)) {
    taken.set(name, env[name] ?? '');
    delete env[name];
  }
}

/** What was taken out, for the daemon: Node reads it there. */
export const takenLauncherVariables = (): Record<string, string> => Object.fromEntries(taken);
