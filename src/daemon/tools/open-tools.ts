/** Puts the registered tools together: where their files lie, and what they may have. */
import path from 'node:path';
import { configDirectory, systemConfigDirectory } from '../../yaml/config-directories.ts';
import type { CoreOptions } from '../core-options.ts';
import type { DaemonExecutionService } from '../executions/execution-service.ts';
import type { Executions } from '../executions/executions.ts';
import type { DaemonSessionService } from '../sessions/session-service.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { UsedKeys } from '../used-keys.ts';
import { RegisteredTools } from './registered-tools.ts';
import { DaemonToolService } from './tool-service.ts';
import { ToolFiles, type ToolDirectory } from './tool-files.ts';

export interface OpenToolsParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly keys: UsedKeys;
  readonly sessionService: DaemonSessionService;
  readonly executionService: DaemonExecutionService;
}

type Options = Pick<
  CoreOptions,
  'roots' | 'log' | 'variables' | 'secrets' | 'env' | 'policies' | 'toolDirectories'
>;

export function openTools(options: Options, parts: OpenToolsParts): DaemonToolService {
  const { roots, log, variables, secrets, env, policies } = options;
  const granted = (): string[] =>
    parts.sessions.all().flatMap(({ record }) =>
      // What a tool may write its own file says, which no command wrote. What runs without a
      // sandbox can write everything: policy let it, and no tool is refused for that.
      record.tool !== undefined || record.grants.sandbox === 'none'
        ? []
        : record.grants.files.write.allow,
    );
  const writable = (): string[] => [...roots, ...granted()];
  const files = new ToolFiles({ directories: directoriesOf(options), writable, log });
  variables.managedBy = (name, workspace) => files.managedBy(name, workspace);
  return new DaemonToolService({
    ...parts,
    files,
    roots,
    registered: new RegisteredTools(),
    writable,
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
  });
}

function directoriesOf({ toolDirectories, env }: Options): ToolDirectory[] {
  const user = path.join(configDirectory({ ...env }), 'tools');
  return [
    { path: path.join(systemConfigDirectory, 'tools'), source: 'system' },
    ...toolDirectories.map((one) => ({ path: path.resolve(one), source: 'directory' as const })),
    { path: user, source: 'user' },
  ];
}
