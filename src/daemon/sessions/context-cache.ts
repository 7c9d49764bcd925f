/**
 * The execution context of each session: made at its first command, and made again when something
 * that it depends on has changed.
 */
import { isTrlError, TrlError } from '../../errors.ts';
import type { Circumstances } from '../../authorize.ts';
import { policyProfiles, type Assurance, type Caller } from '../../command.ts';
import type { ExecutionContext, ExecutionRequest } from '../../execution.ts';
import type { Policy } from '../../policy/policy.ts';
import type { StateStore } from '../../session/store.ts';
import type { ReservedPaths } from '../../workspace/grants.ts';
import type { WorkspaceFacts } from '../../workspace/workspace-survey.ts';
import type { Policies } from '../policies.ts';
import type { Runners } from '../runners.ts';
import type { Masking } from '../secrets/masking.ts';
import { sessionVariables, type RuntimeVariables } from '../secrets/variables.ts';
import { exposureOf, openExecutionContext, workspaceIdentityOf } from './execution-context.ts';
import type { SearchPathHosts } from './search-path-hosts.ts';
import { probeSandbox } from './sandbox-probe.ts';
import type { LiveSession, Sessions } from './sessions.ts';
import type { WorkspaceHost, WorkspaceView } from '../../host/port.ts';

export interface ContextCacheParts {
  readonly sessions: Sessions;
  readonly policies: Policies;
  readonly workspaceHost: WorkspaceHost;
  readonly searchPathHosts: SearchPathHosts;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where files are moved that a command may not leave in a workspace. */
  readonly quarantine: string;
  /** Paths that no grant opens. */
  readonly reserved: ReservedPaths;
  readonly variables: RuntimeVariables;
  readonly masking: Masking;
  /** Certificates that are trusted beside the host's. PEM. */
  readonly rootCertificates: readonly string[];
  readonly runners: Runners;
  readonly store: StateStore;
}

export class ContextCache {
  readonly #parts: ContextCacheParts;

  constructor(parts: ContextCacheParts) {
    this.#parts = parts;
  }

  /** Looked up once for a command: all its steps must follow from the same policy. */
  policyOf(session: LiveSession): Promise<Policy> {
    return this.#parts.policies.of(session.record.workspace);
  }

  /** The session's context, and what its command is judged by. */
  async circumstances(
    session: LiveSession,
    of: { readonly policy: Policy; readonly caller: Caller; readonly request: ExecutionRequest },
  ): Promise<Circumstances> {
    const { policy, caller, request } = of;
    const context = await this.of(session, policy);
    const { record } = session;
    // Loaded at the first command: the knowledge of commands takes a while to load.
    const { createPolicyJudge } = await import('../../policy/judge.ts');
    const profiles = [record.policy, request.policy];
    const strictest = policyProfiles.findLast((one) => profiles.includes(one)) ?? null;
    const authorization = {
      judge: createPolicyJudge(policy, caller, strictest),
      exposure: exposureOf(record, context),
      hosts: policy.hosts,
      requester: caller.actor,
      parent: caller.within ?? null,
      session: sessionVariables(record),
    };
    return { context, authorization };
  }

  /** A session's workspace, opened if no command has run yet. */
  async workspaceOf(session: LiveSession): Promise<WorkspaceView> {
    await this.of(session, await this.policyOf(session));
    const found = this.#parts.workspaceHost.views.find(session.record.id);
    if (found !== null) return found;
    const message = `Cannot show changes: ${session.record.id} has no workspace`;
    throw new TrlError('INVALID_PARAMS', message);
  }

  /**
   * Gives a session a view of its own before a command that stages its changes: no other session
   * may share that view, or join it.
   *
   * @throws TrlError `SESSION_BUSY` when commands of the session run in the view that it must leave
   */
  separate(
    session: LiveSession,
    { workspaceMode }: ExecutionRequest,
    running: readonly unknown[],
  ): void {
    const { id, view, isViewOwn } = session.record;
    if (workspaceMode !== 'staged' || view === undefined || view === id || isViewOwn) return;
    if (this.#parts.sessions.listInView(view).length === 1) {
      return this.#parts.sessions.updateAtOnce(session, { isViewOwn: true });
    }
    if (running.length > 0) {
      const why = 'another one runs in it, in the layer that it shares with other sessions';
      throw new TrlError('SESSION_BUSY', `Cannot stage what a command of ${id} changes: ${why}`);
    }
    this.#parts.sessions.updateAtOnce(session, { view: id });
    session.context = null;
  }

  async of(session: LiveSession, policy: Policy): Promise<ExecutionContext> {
    const { version } = policy;
    // Commands see what was added to the tree since the last one, unless it is hidden from them.
    const opened = await this.#parts.workspaceHost.views.find(session.record.id);
    if (opened !== null && !(await opened.refresh())) session.context = null;
    // A policy that was read again may show less, and withhold more.
    if (session.policyVersion !== version) session.context = null;
    session.policyVersion = version;
    const place = workspaceIdentityOf(session.record.workspace, this.#parts.workspaceHost);
    // A token that was renewed is shown as another one.
    const { mark } = this.#parts.variables.files;
    if (session.credentialFilesMark !== mark) session.context = null;
    session.credentialFilesMark = mark;
    if (place !== null && place !== session.contextDirectory) session.context = null;
    if (place !== null) session.contextDirectory = place;
    session.context ??= this.#openContext(session, policy).catch((error: unknown) => {
      session.context = null;
      throw error;
    });
    return session.context;
  }

  async #openContext(session: LiveSession, policy: Policy): Promise<ExecutionContext> {
    const { env, quarantine, variables, masking, reserved, searchPathHosts } = this.#parts;
    const host = searchPathHosts.host(session.record.searchPath);
    const files = this.#parts.workspaceHost;
    const { workspace } = session.record;
    const open = async (lookup: typeof host): Promise<ExecutionContext> => {
      const found = await openExecutionContext({
        record: session.record,
        host: lookup,
        env,
        quarantine,
        reserved,
        policy,
        withhold: variables.withhold,
        legacy: await variables.inherited(),
        files,
        credentialFiles: variables.files.masked(),
        roots: this.#parts.rootCertificates,
        masked: (text) => masking.text(text),
      });
      const { context, facts } = found;
      const granted = facts?.granted.map(({ path }) => path) ?? [];
      const probed = await probeSandbox(this.#parts.runners, context, granted);
      const assurance = withProtection(probed, facts);
      this.#parts.sessions.update(session, { assurance });
      if (facts !== null) this.#parts.store.put('surveys', session.record.id, facts);
      // The overlay is mounted now: its pending changes are known before the next command.
      if (workspace !== null) await files.views.open(session.record, workspace, found.opened);
      return context;
    };
    try {
      return await open(host);
    } catch (error) {
      if (!isTrlError(error, 'SANDBOX_UNAVAILABLE')) throw error;
      switch (error.data?.['reason']) {
        // The file system refuses idmapped mounts: the lower level is named in every receipt.
        case 'idmap':
          return open({ ...host, idmap: false });
        // Changes are found by scans then, as every receipt says.
        case 'overlay':
          files.views.refuseLayers(workspace ?? '', error.message);
          return open(host);
        default:
          throw error;
      }
    }
  }
}

/** Reports a workspace that is too large to search, or has too much to protect. */
function withProtection(probed: Assurance, facts: WorkspaceFacts | null): Assurance {
  if (facts === null) return probed;
  // Writes to an overlay pass the commit filter, regardless of the size of the workspace.
  const enforced = facts.layered === true || (facts.complete && facts.unprotected === 0);
  return { ...probed, checks: [...probed.checks, { name: 'workspace_protected', enforced }] };
}
