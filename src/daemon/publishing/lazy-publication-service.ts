/** The publication service, loaded at the first check so that commands do not wait for it. */
import type { Caller, ExecId } from '../../command.ts';
import type { PublicationService } from '../runtime.ts';
import type { PublishCheckParams, PublishParams } from '../../api/publish.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import { isTokenAuthenticated } from '../access/access-scope.ts';
import type { Executions } from '../executions/executions.ts';
import { createPersonProver, type PersonProverParts } from '../approvals/person-proof.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { HostFacts } from '../../sandbox/host-facts.ts';
import type { SecretStore } from '../../secrets/secret-store.ts';
import type { CommandVisibility } from './interference.ts';
import type { PublicationServiceParts } from './publication-service.ts';

export interface LazyPublicationParts
  extends
    Omit<PublicationServiceParts, 'directory' | 'home' | 'visibilityOf' | 'prove' | 'loadSecrets'>,
    PersonProverParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly host: HostFacts;
  readonly publicationDirectory: string;
  readonly secrets: Pick<SecretStore, 'load'>;
  /** Whether this is the runtime of a single command. */
  readonly endRunner: boolean;
}

export class LazyPublicationService implements PublicationService {
  readonly #open: () => Promise<PublicationService>;
  #service: Promise<PublicationService> | null = null;

  constructor(parts: LazyPublicationParts) {
    this.#open = async () => {
      const { DaemonPublicationService } = await import('./publication-service.ts');
      return new DaemonPublicationService({
        ...parts,
        home: parts.host.home,
        directory: parts.publicationDirectory,
        visibilityOf: (id) => visibilityOf(parts, id),
        prove: personProverOf(parts),
        loadSecrets: () => parts.secrets.load(),
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
    this.#service ??= this.#open();
    return this.#service;
  }
}

/**
 * The runtime of a single command treats its parent as the owner of its pipes, like the owner of a
 * socket.
 */
function personProverOf(parts: LazyPublicationParts): ReturnType<typeof createPersonProver> {
  const prove = createPersonProver(parts);
  if (!parts.endRunner) return prove;
  return (action, caller, passphrase) =>
    prove(
      action,
      isTokenAuthenticated(caller) ? caller : { ...caller, authenticatedBy: 'socket-owner' },
      passphrase,
    );
}

/** What a command could see: recorded at its start, plus the fixed rules of its session. */
function visibilityOf(
  { sessions, execs }: LazyPublicationParts,
  id: ExecId,
): CommandVisibility | null {
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
