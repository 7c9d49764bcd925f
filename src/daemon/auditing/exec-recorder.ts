/**
 * Records commands in the log: before they start, and before their ends are reported to a caller.
 */
import type { Json } from '../../audit/event.ts';
import type { ExecId, Exit, OutputProgress, SessionId } from '../../command.ts';
import type { RecordedChanges } from '../../change.ts';
import { PolicyRefusal as Verdicted } from '../../approval/approve.ts';
import type {
  ExecutionRequest,
  AuditMark,
  AuthorizedExecution,
  ExecutionOutcome,
  PendingApproval,
  Recorder,
} from '../../execution.ts';
import { changesDigest } from '../../workspace/changes/change-kind.ts';
import { changeView, stateCounts } from '../workspaces/change-views.ts';
import { failureOf, type Auditing, type AuditRecord } from './auditing.ts';
import type { RecordedEnd } from './recorded-ends.ts';
import { commandData, verdictData, type ExecBasis, type MaskText } from './exec-basis.ts';

/** The most changes in one event, and their most bytes: names and links can be long. */
const changesMax = 1_000;
const changesBytesMax = 512 * 1024;

/** Makes the signed statement of a command. */
export interface StatementSigner {
  /** Starts slow lookups while the command runs. Must not throw. */
  prepare(basis: ExecBasis): void;
  /**
   * The statement of a command that has ended, in its envelope, as data of its event.
   *
   * @param beside commands that ran in the same workspace or session meanwhile
   */
  sign(
    id: ExecId,
    basis: ExecBasis,
    outcome: Omit<ExecutionOutcome, 'audit'>,
    beside: readonly ExecId[],
  ): Promise<Json>;
}

export class ExecRecorder implements Recorder {
  readonly #auditing: Auditing;
  readonly #signer: StatementSigner;
  /** Of running commands. */
  readonly #bases = new Map<ExecId, ExecBasis>();
  /**
   * Commands that ran in the same workspace or session meanwhile: a command can read what they
   * wrote.
   */
  readonly #beside = new Map<ExecId, Set<ExecId>>();
  /** Ends of adopted commands that an earlier daemon recorded. */
  readonly #ends = new Map<ExecId, RecordedEnd>();

  constructor(auditing: Auditing, signer: StatementSigner) {
    this.#auditing = auditing;
    this.#signer = signer;
  }

  /** Takes over recorded ends of adopted commands, so that they are not recorded again. */
  takeOver(ends: ReadonlyMap<ExecId, RecordedEnd>): void {
    for (const [id, end] of ends) this.#ends.set(id, end);
  }

  /** Registers a command before it starts, or when it is taken over from an earlier daemon. */
  expect(id: ExecId, basis: ExecBasis): void {
    const beside = new Set<ExecId>();
    for (const [other, { workspace, session }] of this.#bases) {
      const isShared = workspace !== null && workspace === basis.workspace;
      if (!isShared && session !== basis.session) continue;
      beside.add(other);
      this.#beside.get(other)?.add(id);
    }
    this.#beside.set(id, beside);
    this.#bases.set(id, basis);
  }

  async starting({ approved, approval }: AuthorizedExecution): Promise<void> {
    const { exec_id: id } = approved.plan;
    const basis = this.#bases.get(id);
    if (basis === undefined) throw new Error(`Cannot record ${id}: it was not registered`);
    this.#signer.prepare(basis);
    const events = startEvents(basis);
    // A queued command was recorded when it was requested.
    const isKnown = approval?.execId === id;
    await this.#auditing.record(
      ...events
        .filter(({ kind }) => !isKnown || kind !== 'exec.requested')
        .map((one) => ({ ...one, ...whose(id, basis) })),
    );
  }

  failed(id: ExecId, error: unknown): void {
    const { basis } = this.#forget(id);
    if (this.#ends.has(id)) return;
    const of = basis === undefined ? { exec: id } : whose(id, basis);
    this.#auditing.note({ kind: 'exec.failed', ...of, data: failureOf(error) });
  }

  /** Records the progress of a command's output, once for each second with output. */
  printed({ exec_id: id, ...digests }: OutputProgress): void {
    const basis = this.#bases.get(id);
    const of = basis === undefined ? { exec: id } : whose(id, basis);
    this.#auditing.note({ kind: 'exec.output', ...of, data: digests });
  }

  async ended(id: ExecId, outcome: Omit<ExecutionOutcome, 'audit'>): Promise<AuditMark | null> {
    const { basis, beside } = this.#forget(id);
    const before = this.#ends.get(id);
    if (before?.failure) throw before.failure;
    const { exit, reverted, recorded } = outcome;
    const of = basis === undefined ? { exec: id, session: exit.session_id } : whose(id, basis);
    const events: AuditRecord[] = [
      ...connectionData(exit).map((data) => ({ kind: 'exec.connected' as const, ...of, data })),
      { kind: 'exec.ended', ...of, data: endData(exit, reverted) },
    ];
    // Later findings are in the next record of the session, because this statement is signed.
    const isSigned = before?.kinds.has('exec.statement') === true;
    if (recorded !== null && recorded.changes.length > 0 && !isSigned) {
      events.push({ kind: 'exec.changed', ...of, data: changeData(recorded) });
    }
    if (basis !== undefined && !isSigned) {
      const data = { envelope: await this.#signer.sign(id, basis, outcome, beside) };
      events.push({ kind: 'exec.statement', ...of, data });
    }
    // Connections are recorded together with the end.
    const isNew = ({ kind }: AuditRecord): boolean =>
      before?.kinds.has(kind === 'exec.connected' ? 'exec.ended' : kind) !== true;
    const news = events.filter(isNew);
    return before !== undefined && news.length === 0
      ? before.mark
      : this.#auditing.recordEnd(...news);
  }

  #forget(id: ExecId) {
    const basis = this.#bases.get(id);
    const beside = [...(this.#beside.get(id) ?? [])];
    this.#bases.delete(id);
    this.#beside.delete(id);
    return { basis, beside };
  }
}

const whose = (exec: ExecId, { session, requester }: ExecBasis) => ({
  exec,
  session,
  actor: requester,
});

/** Records of a command that is queued until a person approves or denies it. */
export function pendingApprovalEvents(
  id: ExecId,
  question: PendingApproval,
  shown: MaskText,
): AuditRecord[] {
  const { subject, verdict, plan, parent, tool } = question;
  const of = { exec: id, session: subject.session, actor: subject.requester };
  return [
    {
      kind: 'exec.requested',
      ...of,
      data: {
        ...commandData(shown(subject.command), subject.command),
        ...(subject.language === undefined ? {} : { language: subject.language }),
        ...(parent === null ? {} : { parent }),
        ...(tool === null ? {} : { tool: { ...tool } }),
        shell: subject.shell.path,
        cwd: subject.cwd,
        mode: subject.mode,
        env: Object.keys(plan.command_env).toSorted(),
        stdin: subject.stdin.kind,
        pty: subject.pty !== null,
      },
    },
    { kind: 'exec.decided', ...of, data: verdictData(verdict) },
  ];
}

interface Refused {
  readonly id: ExecId;
  readonly parent: ExecId | null;
  readonly session: SessionId;
  readonly actor: string;
  readonly request: ExecutionRequest;
}

/**
 * Records of a command that does not run: policy denies it, it is invalid, or no sandbox can run
 * it.
 */
export function refusalEvents(
  { id, parent, session, actor, request }: Refused,
  error: unknown,
  shown: MaskText,
): AuditRecord[] {
  const of = { exec: id, session, actor };
  const { command, cwd, mode, env, stdin, pty } = request;
  const requested = {
    ...commandData(shown(command), command),
    ...(request.language === 'python' ? { language: 'python' } : {}),
    ...(parent === null ? {} : { parent }),
    ...(request.tool === undefined ? {} : { tool: request.tool.name }),
    cwd,
    mode,
    stdin: stdin.kind,
    pty: pty !== null,
    env: Object.keys(env).toSorted(),
  };
  const verdict = error instanceof Verdicted ? verdictData(error.verdict) : null;
  const rules = verdict?.rules ?? [];
  const { code, message } = failureOf(error);
  const isRefusal = verdict !== null || code === 'INVALID_PARAMS' || code === 'WORKSPACE_ESCAPE';
  const events: AuditRecord[] = [{ kind: 'exec.requested', ...of, data: requested }];
  if (verdict !== null) events.push({ kind: 'exec.decided', ...of, data: verdict });
  const kind = isRefusal ? 'exec.refused' : 'exec.failed';
  return [...events, { kind, ...of, data: { code, message, rules } }];
}

type EventData = Pick<AuditRecord, 'kind' | 'data'>;

/** The request as in a command's first event. */
function requestData(basis: ExecBasis): AuditRecord['data'] {
  const { command, command_bytes, shell, cwd, mode, command_env, stdin, pty } = basis;
  const { language, parent, reveal, tool } = basis;
  return {
    command,
    command_bytes,
    ...(language === undefined ? {} : { language }),
    ...(parent === undefined ? {} : { parent }),
    ...(tool === undefined ? {} : { tool: { ...tool } }),
    shell,
    cwd,
    mode,
    env: command_env,
    ...(reveal === undefined ? {} : { reveal }),
    stdin,
    pty,
  };
}

function startEvents(basis: ExecBasis): EventData[] {
  const { verdict, approval, plan_digest, box_digest, sandbox, bounds, env, contents } = basis;
  const { workspace, workspace_mode } = basis;
  const planned = {
    plan_digest,
    box_digest,
    env,
    workspace,
    workspace_mode,
    sandbox: { ...sandbox, files: filesData(sandbox.files) },
    bounds: { ...bounds },
    contents: contents.map((one) => ({ ...one })),
  };
  return [
    { kind: 'exec.requested', data: requestData(basis) },
    { kind: 'exec.decided', data: { ...verdict } },
    { kind: 'exec.planned', data: planned },
    { kind: 'exec.started', data: { plan_digest, approval: approval && { ...approval } } },
  ];
}

function filesData({ read, write }: ExecBasis['sandbox']['files']): Json {
  return { read: { ...read }, write: { ...write } };
}

const connectionData = ({ connections = [] }: Exit): AuditRecord['data'][] =>
  connections.map((connection) => ({ ...connection }));

function endData(exit: Exit, reverted: readonly string[]): AuditRecord['data'] {
  const { redactions, limits } = exit;
  return {
    exit_code: exit.exit_code,
    signal: exit.signal,
    timed_out: exit.timed_out,
    stopped: exit.stopped,
    started_at: exit.started_at,
    ended_at: exit.ended_at,
    duration_ms: exit.duration_ms,
    stdout_bytes: exit.stdout_bytes,
    stderr_bytes: exit.stderr_bytes,
    stdout_sha256: exit.stdout_sha256,
    stderr_sha256: exit.stderr_sha256,
    raw_log: exit.raw_log && { ...exit.raw_log },
    cwd_missing: exit.cwd_missing,
    ended_background: exit.ended_background,
    survivors: exit.survivors,
    limits_hit: limits.filter(({ hit }) => hit === true).map(({ name }) => name),
    redactions: redactions === null ? null : redactions.count,
    reverted,
  };
}

function changeData({ snapshot, mode, changes, complete }: RecordedChanges): AuditRecord['data'] {
  const { before, after, method } = snapshot;
  let bytes = 0;
  const named = changes
    .slice(0, changesMax)
    .map((change) => {
      const { before: was, after: is, ...rest } = changeView(change);
      return { ...rest, before: was && { ...was }, after: is && { ...is } };
    })
    .filter((view) => (bytes += Buffer.byteLength(JSON.stringify(view))) <= changesBytesMax);
  return {
    before,
    after,
    method,
    mode,
    complete,
    counts: stateCounts(changes),
    digest: changesDigest(changes),
    changes: named,
    omitted: changes.length - named.length,
  };
}
