/** The ground of each session: made with its first command, and anew when what it is on changed. */
import { isTrlError, TrlError } from '../../errors.ts';
import type { Assurance } from '../../command.ts';
import type { Policy } from '../../policy/policy.ts';
import type { ExecutionRequest, ExecutionContext } from '../../run.ts';
import type { WorkspaceFacts } from '../../workspace/workspace-survey.ts';
import type { CoreOptions } from '../core-options.ts';
import { openExecutionContext, workspaceIdentityOf } from './execution-context.ts';
import { probeSandbox } from './sandbox-probe.ts';
import type { LiveSession, Sessions } from './sessions.ts';
import type { WorkspaceView } from '../../host/port.ts';

export class ContextCache {
  readonly #options: CoreOptions;
  readonly #sessions: Sessions;

  constructor(options: CoreOptions, sessions: Sessions) {
    this.#options = options;
    this.#sessions = sessions;
  }

  /** A session's workspace, opened where no command came yet. */
  async workspaceOf(session: LiveSession): Promise<WorkspaceView> {
    await this.of(session, await this.#options.policies.of(session.record.workspace));
    const found = this.#options.workspaceHost.views.find(session.record.id);
    if (found !== null) return found;
    const message = `Cannot tell what changed: ${session.record.id} has no workspace`;
    throw new TrlError('INVALID_PARAMS', message);
  }

  /**
   * Before a command. What it stages is for the session's later commands to see, so no other
   * session may be in its view then, or come into it.
   *
   * @throws TrlError `SESSION_BUSY` where it has to leave the view, and commands of it run there
   */
  separate(
    session: LiveSession,
    { workspaceMode }: ExecutionRequest,
    running: readonly unknown[],
  ): void {
    const { id, view, isViewOwn } = session.record;
    if (workspaceMode !== 'staged' || view === undefined || view === id || isViewOwn) return;
    if (this.#sessions.listInView(view).length === 1) {
      return this.#sessions.updateAtOnce(session, { isViewOwn: true });
    }
    if (running.length > 0) {
      const why = 'another one runs in it, in the layer that it shares with other sessions';
      throw new TrlError('SESSION_BUSY', `Cannot stage what a command of ${id} changes: ${why}`);
    }
    this.#sessions.updateAtOnce(session, { view: id });
    session.context = null;
  }

  async of(session: LiveSession, policy: Policy): Promise<ExecutionContext> {
    const { version } = policy;
    // What came into the tree since the last command is seen, unless it may not be.
    const opened = await this.#options.workspaceHost.views.find(session.record.id);
    if (opened !== null && !(await opened.refresh())) session.context = null;
    // A policy that was read anew may show less, and withhold more.
    if (session.policyVersion !== version) session.context = null;
    session.policyVersion = version;
    const place = workspaceIdentityOf(session.record.workspace);
    if (place !== null && place !== session.contextDirectory) session.context = null;
    if (place !== null) session.contextDirectory = place;
    session.context ??= this.#openGround(session, policy).catch((error: unknown) => {
      session.context = null;
      throw error;
    });
    return session.context;
  }

  async #openGround(session: LiveSession, policy: Policy): Promise<ExecutionContext> {
    const {
      env,
      quarantine,
      variables,
      masking,
      reserved,
      searchPathHosts: searched,
    } = this.#options;
    const host = searched.host(session.record.searchPath);
    const files = this.#options.workspaceHost;
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
        masked: (text) => masking.text(text),
      });
      const { context: ground, facts } = found;
      const granted = facts?.granted.map(({ path }) => path) ?? [];
      const probed = await probeSandbox(this.#options.runners, ground, granted);
      const assurance = withProtection(probed, facts);
      this.#sessions.update(session, { assurance });
      if (facts !== null) this.#options.store.put('surveys', session.record.id, facts);
      // Now that the layers are mounted: what waited in them is known before the next command.
      if (workspace !== null) await files.views.open(session.record, workspace, found.opened);
      return ground;
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

/** Names a workspace that was too large to look through, or had too much to cover. */
function withProtection(probed: Assurance, facts: WorkspaceFacts | null): Assurance {
  if (facts === null) return probed;
  // What commands write to a layer passes the filter, however large the workspace is.
  const enforced = facts.layered === true || (facts.complete && facts.unprotected === 0);
  return { ...probed, checks: [...probed.checks, { name: 'workspace_protected', enforced }] };
}
