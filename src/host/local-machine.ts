/** The adapter of the port for this machine: processes and files are where the daemon is. */
import { realpathSync } from 'node:fs';
import { TrlError } from '../errors.ts';
import { launch } from '../process/launch.ts';
import type { RunnerLinkEvents } from '../process/runner-link.ts';
import { endRunner, openRunner, removeLostRunner, type RunnerOptions } from '../process/runner.ts';
import { gatherHostFacts, withPathVariable, type HostFacts } from '../sandbox/host-facts.ts';
import { LocalHost } from './local.ts';
import type { MachinePort, RunnerConnection, WorkspaceHostOptions } from './machine-port.ts';

export class LocalMachine implements MachinePort {
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Roots are resolved once: a link that is changed later must not move one. */
  resolveRoot(root: string): string {
    try {
      return realpathSync(root);
    } catch (cause) {
      const message = `Cannot use workspace root "${root}": it does not exist`;
      throw new TrlError('INVALID_PARAMS', message, { cause });
    }
  }

  gatherFacts(): Promise<HostFacts> {
    return gatherHostFacts(this.#env);
  }

  factsFor(facts: HostFacts, searchPath: string): HostFacts {
    return withPathVariable(facts, searchPath);
  }

  async openRunner(options: RunnerOptions, events: RunnerLinkEvents): Promise<RunnerConnection> {
    const runner = await openRunner(options, events);
    return {
      ...runner,
      launch: (approved, how) => launch(runner.link, approved, how),
      end: (waitMs) => endRunner(runner, waitMs),
      removeLost: () => removeLostRunner(runner),
    };
  }

  openWorkspaces(options: WorkspaceHostOptions): LocalHost {
    return new LocalHost(options);
  }
}
