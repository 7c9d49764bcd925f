/** Workspaces on the wire: opens and shows them, applies and discards their changes. */
import { randomBytes } from 'node:crypto';
import type { Change } from '../../change.ts';
import type { Caller, SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { MethodAnswers, MethodName } from '../../api/methods.ts';
import type {
  ExecUndoParams,
  SnapshotGetParams,
  SnapshotListParams,
  SnapshotRestoreParams,
} from '../../api/snapshot.ts';
import type {
  WorkspaceApplyParams,
  WorkspaceDiffParams,
  WorkspaceDiscardParams,
  WorkspaceOpenParams,
} from '../../api/workspace.ts';
import type { WorkspaceId } from '../../api/answer-fields.ts';
import { isBelow } from '../../workspace/inspect-path.ts';
import { changesDigest } from '../../workspace/changes/change-kind.ts';
import type { AccessGate } from '../access/gate.ts';
import { redactDiff, type DiffRedaction } from '../diffs/diff-redaction.ts';
import type { Masking } from '../secrets/masking.ts';
import type { Executions } from '../executions/executions.ts';
import { netChanges } from '../diffs/net-changes.ts';
import type { Policies } from '../policies.ts';
import type { ProvePerson } from '../approvals/person-proof.ts';
import type { WorkspaceService } from '../runtime.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import { createUnifiedDiff } from '../diffs/unified-diff.ts';
import {
  changeView,
  kindCounts,
  listedChanges,
  pathFilter,
  requestedPaths,
  stateCounts,
} from './change-views.ts';
import type { OpenWorkspaces } from './open-workspaces.ts';
import { changeContentView, visibleRecord } from './visible-records.ts';
import type {
  ChangeRecord,
  UndoResult,
  UndoRequest,
  WorkspaceHost,
  WorkspaceView,
} from '../../host/port.ts';

export interface WorkspaceServiceParts {
  readonly roots: readonly string[];
  readonly home: string;
  readonly sessions: Sessions;
  readonly execs: Pick<Executions, 'find'>;
  readonly host: WorkspaceHost;
  readonly openWorkspaces: OpenWorkspaces;
  readonly masking: Masking;
  /** Paths that they hide are also hidden in records, regardless of who made the records. */
  readonly policies: Pick<Policies, 'of'>;
  /** How the contents of files are redacted. */
  readonly redaction: Omit<DiffRedaction, 'index'>;
  /** The session's workspace; its context is created if the session has no command yet. */
  readonly viewOfSession: (session: LiveSession) => Promise<WorkspaceView>;
  /**
   * @throws TrlError `AUTH_FAILED` unless the caller proves to be a person, or only the uid counts
   *   and is sufficient
   */
  readonly prove: ProvePerson;
  /** Decides whose records a caller can see. */
  readonly gate: Pick<AccessGate, 'canSeeSession'>;
}

const snapshotsDefault = 50;

export class DaemonWorkspaceService implements WorkspaceService {
  readonly #parts: WorkspaceServiceParts;

  constructor(parts: WorkspaceServiceParts) {
    this.#parts = parts;
  }

  async open(
    { actor }: Caller,
    params: WorkspaceOpenParams,
  ): Promise<MethodAnswers['workspace.open']> {
    const { roots, home, openWorkspaces: opened, host } = this.#parts;
    const place = await host.resolve({ roots, workingDir: params.path, home });
    if (place.workspace === null) {
      const message = `Cannot open workspace "${params.path}": it is not a directory on the host`;
      throw new TrlError('INVALID_PARAMS', message);
    }
    if (place.cwd !== place.workspace) {
      // Its rules would be read from a root that the caller did not name.
      const root = JSON.stringify(place.workspace);
      const message = `Cannot open workspace "${params.path}": it lies in the root ${root}`;
      throw new TrlError(
        'INVALID_PARAMS',
        `${message}; open that root, or add the directory as a root`,
      );
    }
    const id: WorkspaceId = `w-${randomBytes(16).toString('hex')}`;
    const { policy, mode = 'direct' } = params;
    const record = {
      id,
      path: place.workspace,
      mode,
      read: { allow: policy?.read?.allow ?? [], deny: policy?.read?.deny ?? [] },
      write: { deny: policy?.write?.deny ?? [] },
      owner: actor,
    };
    opened.add(record);
    const seen = host.views.preview(record);
    return { workspace_id: id, path: record.path, mode, ...seen };
  }

  async status(_: Caller, id: SessionId): Promise<MethodAnswers['workspace.status']> {
    const view = await this.#viewOf(id);
    const { root, mode, method, denied, git, unrecorded } = view.facts();
    const waiting = await view.pendingChanges();
    const of = (state: Change['state']): Change[] =>
      waiting.filter((change) => change.state === state);
    const [staged, held, conflicts] = [of('staged'), of('held'), of('conflict')];
    const { bytes, contents, records, droppedRecords } = await this.#parts.host.history.stats();
    return this.#masked({
      session_id: id,
      path: root,
      mode,
      method,
      staged: listedChanges(staged),
      held: listedChanges(held),
      conflicts: listedChanges(conflicts),
      totals: { staged: staged.length, held: held.length, conflicts: conflicts.length },
      held_digest: changesDigest(held),
      store: {
        bytes,
        bytes_max: limits.snapshotBytes.default,
        contents,
        records,
        dropped: droppedRecords,
      },
      denied,
      git,
      unrecorded,
    });
  }

  async diff(_: Caller, params: WorkspaceDiffParams): Promise<MethodAnswers['workspace.diff']> {
    const { redaction, masking } = this.#parts;
    const { exec_id: exec, session_id: session, context } = params;
    const { changes, root } =
      exec === undefined ? await this.#changesOf(session) : await this.#recorded(exec);
    const isMeant = pathFilter(params, root);
    const meant = changes.filter(({ path }) => isMeant(path));
    const contents = await this.#parts.host.history.contents();
    const found = await createUnifiedDiff(
      meant,
      contents,
      context === undefined ? {} : { context },
    );
    return this.#masked(await redactDiff(found, { ...redaction, index: masking.index }));
  }

  async apply(
    caller: Caller,
    params: WorkspaceApplyParams,
  ): Promise<MethodAnswers['workspace.apply']> {
    const view = await this.#viewOf(params.session_id);
    const paths = requestedPaths(params, view.facts().root);
    const conflict = paths === null ? [] : (['conflict'] as const);
    const record = await view.apply(
      params.held === true
        ? {
            paths,
            states: ['staged', 'held', ...conflict],
            heldDigest: await this.#approveHeld(caller, params, view),
          }
        : { paths, states: ['staged', ...conflict] },
    );
    const changes = record?.changes ?? [];
    const of = (state: Change['state']): Change[] =>
      changes.filter((change) => change.state === state);
    const [applied, conflicts, held] = [of('applied'), of('conflict'), of('held')];
    return this.#masked({
      applied: listedChanges(applied),
      conflicts: listedChanges(conflicts),
      held: listedChanges(held),
      totals: { applied: applied.length, conflicts: conflicts.length, held: held.length },
    });
  }

  async discard(
    _: Caller,
    params: WorkspaceDiscardParams,
  ): Promise<MethodAnswers['workspace.discard']> {
    const view = await this.#viewOf(params.session_id);
    const discarded = await view.discard(requestedPaths(params, view.facts().root));
    return this.#masked({
      discarded: listedChanges(discarded),
      totals: { discarded: discarded.length },
    });
  }

  async snapshots(
    caller: Caller,
    { session_id: session, path, limit = snapshotsDefault }: SnapshotListParams,
  ): Promise<MethodAnswers['snapshot.list']> {
    const isMeant = ({ session: of, root }: ChangeRecord): boolean =>
      (session === undefined || of === session) &&
      (path === undefined || path === root || path.startsWith(`${root}/`));
    const all = (await this.#recordsFor(caller, 'snapshot.list')).filter(isMeant);
    const newest = all.toSorted((a, b) => b.at - a.at).slice(0, limit);
    const shown = await Promise.all(newest.map((record) => visibleRecord(this.#parts, record)));
    return this.#masked({ snapshots: shown.map(recordView) });
  }

  async snapshot(
    caller: Caller,
    params: SnapshotGetParams,
  ): Promise<MethodAnswers['snapshot.get']> {
    const found = await this.#recordOf(params, await this.#recordsFor(caller, 'snapshot.get'));
    const record = await visibleRecord(this.#parts, found);
    const { from = 0, limit = limits.changesListed.max } = params;
    const content = await changeContentView(this.#parts, params, record);
    const shown = record.changes.slice(from, from + limit);
    const next = from + shown.length;
    return this.#masked({
      ...recordView(record),
      changes: shown.map(changeView),
      changes_total: record.changes.length,
      next: next < record.changes.length ? next : null,
      content,
    });
  }

  async restore(
    caller: Caller,
    params: SnapshotRestoreParams,
  ): Promise<MethodAnswers['snapshot.restore']> {
    const records = await this.#recordsFor(caller, 'snapshot.restore');
    const record = await this.#recordOf(params, records);
    const { history } = this.#parts.host;
    // A tree that no command left is the one before the first command.
    const inclusive = params.exec_id !== undefined || record.after !== params.id;
    const how = { ...(await this.#how(params, record.root)), inclusive };
    return this.#undoAnswer(await history.restore(record, how), params.dry_run ?? false);
  }

  async undo(_: Caller, params: ExecUndoParams): Promise<MethodAnswers['exec.undo']> {
    const dryRun = params.dry_run ?? false;
    // There is no record of such a command.
    const workspace = this.#parts.execs.find(params.exec_id)?.record.outcome?.workspace;
    if (workspace?.snapshot != null && workspace.changes.length === 0) {
      const lists = { restored: [], conflicts: [], impossible: [], execs: [] };
      return this.#undoAnswer({ ...lists, nothing: 'it changed nothing' }, dryRun);
    }
    const record = await this.#findRecord(params.exec_id);
    const how = await this.#how(params, record.root);
    const undone = await this.#parts.host.history.undo(record, how);
    return this.#undoAnswer(undone, dryRun);
  }

  async #how(params: SnapshotRestoreParams | ExecUndoParams, root: string): Promise<UndoRequest> {
    const { deny } = (await this.#parts.policies.of(root)).files;
    return { paths: requestedPaths(params, root), deny, dryRun: params.dry_run ?? false };
  }

  #undoAnswer(
    { restored, conflicts, impossible, execs, nothing }: UndoResult,
    dryRun: boolean,
  ): MethodAnswers['exec.undo'] {
    return this.#masked({
      restored: listedChanges(restored),
      conflicts: listedChanges(conflicts),
      impossible: listedChanges(impossible),
      totals: {
        restored: restored.length,
        conflicts: conflicts.length,
        impossible: impossible.length,
      },
      exec_ids: execs,
      dry_run: dryRun,
      nothing,
    });
  }

  /**
   * A person who approves held changes must have seen them, and must be proved where that is
   * possible.
   *
   * @returns the digest of the approved changes
   */
  async #approveHeld(
    caller: Caller,
    { digest, passphrase }: WorkspaceApplyParams,
    view: WorkspaceView,
  ): Promise<string | null> {
    const seen = changesDigest(await view.pendingChanges('held'));
    await this.#parts.prove(heldAction, caller, passphrase);
    if (digest !== undefined && seen !== null && !seen.startsWith(digest)) throw othersThanShown();
    return seen;
  }

  async #viewOf(id: SessionId): Promise<WorkspaceView> {
    return this.#parts.viewOfSession(this.#parts.sessions.get(id));
  }

  async #recordOf(
    { exec_id: exec, id }: SnapshotGetParams,
    records: readonly ChangeRecord[],
  ): Promise<ChangeRecord> {
    if (exec !== undefined) return this.#findRecord(exec);
    const newest = records.toSorted((a, b) => b.at - a.at);
    const left = newest.find(({ after }) => after === id);
    const first = left ?? newest.findLast(({ before }) => before === id);
    if (first !== undefined) return first;
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find the snapshot ${id}: no command left it`);
  }

  /** @throws TrlError `EXEC_NOT_FOUND`, also for changes outside the runtime's roots */
  async #findRecord(exec: ChangeRecord['exec']): Promise<ChangeRecord> {
    const found = await this.#parts.host.history.record(exec);
    if (this.#isOurs(found)) return found;
    const message = `Cannot find what ${exec} changed: that is outside the workspace roots`;
    throw new TrlError('EXEC_NOT_FOUND', message);
  }

  /** Records of the sessions that the caller can see. */
  async #recordsFor(caller: Caller, method: MethodName): Promise<ChangeRecord[]> {
    const { gate } = this.#parts;
    return (await this.#records()).filter(({ session }) =>
      gate.canSeeSession(caller, method, session),
    );
  }

  async #records(): Promise<ChangeRecord[]> {
    return (await this.#parts.host.history.records()).filter((one) => this.#isOurs(one));
  }

  /** This runtime neither reports nor undoes another runtime's changes in other directories. */
  #isOurs({ root }: ChangeRecord): boolean {
    return this.#parts.roots.some((one) => isBelow(root, one));
  }

  async #recorded(exec: ChangeRecord['exec']) {
    const { changes, root } = await visibleRecord(this.#parts, await this.#findRecord(exec));
    return { changes, root };
  }

  /** All net changes of a session's commands, and the pending ones. */
  async #changesOf(id: SessionId | undefined) {
    const { sessions, host } = this.#parts;
    const { record } = sessions.get(id ?? 's-');
    const records = (await this.#records()).filter(
      ({ session, undone }) => session === record.id && !undone,
    );
    const shown = await Promise.all(records.map((one) => visibleRecord(this.#parts, one)));
    const runs = shown.toSorted((a, b) => a.at - b.at).map(({ changes }) => changes);
    // The person who approves the view's pending changes must see them, regardless of their
    // session.
    const view = await host.views.find(record.id)?.catch(() => null);
    const waiting = (await view?.pendingChanges('staged', 'held')) ?? [];
    const changes = netChanges([...runs, waiting]);
    return { changes, root: record.workspace ?? '/' };
  }

  #masked<Answer>(answer: Answer): Answer {
    return this.#parts.masking.deep(answer);
  }
}

const heldAction = 'Cannot apply held changes';

function othersThanShown(): TrlError {
  return new TrlError('INVALID_PARAMS', `${heldAction}: they differ from those that were shown`);
}

function recordView(record: ChangeRecord) {
  const { exec, session, root, command, before, after, at, method, mode, changes } = record;
  return {
    exec_id: exec,
    session_id: session,
    path: root,
    command,
    before,
    after,
    at: new Date(at).toISOString(),
    method,
    mode,
    counts: kindCounts(changes),
    states: stateCounts(changes),
    undone: record.undone,
  };
}
