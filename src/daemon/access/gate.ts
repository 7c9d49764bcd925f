/**
 * Checks each call of every transport: whether a caller may call a method, and what of the runtime
 * it may see and change. Callers on the socket and the pipes may do everything.
 */
import type { ApprovalRegistry } from '../../approval/registry.ts';
import type { ApprovalId, Caller, ExecId, SessionId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { MethodAnswers, MethodName } from '../../api/methods.ts';
import type { Executions } from '../executions/executions.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { OpenWorkspaces } from '../workspaces/open-workspaces.ts';
import type { ChangeHistory } from '../../host/port.ts';
import type { Identities } from './identities.ts';
import { restrictParams, type OwnerLookup } from './ownership.ts';
import { isTokenAuthenticated, accessScopeOf } from './access-scope.ts';
import { restrictAnswer } from './restrict-answer.ts';

export interface AccessGateParts {
  readonly sessions: Pick<Sessions, 'ownerOf'>;
  readonly execs: Pick<Executions, 'find'>;
  readonly approvals: Pick<ApprovalRegistry, 'list'>;
  readonly openWorkspaces: Pick<OpenWorkspaces, 'ownerOf'>;
  readonly history: Pick<ChangeHistory, 'record'>;
  /** Whether a token that was presented once still counts. */
  readonly identities: Pick<Identities, 'isCredentialValid'>;
}

export class AccessGate {
  readonly #owners: OwnerLookup;
  readonly #identities: AccessGateParts['identities'];

  constructor(parts: AccessGateParts) {
    this.#identities = parts.identities;
    this.#owners = ownersOf(parts);
  }

  /**
   * Whether the caller may call the method at all; asked before anything of the call is read.
   *
   * @throws TrlError `AUTH_FAILED` when its token counts no more; `PERMISSION_DENIED`
   */
  requireRole(method: MethodName, params: object, caller: Caller): void {
    if (!this.#identities.isCredentialValid(caller)) {
      const why = 'the token was revoked, has expired, or proves too little';
      throw new TrlError('AUTH_FAILED', `Cannot run ${method}: ${why}`);
    }
    accessScopeOf(caller, method, params);
  }

  /**
   * The parameters with which the call may act.
   *
   * @throws TrlError `PERMISSION_DENIED` where the caller's roles do not permit the method; as for
   *   what is not there, where they name what is another's
   */
  async authorizeParams<Params extends object>(
    method: MethodName,
    params: Params,
    caller: Caller,
  ): Promise<Params> {
    if (!isTokenAuthenticated(caller)) return params;
    this.requireRole(method, params, caller);
    const scope = accessScopeOf(caller, method, params);
    refusePassphrase(method, params);
    const { actor } = caller;
    return scope === 'all'
      ? params
      : restrictParams(method, params, { actor, owners: this.#owners });
  }

  /** What of the answer the caller sees. */
  async filterAnswer<M extends MethodName>(
    method: M,
    answer: MethodAnswers[M],
    { caller, params }: { readonly caller: Caller; readonly params: object },
  ): Promise<MethodAnswers[M]> {
    if (!isTokenAuthenticated(caller) || accessScopeOf(caller, method, params) === 'all') {
      return answer;
    }
    return restrictAnswer(method, answer, { actor: caller.actor, owners: this.#owners });
  }

  /** Whether a method that lists several sessions shows one to a caller. */
  canSeeSession(caller: Caller, method: MethodName, session: SessionId): boolean {
    if (accessScopeOf(caller, method, {}) === 'all') return true;
    return this.#owners.ofSession(session) === caller.actor;
  }

  /** Whether a method that lists several actors shows one to a caller. */
  canSeeActor(caller: Caller, method: MethodName, actor: string): boolean {
    return accessScopeOf(caller, method, {}) === 'all' || actor === caller.actor;
  }
}

/** A token is proved by its roles. Over it, passphrases could be tried from everywhere. */
function refusePassphrase(method: MethodName, params: object): void {
  if (!('passphrase' in params)) return;
  const message = `Cannot run ${method}: a passphrase is taken on the socket of the runtime alone`;
  throw new TrlError('PERMISSION_DENIED', message);
}

function ownersOf({
  sessions,
  execs,
  approvals,
  openWorkspaces: opened,
  history,
}: AccessGateParts): OwnerLookup {
  const ofSession = (id: SessionId): string | null => sessions.ownerOf(id);
  const ofExec = (id: ExecId): string | null => {
    const found = execs.find(id);
    return found === null ? null : ofSession(found.record.sessionId);
  };
  return {
    ofSession,
    ofExec,
    ofRecord: async (id) => {
      const running = ofExec(id);
      if (running !== null) return running;
      try {
        return ofSession((await history.record(id)).session);
      } catch (error) {
        if (isTrlError(error, 'EXEC_NOT_FOUND')) return null;
        throw error;
      }
    },
    ofApproval: (id: ApprovalId) => {
      const found = approvals.list({}).find((one) => one.id === id);
      return found === undefined ? null : ofSession(found.asked.session);
    },
    ofWorkspace: (id) => opened.ownerOf(id),
  };
}
