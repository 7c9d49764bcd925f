/** What callers do with sessions: create, show, change, fork and end them. */
import { hasOwnNetwork } from '../../network-access.ts';
import { normalHostName } from '../../network/host-rules.ts';
import type { Caller, SessionId } from '../../command.ts';
import { checkVariable } from '../../environment/base.ts';
import { TrlError } from '../../errors.ts';
import type { SessionConnection, SessionCreateParams, SessionView } from '../../api/session.ts';
import { isTokenAuthenticated } from '../access/access-scope.ts';
import type { WorkspaceHost } from '../../host/port.ts';
import type { HostFacts } from '../../sandbox/host-facts.ts';
import { resolveBounds, type RequestedBounds } from '../../session/bounds.ts';
import { newSessionId, type SessionRecord } from '../../session/record.ts';
import type { Identities } from '../access/identities.ts';
import type { DaemonApprovalService } from '../approvals/approval-service.ts';
import type { Auditing } from '../auditing/auditing.ts';
import { isExecutionOver, type Executions } from '../executions/executions.ts';
import { createSessionRecord } from './new-session.ts';
import { timeoutOf } from '../executions/requests.ts';
import type { Policies } from '../policies.ts';
import type { Runners } from '../runners.ts';
import type { SessionService } from '../runtime.ts';
import type { Masking } from '../secrets/masking.ts';
import type { RuntimeVariables } from '../secrets/variables.ts';
import type { OpenWorkspaces } from '../workspaces/open-workspaces.ts';
import type { SearchPathHosts } from './search-path-hosts.ts';
import { sessionEnvironmentView } from './environment.ts';
import { sessionViewOf, type LiveSession, type Sessions } from './sessions.ts';
import { chooseViewId, viewIdOf } from '../../session/views.ts';
import { refuseToolSession } from '../tools/tool-session.ts';

export interface SessionServiceParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly host: HostFacts;
  readonly searchPathHosts: SearchPathHosts;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories below which sessions may work. */
  readonly roots: readonly string[];
  readonly policies: Policies;
  readonly variables: RuntimeVariables;
  readonly workspaceHost: WorkspaceHost;
  readonly openWorkspaces: OpenWorkspaces;
  /** Bounds of sessions whose callers name none. */
  readonly sessionBounds: Pick<RequestedBounds, 'timeout_ms' | 'cpu_s'>;
  readonly runners: Runners;
  readonly masking: Masking;
  readonly approvalService: Pick<DaemonApprovalService, 'approvals'>;
  readonly identities: Pick<Identities, 'hasEnded'>;
  readonly auditing: Auditing;
}

export class DaemonSessionService implements SessionService {
  readonly #parts: SessionServiceParts;
  readonly #sessions: Sessions;
  readonly #execs: Executions;

  constructor(parts: SessionServiceParts) {
    this.#parts = parts;
    this.#sessions = parts.sessions;
    this.#execs = parts.execs;
  }

  /** @param tool the call of a registered tool that it is for */
  async create(
    caller: Caller,
    params: SessionCreateParams,
    tool: NonNullable<SessionRecord['tool']> | null = null,
  ): Promise<SessionView> {
    const { host, roots, policies, variables, workspaceHost } = this.#parts;
    const { workspace_id: workspaceId } = params;
    const opened = workspaceId === undefined ? null : this.#parts.openWorkspaces.get(workspaceId);
    const workingDir = params.working_dir ?? opened?.path ?? null;
    const place = await workspaceHost.resolve({ roots, workingDir, home: host.home });
    const policy = await policies.of(place.workspace);
    if (opened !== null && place.workspace !== opened.path) {
      const message = `Cannot work in "${place.cwd}": it is outside workspace ${opened.id}`;
      throw new TrlError('WORKSPACE_ESCAPE', message);
    }
    const searchPath = this.#searchPathOf(caller, params);
    const by = { policy, opened, owner: caller.actor, searchPath, home: host.home };
    const made = createSessionRecord(params, place, { ...by, usual: this.#parts.sessionBounds });
    const record = tool === null ? made : { ...made, tool };
    await variables.check(record.requested ?? [], policy.withhold);
    const session = await this.#add(record, caller);
    await this.#set(session, params.env ?? {});
    return sessionViewOf(session);
  }

  /** @throws TrlError `PERMISSION_DENIED` by a token: an agent does not say what it is shown */
  #searchPathOf(caller: Caller, { search_path: asked }: SessionCreateParams): string | null {
    if (asked === undefined) return null;
    if (isTokenAuthenticated(caller) || caller.within !== undefined) {
      const message = 'Cannot look for programs elsewhere: only who starts it may say where';
      throw new TrlError('PERMISSION_DENIED', message);
    }
    return this.#parts.searchPathHosts.differs(asked) ? asked : null;
  }

  list(): readonly SessionView[] {
    return this.#sessions.all().map(sessionViewOf);
  }

  info(_: Caller, id: SessionId): Promise<SessionView> {
    return sessionEnvironmentView(this.#parts, this.#sessions.get(id));
  }

  async update(_: Caller, params: Parameters<SessionService['update']>[1]): Promise<SessionView> {
    const session = this.#sessions.get(params.session_id);
    refuseToolSession(session.record);
    const { limits: maxima } = await this.#parts.policies.of(session.record.workspace);
    if (params.state_of !== undefined) await this.#takeState(session, params.state_of);
    const env = params.env ?? {};
    const unset = params.unset ?? [];
    for (const [name, value] of Object.entries(env)) checkVariable(name, value);
    const timeoutMs = timeoutOf(params);
    const bounds = {
      ...session.record.bounds,
      ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
    };
    resolveBounds(bounds, 'foreground', maxima);
    const kept = session.record.envKeys.filter((name) => !unset.includes(name));
    this.#sessions.update(session, {
      name: params.name ?? session.record.name,
      bounds,
      envKeys: [...new Set([...kept, ...Object.keys(env)])].toSorted(),
    });
    if (unset.length > 0) {
      const link = await this.#parts.runners.link();
      await link.request('unset', { session_id: session.record.id, names: [...unset] });
    }
    await this.#set(session, env);
    return sessionViewOf(session);
  }

  /** @throws TrlError `INVALID_PARAMS` for that of another workspace */
  async #takeState(session: LiveSession, from: SessionId): Promise<void> {
    const { record } = this.#sessions.get(from);
    refuseToolSession(record);
    if (record.workspace !== session.record.workspace) {
      const message = `Cannot take over what ${from} carries: it works in another workspace`;
      throw new TrlError('INVALID_PARAMS', message);
    }
    const { id } = session.record;
    this.#parts.masking.given.copy(from, id);
    this.#sessions.update(session, { envKeys: record.envKeys });
    const link = await this.#parts.runners.link();
    await link.request('fork', { session_id: from, to: id });
  }

  async fork(caller: Caller, id: SessionId, name: string | null): Promise<SessionView> {
    const { record } = this.#sessions.get(id);
    refuseToolSession(record);
    const now = Date.now();
    const times = { createdAt: now, lastActivity: now };
    const fork = { ...record, id: newSessionId(), name, owner: caller.actor, ...times };
    // Secrets were injected into that session: nobody could revoke them in the fork.
    const bare = { commandCount: 0, assurance: null, injected: [] };
    const session = await this.#add({ ...fork, ...bare }, caller);
    this.#parts.masking.given.copy(id, session.record.id);
    const link = await this.#parts.runners.link();
    await link.request('fork', { session_id: id, to: session.record.id });
    return sessionViewOf(session);
  }

  async state(_: Caller, id: SessionId): ReturnType<SessionService['state']> {
    const { record } = this.#sessions.get(id);
    const link = await this.#parts.runners.link();
    const { names, cwd } = await link.request('state', { session_id: id });
    return { session_id: id, cwd: cwd ?? record.cwd, names };
  }

  /** @throws TrlError `SESSION_BUSY` without `force` while a command runs in it */
  async destroy(_: Caller, id: SessionId, force: boolean): Promise<void> {
    await this.end(id, force);
  }

  /** As {@link destroy}, by the runtime itself. */
  async end(id: SessionId, force: boolean): Promise<void> {
    const session = this.#sessions.get(id);
    if (session.busy !== null && !force) {
      throw new TrlError(
        'SESSION_BUSY',
        `Cannot destroy ${id}: a command is running; force ends it`,
      );
    }
    this.#parts.approvalService.approvals.endSession(id);
    this.#sessions.remove(id);
    const link = await this.#parts.runners.link();
    await link.request('close', { session_id: id });
    await this.#parts.workspaceHost.views.leave(session.record);
    await this.#parts.workspaceHost.caches.leave(session.record);
    this.#parts.masking.given.forget(id);
    this.#execs.endSession(id);
  }

  /**
   * Shows a port of a session to a person, in a browser on this machine.
   *
   * @throws TrlError `INVALID_PARAMS` where the port is the host's own, or nothing has run yet
   */
  async showPort(
    id: SessionId,
    port: number,
  ): Promise<{ session_id: SessionId; port: number; url: string }> {
    const { grants } = this.#sessions.get(id).record;
    if (grants.sandbox === 'none' || !hasOwnNetwork(grants.network)) {
      const why = 'the session has the network of the host, so the port is there already';
      throw new TrlError('INVALID_PARAMS', `Cannot show a port of ${id}: ${why}`);
    }
    const shown = await this.#parts.runners.showPort(id, port);
    const url = `http://127.0.0.1:${shown.port}/?trl_token=${shown.token}`;
    return { session_id: id, port, url };
  }

  /** Connections of its commands through the bridge, as they are now. */
  async connections(id: SessionId): Promise<{ connections: SessionConnection[] }> {
    this.#sessions.get(id);
    const live = await this.#parts.runners.connections(id);
    return {
      connections: live.map((one) => ({ ...one, since: new Date(one.since).toISOString() })),
    };
  }

  /**
   * Ends the session's connections to a host, and refuses it to all its commands from now on.
   *
   * @throws TrlError `INVALID_PARAMS` for what is no name of a host
   */
  async blockHost(id: SessionId, text: string): Promise<{ session_id: SessionId; host: string }> {
    const session = this.#sessions.get(id);
    const host = normalHostName(text);
    if (host === null) {
      const shown = JSON.stringify(text);
      throw new TrlError('INVALID_PARAMS', `Cannot block ${shown}: it is not the name of a host`);
    }
    const { blockedHosts = [] } = session.record;
    this.#sessions.updateAtOnce(session, { blockedHosts: [...new Set([...blockedHosts, host])] });
    await this.#parts.runners.blockHost(id, host);
    return { session_id: id, host };
  }

  async hidePort(id: SessionId, port: number): Promise<{ session_id: SessionId; hidden: boolean }> {
    this.#sessions.get(id);
    return { session_id: id, hidden: await this.#parts.runners.hidePort(id, port) };
  }

  /** Where there is no room, what is abandoned makes some. */
  async #add(record: SessionRecord, caller: Caller): Promise<LiveSession> {
    const add = (): LiveSession => {
      const others = this.#sessions.all().map((session) => session.record);
      const view = chooseViewId(record, others);
      return this.#sessions.add({ ...record, view, isViewOwn: false }, caller);
    };
    try {
      return add();
    } catch (error) {
      if (!(await this.endAbandoned())) throw error;
      return add();
    }
  }

  /**
   * Ends sessions that nobody can use any more: see {@link Sessions.isAbandoned}, and those of
   * tokens that are over. `idleMs`: the client has left so long ago at least. The last one of a
   * view in which changes wait for a person is wanted still. Answers whether there were any.
   */
  async endAbandoned(idleMs = 0): Promise<boolean> {
    const now = Date.now();
    const found = this.#sessions.all().filter((one) => {
      const { id, lastActivity, owner = '' } = one.record;
      const since = one.leftAt === undefined ? now : Math.max(lastActivity, one.leftAt);
      const isLeft = this.#sessions.isAbandoned(one) && now - since >= idleMs;
      if (!isLeft && (one.busy !== null || !this.#parts.identities.hasEnded(owner))) return false;
      // A pending approval is still wanted.
      return this.#execs.list(id).every(isExecutionOver);
    });
    let ended = 0;
    for (const one of found) {
      const { record } = one;
      if (this.#sessions.isAbandoned(one) && (await this.#isLastThatWaits(record))) continue;
      await this.endUnused(record.id).catch(() => {});
      ended += 1;
    }
    return ended > 0;
  }

  async #isLastThatWaits(own: SessionRecord): Promise<boolean> {
    const { id } = own;
    const others = this.#sessions.all().filter(({ record }) => record.id !== id);
    if (others.some(({ record }) => viewIdOf(record) === viewIdOf(own))) return false;
    const opened = await this.#parts.workspaceHost.views.find(id)?.catch(() => null);
    return opened !== undefined && opened !== null && (await opened.pendingChanges()).length > 0;
  }

  /** Ends a session without a request, and records that it was idle. */
  async endUnused(id: SessionId): Promise<void> {
    await this.end(id, true);
    const data = { idle: true };
    this.#parts.auditing.note({ kind: 'session.destroyed', session: id, data });
  }

  async #set(session: LiveSession, env: Readonly<Record<string, string>>): Promise<void> {
    if (Object.keys(env).length === 0) return;
    const link = await this.#parts.runners.link();
    // The runner stores the values and outlives this daemon: it must know which are secret.
    const secret = this.#parts.masking.given.note(session.record.id, env);
    await this.#parts.runners.addKnownSecrets(secret, session.record.id);
    await link.request('set', { session_id: session.record.id, cwd: null, env });
  }
}
