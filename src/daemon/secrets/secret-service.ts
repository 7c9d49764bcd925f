/** Secrets on the wire: everyone sees names; only a person sets values; nothing returns them. */
import type { Enrolment } from '../../approval/enrolment.ts';
import type { Caller } from '../../command.ts';
import { isBaseVariableName, isWithheldVariable } from '../../environment/base.ts';
import { TrlError } from '../../errors.ts';
import { isInjectionName } from '../../variable-names.ts';
import type {
  SecretDeleteParams,
  SecretInjectParams,
  SecretRequestParams,
  SecretRequestView,
  SecretSetParams,
} from '../../api/secrets.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import type { SecretRequest } from '../../secrets/requests.ts';
import type { SecretStore } from '../../secrets/secret-store.ts';
import {
  createPersonProver,
  type ProvePerson,
  type PersonProverParts,
} from '../approvals/person-proof.ts';
import { isoTime } from '../executions/receipt.ts';
import type { Policies } from '../policies.ts';
import type { SecretService } from '../runtime.ts';
import { managedVariableError } from '../../authorize.ts';
import type { RuntimeVariables } from './variables.ts';
import type { Sessions } from '../sessions/sessions.ts';

export interface SecretServiceOptions extends PersonProverParts {
  readonly secrets: SecretStore;
  readonly sessions: Sessions;
  /** The variables that configuration withholds from commands. */
  readonly variables: Pick<RuntimeVariables, 'withhold' | 'managedBy' | 'isOfRuntime'>;
  /** The variables that policy withholds from commands. */
  readonly policies: Pick<Policies, 'of'>;
  /** Writes to the log that the operator reads. */
  readonly log: (text: string) => void;
}

/** Maximum names injected into one session. */
const injectedMax = 256;
/** Maximum characters of a reason in the log. */
const shownMax = 200;

export class DaemonSecretService implements SecretService {
  readonly #secrets: SecretStore;
  readonly #sessions: Sessions;
  readonly #enrolment: Enrolment;
  readonly #prove: ProvePerson;
  readonly #log: SecretServiceOptions['log'];
  readonly #options: Pick<SecretServiceOptions, 'variables' | 'policies'>;

  constructor(options: SecretServiceOptions) {
    this.#secrets = options.secrets;
    this.#sessions = options.sessions;
    this.#enrolment = options.enrolment;
    this.#prove = createPersonProver(options);
    this.#log = options.log;
    this.#options = options;
  }

  async list(): Promise<MethodAnswers['secrets.list']> {
    const found = await this.#secrets.list();
    const refused = await this.#refusals(null);
    const secrets = found.filter(({ name }) => refused(name) === null);
    return { secrets, problems: this.#secrets.problems };
  }

  async check(_: Caller, name: string): Promise<MethodAnswers['secrets.check']> {
    const problem = (await this.#refusals(null))(name);
    if (problem === null) return this.#checkUsable(name);
    return { name, state: 'unusable', source: null, origin: null, expires_at: null, problem };
  }

  /** Accepts also a variable of the runtime that is not a secret. */
  async #checkUsable(name: string): Promise<MethodAnswers['secrets.check']> {
    const found = await this.#secrets.check(name);
    const isReady = found.state === 'missing' && (await this.#options.variables.isOfRuntime(name));
    if (!isReady) return found;
    return { ...found, state: 'ready', source: 'environment', problem: null };
  }

  /** Says in one sentence why no command gets a secret of a name; `null` if a command may. */
  async #refusals(workspace: string | null): Promise<(name: string) => string | null> {
    const { policies, variables } = this.#options;
    const withhold = [...variables.withhold, ...(await policies.of(workspace)).withhold];
    return (name) => {
      const shown = JSON.stringify(name.slice(0, shownMax));
      if (isWithheldVariable(name, withhold)) {
        return `Cannot use ${shown}: it is withheld from commands`;
      }
      if (isInjectionName(name)) return `Cannot use ${shown}: programs run what this variable says`;
      return isBaseVariableName(name) ? `Cannot use ${shown}: each command has its own` : null;
    };
  }

  /** @throws TrlError `INVALID_PARAMS` */
  async #refuseUnusable(names: readonly string[], workspace: string | null): Promise<void> {
    const refused = await this.#refusals(workspace);
    for (const name of names) {
      const reason = refused(name);
      if (reason !== null) throw new TrlError('INVALID_PARAMS', reason);
    }
  }

  /** @throws TrlError `INVALID_PARAMS` if no variable can have the name; `QUOTA_EXCEEDED` */
  async request(
    { actor }: Caller,
    { name, reason, wait_ms: waitMs = 0 }: SecretRequestParams,
  ): Promise<MethodAnswers['secrets.request']> {
    await this.#refuseUnusable([name], null);
    const { state } = await this.#checkUsable(name);
    // A value that a source has but nobody read yet is available as soon as policy allows it.
    if (state === 'ready' || state === 'unread') return { name, state: 'ready' };
    const isNew = this.#secrets.requests.list().every((one) => one.name !== name);
    const request = this.#secrets.request({ name, reason, requester: actor });
    if (isNew) {
      // Removes characters that control a terminal or reorder text.
      const why = JSON.stringify(reason.slice(0, shownMax).replaceAll(/\p{C}/gu, '\ufffd'));
      this.#log(`${actor} asks for the secret ${name}: ${why}; give it: trl secrets set ${name}`);
    }
    if (await this.#secrets.requests.wait(name, waitMs)) return { name, state: 'ready' };
    const isPending = this.#secrets.requests.list().some((one) => one.name === name);
    if (!isPending) return { name, state: 'refused' };
    return { name, state: 'pending', expires_at: isoTime(request.expiresAt) };
  }

  requests(): MethodAnswers['secrets.requests'] {
    return { requests: this.#secrets.requests.list().map(requestView) };
  }

  /** @throws TrlError `AUTH_FAILED` like {@link ProvePerson}; else like {@link SecretStore.give} */
  async set(
    caller: Caller,
    { name, value, passphrase }: SecretSetParams,
  ): Promise<MethodAnswers['secrets.set']> {
    await this.#prove('Cannot set a secret', caller, passphrase);
    await this.#refuseUnusable([name], null);
    return { name, warning: this.#secrets.give(name, value) };
  }

  /**
   * Records names of secrets and variables on the session, as `env_keys` does for one command.
   * Policy decides at each command, as for `env_keys`.
   *
   * @throws TrlError `SESSION_NOT_FOUND`; `SECRET_NOT_FOUND` and other errors if one name cannot be
   *   used: then none is injected
   */
  async inject(
    _: Caller,
    { session_id: id, names }: SecretInjectParams,
  ): Promise<MethodAnswers['secrets.inject']> {
    const { workspace } = this.#sessions.get(id).record;
    await this.#refuseUnusable(names, workspace);
    for (const name of names) {
      const manager = this.#options.variables.managedBy(name, workspace);
      if (manager !== null) throw managedVariableError(name, manager);
      if (!(await this.#options.variables.isOfRuntime(name))) await this.#secrets.usable(name);
    }
    // Looks it up again: it may have been destroyed while the sources were queried.
    const session = this.#sessions.get(id);
    const injected = [...new Set([...(session.record.injected ?? []), ...names])].toSorted();
    if (injected.length > injectedMax) {
      const message = `Cannot inject into ${id}: it may have ${injectedMax} secrets`;
      throw new TrlError('QUOTA_EXCEEDED', message);
    }
    this.#sessions.updateAtOnce(session, { injected });
    return { session_id: id, names: injected };
  }

  /**
   * Revokes an injection, which any caller may do; or deletes a value and its pending requests. If
   * a person is enrolled, only that person may delete a value.
   *
   * @throws TrlError `SESSION_NOT_FOUND`; `SECRET_NOT_FOUND` if there is nothing to delete;
   *   `AUTH_FAILED` without the enrolled person's passphrase
   */
  async delete(
    caller: Caller,
    { name, session_id: id, passphrase }: SecretDeleteParams,
  ): Promise<MethodAnswers['secrets.delete']> {
    if (id === undefined) {
      const isProved = this.#enrolment.approver() !== null;
      if (isProved) await this.#prove('Cannot delete a secret', caller, passphrase);
      this.#secrets.delete(name);
      const remains = (await this.#secrets.find(name))?.source ?? null;
      return { name, session_id: null, remains };
    }
    const session = this.#sessions.get(id);
    const injected = session.record.injected ?? [];
    if (!injected.includes(name)) {
      const message = `Cannot take a secret back: ${JSON.stringify(name)} is not in ${id}`;
      throw new TrlError('SECRET_NOT_FOUND', message);
    }
    this.#sessions.updateAtOnce(session, { injected: injected.filter((one) => one !== name) });
    return { name, session_id: id, remains: null };
  }
}

export function requestView(request: SecretRequest): SecretRequestView {
  const { name, reason, requester, requestedAt, expiresAt } = request;
  const [requested, expires] = [isoTime(requestedAt), isoTime(expiresAt)];
  return { name, reason, requester, requested_at: requested, expires_at: expires };
}
