/** The desk of publications, loaded with the first check: commands do not wait for it. */
import type { Caller, ExecId } from '../../command.ts';
import type { PublicationDesk } from '../runtime.ts';
import type { PublishCheckParams, PublishParams } from '../../protocol/publish.ts';
import type { MethodAnswers } from '../../protocol/types.ts';
import { isByToken } from '../access/permits.ts';
import type { CoreOptions } from '../core-options.ts';
import type { Executions } from '../execs/executions.ts';
import { proverOf } from '../approvals/proof.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { CommandSight } from './made-by.ts';

export class Publications implements PublicationDesk {
  readonly #open: () => Promise<PublicationDesk>;
  #desk: Promise<PublicationDesk> | null = null;

  constructor(options: CoreOptions, parts: Known) {
    this.#open = async () => {
      const { DaemonPublishing } = await import('./desk.ts');
      return new DaemonPublishing({
        ...options,
        ...parts,
        home: options.host.home,
        directory: options.publications,
        sightOf: (id) => sightOf(parts, id),
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

  #loaded(): Promise<PublicationDesk> {
    this.#desk ??= this.#open();
    return this.#desk;
  }
}

interface Known {
  readonly sessions: Sessions;
  readonly execs: Executions;
}

/** A runtime of one command is its parent's own, as a socket is its owner's. */
function proverHere(options: CoreOptions): ReturnType<typeof proverOf> {
  const prove = proverOf(options);
  if (!options.endRunner) return prove;
  return (action, caller, passphrase) =>
    prove(
      action,
      isByToken(caller) ? caller : { ...caller, authenticatedBy: 'socket-owner' },
      passphrase,
    );
}

/** What was recorded when it started, and the rules of its session, which stay as they are. */
function sightOf({ sessions, execs }: Known, id: ExecId): CommandSight | null {
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
