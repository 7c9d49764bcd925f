/** The runtime behind the doors: sessions, executions and how they are started. */
import type { Enrolment } from '../approval/enrolment.ts';
import type { Caller, ExecId, SessionId, Verdict } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { ExecParams, PolicyExplainParams, Receipt } from '../protocol/types.ts';
import type { SessionCreateParams, SessionView } from '../protocol/types.ts';
import type { HostFacts } from '../sandbox/facts.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Store } from '../session/store.ts';
import type { Approving } from './approving.ts';
import type { Auditing } from './auditing/auditing.ts';
import type { Shown } from './auditing/basis.ts';
import { AuditReading } from './auditing/desk.ts';
import { ExecRecorder, type Stating } from './auditing/exec-recorder.ts';
import { audited } from './auditing/calls.ts';
import { Inputs } from './auditing/inputs.ts';
import { approvalEvent } from './auditing/telling.ts';
import type { DiffRedaction } from './diff-redaction.ts';
import { Executions, execView, isOver, waitingError, type Tracked } from './executions.ts';
import { Grounds } from './grounds.ts';
import type { Masking } from './masking.ts';
import type { Policies } from './policies.ts';
import { Publications } from './publishing/opening.ts';
import { chunksOf } from './reading-lines.ts';
import { aborted, collect, range, stream, total } from './reading.ts';
import { receipt } from './receipt.ts';
import type { ApprovalDesk, Runtime, SecretDesk, WorkspaceDesk } from './runtime.ts';
import type { Runners } from './runners.ts';
import { DaemonSecrets } from './secrets.ts';
import { Sessions } from './sessions.ts';
import { SessionDesk } from './session-desk.ts';
import { Starter } from './starter.ts';
import type { Turns } from './turns.ts';
import { DaemonWorkspaces } from './workspaces/desk.ts';
import type { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import { proverOf } from './proof.ts';
import type { Workspaces } from './workspaces/workspaces.ts';
import type { Variables } from './variables.ts';

export interface CoreOptions {
  readonly host: HostFacts;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly roots: readonly string[];
  readonly policies: Policies;
  readonly turns: Turns;
  /** Questions to people, and their answers. */
  readonly approving: Approving;
  /** The person who proves to be one. */
  readonly enrolment: Enrolment;
  readonly secrets: Secrets;
  readonly variables: Variables;
  /** Key of the hashes that stand for values in a question to a person. */
  readonly macKey: Uint8Array;
  /** Hides known secrets in whatever the daemon says or keeps. */
  readonly masking: Masking;
  readonly store: Store;
  readonly runners: Runners;
  readonly workspaces: Workspaces;
  readonly auditing: Auditing;
  /** Signs what the log says of each command. */
  readonly stating: Stating;
  readonly opened: OpenWorkspaces;
  /** How what files hold is redacted. */
  readonly redaction: Omit<DiffRedaction, 'index'>;
  /** Hides secrets, known or likely, in texts that are kept for good. */
  readonly shown: Shown;
  /** Where what a command may not leave in a workspace is moved to. */
  readonly quarantine: string;
  readonly auditDirectory: string;
  /** Where publications are checked and laid out; private to the user. */
  readonly publications: string;
  /** Whether the runner and what runs in it end with the daemon. */
  readonly endRunner: boolean;
  readonly log: (text: string) => void;
}

const idleSweepMs = 60_000;
const readBytesDefault = 256 * 1024;

export class Core implements Runtime {
  readonly startedAt = Date.now();
  readonly secrets: SecretDesk;
  readonly workspaces: WorkspaceDesk;
  readonly publications: Publications;
  readonly audit: AuditReading;
  readonly #options: CoreOptions;
  readonly #sessions: Sessions;
  readonly #inputs: Inputs;
  readonly #execs: Executions;
  readonly #desk: SessionDesk;
  readonly #starter: Starter;
  readonly #sweeper: NodeJS.Timeout;
  #closed = false;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.#sessions = new Sessions(options.store);
    this.#inputs = new Inputs(options, this.#sessions);
    this.secrets = new DaemonSecrets({ ...options, sessions: this.#sessions });
    this.#execs = new Executions(options.store, options.masking);
    this.#desk = new SessionDesk(options, this.#sessions, this.#execs);
    const grounds = new Grounds(options, this.#sessions);
    const { auditing } = options;
    const recorder = new ExecRecorder(auditing, options.stating);
    options.runners.onProgress = (progress) => recorder.printed(progress);
    const parts = { sessions: this.#sessions, execs: this.#execs, grounds, recorder };
    this.#starter = new Starter(options, parts);
    options.approving.approvals.watch((approval) => auditing.note(approvalEvent(approval)));
    // What it does could not be recorded any more.
    auditing.onFailing = () => {
      const running = this.#execs.running(null).map(({ record }) => record.id);
      void options.runners.stop(running, 'audit-failed').catch(() => {});
    };
    this.workspaces = new DaemonWorkspaces({
      ...options,
      home: options.host.home,
      sessions: this.#sessions,
      of: (session) => grounds.workspaceOf(session),
      prove: proverOf(options),
    });
    this.publications = new Publications(options, { sessions: this.#sessions, execs: this.#execs });
    this.audit = new AuditReading({ ...options, directory: options.auditDirectory });
    options.workspaces.isBusy = (id) => this.#execs.running(id).length > 0;
    // Values lived in the runner that is gone; names of what is not there would mislead.
    options.runners.onFresh = () => {
      for (const session of this.#sessions.all()) {
        if (session.record.envKeys.length > 0) this.#sessions.update(session, { envKeys: [] });
      }
    };
    this.#sweeper = setInterval(() => this.#endIdle(), idleSweepMs);
    this.#sweeper.unref();
  }

  audited: Runtime['audited'] = (call, act) => audited(this.#options.auditing, call, act);

  get masking(): Masking {
    return this.#options.masking;
  }

  get approvals(): ApprovalDesk {
    return this.#options.approving;
  }

  /** Takes over what an earlier daemon left. */
  async adopt(): Promise<void> {
    const { workspaces, endRunner } = this.#options;
    const sessions = this.#sessions.all().map(({ record }) => record.id);
    // A runtime for one command leaves that to the first command that changes something.
    if (!endRunner) await workspaces.recover(new Set(sessions));
    await this.#starter.adopt();
  }

  createSession(_: Caller, params: SessionCreateParams): Promise<SessionView> {
    return this.#desk.create(params);
  }

  listSessions(): readonly SessionView[] {
    return this.#desk.list();
  }

  sessionInfo(_: Caller, id: SessionId): Promise<SessionView> {
    return this.#desk.info(id);
  }

  updateSession(_: Caller, params: Parameters<Runtime['updateSession']>[1]): Promise<SessionView> {
    return this.#desk.update(params);
  }

  forkSession(_: Caller, id: SessionId, name: string | null): Promise<SessionView> {
    return this.#desk.fork(id, name);
  }

  sessionState(_: Caller, id: SessionId): ReturnType<Runtime['sessionState']> {
    return this.#desk.state(id);
  }

  destroySession(_: Caller, id: SessionId, force: boolean): Promise<void> {
    return this.#desk.destroy(id, force);
  }

  async run(caller: Caller, params: ExecParams): Promise<Receipt> {
    const tracked = await this.#begin(caller, params, 'foreground');
    const { runners } = this.#options;
    const bytesMax = params.output_bytes ?? limits.outputBytes.default;
    const link = await runners.link();
    const [head, output] = await Promise.all([
      tracked.settled,
      collect(link, tracked.record.id, bytesMax),
    ]);
    this.#starter.parking.collected(tracked.record.id);
    const answer = receipt(
      head,
      total(output.stdout, head.stdout_bytes),
      total(output.stderr, head.stderr_bytes),
    );
    if (!answer.timed_out) return answer;
    const after = `${answer.duration_ms} ms`;
    throw new TrlError('COMMAND_TIMEOUT', `The command was ended after ${after}`, {
      data: { ...answer },
    });
  }

  async openStream(caller: Caller, params: ExecParams): Promise<ExecId> {
    return (await this.#begin(caller, params, 'foreground')).record.id;
  }

  async start(caller: Caller, params: ExecParams): Promise<ExecId> {
    return (await this.#begin(caller, params, 'detached')).record.id;
  }

  /** @throws TrlError `APPROVAL_REQUIRED` when a person must decide and nobody did in `wait_ms` */
  async #begin(
    caller: Caller,
    params: ExecParams,
    mode: 'foreground' | 'detached',
  ): Promise<Tracked> {
    // What a file has since the last command is masked before anybody can read it.
    await this.#options.secrets.load();
    const tracked = await this.#starter.begin(params, mode, caller);
    await this.#starter.parking.decided(tracked, params.wait_ms ?? 0);
    if (tracked.record.parked !== null) throw waitingError(tracked.record);
    // One that was joined may be on its way: the runner does not know it yet.
    await tracked.started;
    return tracked;
  }

  async follow(
    _: Caller,
    id: ExecId,
    { from, sink, signal }: Parameters<Runtime['follow']>[2],
  ): Promise<void> {
    const tracked = this.#execs.get(id);
    await Promise.race([tracked.started, aborted(signal)]);
    if (signal.aborted) return;
    const { runners } = this.#options;
    const stop = runners.onWaiting(id, (info) => sink.waiting(info));
    try {
      await stream(() => runners.link(), tracked, { from, sink, signal });
      this.#starter.parking.collected(id);
    } finally {
      stop();
    }
  }

  async read(_: Caller, params: Parameters<Runtime['read']>[1]): ReturnType<Runtime['read']> {
    const tracked = this.#execs.get(params.exec_id);
    await this.#starter.parking.decided(tracked, params.wait_ms ?? 0);
    const ask = {
      from: params.from ?? 0,
      max: params.max ?? readBytesDefault,
      waitMs: params.wait_ms ?? 0,
    };
    const { state: before } = execView(tracked, null);
    if (before === 'waiting' || before === 'refused') {
      return { exec_id: params.exec_id, from: ask.from, next: ask.from, chunks: [], state: before };
    }
    await tracked.started;
    const link = await this.#options.runners.link();
    const found = await range(link, tracked.record.id, ask);
    const view = execView(this.#execs.get(params.exec_id), null);
    return {
      exec_id: params.exec_id,
      from: ask.from,
      next: found.next,
      chunks: chunksOf(found.pieces, { grep: params.grep ?? null, tail: params.tail ?? null }),
      ...(found.gap === null ? {} : { gap: found.gap }),
      state: view.state,
      ...(view.exit_code === undefined ? {} : { exit_code: view.exit_code }),
    };
  }

  async write(caller: Caller, id: ExecId, data: Uint8Array, eof: boolean): Promise<void> {
    const { record } = await this.#execs.begun(id);
    this.#inputs.wrote(caller, record, { data, eof });
    const link = await this.#options.runners.link();
    const base64 = Buffer.from(data).toString('base64');
    await link.request({ op: 'stdin', exec_id: id, base64, eof });
  }

  async resize(_: Caller, id: ExecId, columns: number, rows: number): Promise<void> {
    await this.#execs.begun(id);
    const link = await this.#options.runners.link();
    await link.request({ op: 'resize', exec_id: id, columns, rows });
  }

  async cancel(
    _: Caller,
    target: { exec_id: ExecId } | { session_id: SessionId },
    signal: string | null,
  ): Promise<{ stopped: readonly ExecId[] }> {
    const cancelled = this.#options.approving.approvals.cancel(
      'exec_id' in target ? { exec: target.exec_id } : { session: target.session_id },
    );
    const waiting = cancelled.map(({ execId }) => execId);
    if ('exec_id' in target && waiting.length > 0) return { stopped: waiting };
    const found = await this.#targets(target);
    const running = found.filter(({ record }) => record.outcome === null && record.lost === null);
    const link = await this.#options.runners.link();
    for (const { record } of running) {
      await link.request(
        signal === null
          ? { op: 'stop', exec_id: record.id, reason: 'cancelled' }
          : { op: 'signal', exec_id: record.id, signal },
      );
    }
    return { stopped: [...waiting, ...running.map(({ record }) => record.id)] };
  }

  /** A command that is just starting is waited for: a cancel must not miss it. */
  async #targets(target: { exec_id: ExecId } | { session_id: SessionId }): Promise<Tracked[]> {
    if ('exec_id' in target) {
      const found = this.#execs.get(target.exec_id);
      return isOver(found) ? [] : [await this.#execs.begun(found.record.id)];
    }
    const session = this.#sessions.get(target.session_id);
    await session.starting;
    const found = this.#execs.running(session.record.id);
    await Promise.all(found.map(({ started }) => started));
    return found;
  }

  async explain(caller: Caller, params: PolicyExplainParams): Promise<Verdict> {
    const { command, session_id: id, shell = 'bash' } = params;
    if (id !== undefined) return this.#starter.explain(this.#sessions.get(id), command, caller);
    const { explainText } = await import('../policy/explain.ts');
    const policy = await this.#options.policies.of(null);
    await this.#options.turns.next();
    return explainText(policy, shell, command, caller);
  }

  listExecs(_: Caller, session: SessionId | null): ReturnType<Runtime['listExecs']> {
    return Promise.resolve(this.#execs.of(session).map((tracked) => execView(tracked, null)));
  }

  async execInfo(_: Caller, id: ExecId): ReturnType<Runtime['execInfo']> {
    const tracked = this.#execs.get(id);
    const link = await this.#options.runners.link();
    const info = await link.request({ op: 'info', exec_id: id }).catch(() => null);
    const journal =
      info === null
        ? null
        : {
            from: Number(Reflect.get(info, 'journal_from')),
            bytes: Number(Reflect.get(info, 'journal_bytes')),
          };
    return execView(tracked, journal);
  }

  stats(): ReturnType<Runtime['stats']> {
    return {
      active_sessions: this.#sessions.size,
      total_commands_run: this.#execs.started,
      uptime_s: Math.floor((Date.now() - this.startedAt) / 1_000),
      memory_rss_bytes: process.memoryUsage.rss(),
    };
  }

  /** Waits for the foreground commands that somebody waits for; the others outlive the daemon. */
  async drain(): Promise<void> {
    const open = this.#execs.running(null).filter(({ record }) => record.mode === 'foreground');
    const all = Promise.allSettled(open.map(({ settled }) => settled));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, limits.drainMs.default);
    });
    await Promise.race([all, late]);
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.#options.approving[Symbol.dispose]();
    // Without a session there is no state that a later daemon could want.
    await this.#options.runners.close(this.#options.endRunner || this.#sessions.size === 0);
    await this.#options.workspaces.end(this.#options.endRunner);
    this.#inputs.close();
    await this.#options.auditing.close();
    this.#options.store.close();
  }

  #endIdle(): void {
    const oldest = Date.now() - limits.sessionIdleMs.default;
    for (const { record, busy } of this.#sessions.all()) {
      if (busy !== null || record.lastActivity > oldest) continue;
      // What a person is asked about is wanted still.
      if (this.#execs.of(record.id).some((one) => !isOver(one))) continue;
      void this.#desk.destroy(record.id, true).catch(() => {});
      const ended = {
        kind: 'session.destroyed',
        session: record.id,
        data: { idle: true },
      } as const;
      this.#options.auditing.note(ended);
    }
  }
}
