/** The desk of publications, loaded with the first check: commands do not wait for it. */
import type { Caller, ExecId } from '../../command.ts';
import type { PublicationService } from '../runtime.ts';
import type { PublishCheckParams, PublishParams } from '../../protocol/publish.ts';
import type { MethodAnswers } from '../../protocol/types.ts';
import { isTokenAuthenticated } from '../access/access-scope.ts';
import type { CoreOptions } from '../core-options.ts';
import type { Executions } from '../executions/executions.ts';
import { createPersonProver } from '../approvals/person-proof.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { CommandVisibility } from './interference.ts';

export class LazyPublicationService implements PublicationService {
  readonly #open: () => Promise<PublicationService>;
  #desk: Promise<PublicationService> | null = null;

  constructor(options: CoreOptions, parts: Known) {
    this.#open = async () => {
      const { DaemonPublicationService } = await import('./publication-service.ts');
      return new DaemonPublicationService({
        ...options,
        ...parts,
        home: options.host.home,
        directory: options.publications,
        visibilityOf: (id) => sightOf(parts, id),
        prove: proverHere(options),
        loadSecrets: () => options.secrets.load(),
      });
    };
  }

  async check(caller: Caller, params: PublishCheckParams): Promise<MethodAnswers['publish.check']> {
    return (await this.#loaded()).check(caller, params);
  }

  async publish(caller: Caller, params: PublishParams): Promise<MethodAnswers['publish']> {
    return (await this.#loaded()).publish(caller, params);
  }

  #loaded(): Promise<PublicationService> {
    this.#desk ??= this.#open();
    return this.#desk;
  }
}

interface Known {
  readonly sessions: Sessions;
  readonly execs: Executions;
}

/** A runtime of one command is its parent's own, as a socket is its owner's. */
function proverHere(options: CoreOptions): ReturnType<typeof createPersonProver> {
  const prove = createPersonProver(options);
  if (!options.endRunner) return prove;
  return (action, caller, passphrase) =>
    prove(
      action,
      isTokenAuthenticated(caller) ? caller : { ...caller, authenticatedBy: 'socket-owner' },
      passphrase,
    );
}

/** What was recorded when it started, and the rules of its session, which stay as they are. */
function sightOf({ sessions, execs }: Known, id: ExecId): CommandVisibility | null {
  const record = execs.find(id)?.record;
  const basis = record?.facts.basis;
  const session = sessions.all().find((one) => one.record.id === record?.sessionId)?.record;
  if (basis === undefined || session === undefined) return null;
  const { kind: sandbox, level, network, files, beyond } = basis.sandbox;
  return {
    sandbox,
    level,
    network,
    policyVersion: basis.verdict.policy.version,
    deny: [...files.read.deny, ...(session.workspaceRules?.read.deny ?? [])],
    shown: [...files.read.allow, ...beyond],
  };
}
