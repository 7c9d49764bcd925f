/** Locates the files of registered tools and the variables of their processes. */
import path from 'node:path';
import type { SecretStore } from '../../secrets/secret-store.ts';
import { configDirectory, systemConfigDirectory } from '../../yaml/config-directories.ts';
import type { Policies } from '../policies.ts';
import type { RuntimeVariables } from '../secrets/variables.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { ToolFiles, type ToolDirectory } from './tool-files.ts';
import type { ToolServiceOptions } from './tool-service.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface ToolFilesParts {
  readonly sessions: Sessions;
  readonly roots: readonly string[];
  readonly env: Env;
  /** Directories of tools from the daemon's command line. */
  readonly toolDirectories: readonly string[];
  readonly log: (text: string) => void;
}

/** Directories that commands of sessions may write: a tool's program must not be in them. */
export function writableDirectories({
  sessions,
  roots,
}: Pick<ToolFilesParts, 'sessions' | 'roots'>): string[] {
  const granted = sessions.all().flatMap(({ record }) =>
    // A tool's own file, which no command wrote, says what the tool may write. A session without a
    // sandbox can write everything: policy allows that, and no tool is refused because of it.
    record.tool !== undefined || record.grants.sandbox === 'none'
      ? []
      : record.grants.files.write.allow,
  );
  return [...roots, ...granted];
}

export function openToolFiles(parts: ToolFilesParts): ToolFiles {
  const { env, toolDirectories, log } = parts;
  const directories: ToolDirectory[] = [
    { path: path.join(systemConfigDirectory, 'tools'), source: 'system' },
    ...toolDirectories.map((one) => ({ path: path.resolve(one), source: 'directory' as const })),
    { path: path.join(configDirectory({ ...env }), 'tools'), source: 'user' },
  ];
  return new ToolFiles({ directories, writable: () => writableDirectories(parts), log });
}

/** The variables that a tool's process may get, and those that no process gets. */
export function toolEnvironment(parts: {
  readonly env: Env;
  readonly secrets: SecretStore;
  readonly policies: Policies;
  readonly variables: RuntimeVariables;
}): Pick<ToolServiceOptions, 'available' | 'withhold' | 'path'> {
  const { env, secrets, policies, variables } = parts;
  return {
    path: env['PATH'] ?? '',
    available: async () => {
      const known = (await secrets.list()).map(({ name }) => name);
      const own = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : name));
      return [...known, ...own];
    },
    withhold: async (workspace) => {
      const policy = await policies.of(workspace);
      return [...policy.withhold, ...variables.withhold];
    },
  };
}
