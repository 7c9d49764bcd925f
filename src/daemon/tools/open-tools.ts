/** Puts the registered tools together: where their files lie, and what they may have. */
import path from 'node:path';
import { configDirectory, systemDirectory } from '../../yaml/places.ts';
import type { CoreOptions } from '../core-options.ts';
import type { ExecDesk } from '../execs/desk.ts';
import type { Executions } from '../execs/executions.ts';
import type { SessionDesk } from '../sessions/desk.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { UsedKeys } from '../used-keys.ts';
import { Registered } from './registered.ts';
import { ToolDesk } from './tool-desk.ts';
import { ToolFiles, type ToolDirectory } from './tool-files.ts';

export interface ToolParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly keys: UsedKeys;
  readonly sessionDesk: SessionDesk;
  readonly execDesk: ExecDesk;
}

type Options = Pick<
  CoreOptions,
  'roots' | 'log' | 'variables' | 'secrets' | 'env' | 'policies' | 'toolDirectories'
>;

export function openTools(options: Options, parts: ToolParts): ToolDesk {
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
  return new ToolDesk({
    ...parts,
    files,
    roots,
    registered: new Registered(),
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
    { path: path.join(systemDirectory, 'tools'), source: 'system' },
    ...toolDirectories.map((one) => ({ path: path.resolve(one), source: 'directory' as const })),
    { path: user, source: 'user' },
  ];
}
